#include "attach/vulkan_layer/submit_rewrite.hpp"

#include <cstring>

namespace lapwing::attach::vulkan_layer {

namespace {
// Bytes of a structure that may be copied to stand in front of replaced device masks; 0 = unknown.
std::size_t size_of(VkStructureType type) noexcept {
    switch (type) {
        case VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO:
            return sizeof(VkTimelineSemaphoreSubmitInfo);
        case VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO:
            return sizeof(VkProtectedSubmitInfo);
        case VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR:
            return sizeof(VkPerformanceQuerySubmitInfoKHR);
        case VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO:
            return sizeof(VkDeviceGroupSubmitInfo);
        default:
            return 0;
    }
}

const VkBaseInStructure* first_of(const void* chain) noexcept {
    return static_cast<const VkBaseInStructure*>(chain);
}

const VkDeviceGroupSubmitInfo* group_of(const VkSubmitInfo& batch) noexcept {
    for (auto* link = first_of(batch.pNext); link != nullptr; link = link->pNext)
        if (link->sType == VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO)
            return reinterpret_cast<const VkDeviceGroupSubmitInfo*>(link);
    return nullptr;
}

// Calls `keep(number)` for each command buffer and `add(number, insert)` for each of ours in front of it and behind it.
// `position` counts the command buffers of all batches.
template <class Keep, class Add>
void weave(uint32_t count, uint32_t& position, std::span<const SubmitContents::Insert>& inserts, Keep&& keep,
           Add&& add) {
    const auto add_those = [&](uint32_t i, bool in_front) {
        for (; !inserts.empty() && inserts.front().at == position && inserts.front().in_front == in_front;
             inserts = inserts.subspan(1))
            add(i, inserts.front());
    };
    for (uint32_t i = 0; i < count; ++i, ++position) {
        add_those(i, true);
        keep(i);
        add_those(i, false);
    }
}
}    // namespace

bool takes_copies(const VkSubmitInfo& batch) noexcept {
    bool unknown = false;
    for (auto* link = first_of(batch.pNext); link != nullptr; link = link->pNext) {
        if (link->sType == VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO &&
            reinterpret_cast<const VkProtectedSubmitInfo*>(link)->protectedSubmit == VK_TRUE)
            return false;
        if (link->sType == VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO) {
            const auto* group = reinterpret_cast<const VkDeviceGroupSubmitInfo*>(link);
            if (unknown || group->commandBufferCount != batch.commandBufferCount) return false;
        }
        unknown |= size_of(link->sType) == 0;
    }
    return true;
}

bool takes_copies(const VkSubmitInfo2& batch) noexcept {
    return (batch.flags & VK_SUBMIT_PROTECTED_BIT) == 0;
}

std::span<const VkSubmitInfo> SubmitRewrite::insert(std::span<const VkSubmitInfo> batches,
                                                    std::span<const SubmitContents::Insert> inserts) {
    std::size_t buffers = inserts.size();
    std::size_t links = 0;
    for (const VkSubmitInfo& batch : batches) {
        buffers += batch.commandBufferCount;
        if (group_of(batch) == nullptr) continue;
        for (auto* link = first_of(batch.pNext); link != nullptr; link = link->pNext) ++links;
    }
    // All room first: what is handed out points into these.
    batches_.assign(batches.begin(), batches.end());
    buffers_.clear();
    buffers_.reserve(buffers);
    masks_.clear();
    masks_.reserve(buffers);
    links_.clear();
    links_.reserve(links);

    uint32_t position = 0;
    for (VkSubmitInfo& batch : batches_) {
        const VkDeviceGroupSubmitInfo* const group = takes_copies(batch) ? group_of(batch) : nullptr;
        const uint32_t* const masks = group == nullptr ? nullptr : group->pCommandBufferDeviceMasks;
        const VkCommandBuffer* const theirs = batch.pCommandBuffers;
        const std::size_t first = buffers_.size();
        const std::size_t first_mask = masks_.size();
        weave(
            batch.commandBufferCount, position, inserts,
            [&](uint32_t i) {
                buffers_.push_back(theirs[i]);
                if (masks != nullptr) masks_.push_back(masks[i]);
            },
            [&](uint32_t i, const SubmitContents::Insert& insert) {
                buffers_.push_back(insert.commands);
                if (masks != nullptr) masks_.push_back(masks[i]);
            });
        batch.pCommandBuffers = buffers_.data() + first;
        batch.commandBufferCount = static_cast<uint32_t>(buffers_.size() - first);
        if (masks != nullptr) replace_masks(batch, *group, masks_.data() + first_mask);
    }
    return batches_;
}

// Copies the chain down to the masks, and lets the rest of it hang on the copy.
void SubmitRewrite::replace_masks(VkSubmitInfo& batch, const VkDeviceGroupSubmitInfo& group, const uint32_t* masks) {
    const void** hook = &batch.pNext;
    for (auto* link = first_of(batch.pNext);; link = link->pNext) {
        links_.emplace_back();
        ChainLink& mine = links_.back();
        std::memcpy(&mine, link, size_of(link->sType));
        *hook = &mine;
        if (reinterpret_cast<const void*>(link) == &group) {
            mine.group.commandBufferCount = batch.commandBufferCount;
            mine.group.pCommandBufferDeviceMasks = masks;
            return;
        }
        hook = const_cast<const void**>(reinterpret_cast<void**>(&mine.base.pNext));
    }
}

std::span<const VkSubmitInfo2> SubmitRewrite::insert(std::span<const VkSubmitInfo2> batches,
                                                     std::span<const SubmitContents::Insert> inserts) {
    std::size_t buffers = inserts.size();
    for (const VkSubmitInfo2& batch : batches) buffers += batch.commandBufferInfoCount;
    batches2_.assign(batches.begin(), batches.end());
    buffers2_.clear();
    buffers2_.reserve(buffers);

    uint32_t position = 0;
    for (VkSubmitInfo2& batch : batches2_) {
        const VkCommandBufferSubmitInfo* const theirs = batch.pCommandBufferInfos;
        const std::size_t first = buffers2_.size();
        weave(
            batch.commandBufferInfoCount, position, inserts, [&](uint32_t i) { buffers2_.push_back(theirs[i]); },
            [&](uint32_t i, const SubmitContents::Insert& insert) {
                VkCommandBufferSubmitInfo ours{};
                ours.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
                ours.commandBuffer = insert.commands;
                ours.deviceMask = theirs[i].deviceMask;
                buffers2_.push_back(ours);
            });
        batch.pCommandBufferInfos = buffers2_.data() + first;
        batch.commandBufferInfoCount = static_cast<uint32_t>(buffers2_.size() - first);
    }
    return batches2_;
}

}    // namespace lapwing::attach::vulkan_layer
