#include "conformance/vulkan_harness.hpp"

#include <gtest/gtest.h>
#include <time.h>
#include <vulkan/vulkan.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace lapwing::testing {
namespace {

const uint32_t kBurn[] = {
#include "vulkan_burn.inc"
};
constexpr uint32_t kInvocations = 1u << 16;

void check(VkResult result, const char* what) {
    if (result == VK_SUCCESS) return;
    ADD_FAILURE() << what << " gave " << result;
    std::abort();    // the harness itself cannot go on
}
#define LAPWING_VK_CHECK(call) check(call, #call)

VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                               const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(data->pMessage);
    return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(std::vector<std::string>* messages) {
    VkDebugUtilsMessengerCreateInfoEXT info{};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    info.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    // Not "general": the loader itself warns there about manifests of other drivers on the machine.
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
    info.pfnUserCallback = on_message;
    info.pUserData = messages;
    return info;
}

bool has_validation_layer() {
    uint32_t count = 0;
    vkEnumerateInstanceLayerProperties(&count, nullptr);
    std::vector<VkLayerProperties> layers(count);
    vkEnumerateInstanceLayerProperties(&count, layers.data());
    return std::any_of(layers.begin(), layers.end(), [](const VkLayerProperties& layer) {
        return std::strcmp(layer.layerName, "VK_LAYER_KHRONOS_validation") == 0;
    });
}

}    // namespace

int64_t host_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::unique_ptr<VulkanHarness> VulkanHarness::make(const Options& options, std::string& why_not) {
    const char* pinned = std::getenv("VK_ICD_FILENAMES");
    if (pinned == nullptr || *pinned == '\0') {
        why_not = "no Vulkan driver is pinned: set VK_ICD_FILENAMES to the manifest of lavapipe or SwiftShader";
        return nullptr;
    }
    std::unique_ptr<VulkanHarness> out(new VulkanHarness);
    if (!out->make_instance(options, why_not) || !out->make_device(options, why_not)) return nullptr;
    out->make_buffer();
    out->make_pipeline();
    return out;
}

bool VulkanHarness::make_instance(const Options& options, std::string& why_not) {
    if (options.validate && !has_validation_layer()) {
        why_not = "VK_LAYER_KHRONOS_validation is not installed (package vulkan-validationlayers)";
        return false;
    }
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    const char* layer = "VK_LAYER_KHRONOS_validation";
    const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    VkDebugUtilsMessengerCreateInfoEXT messages = messenger_info(&messages_);
    if (options.validate) {
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = &layer;
        info.enabledExtensionCount = 1;
        info.ppEnabledExtensionNames = &extension;
        info.pNext = &messages;    // so that creating and destroying the instance is watched too
    }
    if (const VkResult result = vkCreateInstance(&info, nullptr, &instance_); result != VK_SUCCESS) {
        why_not = "vkCreateInstance gave " + std::to_string(result) + ": is the pinned Vulkan driver installed?";
        return false;
    }
    if (options.validate) {
        const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
            vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
        LAPWING_VK_CHECK(create(instance_, &messages, nullptr, &messenger_));
    }
    return true;
}

