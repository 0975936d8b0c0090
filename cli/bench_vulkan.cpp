// lapwing bench: what a pair of stamps costs each Vulkan device.
#include "bench_figures.hpp"

#ifdef LAPWING_CLI_VULKAN
#include <memory>

#include "bench_instance.hpp"
#include "lapwing/clock.hpp"
#endif

namespace lapwing::cli {

#ifdef LAPWING_CLI_VULKAN

namespace {

constexpr uint32_t kFills = 64;    // in one submission
constexpr VkDeviceSize kFillBytes = 1024;

/// Fills of a small buffer, one submission at a time, with or without a pair of stamps around each.
class Fills {
public:
    Fills(const Vulkan& vk, VkPhysicalDevice physical, uint32_t family)
        : vk_(vk), device_(vk.make_device(physical, family)) {
        if (device_ == VK_NULL_HANDLE) return;
        const auto queue = vk.function<PFN_vkGetDeviceQueue>("vkGetDeviceQueue");
        queue(device_, family, 0, &queue_);
        ok_ = make_buffer() && make_commands(family);
    }
    ~Fills() {
        if (device_ == VK_NULL_HANDLE) return;
        (void)vk_.function<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle")(device_);
        vk_.function<PFN_vkDestroyFence>("vkDestroyFence")(device_, fence_, nullptr);
        vk_.function<PFN_vkDestroyQueryPool>("vkDestroyQueryPool")(device_, queries_, nullptr);
        vk_.function<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(device_, pool_, nullptr);
        vk_.function<PFN_vkDestroyBuffer>("vkDestroyBuffer")(device_, buffer_, nullptr);
        vk_.function<PFN_vkFreeMemory>("vkFreeMemory")(device_, memory_, nullptr);
        vk_.function<PFN_vkDestroyDevice>("vkDestroyDevice")(device_, nullptr);
    }
    Fills(const Fills&) = delete;
    Fills& operator=(const Fills&) = delete;
    [[nodiscard]] bool ok() const { return ok_; }

    enum class What { kPlain, kStamped, kEmptyPairs };

    /// Submit to fence, a fill. Units: ns; negative where the driver failed.
    [[nodiscard]] double run(What what) {
        VkSubmitInfo submit{};
        submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
        submit.commandBufferCount = 1;
        submit.pCommandBuffers = &commands_[static_cast<std::size_t>(what)];
        const int64_t begin = host_now().value;
        if (submit_(queue_, 1, &submit, fence_) != VK_SUCCESS) return -1;
        if (wait_(device_, 1, &fence_, VK_TRUE, 10'000'000'000) != VK_SUCCESS) return -1;
        const int64_t end = host_now().value;
        if (reset_(device_, 1, &fence_) != VK_SUCCESS) return -1;
        return static_cast<double>(end - begin) / kFills;
    }
    /// Ticks between the two stamps of each empty pair of the last run().
    [[nodiscard]] std::vector<double> empty_pairs() {
        std::vector<uint64_t> ticks(std::size_t{2} * kFills);
        const VkResult got = vk_.function<PFN_vkGetQueryPoolResults>("vkGetQueryPoolResults")(
            device_, queries_, 0, 2 * kFills, ticks.size() * sizeof(uint64_t), ticks.data(), sizeof(uint64_t),
            VK_QUERY_RESULT_64_BIT);
        std::vector<double> out;
        for (std::size_t i = 0; got == VK_SUCCESS && i < ticks.size(); i += 2)
            if (ticks[i + 1] >= ticks[i]) out.push_back(static_cast<double>(ticks[i + 1] - ticks[i]));
        return out;
    }

private:
    bool make_buffer() {
        VkBufferCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
        info.size = kFillBytes;
        info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        if (vk_.function<PFN_vkCreateBuffer>("vkCreateBuffer")(device_, &info, nullptr, &buffer_) != VK_SUCCESS)
            return false;
        VkMemoryRequirements needs{};
        vk_.function<PFN_vkGetBufferMemoryRequirements>("vkGetBufferMemoryRequirements")(device_, buffer_, &needs);
        VkMemoryAllocateInfo allocation{};
        allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
        allocation.allocationSize = needs.size;
        while ((needs.memoryTypeBits >> allocation.memoryTypeIndex & 1) == 0) ++allocation.memoryTypeIndex;
        return vk_.function<PFN_vkAllocateMemory>("vkAllocateMemory")(device_, &allocation, nullptr, &memory_) ==
                   VK_SUCCESS &&
               vk_.function<PFN_vkBindBufferMemory>("vkBindBufferMemory")(device_, buffer_, memory_, 0) == VK_SUCCESS;
    }
    bool make_commands(uint32_t family) {
        VkQueryPoolCreateInfo query_info{};
        query_info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
        query_info.queryType = VK_QUERY_TYPE_TIMESTAMP;
        query_info.queryCount = 2 * kFills;
        VkFenceCreateInfo fence_info{};
        fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
        VkCommandPoolCreateInfo pool_info{};
        pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        pool_info.queueFamilyIndex = family;
        if (vk_.function<PFN_vkCreateQueryPool>("vkCreateQueryPool")(device_, &query_info, nullptr, &queries_) < 0 ||
            vk_.function<PFN_vkCreateFence>("vkCreateFence")(device_, &fence_info, nullptr, &fence_) < 0 ||
            vk_.function<PFN_vkCreateCommandPool>("vkCreateCommandPool")(device_, &pool_info, nullptr, &pool_) < 0)
            return false;
        VkCommandBufferAllocateInfo allocation{};
        allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        allocation.commandPool = pool_;
        allocation.commandBufferCount = 3;
        if (vk_.function<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(device_, &allocation, commands_) < 0)
            return false;
        for (const What what : {What::kPlain, What::kStamped, What::kEmptyPairs})
            if (!record(commands_[static_cast<std::size_t>(what)], what)) return false;
        submit_ = vk_.function<PFN_vkQueueSubmit>("vkQueueSubmit");
        wait_ = vk_.function<PFN_vkWaitForFences>("vkWaitForFences");
        reset_ = vk_.function<PFN_vkResetFences>("vkResetFences");
        return true;
    }
    bool record(VkCommandBuffer commands, What what) {
        const auto stamp = vk_.function<PFN_vkCmdWriteTimestamp>("vkCmdWriteTimestamp");
        const auto fill = vk_.function<PFN_vkCmdFillBuffer>("vkCmdFillBuffer");
        VkCommandBufferBeginInfo begin{};
        begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        if (vk_.function<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands, &begin) < 0) return false;
        if (what != What::kPlain)
            vk_.function<PFN_vkCmdResetQueryPool>("vkCmdResetQueryPool")(commands, queries_, 0, 2 * kFills);
        for (uint32_t i = 0; i < kFills; ++i) {
            if (what != What::kPlain) stamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, 2 * i);
            if (what != What::kEmptyPairs) fill(commands, buffer_, 0, kFillBytes, i);
            if (what != What::kPlain) stamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, 2 * i + 1);
        }
        return vk_.function<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(commands) >= 0;
    }

