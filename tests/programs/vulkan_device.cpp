#include "vulkan_device.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace programs {

namespace {
constexpr uint32_t kShader[] = {
#include "burn.inc"
};

bool offers(const std::vector<VkExtensionProperties>& extensions, const char* wanted) {
    return std::any_of(extensions.begin(), extensions.end(), [wanted](const VkExtensionProperties& extension) {
        return std::strcmp(extension.extensionName, wanted) == 0;
    });
}
}    // namespace

void check(VkResult result, const char* call) {
    if (result == VK_SUCCESS) return;
    std::fprintf(stderr, "%s failed: %d\n", call, static_cast<int>(result));
    std::exit(1);
}

int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

VulkanDevice::VulkanDevice() {
    make_instance();
    make_device();
    make_buffers();
    make_layout();
}

VulkanDevice::~VulkanDevice() {
    for (const VkCommandPool pool : pools_) vkDestroyCommandPool(device_, pool, nullptr);
    for (const VkFence fence : fences_) vkDestroyFence(device_, fence, nullptr);
    for (const VkPipeline pipeline : pipelines_) vkDestroyPipeline(device_, pipeline, nullptr);
    vkDestroyDescriptorPool(device_, descriptor_pool_, nullptr);
    vkDestroyPipelineLayout(device_, layout_, nullptr);
    vkDestroyDescriptorSetLayout(device_, set_layout_, nullptr);
    vkDestroyShaderModule(device_, shader_, nullptr);
    for (const VkBuffer buffer : buffers_) vkDestroyBuffer(device_, buffer, nullptr);
    for (const VkDeviceMemory memory : memory_) vkFreeMemory(device_, memory, nullptr);
    vkDestroyDevice(device_, nullptr);
    vkDestroyInstance(instance_, nullptr);
}

