// The wrappers that count what a timing tool must not call.
#include <vulkan/vulkan.h>

#include <cstring>

#include "conformance/vulkan_harness.hpp"

namespace lapwing::testing {
namespace {

std::atomic<uint64_t> g_waits{0};
std::atomic<uint64_t> g_result_reads{0};

VkResult VKAPI_CALL counted_wait_for_fences(VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all,
                                            uint64_t timeout) {
    ++g_waits;
    return vkWaitForFences(device, count, fences, all, timeout);
}
VkResult VKAPI_CALL counted_wait_semaphores(VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout) {
    ++g_waits;
    return vkWaitSemaphores(device, info, timeout);
}
VkResult VKAPI_CALL counted_queue_wait_idle(VkQueue queue) {
    ++g_waits;
    return vkQueueWaitIdle(queue);
}
VkResult VKAPI_CALL counted_device_wait_idle(VkDevice device) {
    ++g_waits;
    return vkDeviceWaitIdle(device);
}
VkResult VKAPI_CALL counted_get_results(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count,
                                        std::size_t size, void* data, VkDeviceSize stride, VkQueryResultFlags flags) {
    ++g_result_reads;
    return vkGetQueryPoolResults(device, pool, first, count, size, data, stride, flags);
}

PFN_vkVoidFunction VKAPI_CALL counting_device_entry(VkDevice device, const char* name) {
    if (std::strcmp(name, "vkWaitForFences") == 0) return reinterpret_cast<PFN_vkVoidFunction>(counted_wait_for_fences);
    if (std::strcmp(name, "vkWaitSemaphores") == 0)
        return reinterpret_cast<PFN_vkVoidFunction>(counted_wait_semaphores);
    if (std::strcmp(name, "vkQueueWaitIdle") == 0) return reinterpret_cast<PFN_vkVoidFunction>(counted_queue_wait_idle);
    if (std::strcmp(name, "vkDeviceWaitIdle") == 0)
        return reinterpret_cast<PFN_vkVoidFunction>(counted_device_wait_idle);
    if (std::strcmp(name, "vkGetQueryPoolResults") == 0)
        return reinterpret_cast<PFN_vkVoidFunction>(counted_get_results);
    return vkGetDeviceProcAddr(device, name);
}

}    // namespace

ForbiddenCalls forbidden_calls() {
    return {g_waits.load(), g_result_reads.load()};
}
void reset_forbidden_calls() {
    g_waits = 0;
    g_result_reads = 0;
}

PFN_vkVoidFunction VKAPI_CALL counting_instance_entry(VkInstance instance, const char* name) {
    if (std::strcmp(name, "vkGetDeviceProcAddr") == 0)
        return reinterpret_cast<PFN_vkVoidFunction>(counting_device_entry);
    return vkGetInstanceProcAddr(instance, name);
}

}    // namespace lapwing::testing
