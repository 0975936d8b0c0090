// VK_LAYER_LAPWING_TEST_shape: makes a driver report the clock of a real GPU, so that tick conversion, wrap and polling
// are tested on a real API: ticks of 52.083 ns, 36 valid bits (one wrap an hour), every result NOT_READY for its first
// reads. Load it below the layer under test. Settings: SHAPE_PERIOD (ns), SHAPE_BITS, SHAPE_NOT_READY (reads);
// SHAPE_LOG names a file that gets every result in nanoseconds and in ticks.
//
// Shaped: vkGetPhysicalDeviceProperties and QueueFamilyProperties (and their 2 and KHR forms), vkGetQueryPoolResults,
// vkCmdCopyQueryPoolResults (see shaped_copies.hpp) and the device domain of vkGetCalibratedTimestampsEXT. Only
// timestamp queries are touched. The driver below must count in nanoseconds, as lavapipe and SwiftShader do.
#include <set>
#include <vector>

#include "layer.hpp"
#include "shaped_clock.hpp"
#include "shaped_copies.hpp"

namespace fakes {
namespace {

#define SHAPED_FUNCTIONS(X)                                  \
    X(GetQueryPoolResults, get_query_pool_results)           \
    X(CreateQueryPool, create_query_pool)                    \
    X(DestroyQueryPool, destroy_query_pool)                  \
    X(CmdCopyQueryPoolResults, cmd_copy_query_pool_results)  \
    X(GetCalibratedTimestampsEXT, get_calibrated_timestamps) \
    X(AllocateMemory, allocate_memory)                       \
    X(FreeMemory, free_memory)                               \
    X(MapMemory, map_memory)                                 \
    X(UnmapMemory, unmap_memory)                             \
    X(BindBufferMemory, bind_buffer_memory)                  \
    X(BindBufferMemory2, bind_buffer_memory2)                \
    X(DestroyBuffer, destroy_buffer)                         \
    X(BeginCommandBuffer, begin_command_buffer)              \
    X(ResetCommandBuffer, reset_command_buffer)              \
    X(CmdExecuteCommands, cmd_execute_commands)              \
    X(QueueSubmit, queue_submit)                             \
    X(QueueSubmit2, queue_submit2)

#define SHAPED_DEVICE_QUERIES(X)                                     \
    X(GetPhysicalDeviceProperties, get_properties)                   \
    X(GetPhysicalDeviceProperties2, get_properties2)                 \
    X(GetPhysicalDeviceQueueFamilyProperties, get_family_properties) \
    X(GetPhysicalDeviceQueueFamilyProperties2, get_family_properties2)

const ShapedClock& shaped_clock() {
    static const ShapedClock clock;
    return clock;
}

ResultLog& result_log() {
    static auto* const log = new ResultLog;
    return *log;
}

struct ShapeLayer {
    struct Instance {
#define MEMBER(name, hook) PFN_vk##name name = nullptr;
        SHAPED_DEVICE_QUERIES(MEMBER)
#undef MEMBER
        PFN_vkGetPhysicalDeviceMemoryProperties GetPhysicalDeviceMemoryProperties = nullptr;

        void load(VkInstance instance, PFN_vkGetInstanceProcAddr next) {
#define LOAD(name, hook)                                               \
    name = reinterpret_cast<PFN_vk##name>(next(instance, "vk" #name)); \
    if (name == nullptr) name = reinterpret_cast<PFN_vk##name>(next(instance, "vk" #name "KHR"));
            SHAPED_DEVICE_QUERIES(LOAD)
#undef LOAD
            GetPhysicalDeviceMemoryProperties = reinterpret_cast<PFN_vkGetPhysicalDeviceMemoryProperties>(
                next(instance, "vkGetPhysicalDeviceMemoryProperties"));
        }
    };
    struct Device {
#define MEMBER(name, hook) PFN_vk##name name = nullptr;
        SHAPED_FUNCTIONS(MEMBER)
#undef MEMBER
        ShapedCopies copies;
        LateResults late;
        std::mutex mutex;
        std::set<VkQueryPool> timestamp_pools;

