// What is known of a device's pipelines by handle: names, stable fallbacks, and whether they ran before.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "attach/session/label_table.hpp"

namespace lapwing::attach::vulkan_layer {

/// One pipeline. Kept after vkDestroyPipeline, since recordings still point to it.
struct PipelineInfo {
    std::atomic<const std::string*> name{nullptr};    ///< object name; null = it has none
    const std::string* fallback = nullptr;            ///< never null once created
    std::atomic<bool> executed{false};                ///< a dispatch of it was submitted
};

/// Pipelines and shader modules of one device.
/// Shape:   at most 65536 pipelines are told apart; later ones share one entry named "other".
/// Threads: any.
/// Errors:  std::bad_alloc where it says so.
class PipelineTable {
public:
    explicit PipelineTable(LabelTable& labels);

    /// Throws std::bad_alloc.
    void add_module(VkShaderModule module, const VkShaderModuleCreateInfo& info);
    void forget_module(VkShaderModule module) noexcept;

    /// Throws std::bad_alloc.
    void add_compute_pipeline(VkPipeline pipeline, const VkComputePipelineCreateInfo& info);
    void forget_pipeline(VkPipeline pipeline) noexcept;

    /// An object name that the program gave; other object types are ignored. Throws std::bad_alloc.
    void name_object(VkObjectType type, uint64_t handle, const char* name);

    /// Null for a handle that was never added.
    [[nodiscard]] PipelineInfo* find(VkPipeline pipeline) const noexcept;

    /// Whether some pipeline has not run yet. Hot: one relaxed load.
    [[nodiscard]] bool any_cold() const noexcept { return cold_.load(std::memory_order_relaxed) > 0; }

    /// Marks a pipeline as executed.
    /// Shape:   true for the first time.
    [[nodiscard]] bool first_execution(PipelineInfo& pipeline) noexcept;

    /// Rises whenever a name changes, so that what was made from names can be made again.
    [[nodiscard]] uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }

private:
    struct Module {
        uint64_t hash = 0;
        std::string name;
    };
    [[nodiscard]] std::string fallback_name(const VkPipelineShaderStageCreateInfo& stage) const;

    LabelTable& labels_;
    mutable std::shared_mutex mutex_;
    std::unordered_map<VkShaderModule, Module> modules_;
    std::unordered_map<VkPipeline, PipelineInfo*> by_handle_;
    std::deque<PipelineInfo> infos_;
    PipelineInfo other_;
    std::atomic<uint32_t> cold_{0};
    std::atomic<uint64_t> generation_{0};
};

}    // namespace lapwing::attach::vulkan_layer