    const Vulkan& vk_;
    VkDevice device_;
    bool ok_ = false;
    VkQueue queue_ = VK_NULL_HANDLE;
    VkBuffer buffer_ = VK_NULL_HANDLE;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    VkQueryPool queries_ = VK_NULL_HANDLE;
    VkFence fence_ = VK_NULL_HANDLE;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_[3]{};
    PFN_vkQueueSubmit submit_ = nullptr;
    PFN_vkWaitForFences wait_ = nullptr;
    PFN_vkResetFences reset_ = nullptr;
};

void add_device(const Vulkan& vk, VkPhysicalDevice physical, const BenchEffort& effort, std::vector<BenchRow>& rows) {
    VkPhysicalDeviceProperties properties{};
    vk.function<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(physical, &properties);
    const std::string name = properties.deviceName;
    BenchRow pair{.what = "a pair of stamps on the device: " + name, .floor = "the fill between them", .unit = "ns"};
    BenchRow shortest{.what = "span around nothing: " + name, .unit = "ns"};
    const std::optional<uint32_t> family = vk.timed_family(physical);
    std::unique_ptr<Fills> fills = family ? std::make_unique<Fills>(vk, physical, *family) : nullptr;
    std::vector<double> plain;
    std::vector<double> added;
    std::vector<double> empty;
    for (int round = 0; fills != nullptr && fills->ok() && round <= effort.rounds; ++round) {
        const double without = fills->run(Fills::What::kPlain);
        const double with = fills->run(Fills::What::kStamped);
        const double pairs = fills->run(Fills::What::kEmptyPairs);
        if (without < 0 || with < 0 || pairs < 0) break;
        if (round == 0) continue;    // warms up
        plain.push_back(without);
        added.push_back(with - without);
        for (const double ticks : fills->empty_pairs()) empty.push_back(ticks * properties.limits.timestampPeriod);
    }
    const char* const why = !family ? "no queue of this device computes and has timestamps" : "the driver failed";
    if (plain.empty()) {
        pair.reason = why;
    } else {
        pair.floor_value = median(plain);
        pair.value = median(added);
    }
    if (empty.empty())
        shortest.reason = why;
    else
        shortest.value = median(empty);
    rows.push_back(pair);
    rows.push_back(shortest);
}

}    // namespace

std::vector<BenchRow> bench_devices(const BenchEffort& effort) {
    std::vector<BenchRow> rows;
    const Vulkan vk;
    const std::vector<VkPhysicalDevice> devices = vk.ok() ? vk.devices() : std::vector<VkPhysicalDevice>{};
    if (devices.empty()) {
        BenchRow none{.what = "a pair of stamps on the device", .unit = "ns"};
        none.reason = "no Vulkan device was found; see: lapwing devices";
        rows.push_back(none);
    }
    for (const VkPhysicalDevice device : devices) add_device(vk, device, effort, rows);
    return rows;
}

#else

std::vector<BenchRow> bench_devices(const BenchEffort&) {
    return {{.what = "a pair of stamps on the device", .unit = "ns", .reason = kNoVulkan}};
}

#endif

}    // namespace lapwing::cli
