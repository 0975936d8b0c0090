#include "peaks_device.hpp"

#include <cstring>

#include "lapwing/clock.hpp"

namespace lapwing::cli {
namespace {

constexpr int64_t kLongestWaitNs = 20'000'000'000;
constexpr VkMemoryPropertyFlags kWanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;

}    // namespace

bool PeakDevice::failed(const char* what) {
    if (why_.empty()) why_ = std::string("the driver failed in ") + what;
    return false;
}

PeakDevice::PeakDevice(const Vulkan& vk, VkPhysicalDevice physical, uint32_t family, VkDeviceSize buffer_bytes)
    : vk_(vk), physical_(physical) {
    if (make_device(family) && make_buffers(buffer_bytes) && make_layout() && make_commands(family) &&
        make_timer(family))
        (void)fill_buffers(buffer_bytes);
}

PeakDevice::~PeakDevice() {
    if (device_ == VK_NULL_HANDLE) return;
    (void)function<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle")(device_);
    timers_.reset();
    if (backend_) (void)backend_->shutdown();
    for (VkPipeline each : pipelines_) function<PFN_vkDestroyPipeline>("vkDestroyPipeline")(device_, each, nullptr);
    for (VkShaderModule each : shaders_)
        function<PFN_vkDestroyShaderModule>("vkDestroyShaderModule")(device_, each, nullptr);
    function<PFN_vkDestroyFence>("vkDestroyFence")(device_, fence_, nullptr);
    function<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(device_, pool_, nullptr);
    function<PFN_vkDestroyDescriptorPool>("vkDestroyDescriptorPool")(device_, descriptors_, nullptr);
    function<PFN_vkDestroyPipelineLayout>("vkDestroyPipelineLayout")(device_, layout_, nullptr);
    function<PFN_vkDestroyDescriptorSetLayout>("vkDestroyDescriptorSetLayout")(device_, set_layout_, nullptr);
    for (VkBuffer each : buffers_) function<PFN_vkDestroyBuffer>("vkDestroyBuffer")(device_, each, nullptr);
    for (VkDeviceMemory each : memory_) function<PFN_vkFreeMemory>("vkFreeMemory")(device_, each, nullptr);
    function<PFN_vkDestroyDevice>("vkDestroyDevice")(device_, nullptr);
}

bool PeakDevice::make_device(uint32_t family) {
    uint32_t count = 0;
    const auto list = function<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
    (void)list(physical_, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> offered(count);
    (void)list(physical_, nullptr, &count, offered.data());
    bool offers_half = false;
    for (const VkExtensionProperties& each : offered)
        offers_half = offers_half || std::strcmp(each.extensionName, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME) == 0;

    VkPhysicalDeviceShaderFloat16Int8Features half{};
    half.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
    const auto ask = function<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2");
    if (offers_half && ask != nullptr) {
        VkPhysicalDeviceFeatures2 features{};
        features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
        features.pNext = &half;
        ask(physical_, &features);
        half_ = half.shaderFloat16 == VK_TRUE;
        half.shaderInt8 = VK_FALSE;
    }
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    const char* const extension = VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    if (half_) {
        info.pNext = &half;
        info.enabledExtensionCount = 1;
        info.ppEnabledExtensionNames = &extension;
    }
    if (function<PFN_vkCreateDevice>("vkCreateDevice")(physical_, &info, nullptr, &device_) != VK_SUCCESS) {
        device_ = VK_NULL_HANDLE;
        return failed("vkCreateDevice");
    }
    function<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(device_, family, 0, &queue_);
    return true;
}

std::optional<uint32_t> PeakDevice::memory_type(uint32_t bits) const {
    VkPhysicalDeviceMemoryProperties memory{};
    function<PFN_vkGetPhysicalDeviceMemoryProperties>("vkGetPhysicalDeviceMemoryProperties")(physical_, &memory);
    std::optional<uint32_t> any;
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
        if ((bits >> i & 1) == 0) continue;
        if ((memory.memoryTypes[i].propertyFlags & kWanted) == kWanted) return i;
        if (!any) any = i;
    }
    return any;
}

bool PeakDevice::make_buffers(VkDeviceSize bytes) {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
        if (function<PFN_vkCreateBuffer>("vkCreateBuffer")(device_, &info, nullptr, &buffers_[i]) != VK_SUCCESS)
            return failed("vkCreateBuffer");
        VkMemoryRequirements needs{};
        function<PFN_vkGetBufferMemoryRequirements>("vkGetBufferMemoryRequirements")(device_, buffers_[i], &needs);
        const std::optional<uint32_t> type = memory_type(needs.memoryTypeBits);
        if (!type) return failed("choosing a type of memory");
        VkMemoryAllocateInfo allocation{};
        allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
        allocation.allocationSize = needs.size;
        allocation.memoryTypeIndex = *type;
        if (function<PFN_vkAllocateMemory>("vkAllocateMemory")(device_, &allocation, nullptr, &memory_[i]) !=
                VK_SUCCESS ||
            function<PFN_vkBindBufferMemory>("vkBindBufferMemory")(device_, buffers_[i], memory_[i], 0) != VK_SUCCESS)
            return failed("vkAllocateMemory");
    }
    return true;
}

