#include "attach/vulkan_layer/pipelines.hpp"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>

#include "attach/vulkan_layer/names.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
constexpr std::size_t kMaxPipelines = 65536;

// FNV-1a over 32-bit words: SPIR-V is made of them, and the hash must be the same in every run and on every machine.
uint64_t hash_words(const void* data, std::size_t bytes, uint64_t seed = 0xcbf29ce484222325u) noexcept {
    uint64_t hash = seed;
    const auto* cursor = static_cast<const unsigned char*>(data);
    for (std::size_t left = bytes; left > 0;) {
        uint32_t word = 0;
        const std::size_t size = left < sizeof word ? left : sizeof word;
        std::memcpy(&word, cursor, size);
        hash = (hash ^ word) * 0x100000001b3u;
        cursor += size;
        left -= size;
    }
    return hash;
}

// Entry points that compilers give to every shader: GLSL's, and Dawn's.
bool says_nothing(std::string_view entry) noexcept {
    return entry == "main" || entry == "dawn_entry_point";
}

const VkShaderModuleCreateInfo* inline_module(const VkPipelineShaderStageCreateInfo& stage) noexcept {
    for (const auto* next = static_cast<const VkBaseInStructure*>(stage.pNext); next != nullptr; next = next->pNext)
        if (next->sType == VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO)
            return reinterpret_cast<const VkShaderModuleCreateInfo*>(next);
    return nullptr;
}
}    // namespace

PipelineTable::PipelineTable(LabelTable& labels) : labels_(labels) {
    other_.fallback = labels.other();
    other_.executed = true;
}

void PipelineTable::add_module(VkShaderModule module, const VkShaderModuleCreateInfo& info) {
    Module known;
    known.hash = hash_words(info.pCode, info.codeSize);
    const std::unique_lock lock(mutex_);
    modules_[module] = std::move(known);
}

void PipelineTable::forget_module(VkShaderModule module) noexcept {
    const std::unique_lock lock(mutex_);
    modules_.erase(module);
}

std::string PipelineTable::fallback_name(const VkPipelineShaderStageCreateInfo& stage) const {
    uint64_t hash = 0;
    std::string module_name;
    if (const auto found = modules_.find(stage.module); found != modules_.end()) {
        hash = found->second.hash;
        module_name = found->second.name;
    } else if (const VkShaderModuleCreateInfo* code = inline_module(stage); code != nullptr) {
        hash = hash_words(code->pCode, code->codeSize);
    }
    const char* const entry = stage.pName == nullptr ? "main" : stage.pName;
    if (!module_name.empty()) return says_nothing(entry) ? module_name : module_name + ":" + entry;

    // Constants make another kernel of the same code.
    if (const VkSpecializationInfo* constants = stage.pSpecializationInfo; constants != nullptr)
        hash = hash_words(constants->pData, constants->dataSize, hash);
    char digits[16];
    std::snprintf(digits, sizeof digits, "@%08x", static_cast<unsigned>(hash ^ (hash >> 32)));
    return std::string(entry) + digits;
}

void PipelineTable::add_compute_pipeline(VkPipeline pipeline, const VkComputePipelineCreateInfo& info) {
    const std::unique_lock lock(mutex_);
    if (infos_.size() >= kMaxPipelines) {
        by_handle_[pipeline] = &other_;
        return;
    }
    const std::string* const fallback = labels_.intern(fallback_name(info.stage));
    PipelineInfo& known = infos_.emplace_back();
    known.fallback = fallback;
    cold_.fetch_add(1, std::memory_order_relaxed);
    by_handle_[pipeline] = &known;
}

void PipelineTable::forget_pipeline(VkPipeline pipeline) noexcept {
    const std::unique_lock lock(mutex_);
    const auto found = by_handle_.find(pipeline);
    if (found == by_handle_.end()) return;
    // A pipeline that was never used must not keep the search for first uses going.
    if (!found->second->executed.exchange(true, std::memory_order_relaxed))
        cold_.fetch_sub(1, std::memory_order_relaxed);
    by_handle_.erase(found);
}

void PipelineTable::name_object(VkObjectType type, uint64_t handle, const char* name) {
    const std::string_view text = given_name(name == nullptr ? "" : name);
    const std::unique_lock lock(mutex_);
    if (type == VK_OBJECT_TYPE_SHADER_MODULE) {
        const auto found = modules_.find(reinterpret_cast<VkShaderModule>(handle));
        if (found != modules_.end()) found->second.name = text;
    } else if (type == VK_OBJECT_TYPE_PIPELINE) {
        const auto found = by_handle_.find(reinterpret_cast<VkPipeline>(handle));
        if (found == by_handle_.end() || found->second == &other_) return;
        found->second->name.store(text.empty() ? nullptr : labels_.intern(text), std::memory_order_release);
        generation_.fetch_add(1, std::memory_order_release);
    }
}

PipelineInfo* PipelineTable::find(VkPipeline pipeline) const noexcept {
    const std::shared_lock lock(mutex_);
    const auto found = by_handle_.find(pipeline);
    return found == by_handle_.end() ? nullptr : found->second;
}

bool PipelineTable::first_execution(PipelineInfo& pipeline) noexcept {
    if (pipeline.executed.load(std::memory_order_relaxed)) return false;
    if (pipeline.executed.exchange(true, std::memory_order_relaxed)) return false;
    cold_.fetch_sub(1, std::memory_order_relaxed);
    return true;
}

}    // namespace lapwing::attach::vulkan_layer
