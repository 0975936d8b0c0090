// The Vulkan a test program needs: one device, a queue of each family, pipelines of one shader, labels. It knows
// nothing of Lapwing.
#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>
#include <string>
#include <vector>

namespace programs {

/// Ends the program with a message unless `result` is VK_SUCCESS.
void check(VkResult result, const char* call);

/// CLOCK_MONOTONIC.
int64_t now_ns();

/// What one dispatch does: `groups` workgroups of 64 invocations, each `iterations` rounds long.
struct Work {
    uint32_t iterations = 16;
    uint32_t groups = 4;
};

/// Threads: each command pool and each fence by one thread at a time; submit() by one thread at a time.
class VulkanDevice {
public:
    static constexpr uint32_t kMaxGroups = 1024;
    static constexpr VkDeviceSize kBufferBytes = kMaxGroups * 64 * sizeof(uint32_t);

    struct Queue {
        VkQueue handle = VK_NULL_HANDLE;
        uint32_t family = 0;
        VkQueueFlags flags = 0;
    };

    /// Opens the first physical device. queue() is of its first family with compute.
    VulkanDevice();
    /// Destroys everything it made; the device must be idle.
    ~VulkanDevice();
    VulkanDevice(const VulkanDevice&) = delete;
    VulkanDevice& operator=(const VulkanDevice&) = delete;

    VkInstance instance() const { return instance_; }
    VkPhysicalDevice physical() const { return physical_; }
    uint32_t family() const { return family_; }
    VkDevice handle() const { return device_; }
    VkQueue queue() const { return queue_; }
    /// One queue of each family.
    const std::vector<Queue>& queues() const { return queues_; }
    /// A storage, transfer and indirect buffer of kBufferBytes. Its first three words are an indirect dispatch of
    /// (4,1,1) in the second one.
    VkBuffer values() const { return buffers_[0]; }
    VkBuffer other() const { return buffers_[1]; }

    /// Copies the first bytes of other() out.
    void read_other(void* out, std::size_t bytes);
    float timestamp_period() const;
    /// Valid bits of the queue's family, by the Vulkan 1.0 query and by the 1.1 one.
    uint32_t valid_bits() const;
    uint32_t valid_bits2() const;
    /// Whether VK_EXT_calibrated_timestamps is enabled: it is where the driver offers it.
    bool calibrates() const { return calibrates_; }

    VkPipeline make_pipeline(const std::string& name);
    VkFence make_fence();
    VkCommandPool make_pool(VkCommandPoolCreateFlags flags = 0);
    VkCommandPool make_pool_of(uint32_t family, VkCommandPoolCreateFlags flags = 0);
    void destroy_pool(VkCommandPool pool);
    VkCommandBuffer make_commands(VkCommandPool pool, VkCommandBufferLevel level = VK_COMMAND_BUFFER_LEVEL_PRIMARY);

    void begin(VkCommandBuffer commands, VkCommandBufferUsageFlags flags = 0, bool secondary = false);
    void end(VkCommandBuffer commands);
    /// Binds `pipeline` and dispatches it once.
    void dispatch(VkCommandBuffer commands, VkPipeline pipeline, const Work& work = {});
    /// Binds all that a dispatch needs, and dispatches nothing.
    void bind(VkCommandBuffer commands, VkPipeline pipeline, uint32_t iterations);
    /// Everything before is finished before everything after begins.
    void barrier(VkCommandBuffer commands);
    /// Labels as ggml writes them; nothing where the driver offers no VK_EXT_debug_utils.
    void begin_label(VkCommandBuffer commands, const std::string& label);
    void end_label(VkCommandBuffer commands);

    /// Submits with vkQueueSubmit. An empty list with a fence is a submission too.
    void submit(const std::vector<VkCommandBuffer>& commands, VkFence fence = VK_NULL_HANDLE);
    /// Waits for `fence`, and leaves it signalled.
    void wait_only(VkFence fence);
    /// Waits for `fence` and resets it.
    void wait(VkFence fence);

    /// A buffer's memory type that the host can write, or any of `bits`.
    uint32_t memory_type(uint32_t bits) const;

private:
    void make_instance();
    void make_device();
    void make_buffers();
    void make_layout();

    VkInstance instance_ = VK_NULL_HANDLE;
    VkPhysicalDevice physical_ = VK_NULL_HANDLE;
    VkDevice device_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    std::vector<Queue> queues_;
    uint32_t family_ = 0;
    bool labels_ = false;
    bool calibrates_ = false;
    PFN_vkCmdBeginDebugUtilsLabelEXT begin_label_ = nullptr;
    PFN_vkCmdEndDebugUtilsLabelEXT end_label_ = nullptr;
    PFN_vkSetDebugUtilsObjectNameEXT set_name_ = nullptr;

    VkBuffer buffers_[2]{};
    VkDeviceMemory memory_[2]{};
    VkShaderModule shader_ = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkDescriptorPool descriptor_pool_ = VK_NULL_HANDLE;
    VkDescriptorSet set_ = VK_NULL_HANDLE;
    std::vector<VkPipeline> pipelines_;
    std::vector<VkFence> fences_;
    std::vector<VkCommandPool> pools_;
};

}    // namespace programs
