// A Vulkan driver in the test's own process: scripted clocks and faults, no loader, no device.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backends/vulkan/entry_points.hpp"

namespace lapwing::testing {

/// One command of a fake command buffer.
struct FakeCommand {
    enum class Kind { kReset, kStamp, kCopy, kBarrier } kind;
    VkQueryPool pool = VK_NULL_HANDLE;
    uint32_t first = 0;
    uint32_t count = 0;
    VkBuffer buffer = VK_NULL_HANDLE;
    uint64_t offset = 0;
    VkQueryResultFlags flags = 0;
};

/// What the driver says and does; a test sets the script and looks at what was called. One at a time, not thread-safe.
struct FakeDriver {
    FakeDriver();    ///< becomes the driver that the entry points reach
    ~FakeDriver();
    FakeDriver(const FakeDriver&) = delete;
    FakeDriver& operator=(const FakeDriver&) = delete;

    // The script.
    std::string device_name = "Fake GPU";
    VkDriverId driver_id = VK_DRIVER_ID_MESA_RADV;
    std::string driver_name = "fake";
    std::string driver_info = "1.2.3";
    uint32_t api_version = VK_API_VERSION_1_3;
    float period = 52.083F;
    std::vector<VkQueueFamilyProperties> families;    ///< starts with one of graphics, compute and transfer, 36 bits
    std::vector<VkTimeDomainEXT> domains{VK_TIME_DOMAIN_DEVICE_EXT, VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT};
    int64_t host_time_error_ns = 0;    ///< added to what calibrated timestamps say about the host clock
    int64_t calibrate_takes_ns = 0;    ///< how long a reading of both clocks takes
    VkResult calibrate_result = VK_SUCCESS;
    VkResult create_query_pool_result = VK_SUCCESS;
    VkResult allocate_memory_result = VK_SUCCESS;
    VkResult fence_result = VK_NOT_READY;    ///< of fences that are not in `signalled`
    VkResult read_result = VK_SUCCESS;       ///< of vkGetQueryPoolResults
    uint32_t not_ready_reads = 0;            ///< so many vkGetQueryPoolResults find nothing yet
    bool writes_results = true;              ///< false: reads and copies leave memory as it is (the mock ICD)
    uint64_t availability = 1;               ///< SwiftShader: 2
    uint64_t next_tick = 1000;               ///< each stamp takes this and adds 100
    std::vector<std::string> missing;        ///< full names that the driver does not offer
    /// By name without "vk": the result of every call of it from the `first`-th on (1 = all). For calls that create or
    /// record what results are read with.
    struct Failure {
        VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
        uint64_t first = 1;
    };
    std::map<std::string, Failure> failures;
    uint64_t timeline_value = 0;

    // What happened.
    std::map<std::string, uint64_t> calls;    ///< by name without "vk"
    std::map<VkCommandBuffer, std::vector<FakeCommand>> commands;
    std::vector<uint32_t> pool_families;    ///< of each vkCreateCommandPool
    std::vector<VkFence> signalled;
    std::vector<VkQueryResultFlags> read_flags;
    std::vector<std::pair<uint32_t, uint32_t>> reads;    ///< first query and count of each read
    uint64_t live_objects = 0;                           ///< created and not destroyed

    [[nodiscard]] uint64_t total_calls() const;
    /// What `failures` says to this call, which is already counted.
    [[nodiscard]] VkResult answer(const std::string& name) const;

    /// Runs a command buffer as a submission would.
    void execute(VkCommandBuffer commands);
    void signal(VkFence fence) { signalled.push_back(fence); }

    [[nodiscard]] static PFN_vkVoidFunction VKAPI_CALL instance_entry(VkInstance, const char* name);
    [[nodiscard]] static PFN_vkVoidFunction VKAPI_CALL device_entry(VkDevice, const char* name);
    [[nodiscard]] static vulkan::InstanceTable instance_table();
    [[nodiscard]] static vulkan::DeviceTable device_table();

    /// A made-up handle.
    template <class Handle>
    [[nodiscard]] static Handle handle(uint64_t number) {
        return reinterpret_cast<Handle>(number);
    }
    [[nodiscard]] static VkInstance instance() { return handle<VkInstance>(0x10); }
    [[nodiscard]] static VkPhysicalDevice physical_device() { return handle<VkPhysicalDevice>(0x20); }
    [[nodiscard]] static VkDevice device() { return handle<VkDevice>(0x30); }

    struct Query {
        uint64_t ticks = 0;
        bool available = false;
        bool reset = false;
    };
    std::map<VkQueryPool, std::vector<Query>> pools;
    std::map<VkBuffer, uint64_t> buffer_bytes;
    std::map<VkBuffer, VkDeviceMemory> bound;
    std::map<VkDeviceMemory, std::vector<uint64_t>> memory;
    uint64_t next_handle = 0x1000;
};

}    // namespace lapwing::testing
