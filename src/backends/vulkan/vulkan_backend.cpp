#include "lapwing/vulkan_backend.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/vulkan/device_clock.hpp"
#include "backends/vulkan/entry_points.hpp"
#include "backends/vulkan/query_chunks.hpp"
#include "backends/vulkan/recording.hpp"
#include "backends/vulkan/result_slabs.hpp"
#include "backends/vulkan/slot_table.hpp"

namespace lapwing {
namespace {

using namespace vulkan;

constexpr uint32_t kQueriesPerChunk = 64;    // a recording's usual size: one reset, one copy
constexpr uint32_t kChunksPerPool = 64;
constexpr uint32_t kMostMarks = 65536;

using RecordingPtr = std::unique_ptr<Recording>;

struct Submission {
    std::vector<RecordingPtr> recordings;
    VulkanCompletion completion;
    bool complete = false;    // known from the program
};

struct Stream {
    uint32_t family = 0;
    bool usable = false;
    RecordingPtr open;                  // between begin_commands() and end_commands(); the recording thread's
    std::vector<RecordingPtr> ended;    // not yet submitted
    std::deque<Submission> in_flight;
};

const char* missing_function(const InstanceTable& instance, const DeviceTable& device) {
#define LAPWING_VK_NEED(table, name) \
    if (table.name == nullptr) return "the driver lacks vk" #name;
    LAPWING_VK_NEED(instance, GetPhysicalDeviceProperties)
    LAPWING_VK_NEED(instance, GetPhysicalDeviceQueueFamilyProperties)
    LAPWING_VK_NEED(instance, GetPhysicalDeviceMemoryProperties)
    LAPWING_VK_NEED(device, CreateQueryPool)
    LAPWING_VK_NEED(device, DestroyQueryPool)
    LAPWING_VK_NEED(device, CmdResetQueryPool)
    LAPWING_VK_NEED(device, CmdWriteTimestamp)
    LAPWING_VK_NEED(device, CmdCopyQueryPoolResults)
    LAPWING_VK_NEED(device, CmdPipelineBarrier)
    LAPWING_VK_NEED(device, GetFenceStatus)
    LAPWING_VK_NEED(device, CreateBuffer)
    LAPWING_VK_NEED(device, DestroyBuffer)
    LAPWING_VK_NEED(device, GetBufferMemoryRequirements)
    LAPWING_VK_NEED(device, AllocateMemory)
    LAPWING_VK_NEED(device, FreeMemory)
    LAPWING_VK_NEED(device, BindBufferMemory)
    LAPWING_VK_NEED(device, MapMemory)
#undef LAPWING_VK_NEED
    return nullptr;
}

}    // namespace

struct VulkanBackend::Impl {
    Impl(const VulkanBackendOptions& options, const InstanceTable& instance_table, const DeviceTable& device_table)
        : device(options.device),
          stage(options.stage),
          table(device_table),
          traits(describe_device(
              instance_table, options.physical_device, options.instance_api_version,
              options.device_create_info ? EnabledFeatures::from(*options.device_create_info) : EnabledFeatures{})),
          chunks(table, options.device, {.queries_per_chunk = kQueriesPerChunk, .max_pools = 256}),
          slabs(table, options.device, memory_of(instance_table, options.physical_device)) {
        host_reset = options.prefer_host_reset && traits.enabled.host_query_reset && table.ResetQueryPool != nullptr;
    }

    static VkPhysicalDeviceMemoryProperties memory_of(const InstanceTable& vk, VkPhysicalDevice physical) {
        VkPhysicalDeviceMemoryProperties memory{};
        vk.GetPhysicalDeviceMemoryProperties(physical, &memory);
        return memory;
    }

    // All below are called with the lock held, except where they say otherwise.

    Status take_chunks(uint32_t max_marks, std::vector<QueryChunk>& out) {
        const uint32_t count = (max_marks + kQueriesPerChunk - 1) / kQueriesPerChunk;
        Status status;
        while (out.size() < count && status.ok()) {
            const std::optional<QueryChunk> chunk = chunks.take();
            if (!chunk) {
                const VkResult error = chunks.last_error();
                status = error == VK_SUCCESS ? Error{Errc::kExhausted, 0, "all timestamp queries are in flight"}
                                             : Error{Errc::kDriver, error, "vkCreateQueryPool failed"};
                break;
            }
            out.push_back(*chunk);
            status = slabs.provide(chunk->pool_index, kQueriesPerChunk * kChunksPerPool);
        }
        if (!status.ok())
            for (const QueryChunk& chunk : out) chunks.give_back(chunk);
        return status;
    }

