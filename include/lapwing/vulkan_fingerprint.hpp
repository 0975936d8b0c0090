// Fingerprints of tensors where they are: compute work in the program's own command buffer, behind the op that made
// them.
//
//     auto prints = VulkanFingerprints::create({.instance = instance, .physical_device = gpu, .device = device,
//                                               .get_instance_proc_addr = vkGetInstanceProcAddr});
//     ... the op's dispatch is recorded into `commands` ...
//     (*prints)->record(commands, {.buffer = out, .count = 4096}, {.name = "ffn_out", .layer = 3, .position = token});
//     vkQueueSubmit(..., fence);
//     (*prints)->submitted({.fence = fence});
//     ... later: (*prints)->harvest(recording);        // those that are complete; never waits
//     (*prints)->release_fence(fence);                 // before the fence is reset or destroyed
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <memory>

#include "lapwing/fingerprint.hpp"
#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"
#include "lapwing/vulkan_backend.hpp"

namespace lapwing {

/// What VulkanFingerprints needs from the program. The handles stay the program's and must outlive shutdown().
struct VulkanFingerprintOptions {
    VkInstance instance = VK_NULL_HANDLE;                          ///< required
    VkPhysicalDevice physical_device = VK_NULL_HANDLE;             ///< required
    VkDevice device = VK_NULL_HANDLE;                              ///< required
    PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;    ///< required: the loader's, however it was opened
    PFN_vkGetDeviceProcAddr get_device_proc_addr = nullptr;        ///< null = asked of get_instance_proc_addr

    /// Sum in doubles. Only where VkPhysicalDeviceFeatures::shaderFloat64 was enabled on `device`. False: in pairs of
    /// floats, which every device can, and which consumer GPUs do faster.
    bool shader_float64 = false;

    /// Fingerprints recorded and not harvested yet; beyond it they are dropped and counted. 12.5 KB of device memory
    /// each. 1 .. 65536
    uint32_t slots = 256;
    uint32_t seed = kFingerprintSeed;
};

/// A range of a storage buffer (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT). Units: bytes.
/// Shape:   offset is a multiple of the element's size; the buffer reaches to the next multiple of 4 behind the range.
struct VulkanTensor {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;
    uint64_t count = 0;    ///< elements; > 0
    DType type = DType::kF32;
};

/// Takes fingerprints on the device, and hands them to a sink once they are complete.
///
/// They agree with fingerprint_of() of the same bytes: counts, minimum, maximum and checksum exactly (but for f32 below
/// 2^-126, which a device may flush to zero); sums and projections within 2^-40 of the sum of magnitudes, sum_squares
/// within 2^-40 of itself. In pairs of floats values must stay within 1e-15 .. 1e15 in magnitude for that, else sums
/// are less exact, and no number where a float overflows. Sums depend on the number of elements only, not on the
/// device's schedule.
///
/// Threads: record() on the thread that records into that command buffer; everything takes a short lock.
class VulkanFingerprints {
public:
    struct Stats {
        uint64_t recorded = 0;     ///< into command buffers
        uint64_t harvested = 0;    ///< handed to a sink
        /// Because all slots were in use, the device was lost, they were discarded or the sink failed. It belongs into
        /// RecordingStats::fingerprints_dropped.
        uint64_t dropped = 0;
    };

    /// Errors:  kInvalidArgument naming the option; kUnsupported where the driver lacks a function or memory type;
    ///          kDriver; kDeviceLost.
    /// Cost:    cold: a compute pipeline, two buffers, a descriptor set a slot.
    [[nodiscard]] static Result<std::unique_ptr<VulkanFingerprints>> create(const VulkanFingerprintOptions& options);

    /// Touches no driver: the device may be gone by now. Call shutdown() first.
    ~VulkanFingerprints();
    VulkanFingerprints(const VulkanFingerprints&) = delete;
    VulkanFingerprints& operator=(const VulkanFingerprints&) = delete;

    /// Records two dispatches into `commands`, outside a render pass, with barriers: what was recorded before has
    /// written the tensor, what is recorded behind may overwrite it. The command buffer is submitted once.
    /// Shape:   `about` without its fingerprint; the rest is copied. The compute pipeline, descriptor set 0 and push
    ///          constants of the command buffer are others afterwards: bind yours again.
    /// Errors:  kExhausted where all slots are in use: nothing was recorded, and it is counted. kInvalidArgument where
    ///          the tensor is none; kUnsupported where it is larger than maxStorageBufferRange or 2^32 - 1 elements.
    /// Cost:    cold: a lock, a descriptor update, eight commands. On the device: one pass over the tensor.
    [[nodiscard]] Status record(VkCommandBuffer commands, const VulkanTensor& tensor, FingerprintRecord about);

    /// All recorded since the last call were submitted, in one vkQueueSubmit or several that complete with this.
    void submitted(const VulkanCompletion& completion);
    /// All recorded since the last submitted() will never be: dropped and counted.
    void discarded();
    /// The program knows that all it submitted is complete.
    void completed();
    /// Call before a fence that was handed to submitted() is reset or destroyed, both legal only once it is complete.
    void release_fence(VkFence fence);

    /// Hands what is complete to `sink`, in the order of submitted().
    /// Errors:  the sink's; kDeviceLost once: what is pending is dropped and counted.
    /// Cost:    cold: one completion query (vkGetFenceStatus, vkGetSemaphoreCounterValue) for each submission that
    ///          turned out complete and one more; never waits.
    [[nodiscard]] Status harvest(SpanSink& sink);

    /// Destroys what was created on the device. Idempotent; record() is refused afterwards.
    /// Errors:  kInvalidArgument where a submission is not complete or one was never announced: nothing was destroyed.
    [[nodiscard]] Status shutdown();

    [[nodiscard]] Stats stats() const;

private:
    struct Impl;
    explicit VulkanFingerprints(std::unique_ptr<Impl> impl) noexcept;
    std::unique_ptr<Impl> impl_;
};

}    // namespace lapwing
