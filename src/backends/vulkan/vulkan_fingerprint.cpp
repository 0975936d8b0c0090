#include "lapwing/vulkan_fingerprint.hpp"

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/vulkan/fingerprint_device.hpp"

namespace lapwing {

struct VulkanFingerprints::Impl {
    struct Pending {
        uint32_t slot = 0;
        VulkanTensor tensor;
        FingerprintRecord about;
    };
    struct Submission {
        VulkanCompletion completion;
        bool complete = false;
        std::vector<Pending> records;
    };

    // Shape:   with the mutex held, as below.
    void drop(std::vector<Pending>& records) {
        for (const Pending& pending : records) free.push_back(pending.slot);
        stats.dropped += records.size();
        records.clear();
    }
    // Whether the submission is complete; an error of the device instead of an answer.
    [[nodiscard]] Result<bool> is_complete(const Submission& submission) const {
        const vulkan::DeviceTable& table = device.table();
        const VulkanCompletion& by = submission.completion;
        VkResult result = VK_NOT_READY;
        bool reached = submission.complete;
        if (!reached && by.fence != VK_NULL_HANDLE) {
            result = table.GetFenceStatus(device.device(), by.fence);
            reached = result == VK_SUCCESS;
        } else if (!reached && by.timeline != VK_NULL_HANDLE && table.GetSemaphoreCounterValue != nullptr) {
            uint64_t value = 0;
            result = table.GetSemaphoreCounterValue(device.device(), by.timeline, &value);
            reached = result == VK_SUCCESS && value >= by.value;
        }
        if (result == VK_ERROR_DEVICE_LOST) return Error{Errc::kDeviceLost, result, "the device was lost"};
        return reached;
    }

    mutable std::mutex mutex;
    vulkan::FingerprintDevice device;
    bool usable = false;
    std::vector<uint32_t> free;
    std::vector<Pending> recorded;         // not submitted yet
    std::deque<Submission> submissions;    // oldest first
    Stats stats;
};

VulkanFingerprints::VulkanFingerprints(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
VulkanFingerprints::~VulkanFingerprints() = default;

Result<std::unique_ptr<VulkanFingerprints>> VulkanFingerprints::create(const VulkanFingerprintOptions& options) {
    if (options.instance == VK_NULL_HANDLE || options.physical_device == VK_NULL_HANDLE ||
        options.device == VK_NULL_HANDLE || options.get_instance_proc_addr == nullptr)
        return Error{Errc::kInvalidArgument, 0,
                     "VulkanFingerprintOptions: instance, physical_device, device and get_instance_proc_addr are "
                     "required"};
    if (options.slots == 0 || options.slots > 65536)
        return Error{Errc::kInvalidArgument, 0, "VulkanFingerprintOptions: slots is 1 to 65536"};
    auto impl = std::make_unique<Impl>();
    if (Status status = impl->device.create(options); !status.ok()) return status.error();
    impl->usable = true;
    for (uint32_t slot = options.slots; slot-- > 0;) impl->free.push_back(slot);
    return std::unique_ptr<VulkanFingerprints>(new VulkanFingerprints(std::move(impl)));
}

Status VulkanFingerprints::record(VkCommandBuffer commands, const VulkanTensor& tensor, FingerprintRecord about) {
    const std::lock_guard lock(impl_->mutex);
    if (!impl_->usable) return Error{Errc::kInvalidArgument, 0, "fingerprints were shut down, or the device was lost"};
    if (Status status = impl_->device.check(tensor); !status.ok()) return status;
    if (impl_->free.empty()) {
        ++impl_->stats.dropped;
        return Error{Errc::kExhausted, 0,
                     "all slots of fingerprints are in use: harvest more often, or give VulkanFingerprintOptions more "
                     "slots"};
    }
    const uint32_t slot = impl_->free.back();
    impl_->free.pop_back();
    impl_->device.record(commands, tensor, slot);
    impl_->recorded.push_back({slot, tensor, std::move(about)});
    ++impl_->stats.recorded;
    return {};
}

void VulkanFingerprints::submitted(const VulkanCompletion& completion) {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->recorded.empty()) return;
    impl_->submissions.push_back({completion, false, std::exchange(impl_->recorded, {})});
}

void VulkanFingerprints::discarded() {
    const std::lock_guard lock(impl_->mutex);
    impl_->drop(impl_->recorded);
}

void VulkanFingerprints::completed() {
    const std::lock_guard lock(impl_->mutex);
    for (Impl::Submission& submission : impl_->submissions) submission.complete = true;
}

void VulkanFingerprints::release_fence(VkFence fence) {
    const std::lock_guard lock(impl_->mutex);
    for (Impl::Submission& submission : impl_->submissions)
        if (submission.completion.fence == fence) submission.complete = true;
}

Status VulkanFingerprints::harvest(SpanSink& sink) {
    const std::lock_guard lock(impl_->mutex);
    Status first;
    while (!impl_->submissions.empty()) {
        Impl::Submission& submission = impl_->submissions.front();
        const Result<bool> complete = impl_->is_complete(submission);
        if (!complete.ok()) {
            for (Impl::Submission& lost : impl_->submissions) impl_->drop(lost.records);
            impl_->submissions.clear();
            impl_->usable = false;
            return first.ok() ? Status(complete.error()) : first;
        }
        if (!complete.value()) break;
        for (Impl::Pending& pending : submission.records) {
            pending.about.fingerprint = impl_->device.read(pending.tensor, pending.slot);
            impl_->free.push_back(pending.slot);
            Status status = sink.fingerprint(pending.about);
            impl_->stats.harvested += status.ok() ? 1 : 0;
            impl_->stats.dropped += status.ok() ? 0 : 1;
            if (first.ok()) first = std::move(status);
        }
        impl_->submissions.pop_front();
    }
    return first;
}

Status VulkanFingerprints::shutdown() {
    const std::lock_guard lock(impl_->mutex);
    if (!impl_->usable) return {};
    bool pending = !impl_->recorded.empty();
    for (const Impl::Submission& submission : impl_->submissions) {
        const Result<bool> complete = impl_->is_complete(submission);
        pending = pending || (complete.ok() && !complete.value());
    }
    if (pending)
        return Error{Errc::kInvalidArgument, 0,
                     "fingerprints are still recorded or being computed: submit or discard them, wait, and call again"};
    for (Impl::Submission& submission : impl_->submissions) impl_->drop(submission.records);
    impl_->submissions.clear();
    impl_->usable = false;
    impl_->device.destroy();
    return {};
}

VulkanFingerprints::Stats VulkanFingerprints::stats() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->stats;
}

}    // namespace lapwing
