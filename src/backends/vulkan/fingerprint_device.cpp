#include "backends/vulkan/fingerprint_device.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

namespace lapwing::vulkan {
namespace {

constexpr uint32_t kDoubleCode[] = {
#include "fingerprint_double.inc"
};
constexpr uint32_t kPairCode[] = {
#include "fingerprint_pair.inc"
};
constexpr VkDeviceSize kPartialsBytes = kFingerprintGroups * kFingerprintWords * sizeof(uint32_t);
static_assert(kPartialsBytes % kFingerprintStride == 0 && kFingerprintGroups <= kFingerprintThreads);

struct Push {
    uint32_t first;
    uint32_t count;
    uint32_t type;
    uint32_t seed;
    uint32_t groups;
    uint32_t last_pass;
};

Status failed(VkResult result, const char* call) {
    const Errc code = result == VK_ERROR_DEVICE_LOST ? Errc::kDeviceLost : Errc::kDriver;
    return Error{code, result, std::string(call) + " failed for fingerprints of tensors"};
}

// A few elements an invocation before another group is worth its overhead.
uint32_t groups_of(uint64_t count) {
    constexpr uint64_t kWorth = uint64_t{kFingerprintThreads} * 8;
    return static_cast<uint32_t>(std::clamp<uint64_t>((count + kWorth - 1) / kWorth, 1, kFingerprintGroups));
}

}    // namespace

Status FingerprintDevice::create(const VulkanFingerprintOptions& options) {
    options_ = options;
    Status status = load();
    if (status.ok()) status = make_memory();
    if (status.ok()) status = make_pipeline();
    if (status.ok()) status = make_sets();
    if (!status.ok() && DestroyPipelineLayout_ != nullptr) destroy();
    return status;
}

Status FingerprintDevice::load() {
    const PFN_vkGetInstanceProcAddr get = options_.get_instance_proc_addr;
    PFN_vkGetDeviceProcAddr get_device = options_.get_device_proc_addr;
    if (get_device == nullptr)
        get_device = reinterpret_cast<PFN_vkGetDeviceProcAddr>(get(options_.instance, "vkGetDeviceProcAddr"));
    if (get_device == nullptr)
        return Error{Errc::kUnsupported, 0, "get_instance_proc_addr does not know vkGetDeviceProcAddr"};
    table_ = DeviceTable::load(options_.device, get_device);
    bool all = true;
#define LAPWING_VK_LOAD(name)                                                          \
    name##_ = reinterpret_cast<PFN_vk##name>(get_device(options_.device, "vk" #name)); \
    all = all && name##_ != nullptr;
    LAPWING_VK_FINGERPRINT_ENTRY_POINTS(LAPWING_VK_LOAD)
#undef LAPWING_VK_LOAD
    const InstanceTable instance = InstanceTable::load(options_.instance, get);
    if (!all || instance.GetPhysicalDeviceProperties == nullptr || table_.CreateComputePipelines == nullptr) {
        DestroyPipelineLayout_ = nullptr;
        return Error{Errc::kUnsupported, 0, "the driver lacks functions that every Vulkan 1.0 driver has"};
    }
    instance.GetPhysicalDeviceMemoryProperties(options_.physical_device, &memory_);
    VkPhysicalDeviceProperties properties{};
    instance.GetPhysicalDeviceProperties(options_.physical_device, &properties);
    limits_ = properties.limits;
    return {};
}

Status FingerprintDevice::make_memory() {
    auto results = HostBuffer::create(table_, options_.device, memory_, uint64_t{options_.slots} * kFingerprintStride,
                                      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    if (!results.ok()) return results.error();
    results_ = results.value();
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = options_.slots * kPartialsBytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    if (const VkResult r = table_.CreateBuffer(options_.device, &info, nullptr, &partials_); r != VK_SUCCESS) {
        partials_ = VK_NULL_HANDLE;
        return failed(r, "vkCreateBuffer");
    }
    VkMemoryRequirements needs{};
    table_.GetBufferMemoryRequirements(options_.device, partials_, &needs);
    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.allocationSize = needs.size;
    // Types are ordered so that the first one that fits is the one with the fewest other properties; on-device first.
    uint32_t type = memory_.memoryTypeCount;
    for (uint32_t i = memory_.memoryTypeCount; i-- > 0;) {
        if ((needs.memoryTypeBits >> i & 1) == 0) continue;
        const bool local = (memory_.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
        if (local || type == memory_.memoryTypeCount) type = i;
    }
    allocation.memoryTypeIndex = type;
    if (const VkResult r = table_.AllocateMemory(options_.device, &allocation, nullptr, &partials_memory_);
        r != VK_SUCCESS) {
        partials_memory_ = VK_NULL_HANDLE;
        return failed(r, "vkAllocateMemory");
    }
    const VkResult bound = table_.BindBufferMemory(options_.device, partials_, partials_memory_, 0);
    return bound == VK_SUCCESS ? Status() : failed(bound, "vkBindBufferMemory");
}

Status FingerprintDevice::make_pipeline() {
    VkDescriptorSetLayoutBinding bindings[3]{};
    for (uint32_t i = 0; i < 3; ++i)
        bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo set_info{};
    set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set_info.bindingCount = 3;
    set_info.pBindings = bindings;
    if (const VkResult r = CreateDescriptorSetLayout_(options_.device, &set_info, nullptr, &set_layout_);
        r != VK_SUCCESS)
        return failed(r, "vkCreateDescriptorSetLayout");
    const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(Push)};
    VkPipelineLayoutCreateInfo layout_info{};
    layout_info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout_info.setLayoutCount = 1;
    layout_info.pSetLayouts = &set_layout_;
    layout_info.pushConstantRangeCount = 1;
    layout_info.pPushConstantRanges = &push;
    if (const VkResult r = CreatePipelineLayout_(options_.device, &layout_info, nullptr, &layout_); r != VK_SUCCESS)
        return failed(r, "vkCreatePipelineLayout");
    VkShaderModuleCreateInfo module_info{};
    module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    module_info.codeSize = options_.shader_float64 ? sizeof kDoubleCode : sizeof kPairCode;
    module_info.pCode = options_.shader_float64 ? kDoubleCode : kPairCode;
    VkShaderModule shader = VK_NULL_HANDLE;
    if (const VkResult r = table_.CreateShaderModule(options_.device, &module_info, nullptr, &shader); r != VK_SUCCESS)
        return failed(r, "vkCreateShaderModule");
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = shader;
    info.stage.pName = "main";
    info.layout = layout_;
    const VkResult made = table_.CreateComputePipelines(options_.device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_);
    table_.DestroyShaderModule(options_.device, shader, nullptr);
    return made == VK_SUCCESS ? Status() : failed(made, "vkCreateComputePipelines");
}

Status FingerprintDevice::make_sets() {
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3 * options_.slots};
    VkDescriptorPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = options_.slots;
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    if (const VkResult r = CreateDescriptorPool_(options_.device, &info, nullptr, &pool_); r != VK_SUCCESS)
        return failed(r, "vkCreateDescriptorPool");
    const std::vector<VkDescriptorSetLayout> layouts(options_.slots, set_layout_);
    sets_.resize(options_.slots);
    VkDescriptorSetAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    allocation.descriptorPool = pool_;
    allocation.descriptorSetCount = options_.slots;
    allocation.pSetLayouts = layouts.data();
    const VkResult made = AllocateDescriptorSets_(options_.device, &allocation, sets_.data());
    return made == VK_SUCCESS ? Status() : failed(made, "vkAllocateDescriptorSets");
}

void FingerprintDevice::destroy() noexcept {
    // Destroying and freeing null handles is defined.
    DestroyDescriptorPool_(options_.device, pool_, nullptr);
    table_.DestroyPipeline(options_.device, pipeline_, nullptr);
    DestroyPipelineLayout_(options_.device, layout_, nullptr);
    DestroyDescriptorSetLayout_(options_.device, set_layout_, nullptr);
    table_.DestroyBuffer(options_.device, partials_, nullptr);
    table_.FreeMemory(options_.device, partials_memory_, nullptr);
    results_.destroy(table_, options_.device);
    sets_.clear();
}

Status FingerprintDevice::check(const VulkanTensor& tensor) const {
    const std::size_t element = size_of(tensor.type);
    if (tensor.buffer == VK_NULL_HANDLE || tensor.count == 0 || tensor.offset % element != 0)
        return Error{Errc::kInvalidArgument, 0,
                     "a tensor needs a buffer, elements, and an offset that is a multiple of its element's size"};
    const VkDeviceSize before = tensor.offset % limits_.minStorageBufferOffsetAlignment;
    const bool counted = tensor.count + before / element <= std::numeric_limits<uint32_t>::max();
    if (!counted || before + tensor.count * element > limits_.maxStorageBufferRange - 3)
        return Error{Errc::kUnsupported, 0,
                     "the device binds at most " + std::to_string(limits_.maxStorageBufferRange) +
                         " bytes of a buffer, and 2^32 - 1 elements: take the fingerprints of the tensor's parts"};
    return {};
}

void FingerprintDevice::bind_tensor(const VulkanTensor& tensor, uint32_t slot) const noexcept {
    const VkDeviceSize before = tensor.offset % limits_.minStorageBufferOffsetAlignment;
    const VkDeviceSize bytes = (before + tensor.count * size_of(tensor.type) + 3) / 4 * 4;
    const VkDescriptorBufferInfo buffers[3]{
        {tensor.buffer, tensor.offset - before, bytes},
        {partials_, slot * kPartialsBytes, kPartialsBytes},
        {results_.buffer, slot * VkDeviceSize{kFingerprintStride}, kFingerprintWords * sizeof(uint32_t)}};
    VkWriteDescriptorSet write{};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = sets_[slot];
    write.descriptorCount = 3;    // consecutive bindings, one each
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = buffers;
    UpdateDescriptorSets_(options_.device, 1, &write, 0, nullptr);
}

void FingerprintDevice::record(VkCommandBuffer commands, const VulkanTensor& tensor, uint32_t slot) const noexcept {
    bind_tensor(tensor, slot);
    const auto barrier = [&](VkPipelineStageFlags from, VkAccessFlags written, VkPipelineStageFlags to,
                             VkAccessFlags used) {
        VkMemoryBarrier memory{};
        memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
        memory.srcAccessMask = written;
        memory.dstAccessMask = used;
        table_.CmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
    };
    constexpr VkPipelineStageFlags kCompute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    const VkDeviceSize before = tensor.offset % limits_.minStorageBufferOffsetAlignment;
    Push push{static_cast<uint32_t>(before / size_of(tensor.type)),
              static_cast<uint32_t>(tensor.count),
              static_cast<uint32_t>(tensor.type),
              options_.seed,
              groups_of(tensor.count),
              0};
    const auto dispatch = [&](uint32_t groups) {
        CmdPushConstants_(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
        table_.CmdDispatch(commands, groups, 1, 1);
    };
    // Whatever made the tensor: a dispatch, a copy.
    barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT, kCompute, VK_ACCESS_SHADER_READ_BIT);
    table_.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
    CmdBindDescriptorSets_(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &sets_[slot], 0, nullptr);
    dispatch(push.groups);
    barrier(kCompute, VK_ACCESS_SHADER_WRITE_BIT, kCompute, VK_ACCESS_SHADER_READ_BIT);
    push.last_pass = 1;
    dispatch(1);
    // All commands behind: what overwrites the tensor must come after the reads here.
    barrier(kCompute, VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
            VK_ACCESS_HOST_READ_BIT);
}

Fingerprint FingerprintDevice::read(const VulkanTensor& tensor, uint32_t slot) const noexcept {
    const uint64_t* const words = results_.words + slot * (kFingerprintStride / sizeof(uint64_t));
    const auto word = [&](uint32_t at) { return static_cast<uint32_t>(words[at / 2] >> (32 * (at % 2))); };
    const auto value = [&](uint32_t at) { return static_cast<double>(std::bit_cast<float>(word(at))); };
    const auto sum = [&](uint32_t k) {
        return options_.shader_float64 ? std::bit_cast<double>(words[k]) : value(2 * k) + value(2 * k + 1);
    };
    static_assert(std::endian::native == std::endian::little, "words are read in pairs");
    Fingerprint out;
    out.type = tensor.type;
    out.count = tensor.count;
    out.seed = options_.seed;
    out.sum = sum(0);
    out.sum_squares = sum(1);
    out.sum_abs = sum(2);
    for (uint32_t k = 0; k < kProjections; ++k) out.projections[k] = sum(3 + k);
    out.nans = word(kFingerprintMinAt + 2);
    out.infs = word(kFingerprintMinAt + 3);
    if (out.nans + out.infs < out.count) {
        out.min = value(kFingerprintMinAt);
        out.max = value(kFingerprintMinAt + 1);
    }
    out.checksum = words[kFingerprintMinAt / 2 + 2];
    return out;
}

}    // namespace lapwing::vulkan
