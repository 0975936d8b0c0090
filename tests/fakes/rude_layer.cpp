// VK_LAYER_LAPWING_TEST_rude: does what a timing layer must never do, so that tests can show that the witnesses would
// see it. After every submit it waits for the queue (RUDE=wait), reads a result while the device is busy (RUDE=read),
// or does that in a way that validation below must notice (RUDE=invalid). With RUDE unset it does nothing.
#include <cstdlib>
#include <string_view>

#include "layer.hpp"

namespace fakes {
namespace {

struct RudeLayer {
    struct Instance {
        void load(VkInstance, PFN_vkGetInstanceProcAddr) {}
    };
    struct Device {
        VkDevice handle = VK_NULL_HANDLE;
        VkQueryPool pool = VK_NULL_HANDLE;
        PFN_vkQueueSubmit QueueSubmit = nullptr;
        PFN_vkQueueWaitIdle QueueWaitIdle = nullptr;
        PFN_vkGetQueryPoolResults GetQueryPoolResults = nullptr;
        PFN_vkDestroyQueryPool DestroyQueryPool = nullptr;

        void load(VkDevice device, PFN_vkGetDeviceProcAddr next, Instance&, VkPhysicalDevice) {
            handle = device;
#define LOAD(name) name = reinterpret_cast<PFN_vk##name>(next(device, "vk" #name));
            LOAD(QueueSubmit)
            LOAD(QueueWaitIdle)
            LOAD(GetQueryPoolResults)
            LOAD(DestroyQueryPool)
#undef LOAD
            const auto create = reinterpret_cast<PFN_vkCreateQueryPool>(next(device, "vkCreateQueryPool"));
            VkQueryPoolCreateInfo info{};
            info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
            info.queryType = VK_QUERY_TYPE_TIMESTAMP;
            info.queryCount = 1;
            create(device, &info, nullptr, &pool);
        }
        void close() {
            DestroyQueryPool(handle, pool, nullptr);
        }
    };
    static PFN_vkVoidFunction find_hook(const char* name);
};
using Chain = Layer<RudeLayer>;

VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
    auto& state = Chain::device(queue);
    const VkResult result = state.QueueSubmit(queue, count, infos, fence);
    const char* const setting = std::getenv("RUDE");
    const std::string_view rude = setting != nullptr ? setting : "";
    uint64_t value = 0;
    // A stride that is no multiple of 8 is invalid for 64-bit results, and harmless for one.
    const VkDeviceSize stride = rude == "invalid" ? 4 : 8;
    if (rude == "wait") state.QueueWaitIdle(queue);
    if (rude == "read" || rude == "invalid")
        state.GetQueryPoolResults(state.handle, state.pool, 0, 1, sizeof value, &value, stride, VK_QUERY_RESULT_64_BIT);
    return result;
}

PFN_vkVoidFunction RudeLayer::find_hook(const char* name) {
    if (names_function(name, "vkQueueSubmit")) return reinterpret_cast<PFN_vkVoidFunction>(queue_submit);
    return nullptr;
}

}    // namespace
}    // namespace fakes

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
    return fakes::Chain::negotiate(version);
}