bool VulkanHarness::make_device(const Options& options, std::string& why_not) {
    uint32_t count = 1;
    const VkResult listed = vkEnumeratePhysicalDevices(instance_, &count, &physical_);
    if (listed < 0 || count == 0) {
        why_not = "the pinned Vulkan driver has no device";
        return false;
    }
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(physical_, &properties);
    name_ = properties.deviceName;

    uint32_t offered = 0;
    vkEnumerateDeviceExtensionProperties(physical_, nullptr, &offered, nullptr);
    std::vector<VkExtensionProperties> extensions(offered);
    vkEnumerateDeviceExtensionProperties(physical_, nullptr, &offered, extensions.data());
    for (const VkExtensionProperties& extension : extensions)
        if (options.calibrated_timestamps &&
            std::strcmp(extension.extensionName, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) == 0)
            extensions_.push_back(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    calibrated_enabled_ = !extensions_.empty();

    static const float kPriority = 1;
    static const VkDeviceQueueCreateInfo kQueue{
        VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, 0, 1, &kPriority};
    features12_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    features12_.timelineSemaphore = VK_TRUE;
    features12_.hostQueryReset = VK_TRUE;
    device_info_.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    device_info_.pNext = &features12_;
    VkPhysicalDeviceFeatures offered_features{};
    vkGetPhysicalDeviceFeatures(physical_, &offered_features);
    if (options.shader_float64) enabled_.shaderFloat64 = offered_features.shaderFloat64;
    device_info_.pEnabledFeatures = &enabled_;
    device_info_.queueCreateInfoCount = 1;
    device_info_.pQueueCreateInfos = &kQueue;
    device_info_.enabledExtensionCount = static_cast<uint32_t>(extensions_.size());
    device_info_.ppEnabledExtensionNames = extensions_.data();
    LAPWING_VK_CHECK(vkCreateDevice(physical_, &device_info_, nullptr, &device_));
    vkGetDeviceQueue(device_, 0, 0, &queue_);

    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    LAPWING_VK_CHECK(vkCreateCommandPool(device_, &pool, nullptr, &pool_));
    return true;
}

void VulkanHarness::make_buffer() {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = kInvocations * sizeof(uint32_t);
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    LAPWING_VK_CHECK(vkCreateBuffer(device_, &info, nullptr, &buffer_));
    VkMemoryRequirements needs{};
    vkGetBufferMemoryRequirements(device_, buffer_, &needs);
    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.allocationSize = needs.size;
    while ((needs.memoryTypeBits >> allocation.memoryTypeIndex & 1) == 0) ++allocation.memoryTypeIndex;
    LAPWING_VK_CHECK(vkAllocateMemory(device_, &allocation, nullptr, &memory_));
    LAPWING_VK_CHECK(vkBindBufferMemory(device_, buffer_, memory_, 0));
}

void VulkanHarness::make_pipeline() {
    const VkDescriptorSetLayoutBinding binding{0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                               nullptr};
    VkDescriptorSetLayoutCreateInfo set_info{};
    set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set_info.bindingCount = 1;
    set_info.pBindings = &binding;
    LAPWING_VK_CHECK(vkCreateDescriptorSetLayout(device_, &set_info, nullptr, &set_layout_));

    const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(uint32_t)};
    VkPipelineLayoutCreateInfo layout_info{};
    layout_info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout_info.setLayoutCount = 1;
    layout_info.pSetLayouts = &set_layout_;
    layout_info.pushConstantRangeCount = 1;
    layout_info.pPushConstantRanges = &push;
    LAPWING_VK_CHECK(vkCreatePipelineLayout(device_, &layout_info, nullptr, &layout_));

    VkShaderModuleCreateInfo module_info{};
    module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    module_info.codeSize = sizeof kBurn;
    module_info.pCode = kBurn;
    VkShaderModule module = VK_NULL_HANDLE;
    LAPWING_VK_CHECK(vkCreateShaderModule(device_, &module_info, nullptr, &module));
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.layout = layout_;
    LAPWING_VK_CHECK(vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_));
    vkDestroyShaderModule(device_, module, nullptr);

    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool_info.maxSets = 1;
    pool_info.poolSizeCount = 1;
    pool_info.pPoolSizes = &size;
    LAPWING_VK_CHECK(vkCreateDescriptorPool(device_, &pool_info, nullptr, &descriptors_));
    VkDescriptorSetAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    allocation.descriptorPool = descriptors_;
    allocation.descriptorSetCount = 1;
    allocation.pSetLayouts = &set_layout_;
    LAPWING_VK_CHECK(vkAllocateDescriptorSets(device_, &allocation, &set_));
    const VkDescriptorBufferInfo buffer{buffer_, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write{};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = set_;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &buffer;
    vkUpdateDescriptorSets(device_, 1, &write, 0, nullptr);
}

VulkanHarness::~VulkanHarness() {
    if (device_ != VK_NULL_HANDLE) {
        vkDeviceWaitIdle(device_);
        for (const VkFence fence : fences_) vkDestroyFence(device_, fence, nullptr);
        for (const VkSemaphore semaphore : semaphores_) vkDestroySemaphore(device_, semaphore, nullptr);
        vkDestroyDescriptorPool(device_, descriptors_, nullptr);
        vkDestroyPipeline(device_, pipeline_, nullptr);
        vkDestroyPipelineLayout(device_, layout_, nullptr);
        vkDestroyDescriptorSetLayout(device_, set_layout_, nullptr);
        vkDestroyBuffer(device_, buffer_, nullptr);
        vkFreeMemory(device_, memory_, nullptr);
        vkDestroyCommandPool(device_, pool_, nullptr);
        vkDestroyDevice(device_, nullptr);
    }
    if (messenger_ != VK_NULL_HANDLE) {
        const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
            vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
        destroy(instance_, messenger_, nullptr);
    }
    if (instance_ != VK_NULL_HANDLE) vkDestroyInstance(instance_, nullptr);
    // What is still alive at the end is reported when the device and the instance go.
    EXPECT_EQ(messages_.size(), 0u) << first_validation_message();
}