    void reset_queries(VkCommandBuffer commands, const Recording& recording) {
        for (const QueryRun& run : recording.all_runs()) {
            slabs.clear(run);
            if (host_reset) {
                table.ResetQueryPool(device, run.pool, run.first, run.count);
            } else {
                table.CmdResetQueryPool(commands, run.pool, run.first, run.count);
            }
        }
    }

    void retire(RecordingPtr recording) {
        recording->close(chunks);
        spare.push_back(std::move(recording));
    }

    bool is_complete(const Submission& submission) {
        const VulkanCompletion& by = submission.completion;
        if (submission.complete) return true;
        VkResult result = VK_NOT_READY;
        if (by.fence != VK_NULL_HANDLE) {
            result = table.GetFenceStatus(device, by.fence);
            ++stats.status_checks;
        } else if (by.timeline != VK_NULL_HANDLE && table.GetSemaphoreCounterValue != nullptr) {
            uint64_t value = 0;
            result = table.GetSemaphoreCounterValue(device, by.timeline, &value);
            ++stats.status_checks;
            if (result == VK_SUCCESS && value < by.value) result = VK_NOT_READY;
        }
        if (result == VK_ERROR_DEVICE_LOST) lost.store(true, std::memory_order_relaxed);
        return result == VK_SUCCESS;
    }

    // A signalled fence or timeline value covers everything that was submitted to its queue before (Vulkan 1.3, 7.3
    // and 7.4: the first synchronisation scope includes all earlier submission order), so the last one that is complete
    // completes those before it.
    void advance(Stream& stream) {
        std::size_t done = 0;
        for (std::size_t i = 0; i < stream.in_flight.size() && !is_lost(); ++i) {
            const Submission& submission = stream.in_flight[i];
            if (is_complete(submission)) {
                done = i + 1;
            } else if (submission.completion.fence != VK_NULL_HANDLE ||
                       submission.completion.timeline != VK_NULL_HANDLE) {
                break;    // later ones cannot be complete either; those without a handle are completed by later ones
            }
        }
        for (; done > 0; --done) {
            for (RecordingPtr& recording : stream.in_flight.front().recordings) {
                stats.failed_marks += recording->resolve(slabs, slots);
                retire(std::move(recording));
            }
            stream.in_flight.pop_front();
        }
    }

    void advance_all() {
        for (const std::unique_ptr<Stream>& stream : streams) {
            if (is_lost()) return;    // the device is not touched again; at() answers for what is pending
            advance(*stream);
        }
    }

    [[nodiscard]] bool is_lost() const noexcept { return lost.load(std::memory_order_relaxed); }

    const VkDevice device;
    const VkPipelineStageFlagBits stage;
    const DeviceTable table;
    SlotTable slots;
    const DeviceTraits traits;
    bool host_reset = false;
    std::atomic<bool> lost{false};
    std::atomic<bool> closed{false};
    std::atomic<uint64_t> refused_marks{0};

