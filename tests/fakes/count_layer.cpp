// VK_LAYER_LAPWING_TEST_count: an independent count of what a program makes the device execute.
//
// Commands are counted into their command buffer when they are recorded, and summed when the buffer is *submitted*,
// once for each time it is. What was recorded and never submitted does not count; what was submitted five times counts
// five times. Secondary buffers count where they are executed, and also apart (`in_secondaries`).
//
// What counts as what:
//   dispatches     vkCmdDispatch, vkCmdDispatchBase (direct) and vkCmdDispatchIndirect (indirect)
//   copies         copies, blits, resolves and vkCmdUpdateBuffer; not vkCmdCopyQueryPoolResults
//   fills          vkCmdFillBuffer and clears outside a render pass; not vkCmdClearAttachments
//   timestamps     vkCmdWriteTimestamp and vkCmdWriteTimestamp2
//   render_passes  vkCmdBeginRenderPass, vkCmdBeginRenderPass2, vkCmdBeginRendering
//
// The totals of the whole process go to the file named by VK_COUNT_OUT at vkDestroyDevice and at exit, as one JSON
// object.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "layer.hpp"

namespace fakes {
namespace {

enum Counter : std::size_t {
    kDispatchesDirect = 0,
    kDispatchesBase,
    kDispatchesIndirect,
    kCopies,
    kFills,
    kRenderPasses,
    kQueryCopies,
    kTimestamps,
    kCounterCount,
};

struct Counts {
    std::array<uint64_t, kCounterCount> of{};

    Counts& operator+=(const Counts& other) {
        for (std::size_t i = 0; i < kCounterCount; ++i) of[i] += other.of[i];
        return *this;
    }
    uint64_t dispatches() const { return of[kDispatchesDirect] + of[kDispatchesBase] + of[kDispatchesIndirect]; }
};

// One recording of one command buffer.
struct Recording {
    Counts own;
    Counts of_secondaries;
};

#define COUNTED_COMMANDS(X)                     \
    X(CmdDispatch, kDispatchesDirect)           \
    X(CmdDispatchBase, kDispatchesBase)         \
    X(CmdDispatchIndirect, kDispatchesIndirect) \
    X(CmdCopyBuffer, kCopies)                   \
    X(CmdCopyBuffer2, kCopies)                  \
    X(CmdCopyImage, kCopies)                    \
    X(CmdCopyImage2, kCopies)                   \
    X(CmdCopyBufferToImage, kCopies)            \
    X(CmdCopyBufferToImage2, kCopies)           \
    X(CmdCopyImageToBuffer, kCopies)            \
    X(CmdCopyImageToBuffer2, kCopies)           \
    X(CmdBlitImage, kCopies)                    \
    X(CmdBlitImage2, kCopies)                   \
    X(CmdResolveImage, kCopies)                 \
    X(CmdResolveImage2, kCopies)                \
    X(CmdUpdateBuffer, kCopies)                 \
    X(CmdFillBuffer, kFills)                    \
    X(CmdClearColorImage, kFills)               \
    X(CmdClearDepthStencilImage, kFills)        \
    X(CmdBeginRenderPass, kRenderPasses)        \
    X(CmdBeginRenderPass2, kRenderPasses)       \
    X(CmdBeginRendering, kRenderPasses)         \
    X(CmdCopyQueryPoolResults, kQueryCopies)    \
    X(CmdWriteTimestamp, kTimestamps)           \
    X(CmdWriteTimestamp2, kTimestamps)

#define WATCHED_FUNCTIONS(X) \
    X(BeginCommandBuffer)    \
    X(ResetCommandBuffer)    \
    X(CmdExecuteCommands)    \
    X(QueueSubmit)           \
    X(QueueSubmit2)

struct Table {
#define MEMBER(name, ...) PFN_vk##name name = nullptr;
    COUNTED_COMMANDS(MEMBER)
    WATCHED_FUNCTIONS(MEMBER)
#undef MEMBER
};

// Totals of the process: all devices together, so that a program may open several in turn.
struct Totals {
    std::mutex mutex;
    std::map<VkCommandBuffer, Recording> recordings;
    Counts recorded;
    Counts executed;
    Counts in_secondaries;
    uint64_t submits = 0;
    uint64_t empty_submits = 0;
    uint64_t command_buffers = 0;
};

Totals& totals() {
    static auto* const all = new Totals;    // never destroyed: the exit handler reads it
    return *all;
}

void write_counts(std::FILE* file, const char* name, const Counts& counts) {
    std::fprintf(file,
                 "\"%s\":{\"dispatches\":%llu,\"dispatches_direct\":%llu,\"dispatches_base\":%llu,"
                 "\"dispatches_indirect\":%llu,\"copies\":%llu,\"fills\":%llu,\"render_passes\":%llu,"
                 "\"query_copies\":%llu,\"timestamps\":%llu}",
                 name, static_cast<unsigned long long>(counts.dispatches()),
                 static_cast<unsigned long long>(counts.of[kDispatchesDirect]),
                 static_cast<unsigned long long>(counts.of[kDispatchesBase]),
                 static_cast<unsigned long long>(counts.of[kDispatchesIndirect]),
                 static_cast<unsigned long long>(counts.of[kCopies]),
                 static_cast<unsigned long long>(counts.of[kFills]),
                 static_cast<unsigned long long>(counts.of[kRenderPasses]),
                 static_cast<unsigned long long>(counts.of[kQueryCopies]),
                 static_cast<unsigned long long>(counts.of[kTimestamps]));
}

void write_totals() {
    const char* const path = std::getenv("VK_COUNT_OUT");
    if (path == nullptr) return;
    Totals& all = totals();
    const std::lock_guard lock(all.mutex);
    std::FILE* const file = std::fopen(path, "w");
    if (file == nullptr) return;
    std::fputc('{', file);
    write_counts(file, "executed", all.executed);
    std::fputc(',', file);
    write_counts(file, "in_secondaries", all.in_secondaries);
    std::fputc(',', file);
    write_counts(file, "recorded", all.recorded);
    std::fprintf(file, ",\"submits\":%llu,\"empty_submits\":%llu,\"command_buffers\":%llu}\n",
                 static_cast<unsigned long long>(all.submits), static_cast<unsigned long long>(all.empty_submits),
                 static_cast<unsigned long long>(all.command_buffers));
    std::fclose(file);
}

struct CountLayer {
    struct Instance {
        void load(VkInstance, PFN_vkGetInstanceProcAddr) {}
    };
    struct Device {
        Table table;

