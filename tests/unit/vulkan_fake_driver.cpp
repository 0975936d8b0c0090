#include "unit/vulkan_fake_driver.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

namespace lapwing::testing {
namespace {

FakeDriver* g_driver = nullptr;

FakeDriver& driver(const char* name) {
    ++g_driver->calls[name];
    return *g_driver;
}

template <class Handle>
void create(FakeDriver& d, Handle* out) {
    *out = FakeDriver::handle<Handle>(d.next_handle += 0x10);
    ++d.live_objects;
}

void copy_text(char* out, std::size_t size, const std::string& text) {
    std::memset(out, 0, size);
    std::memcpy(out, text.data(), std::min(size - 1, text.size()));
}

void VKAPI_CALL GetPhysicalDeviceProperties(VkPhysicalDevice, VkPhysicalDeviceProperties* out) {
    FakeDriver& d = driver("GetPhysicalDeviceProperties");
    *out = {};
    out->apiVersion = d.api_version;
    out->driverVersion = VK_MAKE_API_VERSION(0, 7, 8, 9);
    out->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    copy_text(out->deviceName, sizeof out->deviceName, d.device_name);
    out->limits.timestampPeriod = d.period;
}

void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice physical, VkPhysicalDeviceProperties2* out) {
    FakeDriver& d = driver("GetPhysicalDeviceProperties2");
    GetPhysicalDeviceProperties(physical, &out->properties);
    for (auto* next = static_cast<VkBaseOutStructure*>(out->pNext); next != nullptr; next = next->pNext) {
        if (next->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES) continue;
        auto* properties = reinterpret_cast<VkPhysicalDeviceDriverProperties*>(next);
        properties->driverID = d.driver_id;
        copy_text(properties->driverName, sizeof properties->driverName, d.driver_name);
        copy_text(properties->driverInfo, sizeof properties->driverInfo, d.driver_info);
    }
}

void VKAPI_CALL GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice, uint32_t* count,
                                                       VkQueueFamilyProperties* out) {
    FakeDriver& d = driver("GetPhysicalDeviceQueueFamilyProperties");
    if (out != nullptr) std::copy(d.families.begin(), d.families.end(), out);
    *count = static_cast<uint32_t>(d.families.size());
}

void VKAPI_CALL GetPhysicalDeviceMemoryProperties(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* out) {
    driver("GetPhysicalDeviceMemoryProperties");
    *out = {};
    out->memoryTypeCount = 2;
    out->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    out->memoryTypes[1].propertyFlags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    out->memoryHeapCount = 1;
}

VkResult VKAPI_CALL GetPhysicalDeviceCalibrateableTimeDomainsEXT(VkPhysicalDevice, uint32_t* count,
                                                                 VkTimeDomainEXT* out) {
    FakeDriver& d = driver("GetPhysicalDeviceCalibrateableTimeDomainsEXT");
    if (out != nullptr) std::copy(d.domains.begin(), d.domains.end(), out);
    *count = static_cast<uint32_t>(d.domains.size());
    return VK_SUCCESS;
}

VkResult VKAPI_CALL GetCalibratedTimestampsEXT(VkDevice, uint32_t count, const VkCalibratedTimestampInfoEXT* infos,
                                               uint64_t* times, uint64_t* deviation) {
    FakeDriver& d = driver("GetCalibratedTimestampsEXT");
    std::this_thread::sleep_for(std::chrono::nanoseconds(d.calibrate_takes_ns));
    for (uint32_t i = 0; i < count; ++i) {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        const int64_t host = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec + d.host_time_error_ns;
        times[i] = infos[i].timeDomain == VK_TIME_DOMAIN_DEVICE_EXT ? d.next_tick : static_cast<uint64_t>(host);
    }
    *deviation = 25;
    return d.calibrate_result;
}

VkResult VKAPI_CALL CreateQueryPool(VkDevice, const VkQueryPoolCreateInfo* info, const VkAllocationCallbacks*,
                                    VkQueryPool* out) {
    FakeDriver& d = driver("CreateQueryPool");
    if (d.create_query_pool_result != VK_SUCCESS) return d.create_query_pool_result;
    if (const VkResult failure = d.answer("CreateQueryPool"); failure != VK_SUCCESS) return failure;
    create(d, out);
    d.pools[*out].resize(info->queryCount);
    return VK_SUCCESS;
}

