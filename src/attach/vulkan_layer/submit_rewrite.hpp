// The program's submit, with command buffers of ours in it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <span>
#include <vector>

#include "attach/vulkan_layer/submission.hpp"

namespace lapwing::attach::vulkan_layer {

/// Whether command buffers may be inserted into a batch. Not into protected ones, whose command buffers may not write
/// to memory that the host reads, and not where an extension unknown here stands in front of the list of device masks,
/// which then cannot be replaced.
[[nodiscard]] bool takes_copies(const VkSubmitInfo& batch) noexcept;
[[nodiscard]] bool takes_copies(const VkSubmitInfo2& batch) noexcept;

/// Makes submit structures that carry the program's command buffers and ours.
///
/// Everything else stays as it is: semaphores, their values, other extensions. Masks of a device group are extended: a
/// copy runs where its recording runs.
/// Threads: one at a time. Keeps its memory: a submit in steady state allocates nothing.
class SubmitRewrite {
public:
    /// Shape:   `copies` ascend by `behind`; the answer and what it points to are valid until the next call.
    /// Errors:  throws std::bad_alloc.
    [[nodiscard]] std::span<const VkSubmitInfo> insert(std::span<const VkSubmitInfo> batches,
                                                       std::span<const SubmitContents::Insert> inserts);
    [[nodiscard]] std::span<const VkSubmitInfo2> insert(std::span<const VkSubmitInfo2> batches,
                                                        std::span<const SubmitContents::Insert> inserts);

private:
    // The structures that may stand in front of the device masks.
    union ChainLink {
        VkBaseOutStructure base;
        VkTimelineSemaphoreSubmitInfo timeline;
        VkProtectedSubmitInfo protection;
        VkPerformanceQuerySubmitInfoKHR performance;
        VkDeviceGroupSubmitInfo group;
    };
    void replace_masks(VkSubmitInfo& batch, const VkDeviceGroupSubmitInfo& group, const uint32_t* masks);

    std::vector<VkSubmitInfo> batches_;
    std::vector<VkSubmitInfo2> batches2_;
    std::vector<VkCommandBuffer> buffers_;
    std::vector<VkCommandBufferSubmitInfo> buffers2_;
    std::vector<uint32_t> masks_;
    std::vector<ChainLink> links_;
};

}    // namespace lapwing::attach::vulkan_layer
