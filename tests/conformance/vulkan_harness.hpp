// A Vulkan device on a pinned driver, one compute pipeline whose time is proportional to a number, and counters of the
// calls that a timing tool must not make.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/vulkan_backend.hpp"

namespace lapwing::testing {

/// CLOCK_MONOTONIC.
[[nodiscard]] int64_t host_ns();

/// Calls that went through counting_instance_entry() since the last reset_forbidden_calls().
struct ForbiddenCalls {
    uint64_t waits = 0;           ///< WaitForFences, WaitSemaphores, QueueWaitIdle, DeviceWaitIdle
    uint64_t result_reads = 0;    ///< GetQueryPoolResults
};
[[nodiscard]] ForbiddenCalls forbidden_calls();
void reset_forbidden_calls();

/// vkGetInstanceProcAddr of the loader whose device functions count: give it to the code under test only.
[[nodiscard]] PFN_vkVoidFunction VKAPI_CALL counting_instance_entry(VkInstance instance, const char* name);

/// A timeline semaphore and a value of it; none by default.
struct VulkanTimeline {
    VkSemaphore semaphore = VK_NULL_HANDLE;
    uint64_t value = 0;
};

class VulkanHarness {
public:
    struct Options {
        bool shader_float64 = false;          ///< enable it where it is offered
        bool validate = false;                ///< with VK_LAYER_KHRONOS_validation, messages are counted
        bool calibrated_timestamps = true;    ///< enable the extension where it is offered
    };

    /// The reason why there is none, to be given to GTEST_SKIP().
    [[nodiscard]] static std::unique_ptr<VulkanHarness> make(const Options& options, std::string& why_not);
    ~VulkanHarness();
    VulkanHarness(const VulkanHarness&) = delete;
    VulkanHarness& operator=(const VulkanHarness&) = delete;

    /// A backend for the device, through counting_instance_entry().
    [[nodiscard]] std::unique_ptr<VulkanBackend> make_backend(VulkanBackendOptions options = {});

    /// Records a dispatch of about `iterations` times 40 us (lavapipe) or 500 us (SwiftShader).
    void dispatch(VkCommandBuffer commands, uint32_t iterations);

    [[nodiscard]] VkCommandBuffer begin_commands();
    void end_commands(VkCommandBuffer commands);
    [[nodiscard]] VkFence make_fence();
    [[nodiscard]] VkSemaphore make_timeline();
    /// The device starts when `gate` is reached, and reaches `signal` when it is done.
    void submit(VkCommandBuffer commands, VkFence fence, const VulkanTimeline& signal = {},
                const VulkanTimeline& gate = {});
    void open_gate(const VulkanTimeline& gate);
    void wait(VkFence fence);
    void wait_idle();

    /// Iterations that add about `ns` to a dispatch on this device, found once; also warms the pipeline up.
    [[nodiscard]] uint32_t iterations_for(int64_t ns);

    [[nodiscard]] const std::string& device_name() const { return name_; }
    [[nodiscard]] bool calibrated_enabled() const { return calibrated_enabled_; }
    [[nodiscard]] uint32_t family() const { return 0; }
    [[nodiscard]] VkInstance instance() const { return instance_; }
    [[nodiscard]] VkPhysicalDevice physical() const { return physical_; }
    [[nodiscard]] VkDevice device() const { return device_; }
    [[nodiscard]] bool float64_enabled() const { return enabled_.shaderFloat64 != 0; }
    [[nodiscard]] uint64_t validation_messages() const { return messages_.size(); }
    [[nodiscard]] std::string first_validation_message() const { return messages_.empty() ? "" : messages_[0]; }

private:
    VulkanHarness() = default;
    bool make_instance(const Options& options, std::string& why_not);
    bool make_device(const Options& options, std::string& why_not);
    void make_pipeline();
    int64_t fastest_dispatch_ns(uint32_t iterations);
    void make_buffer();

    VkInstance instance_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    VkPhysicalDevice physical_ = VK_NULL_HANDLE;
    VkDevice device_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkBuffer buffer_ = VK_NULL_HANDLE;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
    VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
    VkDescriptorSet set_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline pipeline_ = VK_NULL_HANDLE;
    std::vector<VkFence> fences_;
    std::vector<VkSemaphore> semaphores_;
    std::vector<std::string> messages_;
    std::string name_;
    bool calibrated_enabled_ = false;
    double ns_per_iteration_ = 0;

    // Kept, because the backend is told what the device was created with.
    VkPhysicalDeviceVulkan12Features features12_{};
    VkPhysicalDeviceFeatures enabled_{};
    VkDeviceCreateInfo device_info_{};
    std::vector<const char*> extensions_;
};

}    // namespace lapwing::testing