void VKAPI_CALL DestroyQueryPool(VkDevice, VkQueryPool pool, const VkAllocationCallbacks*) {
    FakeDriver& d = driver("DestroyQueryPool");
    d.live_objects -= d.pools.erase(pool);
}

void VKAPI_CALL ResetQueryPool(VkDevice, VkQueryPool pool, uint32_t first, uint32_t count) {
    FakeDriver& d = driver("ResetQueryPool");
    for (uint32_t i = first; i < first + count; ++i) d.pools[pool][i] = {0, false, true};
}

VkResult VKAPI_CALL GetQueryPoolResults(VkDevice, VkQueryPool pool, uint32_t first, uint32_t count, std::size_t,
                                        void* data, VkDeviceSize stride, VkQueryResultFlags flags) {
    FakeDriver& d = driver("GetQueryPoolResults");
    d.read_flags.push_back(flags);
    d.reads.emplace_back(first, count);
    if (const VkResult failure = d.answer("GetQueryPoolResults"); failure != VK_SUCCESS) return failure;
    if (d.read_result < 0 || !d.writes_results) return d.read_result;
    if (d.not_ready_reads > 0) {
        --d.not_ready_reads;
        return VK_NOT_READY;
    }
    bool all = true;
    for (uint32_t i = 0; i < count; ++i) {
        const FakeDriver::Query& query = d.pools[pool][first + i];
        auto* words = reinterpret_cast<uint64_t*>(static_cast<char*>(data) + i * stride);
        words[0] = query.ticks;
        words[1] = query.available ? d.availability : 0;
        all = all && query.available;
    }
    return all ? VK_SUCCESS : VK_NOT_READY;
}

VkResult VKAPI_CALL CreateBuffer(VkDevice, const VkBufferCreateInfo* info, const VkAllocationCallbacks*,
                                 VkBuffer* out) {
    FakeDriver& d = driver("CreateBuffer");
    if (const VkResult failure = d.answer("CreateBuffer"); failure != VK_SUCCESS) return failure;
    create(d, out);
    d.buffer_bytes[*out] = info->size;
    return VK_SUCCESS;
}

void VKAPI_CALL DestroyBuffer(VkDevice, VkBuffer buffer, const VkAllocationCallbacks*) {
    FakeDriver& d = driver("DestroyBuffer");
    d.live_objects -= d.buffer_bytes.erase(buffer);
}

void VKAPI_CALL GetBufferMemoryRequirements(VkDevice, VkBuffer buffer, VkMemoryRequirements* out) {
    FakeDriver& d = driver("GetBufferMemoryRequirements");
    *out = {d.buffer_bytes[buffer], 64, 0b10};
}

VkResult VKAPI_CALL AllocateMemory(VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                                   VkDeviceMemory* out) {
    FakeDriver& d = driver("AllocateMemory");
    EXPECT_EQ(info->memoryTypeIndex, 1u);
    if (d.allocate_memory_result != VK_SUCCESS) return d.allocate_memory_result;
    if (const VkResult failure = d.answer("AllocateMemory"); failure != VK_SUCCESS) return failure;
    create(d, out);
    d.memory[*out].resize(info->allocationSize / sizeof(uint64_t));
    return VK_SUCCESS;
}

void VKAPI_CALL FreeMemory(VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks*) {
    FakeDriver& d = driver("FreeMemory");
    d.live_objects -= d.memory.erase(memory);
}

VkResult VKAPI_CALL BindBufferMemory(VkDevice, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize) {
    FakeDriver& d = driver("BindBufferMemory");
    d.bound[buffer] = memory;
    return d.answer("BindBufferMemory");
}

VkResult VKAPI_CALL MapMemory(VkDevice, VkDeviceMemory memory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags,
                              void** out) {
    FakeDriver& d = driver("MapMemory");
    *out = d.memory[memory].data();
    return d.answer("MapMemory");
}

VkResult VKAPI_CALL GetFenceStatus(VkDevice, VkFence fence) {
    FakeDriver& d = driver("GetFenceStatus");
    if (d.fence_result < 0) return d.fence_result;
    const bool done = std::find(d.signalled.begin(), d.signalled.end(), fence) != d.signalled.end();
    return done ? VK_SUCCESS : d.fence_result;
}