        void load(VkDevice device, PFN_vkGetDeviceProcAddr next, Instance&, VkPhysicalDevice) {
#define LOAD(name, ...) table.name = reinterpret_cast<PFN_vk##name>(find_device_function(next, device, "vk" #name));
            COUNTED_COMMANDS(LOAD)
            WATCHED_FUNCTIONS(LOAD)
#undef LOAD
            static const bool registered = std::atexit(write_totals) == 0;
            (void)registered;
        }
        void close() {
            write_totals();
        }
    };
    static PFN_vkVoidFunction find_hook(const char* name);
};
using Chain = Layer<CountLayer>;

void count(VkCommandBuffer buffer, Counter counter) {
    Totals& all = totals();
    const std::lock_guard lock(all.mutex);
    ++all.recorded.of[counter];
    ++all.recordings[buffer].own.of[counter];
}

// The hook of a counted command, made from the type of its function pointer.
template <auto Next, Counter kCounter, class Function>
struct CountedCommand;
template <auto Next, Counter kCounter, class... Args>
struct CountedCommand<Next, kCounter, void(VKAPI_PTR*)(VkCommandBuffer, Args...)> {
    static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer buffer, Args... args) {
        count(buffer, kCounter);
        (Chain::device(buffer).table.*Next)(buffer, args...);
    }
};

void forget_recording(VkCommandBuffer buffer) {
    Totals& all = totals();
    const std::lock_guard lock(all.mutex);
    all.recordings[buffer] = {};
}

VKAPI_ATTR VkResult VKAPI_CALL begin_command_buffer(VkCommandBuffer buffer, const VkCommandBufferBeginInfo* info) {
    forget_recording(buffer);
    return Chain::device(buffer).table.BeginCommandBuffer(buffer, info);
}

VKAPI_ATTR VkResult VKAPI_CALL reset_command_buffer(VkCommandBuffer buffer, VkCommandBufferResetFlags flags) {
    forget_recording(buffer);
    return Chain::device(buffer).table.ResetCommandBuffer(buffer, flags);
}

VKAPI_ATTR void VKAPI_CALL cmd_execute_commands(VkCommandBuffer primary, uint32_t count,
                                                const VkCommandBuffer* secondaries) {
    {
        Totals& all = totals();
        const std::lock_guard lock(all.mutex);
        for (uint32_t i = 0; i < count; ++i)
            all.recordings[primary].of_secondaries += all.recordings[secondaries[i]].own;
    }
    Chain::device(primary).table.CmdExecuteCommands(primary, count, secondaries);
}

// A pool reset needs no hook: its buffers can only be submitted again after vkBeginCommandBuffer.
void execute(VkCommandBuffer buffer) {
    Totals& all = totals();
    const std::lock_guard lock(all.mutex);
    const Recording& recording = all.recordings[buffer];
    all.executed += recording.own;
    all.executed += recording.of_secondaries;
    all.in_secondaries += recording.of_secondaries;
    ++all.command_buffers;
}

void count_submit(uint32_t infos) {
    Totals& all = totals();
    const std::lock_guard lock(all.mutex);
    ++all.submits;
    if (infos == 0) ++all.empty_submits;
}

VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
    const VkResult result = Chain::device(queue).table.QueueSubmit(queue, count, infos, fence);
    if (result != VK_SUCCESS) return result;
    count_submit(count);
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < infos[i].commandBufferCount; ++k) execute(infos[i].pCommandBuffers[k]);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL queue_submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
    const VkResult result = Chain::device(queue).table.QueueSubmit2(queue, count, infos, fence);
    if (result != VK_SUCCESS) return result;
    count_submit(count);
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < infos[i].commandBufferInfoCount; ++k)
            execute(infos[i].pCommandBufferInfos[k].commandBuffer);
    return result;
}

PFN_vkVoidFunction CountLayer::find_hook(const char* name) {
#define FIND(function, counter)               \
    if (names_function(name, "vk" #function)) \
        return reinterpret_cast<PFN_vkVoidFunction>(CountedCommand<&Table::function, counter, PFN_vk##function>::call);
    COUNTED_COMMANDS(FIND)
#undef FIND
    if (names_function(name, "vkBeginCommandBuffer")) return reinterpret_cast<PFN_vkVoidFunction>(begin_command_buffer);
    if (names_function(name, "vkResetCommandBuffer")) return reinterpret_cast<PFN_vkVoidFunction>(reset_command_buffer);
    if (names_function(name, "vkCmdExecuteCommands")) return reinterpret_cast<PFN_vkVoidFunction>(cmd_execute_commands);
    if (names_function(name, "vkQueueSubmit")) return reinterpret_cast<PFN_vkVoidFunction>(queue_submit);
    if (names_function(name, "vkQueueSubmit2")) return reinterpret_cast<PFN_vkVoidFunction>(queue_submit2);
    return nullptr;
}

}    // namespace
}    // namespace fakes

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
    return fakes::Chain::negotiate(version);
}
