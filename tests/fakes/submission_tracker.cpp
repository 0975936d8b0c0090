#include "submission_tracker.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace fakes {

void SubmissionTracker::open(VkDevice device, PFN_vkGetDeviceProcAddr next) {
    device_ = device;
    create_ = reinterpret_cast<PFN_vkCreateFence>(next(device, "vkCreateFence"));
    destroy_ = reinterpret_cast<PFN_vkDestroyFence>(next(device, "vkDestroyFence"));
    reset_ = reinterpret_cast<PFN_vkResetFences>(next(device, "vkResetFences"));
    status_ = reinterpret_cast<PFN_vkGetFenceStatus>(next(device, "vkGetFenceStatus"));
}

void SubmissionTracker::close() {
    const std::lock_guard lock(mutex_);
    for (const VkFence fence : own_) destroy_(device_, fence, nullptr);
    own_.clear();
    retired_.clear();
    newest_.clear();
}

VkFence SubmissionTracker::fence_for(VkFence fence) {
    if (fence != VK_NULL_HANDLE) return fence;
    const std::lock_guard lock(mutex_);
    for (auto it = retired_.begin(); it != retired_.end(); ++it) {
        if (status_(device_, *it) != VK_SUCCESS) continue;
        const VkFence reused = *it;
        retired_.erase(it);
        reset_(device_, 1, &reused);
        return reused;
    }
    const VkFenceCreateInfo info{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .pNext = nullptr, .flags = 0};
    VkFence created = VK_NULL_HANDLE;
    if (create_(device_, &info, nullptr, &created) == VK_SUCCESS) own_.push_back(created);
    return created;
}

void SubmissionTracker::retire(VkFence fence) {
    if (std::find(own_.begin(), own_.end(), fence) != own_.end()) retired_.push_back(fence);
}

void SubmissionTracker::submitted(VkQueue queue, VkFence fence, bool accepted) {
    const std::lock_guard lock(mutex_);
    if (!accepted) return;    // a fence of ours is lost with it: a refused submission ends the test anyway
    VkFence& newest = newest_[queue];
    retire(newest);
    newest = fence;
}

void SubmissionTracker::fence_released(VkFence fence) {
    const std::lock_guard lock(mutex_);
    for (auto& [queue, newest] : newest_)
        if (newest == fence) newest = VK_NULL_HANDLE;
}

bool SubmissionTracker::newest_unfinished() {
    const std::lock_guard lock(mutex_);
    for (auto& [queue, newest] : newest_) {
        if (newest == VK_NULL_HANDLE) continue;
        if (status_(device_, newest) == VK_NOT_READY) return true;
        retire(newest);
        newest = VK_NULL_HANDLE;
    }
    return false;
}

bool SubmissionTracker::has_unfinished() {
    // Two looks: a driver signals the fence of a submission a moment after its semaphores, by which the program may
    // already know that it is done.
    if (!newest_unfinished()) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return newest_unfinished();
}

}    // namespace fakes
