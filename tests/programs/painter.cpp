#include "painter.hpp"

namespace programs {

namespace {
constexpr uint32_t kVertex[] = {
#include "pass_draw.inc"
};
constexpr uint32_t kFragment[] = {
#include "pass_fill.inc"
};

template <std::size_t N>
VkShaderModule make_module(VkDevice device, const uint32_t (&words)[N]) {
    VkShaderModuleCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = sizeof words;
    info.pCode = words;
    VkShaderModule module = VK_NULL_HANDLE;
    check(vkCreateShaderModule(device, &info, nullptr, &module), "vkCreateShaderModule");
    return module;
}
}    // namespace

Painter::Painter(VulkanDevice& device) : device_(device) {
    make_target();
    make_pass();
    vertex_ = make_module(device.handle(), kVertex);
    fragment_ = make_module(device.handle(), kFragment);
    const VkPushConstantRange range{VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(uint32_t)};
    VkPipelineLayoutCreateInfo layout{};
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &range;
    check(vkCreatePipelineLayout(device.handle(), &layout, nullptr, &layout_), "vkCreatePipelineLayout");
    in_pass_ = make_pipeline(pass_);
    dynamic_ = make_pipeline(VK_NULL_HANDLE);
}

Painter::~Painter() {
    const VkDevice device = device_.handle();
    vkDestroyPipeline(device, in_pass_, nullptr);
    vkDestroyPipeline(device, dynamic_, nullptr);
    vkDestroyPipelineLayout(device, layout_, nullptr);
    vkDestroyShaderModule(device, vertex_, nullptr);
    vkDestroyShaderModule(device, fragment_, nullptr);
    vkDestroyFramebuffer(device, framebuffer_, nullptr);
    vkDestroyRenderPass(device, pass_, nullptr);
    vkDestroyImageView(device, view_, nullptr);
    vkDestroyImage(device, image_, nullptr);
    vkFreeMemory(device, memory_, nullptr);
}

void Painter::make_target() {
    const VkDevice device = device_.handle();
    VkImageCreateInfo image{};
    image.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    image.imageType = VK_IMAGE_TYPE_2D;
    image.format = kFormat;
    image.extent = {kExtent, kExtent, 1};
    image.mipLevels = 1;
    image.arrayLayers = 1;
    image.samples = VK_SAMPLE_COUNT_1_BIT;
    image.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    check(vkCreateImage(device, &image, nullptr, &image_), "vkCreateImage");
    VkMemoryRequirements needs{};
    vkGetImageMemoryRequirements(device, image_, &needs);
    VkMemoryAllocateInfo memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    memory.allocationSize = needs.size;
    memory.memoryTypeIndex = device_.memory_type(needs.memoryTypeBits);
    check(vkAllocateMemory(device, &memory, nullptr, &memory_), "vkAllocateMemory");
    check(vkBindImageMemory(device, image_, memory_, 0), "vkBindImageMemory");
    VkImageViewCreateInfo view{};
    view.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
    view.image = image_;
    view.viewType = VK_IMAGE_VIEW_TYPE_2D;
    view.format = kFormat;
    view.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    check(vkCreateImageView(device, &view, nullptr, &view_), "vkCreateImageView");
}

void Painter::make_pass() {
    VkAttachmentDescription attachment{};
    attachment.format = kFormat;
    attachment.samples = VK_SAMPLE_COUNT_1_BIT;
    attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    attachment.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    attachment.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    attachment.stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
    attachment.initialLayout = VK_IMAGE_LAYOUT_GENERAL;
    attachment.finalLayout = VK_IMAGE_LAYOUT_GENERAL;
    const VkAttachmentReference colour{0, VK_IMAGE_LAYOUT_GENERAL};
    VkSubpassDescription subpass{};
    subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
    subpass.colorAttachmentCount = 1;
    subpass.pColorAttachments = &colour;
    VkRenderPassCreateInfo pass{};
    pass.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO;
    pass.attachmentCount = 1;
    pass.pAttachments = &attachment;
    pass.subpassCount = 1;
    pass.pSubpasses = &subpass;
    check(vkCreateRenderPass(device_.handle(), &pass, nullptr, &pass_), "vkCreateRenderPass");
    VkFramebufferCreateInfo framebuffer{};
    framebuffer.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO;
    framebuffer.renderPass = pass_;
    framebuffer.attachmentCount = 1;
    framebuffer.pAttachments = &view_;
    framebuffer.width = kExtent;
    framebuffer.height = kExtent;
    framebuffer.layers = 1;
    check(vkCreateFramebuffer(device_.handle(), &framebuffer, nullptr, &framebuffer_), "vkCreateFramebuffer");
}

VkPipeline Painter::make_pipeline(VkRenderPass pass) const {
    VkPipelineShaderStageCreateInfo stages[2]{};
    stages[0].sType = stages[1].sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
    stages[0].module = vertex_;
    stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
    stages[1].module = fragment_;
    stages[0].pName = stages[1].pName = "main";
    VkPipelineVertexInputStateCreateInfo input{};
    input.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO;
    VkPipelineInputAssemblyStateCreateInfo assembly{};
    assembly.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO;
    assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    const VkViewport viewport{0, 0, kExtent, kExtent, 0, 1};
    const VkRect2D scissor{{0, 0}, {kExtent, kExtent}};
    VkPipelineViewportStateCreateInfo view{};
    view.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO;
    view.viewportCount = 1;
    view.pViewports = &viewport;
    view.scissorCount = 1;
    view.pScissors = &scissor;
    VkPipelineRasterizationStateCreateInfo raster{};
    raster.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO;
    raster.lineWidth = 1;
    VkPipelineMultisampleStateCreateInfo samples{};
    samples.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO;
    samples.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
    VkPipelineColorBlendAttachmentState colour{};
    colour.colorWriteMask = 0xf;
    VkPipelineColorBlendStateCreateInfo blend{};
    blend.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO;
    blend.attachmentCount = 1;
    blend.pAttachments = &colour;
    VkPipelineRenderingCreateInfo rendering{};
    rendering.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO;
    rendering.colorAttachmentCount = 1;
    rendering.pColorAttachmentFormats = &kFormat;
    VkGraphicsPipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    info.pNext = pass == VK_NULL_HANDLE ? &rendering : nullptr;
    info.stageCount = 2;
    info.pStages = stages;
    info.pVertexInputState = &input;
    info.pInputAssemblyState = &assembly;
    info.pViewportState = &view;
    info.pRasterizationState = &raster;
    info.pMultisampleState = &samples;
    info.pColorBlendState = &blend;
    info.layout = layout_;
    info.renderPass = pass;
    VkPipeline pipeline = VK_NULL_HANDLE;
    check(vkCreateGraphicsPipelines(device_.handle(), VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
          "vkCreateGraphicsPipelines");
    return pipeline;
}

void Painter::prepare(VkCommandBuffer commands) const {
    VkImageMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_COLOR_ATTACHMENT_READ_BIT;
    barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = image_;
    barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                         VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT, 0, 0, nullptr, 0, nullptr, 1, &barrier);
}

VkRenderPassBeginInfo Painter::begin_info() const {
    static const VkClearValue black{};
    VkRenderPassBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO;
    info.renderPass = pass_;
    info.framebuffer = framebuffer_;
    info.renderArea = {{0, 0}, {kExtent, kExtent}};
    info.clearValueCount = 1;
    info.pClearValues = &black;
    return info;
}

void Painter::begin_pass(VkCommandBuffer commands, VkSubpassContents contents) const {
    const VkRenderPassBeginInfo info = begin_info();
    vkCmdBeginRenderPass(commands, &info, contents);
}

void Painter::begin_pass2(VkCommandBuffer commands) const {
    const VkRenderPassBeginInfo info = begin_info();
    VkSubpassBeginInfo subpass{};
    subpass.sType = VK_STRUCTURE_TYPE_SUBPASS_BEGIN_INFO;
    vkCmdBeginRenderPass2(commands, &info, &subpass);
}

void Painter::begin_rendering(VkCommandBuffer commands, VkRenderingFlags flags) const {
    VkRenderingAttachmentInfo colour{};
    colour.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO;
    colour.imageView = view_;
    colour.imageLayout = VK_IMAGE_LAYOUT_GENERAL;
    colour.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    colour.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    VkRenderingInfo info{};
    info.sType = VK_STRUCTURE_TYPE_RENDERING_INFO;
    info.flags = flags;
    info.renderArea = {{0, 0}, {kExtent, kExtent}};
    info.layerCount = 1;
    info.colorAttachmentCount = 1;
    info.pColorAttachments = &colour;
    vkCmdBeginRendering(commands, &info);
}

void Painter::begin_inside(VkCommandBuffer secondary, VkCommandBufferUsageFlags flags) const {
    VkCommandBufferInheritanceInfo inheritance{};
    inheritance.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO;
    inheritance.renderPass = pass_;
    inheritance.framebuffer = framebuffer_;
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = flags | VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT;
    info.pInheritanceInfo = &inheritance;
    check(vkBeginCommandBuffer(secondary, &info), "vkBeginCommandBuffer");
}

void Painter::draw(VkCommandBuffer commands, uint32_t iterations, bool dynamic) const {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, dynamic ? dynamic_ : in_pass_);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof iterations, &iterations);
    vkCmdDraw(commands, 3, 1, 0, 0);
}

}    // namespace programs