        void load(VkDevice device, PFN_vkGetDeviceProcAddr next, Instance& instance, VkPhysicalDevice physical) {
#define LOAD(name, hook) name = reinterpret_cast<PFN_vk##name>(find_device_function(next, device, "vk" #name));
            SHAPED_FUNCTIONS(LOAD)
#undef LOAD
            VkPhysicalDeviceMemoryProperties memory{};
            instance.GetPhysicalDeviceMemoryProperties(physical, &memory);
            copies.open(device, next, memory);
        }
        void close() {
            copies.close();
        }
        bool is_timestamp_pool(VkQueryPool pool) {
            const std::lock_guard lock(mutex);
            return timestamp_pools.contains(pool);
        }
    };
    static PFN_vkVoidFunction find_hook(const char* name);
};
using Chain = Layer<ShapeLayer>;

VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties* out) {
    Chain::instance(physical).GetPhysicalDeviceProperties(physical, out);
    out->limits.timestampPeriod = shaped_clock().period();
}

VKAPI_ATTR void VKAPI_CALL get_properties2(VkPhysicalDevice physical, VkPhysicalDeviceProperties2* out) {
    Chain::instance(physical).GetPhysicalDeviceProperties2(physical, out);
    out->properties.limits.timestampPeriod = shaped_clock().period();
}

// A family without timestamps keeps its 0.
void shape_family(VkQueueFamilyProperties& family) {
    if (family.timestampValidBits != 0) family.timestampValidBits = shaped_clock().bits();
}

VKAPI_ATTR void VKAPI_CALL get_family_properties(VkPhysicalDevice physical, uint32_t* count,
                                                 VkQueueFamilyProperties* out) {
    Chain::instance(physical).GetPhysicalDeviceQueueFamilyProperties(physical, count, out);
    for (uint32_t i = 0; out != nullptr && i < *count; ++i) shape_family(out[i]);
}

VKAPI_ATTR void VKAPI_CALL get_family_properties2(VkPhysicalDevice physical, uint32_t* count,
                                                  VkQueueFamilyProperties2* out) {
    Chain::instance(physical).GetPhysicalDeviceQueueFamilyProperties2(physical, count, out);
    for (uint32_t i = 0; out != nullptr && i < *count; ++i) shape_family(out[i].queueFamilyProperties);
}

VKAPI_ATTR VkResult VKAPI_CALL get_query_pool_results(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count,
                                                      std::size_t size, void* data, VkDeviceSize stride,
                                                      VkQueryResultFlags flags) {
    auto& state = Chain::device(device);
    if (!state.is_timestamp_pool(pool))
        return state.GetQueryPoolResults(device, pool, first, count, size, data, stride, flags);
    const bool waits = (flags & VK_QUERY_RESULT_WAIT_BIT) != 0;
    std::vector<RawResult> raw(count);
    const VkResult result = state.GetQueryPoolResults(
        device, pool, first, count, count * sizeof(RawResult), raw.data(), sizeof(RawResult),
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT | (waits ? VK_QUERY_RESULT_WAIT_BIT : 0));
    if (result != VK_SUCCESS && result != VK_NOT_READY) return result;
    bool all_available = true;
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t ticks = shaped_clock().ticks(raw[i].ns);
        const bool available = raw[i].available != 0 && (waits || !state.late.holds_back(pool, first + i, raw[i].ns));
        if (available) result_log().write(raw[i].ns, ticks);
        write_result(static_cast<char*>(data) + i * stride, ticks, available, flags);
        all_available = all_available && available;
    }
    return all_available ? VK_SUCCESS : VK_NOT_READY;
}

VKAPI_ATTR VkResult VKAPI_CALL create_query_pool(VkDevice device, const VkQueryPoolCreateInfo* info,
                                                 const VkAllocationCallbacks* allocator, VkQueryPool* out) {
    auto& state = Chain::device(device);
    const VkResult result = state.CreateQueryPool(device, info, allocator, out);
    if (result != VK_SUCCESS || info->queryType != VK_QUERY_TYPE_TIMESTAMP) return result;
    const std::lock_guard lock(state.mutex);
    state.timestamp_pools.insert(*out);
    return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_query_pool(VkDevice device, VkQueryPool pool,
                                              const VkAllocationCallbacks* allocator) {
    auto& state = Chain::device(device);
    state.late.forget(pool);
    {
        const std::lock_guard lock(state.mutex);
        state.timestamp_pools.erase(pool);
    }
    state.DestroyQueryPool(device, pool, allocator);
}

VKAPI_ATTR void VKAPI_CALL cmd_copy_query_pool_results(VkCommandBuffer commands, VkQueryPool pool, uint32_t first,
                                                       uint32_t count, VkBuffer destination, VkDeviceSize offset,
                                                       VkDeviceSize stride, VkQueryResultFlags flags) {
    auto& state = Chain::device(commands);
    if (state.is_timestamp_pool(pool)) {
        if (state.copies.record(commands, pool, first, count, destination, offset, stride, flags)) return;
        std::fputs("shape layer: results copied into memory the host cannot see stay unshaped\n", stderr);
    }
    state.CmdCopyQueryPoolResults(commands, pool, first, count, destination, offset, stride, flags);
}

VKAPI_ATTR VkResult VKAPI_CALL get_calibrated_timestamps(VkDevice device, uint32_t count,
                                                         const VkCalibratedTimestampInfoEXT* infos, uint64_t* out,
                                                         uint64_t* max_deviation) {
    const VkResult result = Chain::device(device).GetCalibratedTimestampsEXT(device, count, infos, out, max_deviation);
    if (result != VK_SUCCESS) return result;
    for (uint32_t i = 0; i < count; ++i)
        if (infos[i].timeDomain == VK_TIME_DOMAIN_DEVICE_EXT) out[i] = shaped_clock().ticks(out[i]);
    *max_deviation += shaped_clock().resolution_ns();
    return result;
}

// Host-visible memory is mapped whole for as long as it lives, since it cannot be mapped twice.
VKAPI_ATTR VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info,
                                               const VkAllocationCallbacks* allocator, VkDeviceMemory* out) {
    auto& state = Chain::device(device);
    const VkResult result = state.AllocateMemory(device, info, allocator, out);
    if (result == VK_SUCCESS) state.copies.memory_allocated(*out, info->memoryTypeIndex);
    return result;
}

VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* allocator) {
    auto& state = Chain::device(device);
    state.copies.memory_freed(memory);
    state.FreeMemory(device, memory, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL map_memory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                          VkDeviceSize size, VkMemoryMapFlags flags, void** out) {
    auto& state = Chain::device(device);
    void* const address = state.copies.address_of(memory);
    if (address == nullptr) return state.MapMemory(device, memory, offset, size, flags, out);
    *out = static_cast<char*>(address) + offset;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL unmap_memory(VkDevice device, VkDeviceMemory memory) {
    auto& state = Chain::device(device);
    if (state.copies.address_of(memory) == nullptr) state.UnmapMemory(device, memory);
}

VKAPI_ATTR VkResult VKAPI_CALL bind_buffer_memory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                                  VkDeviceSize offset) {
    auto& state = Chain::device(device);
    state.copies.buffer_bound(buffer, memory, offset);
    return state.BindBufferMemory(device, buffer, memory, offset);
}

VKAPI_ATTR VkResult VKAPI_CALL bind_buffer_memory2(VkDevice device, uint32_t count,
                                                   const VkBindBufferMemoryInfo* infos) {
    auto& state = Chain::device(device);
    for (uint32_t i = 0; i < count; ++i)
        state.copies.buffer_bound(infos[i].buffer, infos[i].memory, infos[i].memoryOffset);
    return state.BindBufferMemory2(device, count, infos);
}

VKAPI_ATTR void VKAPI_CALL destroy_buffer(VkDevice device, VkBuffer buffer, const VkAllocationCallbacks* allocator) {
    auto& state = Chain::device(device);
    state.copies.buffer_destroyed(buffer);
    state.DestroyBuffer(device, buffer, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL begin_command_buffer(VkCommandBuffer commands, const VkCommandBufferBeginInfo* info) {
    auto& state = Chain::device(commands);
    state.copies.recording_dropped(commands);
    return state.BeginCommandBuffer(commands, info);
}

VKAPI_ATTR VkResult VKAPI_CALL reset_command_buffer(VkCommandBuffer commands, VkCommandBufferResetFlags flags) {
    auto& state = Chain::device(commands);
    state.copies.recording_dropped(commands);
    return state.ResetCommandBuffer(commands, flags);
}

VKAPI_ATTR void VKAPI_CALL cmd_execute_commands(VkCommandBuffer primary, uint32_t count,
                                                const VkCommandBuffer* secondaries) {
    auto& state = Chain::device(primary);
    for (uint32_t i = 0; i < count; ++i) state.copies.secondary_executed(primary, secondaries[i]);
    state.CmdExecuteCommands(primary, count, secondaries);
}

VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
    auto& state = Chain::device(queue);
    const VkResult result = state.QueueSubmit(queue, count, infos, fence);
    if (result != VK_SUCCESS) return result;
    std::vector<VkCommandBuffer> commands;
    for (uint32_t i = 0; i < count; ++i)
        commands.insert(commands.end(), infos[i].pCommandBuffers,
                        infos[i].pCommandBuffers + infos[i].commandBufferCount);
    state.copies.finish(queue, commands, shaped_clock(), result_log());
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL queue_submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
    auto& state = Chain::device(queue);
    const VkResult result = state.QueueSubmit2(queue, count, infos, fence);
    if (result != VK_SUCCESS) return result;
    std::vector<VkCommandBuffer> commands;
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < infos[i].commandBufferInfoCount; ++k)
            commands.push_back(infos[i].pCommandBufferInfos[k].commandBuffer);
    state.copies.finish(queue, commands, shaped_clock(), result_log());
    return result;
}

PFN_vkVoidFunction ShapeLayer::find_hook(const char* name) {
#define FIND(function, hook) \
    if (names_function(name, "vk" #function)) return reinterpret_cast<PFN_vkVoidFunction>(hook);
    SHAPED_DEVICE_QUERIES(FIND)
    SHAPED_FUNCTIONS(FIND)
#undef FIND
    return nullptr;
}

}    // namespace
}    // namespace fakes

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
    return fakes::Chain::negotiate(version);
}