bool PeakDevice::make_layout() {
    std::array<VkDescriptorSetLayoutBinding, 3> bindings{};
    for (uint32_t i = 0; i < bindings.size(); ++i) {
        bindings[i].binding = i;
        bindings[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        bindings[i].descriptorCount = 1;
        bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    VkDescriptorSetLayoutCreateInfo set_info{};
    set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set_info.bindingCount = bindings.size();
    set_info.pBindings = bindings.data();
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(PeakParameters)};
    VkPipelineLayoutCreateInfo layout_info{};
    layout_info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout_info.setLayoutCount = 1;
    layout_info.pSetLayouts = &set_layout_;
    layout_info.pushConstantRangeCount = 1;
    layout_info.pPushConstantRanges = &range;
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
    VkDescriptorPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool_info.maxSets = 1;
    pool_info.poolSizeCount = 1;
    pool_info.pPoolSizes = &size;
    if (function<PFN_vkCreateDescriptorSetLayout>("vkCreateDescriptorSetLayout")(device_, &set_info, nullptr,
                                                                                 &set_layout_) != VK_SUCCESS ||
        function<PFN_vkCreatePipelineLayout>("vkCreatePipelineLayout")(device_, &layout_info, nullptr, &layout_) !=
            VK_SUCCESS ||
        function<PFN_vkCreateDescriptorPool>("vkCreateDescriptorPool")(device_, &pool_info, nullptr, &descriptors_) !=
            VK_SUCCESS)
        return failed("vkCreatePipelineLayout");
    VkDescriptorSetAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    allocation.descriptorPool = descriptors_;
    allocation.descriptorSetCount = 1;
    allocation.pSetLayouts = &set_layout_;
    if (function<PFN_vkAllocateDescriptorSets>("vkAllocateDescriptorSets")(device_, &allocation, &set_) != VK_SUCCESS)
        return failed("vkAllocateDescriptorSets");
    for (uint32_t i = 0; i < buffers_.size(); ++i) {
        const VkDescriptorBufferInfo buffer{buffers_[i], 0, VK_WHOLE_SIZE};
        VkWriteDescriptorSet write{};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = set_;
        write.dstBinding = i;
        write.descriptorCount = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &buffer;
        function<PFN_vkUpdateDescriptorSets>("vkUpdateDescriptorSets")(device_, 1, &write, 0, nullptr);
    }
    return true;
}

bool PeakDevice::make_commands(uint32_t family) {
    VkCommandPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool_info.queueFamilyIndex = family;
    VkFenceCreateInfo fence_info{};
    fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    if (function<PFN_vkCreateCommandPool>("vkCreateCommandPool")(device_, &pool_info, nullptr, &pool_) != VK_SUCCESS ||
        function<PFN_vkCreateFence>("vkCreateFence")(device_, &fence_info, nullptr, &fence_) != VK_SUCCESS)
        return failed("vkCreateCommandPool");
    VkCommandBufferAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocation.commandPool = pool_;
    allocation.commandBufferCount = 1;
    return function<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(device_, &allocation, &commands_) ==
               VK_SUCCESS ||
           failed("vkAllocateCommandBuffers");
}

bool PeakDevice::make_timer(uint32_t family) {
    auto backend = VulkanBackend::create({.instance = vk_.instance(),
                                          .physical_device = physical_,
                                          .device = device_,
                                          .get_instance_proc_addr = vk_.get_instance_proc_addr(),
                                          .instance_api_version = VK_API_VERSION_1_1});
    if (!backend.ok()) {
        why_ = backend.error().message;
        return false;
    }
    backend_ = std::move(*backend);
    auto stream = backend_->open_queue(family);
    if (!stream.ok()) {
        why_ = stream.error().message;
        return false;
    }
    stream_ = *stream;
    by_host_ = backend_->caps(stream_).valid_bits == 0;
    timers_ = std::make_unique<TimerPool<VulkanBackend>>(*backend_, stream_);
    return true;
}

VkPipeline PeakDevice::make_pipeline(std::span<const uint32_t> words) {
    VkShaderModuleCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = words.size_bytes();
    info.pCode = words.data();
    VkShaderModule shader = VK_NULL_HANDLE;
    if (function<PFN_vkCreateShaderModule>("vkCreateShaderModule")(device_, &info, nullptr, &shader) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    shaders_.push_back(shader);
    VkComputePipelineCreateInfo pipeline_info{};
    pipeline_info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    pipeline_info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    pipeline_info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    pipeline_info.stage.module = shader;
    pipeline_info.stage.pName = "main";
    pipeline_info.layout = layout_;
    VkPipeline pipeline = VK_NULL_HANDLE;
    if (function<PFN_vkCreateComputePipelines>("vkCreateComputePipelines")(device_, VK_NULL_HANDLE, 1, &pipeline_info,
                                                                           nullptr, &pipeline) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    pipelines_.push_back(pipeline);
    return pipeline;
}

void PeakDevice::record(VkPipeline pipeline, uint32_t groups, uint32_t dispatches, const PeakParameters& parameters) {
    const auto dispatch = function<PFN_vkCmdDispatch>("vkCmdDispatch");
    const auto barrier = function<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier");
    function<PFN_vkCmdBindPipeline>("vkCmdBindPipeline")(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    function<PFN_vkCmdBindDescriptorSets>("vkCmdBindDescriptorSets")(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, layout_,
                                                                     0, 1, &set_, 0, nullptr);
    function<PFN_vkCmdPushConstants>("vkCmdPushConstants")(commands_, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                                           sizeof parameters, &parameters);
    VkMemoryBarrier memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    memory.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    for (uint32_t i = 0; i < dispatches; ++i) {
        dispatch(commands_, groups, 1, 1);
        barrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &memory, 0,
                nullptr, 0, nullptr);
    }
}

bool PeakDevice::submit_and_wait() {
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands_;
    if (function<PFN_vkQueueSubmit>("vkQueueSubmit")(queue_, 1, &submit, fence_) != VK_SUCCESS)
        return failed("vkQueueSubmit");
    return function<PFN_vkWaitForFences>("vkWaitForFences")(device_, 1, &fence_, VK_TRUE, kLongestWaitNs) ==
               VK_SUCCESS ||
           failed("vkWaitForFences");
}

bool PeakDevice::fill_buffers(VkDeviceSize bytes) {
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    (void)function<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands_, &begin);
    for (VkBuffer each : buffers_)
        function<PFN_vkCmdFillBuffer>("vkCmdFillBuffer")(commands_, each, 0, bytes, 0x3f800000);    // 1.0F
    (void)function<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(commands_);
    return submit_and_wait() && function<PFN_vkResetFences>("vkResetFences")(device_, 1, &fence_) == VK_SUCCESS;
}

std::optional<double> PeakDevice::run(VkPipeline pipeline, uint32_t groups, uint32_t dispatches,
                                      const PeakParameters& parameters) {
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    (void)function<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands_, &begin);
    auto timer = make_timer_of_run();
    if (timer) timer->record_start();
    record(pipeline, groups, dispatches, parameters);
    if (timer) {
        timer->record_end();
        backend_->end_commands(stream_);
    }
    (void)function<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(commands_);
    const int64_t submitted_ns = host_now().value;
    if (!submit_and_wait()) return std::nullopt;
    const int64_t done_ns = host_now().value;
    std::optional<double> ns;
    if (timer) {
        backend_->submitted(stream_, {.fence = fence_});
        const Result<TimerReading> reading = timer->elapsed({.deadline_ns = kLongestWaitNs});
        if (reading.ok())
            ns = static_cast<double>(reading->duration_ns);
        else if (why_.empty())
            why_ = reading.error().message;
        backend_->release_fence(fence_);
    } else {
        ns = static_cast<double>(done_ns - submitted_ns);
    }
    if (function<PFN_vkResetFences>("vkResetFences")(device_, 1, &fence_) != VK_SUCCESS) (void)failed("vkResetFences");
    return ns;
}

std::optional<BackendTimer<VulkanBackend>> PeakDevice::make_timer_of_run() {
    if (by_host_ || !backend_->begin_commands(stream_, commands_, 2).ok()) return std::nullopt;
    return lapwing::make_timer(*timers_);
}

}    // namespace lapwing::cli
