// Whether a device still has unfinished submissions, learned without waiting and without a submission of its own.
#pragma once

#include <vulkan/vulkan.h>

#include <map>
#include <mutex>
#include <vector>

namespace fakes {

/// Follows the newest submission of every queue by its fence: a fence signals only after all that was submitted to its
/// queue before, so the newest one speaks for all. A submission without a fence is given one of the tracker's own,
/// which changes nothing for the program. Asking is vkGetFenceStatus, which blocks on no driver here. Threads: any.
class SubmissionTracker {
public:
    void open(VkDevice device, PFN_vkGetDeviceProcAddr next);
    /// Destroys the tracker's own fences; the device must be idle, as vkDestroyDevice demands.
    void close();

    /// The fence to submit with: `fence`, or one of the tracker's own where that is null.
    VkFence fence_for(VkFence fence);
    /// The driver took (or, with `accepted` false, refused) a submission with a fence from fence_for().
    void submitted(VkQueue queue, VkFence fence, bool accepted);
    /// The program resets or destroys `fence`, which it may do only when nothing unfinished uses it.
    void fence_released(VkFence fence);

    /// Whether any queue has work that has not finished.
    bool has_unfinished();

private:
    bool newest_unfinished();
    void retire(VkFence fence);

    VkDevice device_ = VK_NULL_HANDLE;
    PFN_vkCreateFence create_ = nullptr;
    PFN_vkDestroyFence destroy_ = nullptr;
    PFN_vkResetFences reset_ = nullptr;
    PFN_vkGetFenceStatus status_ = nullptr;

    std::mutex mutex_;
    std::map<VkQueue, VkFence> newest_;    // null once known to be finished
    std::vector<VkFence> own_;             // every fence of ours
    std::vector<VkFence> retired_;         // ours, no longer the newest; reusable once signalled
};

}    // namespace fakes
