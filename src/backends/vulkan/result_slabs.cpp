#include "backends/vulkan/result_slabs.hpp"

#include <algorithm>

namespace lapwing::vulkan {

ResultSlabs::ResultSlabs(const DeviceTable& table, VkDevice device,
                         const VkPhysicalDeviceMemoryProperties& memory) noexcept
    : table_(table), device_(device), memory_(memory) {}

Status ResultSlabs::provide(uint32_t pool_index, uint32_t queries) {
    if (pool_index >= slabs_.size()) slabs_.resize(pool_index + 1);
    if (slabs_[pool_index].words != nullptr) return {};
    const Result<HostBuffer> made = HostBuffer::create(table_, device_, memory_, uint64_t{queries} * kResultStride);
    if (!made.ok()) return made.error();
    slabs_[pool_index] = made.value();
    return {};
}

void ResultSlabs::clear(const QueryRun& run) noexcept {
    std::fill_n(word(run.pool_index, run.first), 2 * std::size_t{run.count}, uint64_t{0});
}

void ResultSlabs::record_copy(VkCommandBuffer commands, const QueryRun& run) const noexcept {
    table_.CmdCopyQueryPoolResults(commands, run.pool, run.first, run.count, slabs_[run.pool_index].buffer,
                                   uint64_t{run.first} * kResultStride, kResultStride, kCopyFlags);
}

void ResultSlabs::destroy() noexcept {
    for (HostBuffer& slab : slabs_) slab.destroy(table_, device_);
    slabs_.clear();
}

}    // namespace lapwing::vulkan