VkResult VKAPI_CALL GetSemaphoreCounterValue(VkDevice, VkSemaphore, uint64_t* value) {
    *value = driver("GetSemaphoreCounterValue").timeline_value;
    return VK_SUCCESS;
}

void VKAPI_CALL CmdResetQueryPool(VkCommandBuffer commands, VkQueryPool pool, uint32_t first, uint32_t count) {
    driver("CmdResetQueryPool")
        .commands[commands]
        .push_back({.kind = FakeCommand::Kind::kReset, .pool = pool, .first = first, .count = count});
}

void VKAPI_CALL CmdWriteTimestamp(VkCommandBuffer commands, VkPipelineStageFlagBits, VkQueryPool pool, uint32_t query) {
    driver("CmdWriteTimestamp")
        .commands[commands]
        .push_back({.kind = FakeCommand::Kind::kStamp, .pool = pool, .first = query, .count = 1});
}

void VKAPI_CALL CmdCopyQueryPoolResults(VkCommandBuffer commands, VkQueryPool pool, uint32_t first, uint32_t count,
                                        VkBuffer buffer, VkDeviceSize offset, VkDeviceSize stride,
                                        VkQueryResultFlags flags) {
    EXPECT_EQ(stride, 16u);
    driver("CmdCopyQueryPoolResults")
        .commands[commands]
        .push_back({FakeCommand::Kind::kCopy, pool, first, count, buffer, offset, flags});
}

void VKAPI_CALL CmdPipelineBarrier(VkCommandBuffer commands, VkPipelineStageFlags, VkPipelineStageFlags,
                                   VkDependencyFlags, uint32_t, const VkMemoryBarrier*, uint32_t,
                                   const VkBufferMemoryBarrier*, uint32_t, const VkImageMemoryBarrier*) {
    driver("CmdPipelineBarrier").commands[commands].push_back({.kind = FakeCommand::Kind::kBarrier});
}

VkResult VKAPI_CALL CreateCommandPool(VkDevice, const VkCommandPoolCreateInfo* info, const VkAllocationCallbacks*,
                                      VkCommandPool* out) {
    FakeDriver& d = driver("CreateCommandPool");
    if (const VkResult failure = d.answer("CreateCommandPool"); failure != VK_SUCCESS) return failure;
    create(d, out);
    d.pool_families.push_back(info->queueFamilyIndex);
    return VK_SUCCESS;
}

void VKAPI_CALL DestroyCommandPool(VkDevice, VkCommandPool, const VkAllocationCallbacks*) {
    --driver("DestroyCommandPool").live_objects;
}

VkResult VKAPI_CALL AllocateCommandBuffers(VkDevice, const VkCommandBufferAllocateInfo* info, VkCommandBuffer* out) {
    FakeDriver& d = driver("AllocateCommandBuffers");
    if (const VkResult failure = d.answer("AllocateCommandBuffers"); failure != VK_SUCCESS) return failure;
    for (uint32_t i = 0; i < info->commandBufferCount; ++i)
        out[i] = FakeDriver::handle<VkCommandBuffer>(d.next_handle += 0x10);    // they go with their pool
    return VK_SUCCESS;
}

VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer commands, const VkCommandBufferBeginInfo*) {
    FakeDriver& d = driver("BeginCommandBuffer");
    d.commands[commands].clear();
    return d.answer("BeginCommandBuffer");
}

VkResult VKAPI_CALL EndCommandBuffer(VkCommandBuffer) {
    return driver("EndCommandBuffer").answer("EndCommandBuffer");
}

struct Entry {
    const char* name;
    PFN_vkVoidFunction function;
};
#define LAPWING_FAKE(name)                                                                \
    Entry {                                                                               \
        "vk" #name, reinterpret_cast<PFN_vkVoidFunction>(static_cast<PFN_vk##name>(name)) \
    }