    mutable std::mutex mutex;    // guards all below, and the streams but for Stream::open
    QueryChunks chunks;
    ResultSlabs slabs;
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<RecordingPtr> spare;    // keep their vectors' memory
    Stats stats;
};

namespace {
Stream& stream_of(void* stream) {
    LAPWING_ASSERT(stream != nullptr);
    return *static_cast<Stream*>(stream);
}
}    // namespace

VulkanBackend::VulkanBackend(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
VulkanBackend::~VulkanBackend() = default;

Result<std::unique_ptr<VulkanBackend>> VulkanBackend::create(const VulkanBackendOptions& options) {
    if (options.instance == VK_NULL_HANDLE || options.physical_device == VK_NULL_HANDLE ||
        options.device == VK_NULL_HANDLE || options.get_instance_proc_addr == nullptr)
        return Error{
            Errc::kInvalidArgument, 0,
            "VulkanBackendOptions: instance, physical_device, device, get_instance_proc_addr and max_slots are "
            "required"};
    PFN_vkGetDeviceProcAddr get_device = options.get_device_proc_addr;
    if (get_device == nullptr)
        get_device = reinterpret_cast<PFN_vkGetDeviceProcAddr>(
            options.get_instance_proc_addr(options.instance, "vkGetDeviceProcAddr"));
    if (get_device == nullptr)
        return Error{Errc::kUnsupported, 0, "get_instance_proc_addr offers no vkGetDeviceProcAddr for this instance"};
    const InstanceTable instance = InstanceTable::load(options.instance, options.get_instance_proc_addr);
    const DeviceTable device = DeviceTable::load(options.device, get_device);
    if (const char* missing = missing_function(instance, device)) return Error{Errc::kUnsupported, 0, missing};
    return std::unique_ptr<VulkanBackend>(new VulkanBackend(std::make_unique<Impl>(options, instance, device)));
}

Result<VulkanBackend::Queue> VulkanBackend::open_queue(uint32_t queue_family) {
    if (queue_family >= impl_->traits.families.size())
        return Error{Errc::kInvalidArgument, 0, "the device has no queue family " + std::to_string(queue_family)};
    auto stream = std::make_unique<Stream>();
    stream->family = queue_family;
    stream->usable = impl_->traits.caps(queue_family).valid_bits > 0;
    const std::lock_guard lock(impl_->mutex);
    impl_->streams.push_back(std::move(stream));
    return Queue(impl_->streams.back().get());
}

Status VulkanBackend::begin_commands(Queue& queue, VkCommandBuffer commands, uint32_t max_marks) {
    Stream& stream = stream_of(queue.stream_);
    if (commands == VK_NULL_HANDLE || max_marks == 0 || max_marks > kMostMarks)
        return Error{Errc::kInvalidArgument, 0, "begin_commands: max_marks must be 1 .. 65536"};
    const std::lock_guard lock(impl_->mutex);
    if (impl_->closed.load(std::memory_order_relaxed) || stream.open != nullptr)
        return Error{Errc::kInvalidArgument, 0, "begin_commands: call end_commands() first, and not after shutdown()"};
    if (!stream.usable) return Error{Errc::kUnsupported, 0, impl_->traits.caps(stream.family).reason};
    if (impl_->is_lost()) return Error{Errc::kDeviceLost, VK_ERROR_DEVICE_LOST, "the device is lost"};
    std::vector<QueryChunk> chunks;
    if (Status status = impl_->take_chunks(max_marks, chunks); !status.ok()) return status;

    RecordingPtr recording;
    if (impl_->spare.empty()) {
        recording = std::make_unique<Recording>();
    } else {
        recording = std::move(impl_->spare.back());
        impl_->spare.pop_back();
    }
    recording->open(commands, std::move(chunks), kQueriesPerChunk, max_marks);
    impl_->reset_queries(commands, *recording);
    impl_->stats.query_pools = impl_->chunks.pools();
    stream.open = std::move(recording);
    return {};
}

void VulkanBackend::end_commands(Queue& queue) noexcept {
    Stream& stream = stream_of(queue.stream_);
    const std::lock_guard lock(impl_->mutex);
    if (stream.open == nullptr) return;
    RecordingPtr recording = std::move(stream.open);
    impl_->stats.marks += recording->marks();
    if (!impl_->is_lost()) {
        for (const QueryRun& run : recording->used_runs()) impl_->slabs.record_copy(recording->commands(), run);
        if (recording->marks() > 0) record_host_barrier(impl_->table, recording->commands());
    }
    stream.ended.push_back(std::move(recording));
}

void VulkanBackend::submitted(Queue& queue, const VulkanCompletion& completion) noexcept {
    Stream& stream = stream_of(queue.stream_);
    const std::lock_guard lock(impl_->mutex);
    if (stream.ended.empty()) return;
    stream.in_flight.push_back({std::exchange(stream.ended, {}), completion, false});
}

void VulkanBackend::discarded(Queue& queue) noexcept {
    Stream& stream = stream_of(queue.stream_);
    const std::lock_guard lock(impl_->mutex);
    for (RecordingPtr& recording : stream.ended) {
        impl_->stats.failed_marks += recording->marks();
        recording->resolve_all(StampState::kFailed, impl_->slots);
        impl_->retire(std::move(recording));
    }
    stream.ended.clear();
}

void VulkanBackend::completed(Queue& queue) noexcept {
    Stream& stream = stream_of(queue.stream_);
    const std::lock_guard lock(impl_->mutex);
    for (Submission& submission : stream.in_flight) submission.complete = true;
}

void VulkanBackend::release_fence(VkFence fence) noexcept {
    if (fence == VK_NULL_HANDLE) return;
    const std::lock_guard lock(impl_->mutex);
    for (const std::unique_ptr<Stream>& stream : impl_->streams) {
        for (Submission& submission : stream->in_flight) {
            if (submission.completion.fence != fence) continue;
            submission.complete = true;
            submission.completion.fence = VK_NULL_HANDLE;
        }
    }
}

void VulkanBackend::device_lost() noexcept {
    impl_->lost.store(true, std::memory_order_relaxed);
}

Status VulkanBackend::shutdown() {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->closed.load(std::memory_order_relaxed)) return {};
    impl_->advance_all();
    if (!impl_->is_lost()) {
        for (const std::unique_ptr<Stream>& stream : impl_->streams) {
            if (stream->open != nullptr || !stream->ended.empty())
                return Error{Errc::kInvalidArgument, 0,
                             "shutdown: a recording was neither submitted() nor discarded()"};
            if (!stream->in_flight.empty())
                return Error{Errc::kInvalidArgument, 0,
                             "shutdown: a submission is not complete; wait for the device first"};
        }
        impl_->chunks.destroy();
        impl_->slabs.destroy();
    }
    impl_->closed.store(true, std::memory_order_relaxed);
    return {};
}

VulkanBackend::Stats VulkanBackend::stats() const noexcept {
    const std::lock_guard lock(impl_->mutex);
    Stats out = impl_->stats;
    out.refused_marks = impl_->refused_marks.load(std::memory_order_relaxed);
    return out;
}

Caps VulkanBackend::caps(const Queue& queue) const {
    return impl_->traits.caps(stream_of(queue.stream_).family);
}

bool VulkanBackend::reserve(uint32_t first, uint32_t count) noexcept {
    const std::lock_guard lock(impl_->mutex);
    return impl_->slots.reserve(first, count);
}

bool VulkanBackend::mark(Queue& queue, uint32_t slot) noexcept {
    Stream& stream = stream_of(queue.stream_);
    Impl& impl = *impl_;
    const bool recorded = stream.open != nullptr && impl.slots.has(slot) && !impl.is_lost() &&
                          stream.open->mark(impl.table, impl.stage, impl.slots, slot);
    if (!recorded) impl.refused_marks.fetch_add(1, std::memory_order_relaxed);
    return recorded;
}

void VulkanBackend::poll(std::span<const uint32_t> slots, std::span<Stamp> out) noexcept {
    LAPWING_ASSERT(out.size() >= slots.size());
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->advance_all();
    }
    const bool lost = impl_->is_lost();
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (!impl_->slots.has(slots[i])) {
            out[i] = {Ticks{}, StampState::kFailed};
            continue;
        }
        out[i] = impl_->slots.at(slots[i]);
        if (out[i].state == StampState::kPending && lost) out[i].state = StampState::kLost;
    }
}

Result<ClockAnchor> VulkanBackend::calibrate(Queue& queue) {
    if (impl_->is_lost()) return Error{Errc::kDeviceLost, VK_ERROR_DEVICE_LOST, "the device is lost"};
    if (!stream_of(queue.stream_).usable)
        return Error{Errc::kUnsupported, 0, impl_->traits.caps(stream_of(queue.stream_).family).reason};
    auto anchor = vulkan::calibrate(impl_->table, impl_->device, impl_->traits);
    if (!anchor.ok() && anchor.error().code == Errc::kDeviceLost) device_lost();
    return anchor;
}

static_assert(Backend<VulkanBackend>);

}    // namespace lapwing
