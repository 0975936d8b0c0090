// The Vulkan backend: timestamps that an engine records into its own command buffers, read without ever waiting.
//
// Use, on the thread that records (an own Queue handle for each VkQueue):
//
//     auto backend = lapwing::VulkanBackend::create({.instance = instance, .physical_device = gpu, .device = device,
//                                                    .get_instance_proc_addr = vkGetInstanceProcAddr});
//     auto queue = (*backend)->open_queue(queue_family);
//     (*backend)->begin_commands(*queue, cb, 64);      // after vkBeginCommandBuffer, outside a render pass
//     ... a ring marks slots while the engine records ...
//     (*backend)->end_commands(*queue);                // before vkEndCommandBuffer, outside a render pass
//     vkQueueSubmit(..., fence);
//     (*backend)->submitted(*queue, {.fence = fence});
//     ... later, from any thread: the ring's harvest polls ...
//     (*backend)->release_fence(fence);                // before the fence is reset or destroyed
//
// How results come back: end_commands() records a copy of the results into host-visible memory behind a barrier, so
// poll() asks whether the submission is complete (vkGetFenceStatus or vkGetSemaphoreCounterValue, which block on no
// known driver) and then reads memory. vkGetQueryPoolResults is never called: on lavapipe it blocks until the whole
// device is idle, even for queries that are long finished.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <memory>
#include <span>

#include "lapwing/backend.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

/// How VulkanBackend learns that a submission is complete. One of the two; neither means "by a later submission".
struct VulkanCompletion {
    VkFence fence = VK_NULL_HANDLE;           ///< the fence of the vkQueueSubmit; see release_fence()
    VkSemaphore timeline = VK_NULL_HANDLE;    ///< a timeline semaphore that the submission signals ...
    uint64_t value = 0;                       ///< ... with this value; must outlive the backend or its last poll
};

/// What VulkanBackend needs from the program. The handles stay the program's and must outlive shutdown().
struct VulkanBackendOptions {
    VkInstance instance = VK_NULL_HANDLE;                          ///< required
    VkPhysicalDevice physical_device = VK_NULL_HANDLE;             ///< required
    VkDevice device = VK_NULL_HANDLE;                              ///< required
    PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;    ///< required: the loader's, however it was opened
    PFN_vkGetDeviceProcAddr get_device_proc_addr = nullptr;        ///< null = asked of get_instance_proc_addr

    /// What `device` was created with; read in create() only. Null = nothing optional is enabled: no calibration.
    const VkDeviceCreateInfo* device_create_info = nullptr;

    /// VkApplicationInfo::apiVersion of the instance.
    uint32_t instance_api_version = VK_API_VERSION_1_0;

    /// The stage that a stamp waits for. Bottom of pipe: all commands before it are complete, so that times of adjacent
    /// spans add up. Top of pipe is cheaper and means "earlier commands were fetched", not "are done".
    VkPipelineStageFlagBits stage = VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT;

    /// Reset queries from the host rather than in the command buffer. Ignored unless hostQueryReset was enabled on the
    /// device (ByroRedux#1478: calling it otherwise is undefined).
    bool prefer_host_reset = false;
};

/// Timestamps in command buffers that the program records itself. Satisfies Backend.
///
/// A command buffer that holds marks is submitted once per begin_commands(): what it measured is read after that, and
/// its queries go to other recordings. To submit the same commands again, record them again.
///
/// Threads: mark() and is_capturing() on the thread that records into that Queue; poll() on any one thread at a time;
///          everything else takes a short lock and may be called from any thread. begin_commands(), end_commands() and
///          mark() record into the program's command buffer, whose external synchronisation covers them.
class VulkanBackend {
public:
    /// One VkQueue as a stream of stamps. A cheap handle, valid as long as its backend.
    class Queue {
    public:
        Queue() = default;

    private:
        friend class VulkanBackend;
        explicit Queue(void* stream) noexcept : stream_(stream) {}
        void* stream_ = nullptr;
    };

    /// What the backend did so far.
    struct Stats {
        uint64_t marks = 0;            ///< timestamps recorded
        uint64_t refused_marks = 0;    ///< mark() returned false
        uint64_t status_checks = 0;    ///< completion queries made
        uint64_t failed_marks = 0;     ///< complete, and yet without a result; or discarded
        uint64_t query_pools = 0;      ///< query pools created
    };