std::unique_ptr<VulkanBackend> VulkanHarness::make_backend(VulkanBackendOptions options) {
    options.instance = instance_;
    options.physical_device = physical_;
    options.device = device_;
    options.get_instance_proc_addr = counting_instance_entry;
    options.device_create_info = &device_info_;
    options.instance_api_version = VK_API_VERSION_1_3;
    auto made = VulkanBackend::create(options);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return made.ok() ? std::move(made).value() : nullptr;
}

void VulkanHarness::dispatch(VkCommandBuffer commands, uint32_t iterations) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set_, 0, nullptr);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof iterations, &iterations);
    vkCmdDispatch(commands, kInvocations / 64, 1, 1);
}

VkCommandBuffer VulkanHarness::begin_commands() {
    VkCommandBufferAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocation.commandPool = pool_;
    allocation.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    LAPWING_VK_CHECK(vkAllocateCommandBuffers(device_, &allocation, &commands));
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    LAPWING_VK_CHECK(vkBeginCommandBuffer(commands, &begin));
    return commands;
}

void VulkanHarness::end_commands(VkCommandBuffer commands) {
    LAPWING_VK_CHECK(vkEndCommandBuffer(commands));
}

VkFence VulkanHarness::make_fence() {
    VkFenceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    fences_.emplace_back();
    LAPWING_VK_CHECK(vkCreateFence(device_, &info, nullptr, &fences_.back()));
    return fences_.back();
}

VkSemaphore VulkanHarness::make_timeline() {
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    semaphores_.emplace_back();
    LAPWING_VK_CHECK(vkCreateSemaphore(device_, &info, nullptr, &semaphores_.back()));
    return semaphores_.back();
}

void VulkanHarness::submit(VkCommandBuffer commands, VkFence fence, const VulkanTimeline& signal,
                           const VulkanTimeline& gate) {
    VkTimelineSemaphoreSubmitInfo values{};
    values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &values;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    if (signal.semaphore != VK_NULL_HANDLE) {
        info.signalSemaphoreCount = values.signalSemaphoreValueCount = 1;
        info.pSignalSemaphores = &signal.semaphore;
        values.pSignalSemaphoreValues = &signal.value;
    }
    if (gate.semaphore != VK_NULL_HANDLE) {
        info.waitSemaphoreCount = values.waitSemaphoreValueCount = 1;
        info.pWaitSemaphores = &gate.semaphore;
        info.pWaitDstStageMask = &stage;
        values.pWaitSemaphoreValues = &gate.value;
    }
    LAPWING_VK_CHECK(vkQueueSubmit(queue_, 1, &info, fence));
}

void VulkanHarness::open_gate(const VulkanTimeline& gate) {
    VkSemaphoreSignalInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
    info.semaphore = gate.semaphore;
    info.value = gate.value;
    LAPWING_VK_CHECK(vkSignalSemaphore(device_, &info));
}

void VulkanHarness::wait(VkFence fence) {
    LAPWING_VK_CHECK(vkWaitForFences(device_, 1, &fence, VK_TRUE, 60'000'000'000));
}

void VulkanHarness::wait_idle() {
    LAPWING_VK_CHECK(vkDeviceWaitIdle(device_));
}

int64_t VulkanHarness::fastest_dispatch_ns(uint32_t iterations) {
    constexpr int kRounds = 4;    // the first ones compile the shader; the fastest was disturbed least
    int64_t fastest = INT64_MAX;
    for (int i = 0; i < kRounds; ++i) {
        const VkCommandBuffer commands = begin_commands();
        dispatch(commands, iterations);
        end_commands(commands);
        const VkFence fence = make_fence();
        const int64_t before = host_ns();
        submit(commands, fence);
        wait(fence);
        fastest = std::min(fastest, host_ns() - before);
    }
    return fastest;
}

uint32_t VulkanHarness::iterations_for(int64_t ns) {
    constexpr uint32_t kProbe = 256;
    if (ns_per_iteration_ == 0) {
        // The slope alone: with a sanitizer's allocator the fixed cost of a dispatch is tens of milliseconds.
        const int64_t fixed = fastest_dispatch_ns(1);
        const int64_t probe = fastest_dispatch_ns(kProbe);
        ns_per_iteration_ = static_cast<double>(std::max<int64_t>(probe - fixed, 100'000)) / kProbe;
    }
    return static_cast<uint32_t>(static_cast<double>(ns) / ns_per_iteration_) + 1;
}

}    // namespace lapwing::testing
