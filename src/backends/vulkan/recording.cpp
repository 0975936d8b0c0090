#include "backends/vulkan/recording.hpp"

#include <algorithm>

namespace lapwing::vulkan {

void Recording::open(VkCommandBuffer commands, std::vector<QueryChunk> chunks, uint32_t queries_per_chunk,
                     uint32_t max_marks) {
    commands_ = commands;
    chunks_ = std::move(chunks);
    runs_.clear();
    for (const QueryChunk& chunk : chunks_) {
        const bool adjacent = !runs_.empty() && runs_.back().pool_index == chunk.pool_index &&
                              runs_.back().first + runs_.back().count == chunk.first;
        if (adjacent) {
            runs_.back().count += queries_per_chunk;
        } else {
            runs_.push_back({chunk.pool, chunk.pool_index, chunk.first, queries_per_chunk});
        }
    }
    marks_.clear();
    marks_.reserve(max_marks);
    max_marks_ = max_marks;
    run_ = 0;
    in_run_ = 0;
}

std::vector<QueryRun> Recording::used_runs() const {
    std::vector<QueryRun> out;
    uint32_t left = static_cast<uint32_t>(marks_.size());
    for (const QueryRun& run : runs_) {
        if (left == 0) break;
        out.push_back(run);
        out.back().count = std::min(left, run.count);
        left -= out.back().count;
    }
    return out;
}

uint64_t Recording::resolve(const ResultSlabs& slabs, SlotTable& slots) const noexcept {
    uint64_t failed = 0;
    std::size_t next = 0;
    for (const QueryRun& run : runs_) {
        for (uint32_t i = 0; i < run.count && next < marks_.size(); ++i, ++next) {
            const uint32_t query = run.first + i;
            const bool ready = slabs.ready(run.pool_index, query);
            failed += ready ? 0 : 1;
            slots.resolve(marks_[next].slot, marks_[next].serial, ready ? StampState::kReady : StampState::kFailed,
                          Ticks{ready ? slabs.ticks(run.pool_index, query) : 0});
        }
    }
    return failed;
}

void Recording::resolve_all(StampState state, SlotTable& slots) const noexcept {
    for (const Mark& mark : marks_) slots.resolve(mark.slot, mark.serial, state, Ticks{});
}

void Recording::close(QueryChunks& chunks) noexcept {
    for (const QueryChunk& chunk : chunks_) chunks.give_back(chunk);
    chunks_.clear();
    marks_.clear();
    runs_.clear();
    max_marks_ = 0;
}

}    // namespace lapwing::vulkan
