// One Vulkan device that runs the shaders of `lapwing bench --peaks`, timed by Lapwing's own device spans.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench_instance.hpp"
#include "lapwing/backend_timer.hpp"
#include "lapwing/vulkan_backend.hpp"

namespace lapwing::cli {

/// What a dispatch of the peak shaders is told.
struct PeakParameters {
    uint32_t iterations = 1;
    float factor = 0.999F;
    float addend = 0.001F;
};

/// Threads: one.
class PeakDevice {
public:
    /// Opens `physical` with three buffers of `buffer_bytes`, in half precision where it can.
    /// Errors:  none here: why() says what failed, and nothing else may be called then.
    PeakDevice(const Vulkan& vk, VkPhysicalDevice physical, uint32_t family, VkDeviceSize buffer_bytes);
    ~PeakDevice();
    PeakDevice(const PeakDevice&) = delete;
    PeakDevice& operator=(const PeakDevice&) = delete;

    [[nodiscard]] bool ok() const { return why_.empty(); }
    [[nodiscard]] const std::string& why() const { return why_; }
    [[nodiscard]] bool has_half() const { return half_; }

    /// A pipeline of a shader; null where the driver refuses it.
    [[nodiscard]] VkPipeline make_pipeline(std::span<const uint32_t> words);

    /// `dispatches` of a pipeline in one command buffer, each behind the one before.
    /// Shape:   the first run of a pipeline may contain its compilation.
    /// Returns: ns from the first to the last by the device's stamps; by the host's clock from submit to fence where it
    ///          has none (by_host()). Absent where the driver failed, and why() says at what.
    [[nodiscard]] std::optional<double> run(VkPipeline pipeline, uint32_t groups, uint32_t dispatches,
                                            const PeakParameters& parameters);
    [[nodiscard]] bool by_host() const { return by_host_; }

private:
    bool failed(const char* what);
    bool make_device(uint32_t family);
    bool make_buffers(VkDeviceSize bytes);
    bool make_layout();
    bool make_commands(uint32_t family);
    bool make_timer(uint32_t family);
    bool fill_buffers(VkDeviceSize bytes);
    void record(VkPipeline pipeline, uint32_t groups, uint32_t dispatches, const PeakParameters& parameters);
    bool submit_and_wait();
    [[nodiscard]] std::optional<BackendTimer<VulkanBackend>> make_timer_of_run();
    [[nodiscard]] std::optional<uint32_t> memory_type(uint32_t bits) const;
    template <class F>
    [[nodiscard]] F function(const char* name) const {
        return vk_.function<F>(name);
    }

    const Vulkan& vk_;
    VkPhysicalDevice physical_;
    std::string why_;
    bool half_ = false;
    bool by_host_ = false;
    VkDevice device_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    std::array<VkBuffer, 3> buffers_{};
    std::array<VkDeviceMemory, 3> memory_{};
    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
    VkDescriptorSet set_ = VK_NULL_HANDLE;
    std::vector<VkShaderModule> shaders_;
    std::vector<VkPipeline> pipelines_;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkFence fence_ = VK_NULL_HANDLE;
    std::unique_ptr<VulkanBackend> backend_;
    VulkanBackend::Queue stream_;
    std::unique_ptr<TimerPool<VulkanBackend>> timers_;
};

}    // namespace lapwing::cli