const Entry kInstanceEntries[] = {
    LAPWING_FAKE(GetPhysicalDeviceProperties),
    LAPWING_FAKE(GetPhysicalDeviceProperties2),
    LAPWING_FAKE(GetPhysicalDeviceQueueFamilyProperties),
    LAPWING_FAKE(GetPhysicalDeviceMemoryProperties),
    LAPWING_FAKE(GetPhysicalDeviceCalibrateableTimeDomainsEXT),
};
const Entry kDeviceEntries[] = {
    LAPWING_FAKE(GetCalibratedTimestampsEXT),
    LAPWING_FAKE(CreateQueryPool),
    LAPWING_FAKE(DestroyQueryPool),
    LAPWING_FAKE(ResetQueryPool),
    LAPWING_FAKE(GetQueryPoolResults),
    LAPWING_FAKE(CreateBuffer),
    LAPWING_FAKE(DestroyBuffer),
    LAPWING_FAKE(GetBufferMemoryRequirements),
    LAPWING_FAKE(AllocateMemory),
    LAPWING_FAKE(FreeMemory),
    LAPWING_FAKE(BindBufferMemory),
    LAPWING_FAKE(MapMemory),
    LAPWING_FAKE(GetFenceStatus),
    LAPWING_FAKE(GetSemaphoreCounterValue),
    LAPWING_FAKE(CmdResetQueryPool),
    LAPWING_FAKE(CmdWriteTimestamp),
    LAPWING_FAKE(CmdCopyQueryPoolResults),
    LAPWING_FAKE(CmdPipelineBarrier),
    LAPWING_FAKE(CreateCommandPool),
    LAPWING_FAKE(DestroyCommandPool),
    LAPWING_FAKE(AllocateCommandBuffers),
    LAPWING_FAKE(BeginCommandBuffer),
    LAPWING_FAKE(EndCommandBuffer),
    {"vkWaitSemaphoresKHR", reinterpret_cast<PFN_vkVoidFunction>(static_cast<PFN_vkGetFenceStatus>(GetFenceStatus))},
};
#undef LAPWING_FAKE

template <std::size_t N>
PFN_vkVoidFunction find(const Entry (&entries)[N], const char* name) {
    const auto& missing = g_driver->missing;
    if (std::find(missing.begin(), missing.end(), name) != missing.end()) return nullptr;
    for (const Entry& entry : entries)
        if (std::strcmp(entry.name, name) == 0) return entry.function;
    return nullptr;
}

}    // namespace

FakeDriver::FakeDriver() {
    g_driver = this;
    VkQueueFamilyProperties family{};
    family.queueFlags = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
    family.queueCount = 1;
    family.timestampValidBits = 36;
    families.push_back(family);
}

FakeDriver::~FakeDriver() {
    g_driver = nullptr;
}

uint64_t FakeDriver::total_calls() const {
    return std::accumulate(calls.begin(), calls.end(), uint64_t{0},
                           [](uint64_t sum, const auto& call) { return sum + call.second; });
}

VkResult FakeDriver::answer(const std::string& name) const {
    const auto failure = failures.find(name);
    if (failure == failures.end() || calls.at(name) < failure->second.first) return VK_SUCCESS;
    return failure->second.result;
}

void FakeDriver::execute(VkCommandBuffer buffer) {
    for (const FakeCommand& command : commands[buffer]) {
        for (uint32_t i = command.first; i < command.first + command.count; ++i) {
            Query& query = pools.at(command.pool).at(i);
            if (command.kind == FakeCommand::Kind::kReset) query = {0, false, true};
            if (command.kind == FakeCommand::Kind::kStamp) {
                EXPECT_TRUE(query.reset && !query.available) << "query " << i << " was written without a reset";
                query = {next_tick, true, true};
                next_tick += 100;
            }
            if (command.kind == FakeCommand::Kind::kCopy && writes_results) {
                EXPECT_TRUE(query.available) << "the device would wait for ever for query " << i;
                uint64_t* words = memory.at(bound.at(command.buffer)).data() + command.offset / 8;
                words[2 * (i - command.first)] = query.ticks;
                words[2 * (i - command.first) + 1] = query.available ? availability : 0;
            }
        }
    }
}

PFN_vkVoidFunction FakeDriver::instance_entry(VkInstance, const char* name) {
    if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) return reinterpret_cast<PFN_vkVoidFunction>(device_entry);
    return find(kInstanceEntries, name);
}
PFN_vkVoidFunction FakeDriver::device_entry(VkDevice, const char* name) {
    return find(kDeviceEntries, name);
}
vulkan::InstanceTable FakeDriver::instance_table() {
    return vulkan::InstanceTable::load(instance(), instance_entry);
}
vulkan::DeviceTable FakeDriver::device_table() {
    return vulkan::DeviceTable::load(device(), device_entry);
}

}    // namespace lapwing::testing
