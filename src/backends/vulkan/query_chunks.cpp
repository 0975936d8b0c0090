#include "backends/vulkan/query_chunks.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "lapwing/result.hpp"

namespace lapwing::vulkan {
namespace {
constexpr uint32_t kChunksPerPool = 64;    // one bit each in a word
}

QueryChunks::QueryChunks(const DeviceTable& table, VkDevice device, Options options) noexcept
    : table_(table), device_(device), options_(options) {
    LAPWING_ASSERT(options.queries_per_chunk > 0 && options.max_pools > 0);
}

bool QueryChunks::grow() noexcept {
    if (pools_.size() >= options_.max_pools) return false;
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = kChunksPerPool * options_.queries_per_chunk;
    Pool pool;
    const VkResult result = table_.CreateQueryPool(device_, &info, nullptr, &pool.handle);
    if (result != VK_SUCCESS) {
        last_error_ = result;
        return false;
    }
    pool.free = ~uint64_t{0};
    pools_.push_back(pool);
    return true;
}

std::optional<QueryChunk> QueryChunks::take() noexcept {
    while (lowest_ < pools_.size() && pools_[lowest_].free == 0) ++lowest_;
    if (lowest_ == pools_.size() && !grow()) {
        ++refused_;
        return std::nullopt;
    }
    Pool& pool = pools_[lowest_];
    const uint32_t chunk = static_cast<uint32_t>(std::countr_zero(pool.free));
    pool.free &= pool.free - 1;
    ++taken_;
    return QueryChunk{pool.handle, chunk * options_.queries_per_chunk, 0, lowest_};
}

void QueryChunks::give_back(const QueryChunk& chunk) noexcept {
    if (chunk.pool_index >= pools_.size()) return;    // given back after destroy()
    Pool& pool = pools_[chunk.pool_index];
    const uint64_t bit = uint64_t{1} << (chunk.first / options_.queries_per_chunk);
    LAPWING_ASSERT(pool.handle == chunk.pool && (pool.free & bit) == 0);
    pool.free |= bit;
    lowest_ = std::min(lowest_, chunk.pool_index);
    --taken_;
}

void QueryChunks::destroy() noexcept {
    for (const Pool& pool : pools_) table_.DestroyQueryPool(device_, pool.handle, nullptr);
    pools_.clear();
    lowest_ = 0;
    taken_ = 0;
}

QueryReader::Outcome QueryReader::read(const DeviceTable& table, VkDevice device, uint32_t queries_per_chunk,
                                       std::span<Request> requests) {
    order_.resize(requests.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
        const QueryChunk& x = requests[a].chunk;
        const QueryChunk& y = requests[b].chunk;
        return x.pool_index != y.pool_index ? x.pool_index < y.pool_index : x.first < y.first;
    });
    // Zeroed, because a driver that answers without writing must read as "not ready" (the Vulkan mock ICD does that).
    words_.assign(2 * std::size_t{queries_per_chunk} * requests.size(), 0);

    Outcome out;
    uint32_t position = 0;
    for (std::size_t i = 0; i < order_.size();) {
        const QueryChunk& head = requests[order_[i]].chunk;
        std::size_t last = i;
        requests[order_[i]].offset = position;
        for (; last + 1 < order_.size(); ++last) {
            const QueryChunk& here = requests[order_[last]].chunk;
            QueryReader::Request& next = requests[order_[last + 1]];
            if (next.chunk.pool != head.pool || next.chunk.first != here.first + queries_per_chunk) break;
            next.offset = position + (next.chunk.first - head.first);
        }
        const QueryChunk& tail = requests[order_[last]].chunk;
        const uint32_t count = tail.first - head.first + tail.used;
        i = last + 1;
        if (count == 0 || out.device_lost) continue;
        uint64_t* words = words_.data() + 2 * std::size_t{position};
        const std::size_t bytes = 2 * sizeof(uint64_t) * count;
        const VkResult result =
            table.GetQueryPoolResults(device, head.pool, head.first, count, bytes, words, 2 * sizeof(uint64_t),
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
        ++out.calls;
        if (result < 0) {
            if (out.error == VK_SUCCESS) out.error = result;
            out.device_lost = result == VK_ERROR_DEVICE_LOST;
            std::fill_n(words, 2 * std::size_t{count}, uint64_t{0});
        }
        position += count;
    }
    return out;
}

}    // namespace lapwing::vulkan
