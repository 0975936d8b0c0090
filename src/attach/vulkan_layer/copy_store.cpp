#include "attach/vulkan_layer/copy_store.hpp"

#include "attach/vulkan_layer/chunk_store.hpp"

namespace lapwing::attach::vulkan_layer {

CopyStore::CopyStore(const vulkan::DeviceTable& table, VkDevice device, const Setup& setup)
    : vk_(table),
      device_(device),
      set_loader_data_(setup.set_loader_data),
      cells_(table, device, setup.memory, {.results_per_cell = ChunkStore::kQueriesPerChunk, .max_slabs = kMaxSlabs}) {}

CopyStore::Made CopyStore::make(uint32_t queue_family, const std::vector<vulkan::QueryChunk>& chunks) {
    return make(queue_family, chunks.size(),
                [&](const ResultCopy& copy) { cells_.record_copies(copy.commands, chunks, copy.cells); });
}

CopyStore::MadeBracket CopyStore::make_bracket(uint32_t queue_family, const vulkan::QueryChunk& chunk) {
    const Made front = make(queue_family, 0, [&](const ResultCopy& copy) {
        vk_.CmdResetQueryPool(copy.commands, chunk.pool, chunk.first, ChunkStore::kQueriesPerChunk);
        stamp(copy.commands, chunk, 0);
    });
    if (front.copy == nullptr) return {nullptr, nullptr, front.why_not};
    const std::vector<vulkan::QueryChunk> chunks{chunk};
    const Made behind = make(queue_family, 1, [&](const ResultCopy& copy) {
        stamp(copy.commands, chunk, 1);
        cells_.record_copies(copy.commands, chunks, copy.cells);
    });
    if (behind.copy != nullptr) return {front.copy, behind.copy};
    give_back({&front.copy, 1});
    return {nullptr, nullptr, behind.why_not};
}

// Bottom of pipe, as the stamps between commands.
void CopyStore::stamp(VkCommandBuffer commands, const vulkan::QueryChunk& chunk, uint32_t query) const noexcept {
    vk_.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, chunk.pool, chunk.first + query);
}

// A command buffer with `cells` cells, recorded by `record(copy)`.
template <class Record>
CopyStore::Made CopyStore::make(uint32_t queue_family, std::size_t cells, Record&& record) {
    const std::lock_guard lock(mutex_);
    if (refusals_ >= kMaxDriverRefusals) return {nullptr, LossReason::kDriverError};
    Family& family = families_[queue_family];
    if (family.free.empty() && copies_.size() >= kMaxCopies) return {nullptr, LossReason::kRingFull};
    ResultCopy* const copy = command_buffer(family, queue_family);
    if (copy == nullptr) {
        ++refusals_;
        return {nullptr, LossReason::kDriverError};
    }
    Made made{copy, LossReason::kRingFull};
    if (!take_cells(*copy, cells)) {
        if (cells_.driver_refused()) made.why_not = LossReason::kDriverError;
        made.copy = nullptr;
    } else {
        copy->usable = false;
        VkCommandBufferBeginInfo info{};
        info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        if (vk_.BeginCommandBuffer(copy->commands, &info) == VK_SUCCESS) {
            record(*copy);
            copy->usable = vk_.EndCommandBuffer(copy->commands) == VK_SUCCESS;
        }
        if (!copy->usable) made = {nullptr, LossReason::kDriverError};
    }
    if (made.copy != nullptr) return made;
    give_cells_back(*copy);
    if (made.why_not == LossReason::kDriverError) ++refusals_;
    // A buffer that could not be recorded may be in any state: it waits for its pool's end.
    if (copy->usable) family.free.push_back(copy);
    return made;
}

ResultCopy* CopyStore::command_buffer(Family& family, uint32_t queue_family) {
    if (!family.free.empty()) {
        ResultCopy* const copy = family.free.back();
        family.free.pop_back();
        return copy;
    }
    if (family.pool == VK_NULL_HANDLE) {
        VkCommandPoolCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
        info.queueFamilyIndex = queue_family;
        VkCommandPool pool = VK_NULL_HANDLE;
        if (vk_.CreateCommandPool(device_, &info, nullptr, &pool) != VK_SUCCESS) return nullptr;
        family.pool = pool;
    }
    if (family.free.capacity() <= copies_.size()) family.free.reserve(2 * copies_.size() + 8);
    copies_.emplace_back();
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = family.pool;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkResult result = vk_.AllocateCommandBuffers(device_, &info, &commands);
    // Layers below find their device by the loader's word at the head of the handle.
    // Source:  Vulkan-Loader, LoaderLayerInterface.md, "Creating New Dispatchable Objects".
    if (result == VK_SUCCESS && set_loader_data_ != nullptr) result = set_loader_data_(device_, commands);
    if (result != VK_SUCCESS) {
        copies_.pop_back();    // a buffer the loader refused goes with its pool
        return nullptr;
    }
    copies_.back().commands = commands;
    copies_.back().queue_family = queue_family;
    return &copies_.back();
}

bool CopyStore::take_cells(ResultCopy& copy, std::size_t count) {
    copy.cells.reserve(count);
    while (copy.cells.size() < count) {
        const std::optional<vulkan::ResultCell> cell = cells_.take();
        if (!cell) return false;
        copy.cells.push_back(*cell);
    }
    return true;
}

void CopyStore::give_cells_back(ResultCopy& copy) noexcept {
    for (const vulkan::ResultCell& cell : copy.cells) cells_.give_back(cell);
    copy.cells.clear();
}

void CopyStore::give_back(std::span<ResultCopy* const> copies) noexcept {
    if (copies.empty()) return;
    const std::lock_guard lock(mutex_);
    if (families_.empty()) return;    // given back after destroy()
    for (ResultCopy* const copy : copies) {
        give_cells_back(*copy);
        families_[copy->queue_family].free.push_back(copy);    // has room: does not allocate
    }
}

void CopyStore::destroy() noexcept {
    const std::lock_guard lock(mutex_);
    for (const auto& [index, family] : families_)
        if (family.pool != VK_NULL_HANDLE) vk_.DestroyCommandPool(device_, family.pool, nullptr);
    families_.clear();
    cells_.destroy();
    copies_.clear();
}

}    // namespace lapwing::attach::vulkan_layer