    /// Errors:  kInvalidArgument where a required handle is missing; kUnsupported where the driver lacks a function.
    /// Cost:    cold. Creates no Vulkan object: the first begin_commands() does.
    [[nodiscard]] static Result<std::unique_ptr<VulkanBackend>> create(const VulkanBackendOptions& options);

    /// Touches no driver: the device may be gone by now (static destructors). Call shutdown() first.
    ~VulkanBackend();
    VulkanBackend(const VulkanBackend&) = delete;
    VulkanBackend& operator=(const VulkanBackend&) = delete;

    /// A stream for one VkQueue of a family. A family without timestamps gives a Queue too: caps() says why it has
    /// none, and mark() records nothing there. Errors:  kInvalidArgument where the device has no such family.
    [[nodiscard]] Result<Queue> open_queue(uint32_t queue_family);

    /// From here on, marks of `queue` go into `commands`, which is being recorded, outside a render pass.
    /// Shape:   at most `max_marks` marks until end_commands(); 1 .. 65536. Further marks are refused. One recording a
    ///          queue at a time.
    /// Errors:  kUnsupported where the queue has no timestamps; kExhausted where no query could be had; kDriver;
    ///          kDeviceLost; kInvalidArgument. Nothing was recorded then, and marks are refused.
    /// Cost:    cold: a lock, one or two commands; grows by a query pool and a buffer when all are in flight.
    [[nodiscard]] Status begin_commands(Queue& queue, VkCommandBuffer commands, uint32_t max_marks);

    /// Ends what begin_commands() began: records the copy of the results and a barrier that makes them visible to the
    /// host. Outside a render pass, before vkEndCommandBuffer.
    /// Cost:    cold: a lock, two or three commands. The copy waits *on the device* for the stamps of this recording.
    void end_commands(Queue& queue) noexcept;

    /// All recordings ended on `queue` since the last call were submitted, in one vkQueueSubmit or several.
    void submitted(Queue& queue, const VulkanCompletion& completion) noexcept;

    /// All recordings ended on `queue` since the last submitted() will never be: their slots fail.
    void discarded(Queue& queue) noexcept;

    /// The program knows that all it submitted to `queue` is complete (vkQueueWaitIdle, a fence it waited for).
    void completed(Queue& queue) noexcept;

    /// Call before a fence that was handed to submitted() is reset or destroyed, both legal only once it is complete.
    void release_fence(VkFence fence) noexcept;

    /// The program saw VK_ERROR_DEVICE_LOST. From now on the device is not touched, and what is pending is lost. poll()
    /// finds this out by itself where it meets the error first.
    void device_lost() noexcept;

    /// Destroys what was created on the device. Idempotent; the backend refuses marks afterwards.
    /// Errors:  kInvalidArgument where a submission is not complete, or a recording was never ended: nothing was
    ///          destroyed, wait for the device and call again. On a lost device nothing is destroyed, without an error.
    [[nodiscard]] Status shutdown();

    [[nodiscard]] Stats stats() const noexcept;

    /// cold: ns per tick, valid bits of the family, calibration; what is missing and why.
    [[nodiscard]] Caps caps(const Queue& queue) const;

    /// cold: makes slots first .. first + count - 1 usable, 16 bytes each; a DeviceRing calls it. False where memory
    /// refuses, or beyond 2^24.
    [[nodiscard]] bool reserve(uint32_t first, uint32_t count) noexcept;

    /// hot: one vkCmdWriteTimestamp into the recording that is open. False where none is open, its marks are used up,
    /// the slot was not reserved, the queue has no timestamps or the device is lost.
    bool mark(Queue& queue, uint32_t slot) noexcept;

    /// cold: one completion query for each submission that turned out complete and one for each queue's next; memory
    /// reads for the rest. Never waits, never reads a query pool.
    void poll(std::span<const uint32_t> slots, std::span<Stamp> out) noexcept;

    /// cold: through calibrated timestamps where they are offered *and* were enabled, else kUnsupported: brackets
    /// around submits align then (alignment.hpp). Some drivers take milliseconds for it.
    [[nodiscard]] Result<ClockAnchor> calibrate(Queue& queue);

    /// Vulkan has no capture of queues into graphs.
    static constexpr bool is_capturing(const Queue&) noexcept { return false; }

private:
    struct Impl;
    explicit VulkanBackend(std::unique_ptr<Impl> impl) noexcept;
    std::unique_ptr<Impl> impl_;
};

}    // namespace lapwing