void VulkanDevice::make_instance() {
    uint32_t count = 0;
    vkEnumerateInstanceExtensionProperties(nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> offered(count);
    vkEnumerateInstanceExtensionProperties(nullptr, &count, offered.data());
    labels_ = offers(offered, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_3;
    const char* const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    info.enabledExtensionCount = labels_ ? 1 : 0;
    info.ppEnabledExtensionNames = &extension;
    check(vkCreateInstance(&info, nullptr, &instance_), "vkCreateInstance");
    if (!labels_) return;
    begin_label_ = reinterpret_cast<PFN_vkCmdBeginDebugUtilsLabelEXT>(
        vkGetInstanceProcAddr(instance_, "vkCmdBeginDebugUtilsLabelEXT"));
    end_label_ = reinterpret_cast<PFN_vkCmdEndDebugUtilsLabelEXT>(
        vkGetInstanceProcAddr(instance_, "vkCmdEndDebugUtilsLabelEXT"));
    set_name_ = reinterpret_cast<PFN_vkSetDebugUtilsObjectNameEXT>(
        vkGetInstanceProcAddr(instance_, "vkSetDebugUtilsObjectNameEXT"));
}

void VulkanDevice::make_device() {
    uint32_t count = 1;
    vkEnumeratePhysicalDevices(instance_, &count, &physical_);
    if (count == 0) {
        std::fputs("no Vulkan device\n", stderr);
        std::exit(1);
    }
    vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
    while (family_ + 1 < count && (families[family_].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++family_;

    vkEnumerateDeviceExtensionProperties(physical_, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> offered(count);
    vkEnumerateDeviceExtensionProperties(physical_, nullptr, &count, offered.data());
    const char* const extension = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
    calibrates_ = offers(offered, extension);

    const float priority = 1;
    std::vector<VkDeviceQueueCreateInfo> queues(families.size());
    for (uint32_t family = 0; family < families.size(); ++family) {
        queues[family].sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        queues[family].queueFamilyIndex = family;
        queues[family].queueCount = 1;
        queues[family].pQueuePriorities = &priority;
    }
    VkPhysicalDeviceVulkan13Features features13{};
    features13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    features13.synchronization2 = VK_TRUE;
    features13.dynamicRendering = VK_TRUE;
    VkPhysicalDeviceVulkan12Features features12{};
    features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    features12.pNext = &features13;
    features12.timelineSemaphore = VK_TRUE;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &features12;
    info.queueCreateInfoCount = static_cast<uint32_t>(queues.size());
    info.pQueueCreateInfos = queues.data();
    info.enabledExtensionCount = calibrates_ ? 1 : 0;
    info.ppEnabledExtensionNames = &extension;
    check(vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice");
    for (uint32_t family = 0; family < families.size(); ++family) {
        VkQueue queue = VK_NULL_HANDLE;
        vkGetDeviceQueue(device_, family, 0, &queue);
        queues_.push_back({queue, family, families[family].queueFlags});
        if (family == family_) queue_ = queue;
    }
}

uint32_t VulkanDevice::memory_type(uint32_t bits) const {
    VkPhysicalDeviceMemoryProperties types{};
    vkGetPhysicalDeviceMemoryProperties(physical_, &types);
    constexpr VkMemoryPropertyFlags kWanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t any = 0;
    for (uint32_t type = types.memoryTypeCount; type-- > 0;) {
        if ((bits >> type & 1) == 0) continue;
        any = type;
        if ((types.memoryTypes[type].propertyFlags & kWanted) == kWanted) return type;
    }
    return any;
}

void VulkanDevice::make_buffers() {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = kBufferBytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
    for (int i = 0; i < 2; ++i) {
        check(vkCreateBuffer(device_, &info, nullptr, &buffers_[i]), "vkCreateBuffer");
        VkMemoryRequirements needs{};
        vkGetBufferMemoryRequirements(device_, buffers_[i], &needs);
        VkMemoryAllocateInfo memory{};
        memory.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
        memory.allocationSize = needs.size;
        memory.memoryTypeIndex = memory_type(needs.memoryTypeBits);
        check(vkAllocateMemory(device_, &memory, nullptr, &memory_[i]), "vkAllocateMemory");
        check(vkBindBufferMemory(device_, buffers_[i], memory_[i], 0), "vkBindBufferMemory");
    }
    void* address = nullptr;
    check(vkMapMemory(device_, memory_[1], 0, VK_WHOLE_SIZE, 0, &address), "vkMapMemory");
    const VkDispatchIndirectCommand indirect{4, 1, 1};
    std::memcpy(address, &indirect, sizeof indirect);
    vkUnmapMemory(device_, memory_[1]);
}

void VulkanDevice::make_layout() {
    VkShaderModuleCreateInfo shader{};
    shader.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    shader.codeSize = sizeof kShader;
    shader.pCode = kShader;
    check(vkCreateShaderModule(device_, &shader, nullptr, &shader_), "vkCreateShaderModule");

    VkDescriptorSetLayoutBinding binding{};
    binding.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    binding.descriptorCount = 1;
    binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    VkDescriptorSetLayoutCreateInfo set_layout{};
    set_layout.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set_layout.bindingCount = 1;
    set_layout.pBindings = &binding;
    check(vkCreateDescriptorSetLayout(device_, &set_layout, nullptr, &set_layout_), "vkCreateDescriptorSetLayout");

    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(uint32_t)};
    VkPipelineLayoutCreateInfo layout{};
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &set_layout_;
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &range;
    check(vkCreatePipelineLayout(device_, &layout, nullptr, &layout_), "vkCreatePipelineLayout");

    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool.maxSets = 1;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    check(vkCreateDescriptorPool(device_, &pool, nullptr, &descriptor_pool_), "vkCreateDescriptorPool");
    VkDescriptorSetAllocateInfo set{};
    set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    set.descriptorPool = descriptor_pool_;
    set.descriptorSetCount = 1;
    set.pSetLayouts = &set_layout_;
    check(vkAllocateDescriptorSets(device_, &set, &set_), "vkAllocateDescriptorSets");
    const VkDescriptorBufferInfo buffer{buffers_[0], 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write{};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = set_;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &buffer;
    vkUpdateDescriptorSets(device_, 1, &write, 0, nullptr);
}

void VulkanDevice::read_other(void* out, std::size_t bytes) {
    void* address = nullptr;
    check(vkMapMemory(device_, memory_[1], 0, VK_WHOLE_SIZE, 0, &address), "vkMapMemory");
    std::memcpy(out, address, bytes);
    vkUnmapMemory(device_, memory_[1]);
}

float VulkanDevice::timestamp_period() const {
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    vkGetPhysicalDeviceProperties2(physical_, &properties);
    return properties.properties.limits.timestampPeriod;
}

uint32_t VulkanDevice::valid_bits() const {
    uint32_t count = family_ + 1;
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
    return families[family_].timestampValidBits;
}

uint32_t VulkanDevice::valid_bits2() const {
    uint32_t count = family_ + 1;
    std::vector<VkQueueFamilyProperties2> families(count);
    for (VkQueueFamilyProperties2& family : families) family.sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2;
    vkGetPhysicalDeviceQueueFamilyProperties2(physical_, &count, families.data());
    return families[family_].queueFamilyProperties.timestampValidBits;
}

VkPipeline VulkanDevice::make_pipeline(const std::string& name) {
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = shader_;
    info.stage.pName = "main";
    info.layout = layout_;
    VkPipeline pipeline = VK_NULL_HANDLE;
    check(vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline), "vkCreateComputePipelines");
    pipelines_.push_back(pipeline);
    if (set_name_ == nullptr) return pipeline;
    VkDebugUtilsObjectNameInfoEXT named{};
    named.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
    named.objectType = VK_OBJECT_TYPE_PIPELINE;
    named.objectHandle = reinterpret_cast<uint64_t>(pipeline);
    named.pObjectName = name.c_str();
    check(set_name_(device_, &named), "vkSetDebugUtilsObjectNameEXT");
    return pipeline;
}

VkFence VulkanDevice::make_fence() {
    VkFenceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    VkFence fence = VK_NULL_HANDLE;
    check(vkCreateFence(device_, &info, nullptr, &fence), "vkCreateFence");
    fences_.push_back(fence);
    return fence;
}

VkCommandPool VulkanDevice::make_pool(VkCommandPoolCreateFlags flags) {
    return make_pool_of(family_, flags);
}

VkCommandPool VulkanDevice::make_pool_of(uint32_t family, VkCommandPoolCreateFlags flags) {
    VkCommandPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    info.flags = flags;
    info.queueFamilyIndex = family;
    VkCommandPool pool = VK_NULL_HANDLE;
    check(vkCreateCommandPool(device_, &info, nullptr, &pool), "vkCreateCommandPool");
    pools_.push_back(pool);
    return pool;
}

void VulkanDevice::destroy_pool(VkCommandPool pool) {
    std::erase(pools_, pool);
    vkDestroyCommandPool(device_, pool, nullptr);
}

VkCommandBuffer VulkanDevice::make_commands(VkCommandPool pool, VkCommandBufferLevel level) {
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool;
    info.level = level;
    info.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    check(vkAllocateCommandBuffers(device_, &info, &commands), "vkAllocateCommandBuffers");
    return commands;
}

void VulkanDevice::begin(VkCommandBuffer commands, VkCommandBufferUsageFlags flags, bool secondary) {
    VkCommandBufferInheritanceInfo inheritance{};
    inheritance.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO;
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = flags;
    info.pInheritanceInfo = secondary ? &inheritance : nullptr;
    check(vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
}

void VulkanDevice::end(VkCommandBuffer commands) {
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

void VulkanDevice::bind(VkCommandBuffer commands, VkPipeline pipeline, uint32_t iterations) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set_, 0, nullptr);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof iterations, &iterations);
}

void VulkanDevice::dispatch(VkCommandBuffer commands, VkPipeline pipeline, const Work& work) {
    bind(commands, pipeline, work.iterations);
    vkCmdDispatch(commands, work.groups, 1, 1);
}

void VulkanDevice::barrier(VkCommandBuffer commands) {
    VkMemoryBarrier everything{};
    everything.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    everything.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    everything.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                         &everything, 0, nullptr, 0, nullptr);
}

void VulkanDevice::begin_label(VkCommandBuffer commands, const std::string& label) {
    if (begin_label_ == nullptr) return;
    VkDebugUtilsLabelEXT info{};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
    info.pLabelName = label.c_str();
    begin_label_(commands, &info);
}

void VulkanDevice::end_label(VkCommandBuffer commands) {
    if (end_label_ != nullptr) end_label_(commands);
}

void VulkanDevice::submit(const std::vector<VkCommandBuffer>& commands, VkFence fence) {
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = static_cast<uint32_t>(commands.size());
    info.pCommandBuffers = commands.data();
    check(vkQueueSubmit(queue_, commands.empty() ? 0 : 1, &info, fence), "vkQueueSubmit");
}

void VulkanDevice::wait_only(VkFence fence) {
    check(vkWaitForFences(device_, 1, &fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
}

void VulkanDevice::wait(VkFence fence) {
    wait_only(fence);
    check(vkResetFences(device_, 1, &fence), "vkResetFences");
}

}    // namespace programs
