#include "views/brick_shard.hpp"

#include <new>

namespace lapwing::detail {

constinit BrickThread g_no_brick_thread;
[[gnu::tls_model("initial-exec")]] thread_local constinit BrickThread* t_brick_thread = &g_no_brick_thread;

BrickShard::BrickShard(uint64_t profiler_serial, std::size_t max_keys) : tallies(max_keys) {
    profiler = profiler_serial;
    open = tail = new BrickChunk;
}

BrickShard::~BrickShard() {
    for (BrickChunk* const list : {tail, spare}) {
        for (BrickChunk* chunk = list; chunk != nullptr;) {
            BrickChunk* const next = chunk->next.load(std::memory_order_relaxed);
            delete chunk;
            chunk = next;
        }
    }
}

void BrickShard::recycle(BrickChunk* chunk) noexcept {
    chunk->count.store(0, std::memory_order_relaxed);
    chunk->next.store(spare, std::memory_order_relaxed);
    spare = chunk;
}

BrickChunk* BrickShard::take_spare() noexcept {
    BrickChunk* const chunk = spare;
    if (chunk == nullptr) return nullptr;
    spare = chunk->next.load(std::memory_order_relaxed);
    chunk->next.store(nullptr, std::memory_order_relaxed);
    return chunk;
}

BrickChunk* BrickShard::allocate(std::size_t max_chunks) noexcept {
    if (chunk_count >= max_chunks) return nullptr;
    auto* const chunk = new (std::nothrow) BrickChunk;
    if (chunk != nullptr) ++chunk_count;
    return chunk;
}

void BrickShard::open_next(BrickChunk* chunk) noexcept {
    BrickChunk* const full = open;
    open = chunk;
    // Release: who follows the link sees an empty chunk. The owner adds nothing to `full` any more.
    full->next.store(chunk, std::memory_order_release);
}

}    // namespace lapwing::detail
