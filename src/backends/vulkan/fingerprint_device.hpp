// The Vulkan objects behind device-side fingerprints: pipeline, scratch and result memory, a descriptor set a slot.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <vector>

#include "backends/vulkan/entry_points.hpp"
#include "backends/vulkan/host_buffer.hpp"
#include "lapwing/vulkan_fingerprint.hpp"

/// Device-level entry points that only fingerprints need: X(name without "vk").
#define LAPWING_VK_FINGERPRINT_ENTRY_POINTS(X) \
    X(CreateDescriptorSetLayout)               \
    X(DestroyDescriptorSetLayout)              \
    X(CreateDescriptorPool)                    \
    X(DestroyDescriptorPool)                   \
    X(AllocateDescriptorSets)                  \
    X(UpdateDescriptorSets)                    \
    X(CreatePipelineLayout)                    \
    X(DestroyPipelineLayout)                   \
    X(CmdBindDescriptorSets)                   \
    X(CmdPushConstants)

namespace lapwing::vulkan {

/// As the kernel writes a result (fingerprint.glsl), in words of 32 bits.
inline constexpr uint32_t kFingerprintSums = 3 + kProjections;
inline constexpr uint32_t kFingerprintMinAt = 2 * kFingerprintSums;
inline constexpr uint32_t kFingerprintWords = 48;
/// Results lie this far apart: the largest minStorageBufferOffsetAlignment there is. Units: bytes.
inline constexpr uint32_t kFingerprintStride = 256;
inline constexpr uint32_t kFingerprintThreads = 128;
inline constexpr uint32_t kFingerprintGroups = 64;    // at most; the last pass has an invocation for each

/// Plain handles. Whether the device may still be called when they go is known to the owner only.
class FingerprintDevice {
public:
    /// Errors:  as VulkanFingerprints::create(). Nothing is leaked.
    [[nodiscard]] Status create(const VulkanFingerprintOptions& options);
    void destroy() noexcept;

    /// Errors:  as VulkanFingerprints::record().
    [[nodiscard]] Status check(const VulkanTensor& tensor) const;
    /// The two passes and their barriers.
    /// Shape:   a checked tensor; nothing that uses the slot is unfinished.
    void record(VkCommandBuffer commands, const VulkanTensor& tensor, uint32_t slot) const noexcept;
    /// Shape:   the slot's work is complete.
    [[nodiscard]] Fingerprint read(const VulkanTensor& tensor, uint32_t slot) const noexcept;

    [[nodiscard]] const DeviceTable& table() const noexcept { return table_; }
    [[nodiscard]] VkDevice device() const noexcept { return options_.device; }

private:
    [[nodiscard]] Status load();
    [[nodiscard]] Status make_memory();
    [[nodiscard]] Status make_pipeline();
    [[nodiscard]] Status make_sets();
    void bind_tensor(const VulkanTensor& tensor, uint32_t slot) const noexcept;

    VulkanFingerprintOptions options_;
    DeviceTable table_;
#define LAPWING_VK_MEMBER(name) PFN_vk##name name##_ = nullptr;
    LAPWING_VK_FINGERPRINT_ENTRY_POINTS(LAPWING_VK_MEMBER)
#undef LAPWING_VK_MEMBER
    VkPhysicalDeviceMemoryProperties memory_{};
    VkPhysicalDeviceLimits limits_{};
    HostBuffer results_;
    VkBuffer partials_ = VK_NULL_HANDLE;
    VkDeviceMemory partials_memory_ = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline pipeline_ = VK_NULL_HANDLE;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    std::vector<VkDescriptorSet> sets_;
};

}    // namespace lapwing::vulkan
