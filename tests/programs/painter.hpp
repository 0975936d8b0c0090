// A small colour target and a draw on it, by every kind of render pass.
#pragma once

#include "vulkan_device.hpp"

namespace programs {

/// Threads: one at a time.
class Painter {
public:
    explicit Painter(VulkanDevice& device);
    ~Painter();
    Painter(const Painter&) = delete;
    Painter& operator=(const Painter&) = delete;

    /// Before the first pass of a command buffer.
    void prepare(VkCommandBuffer commands) const;

    void begin_pass(VkCommandBuffer commands, VkSubpassContents contents = VK_SUBPASS_CONTENTS_INLINE) const;
    void begin_pass2(VkCommandBuffer commands) const;
    void begin_rendering(VkCommandBuffer commands, VkRenderingFlags flags = 0) const;
    /// Begins a secondary whose draws belong to a pass of begin_pass().
    void begin_inside(VkCommandBuffer secondary, VkCommandBufferUsageFlags flags) const;

    /// One draw whose fragments work `iterations` rounds, in a pass with a render pass object or in dynamic rendering.
    void draw(VkCommandBuffer commands, uint32_t iterations, bool dynamic) const;

private:
    static constexpr uint32_t kExtent = 64;
    static constexpr VkFormat kFormat = VK_FORMAT_R8G8B8A8_UNORM;

    void make_target();
    void make_pass();
    [[nodiscard]] VkPipeline make_pipeline(VkRenderPass pass) const;
    [[nodiscard]] VkRenderPassBeginInfo begin_info() const;

    VulkanDevice& device_;
    VkImage image_ = VK_NULL_HANDLE;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    VkImageView view_ = VK_NULL_HANDLE;
    VkRenderPass pass_ = VK_NULL_HANDLE;
    VkFramebuffer framebuffer_ = VK_NULL_HANDLE;
    VkShaderModule vertex_ = VK_NULL_HANDLE;
    VkShaderModule fragment_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline in_pass_ = VK_NULL_HANDLE;
    VkPipeline dynamic_ = VK_NULL_HANDLE;
};

}    // namespace programs
