#include <cstdio>
#include <string>

#include "vk_run.hpp"
#include "vulkan_device.hpp"

namespace programs {
namespace {

struct Expected {
    unsigned dispatches = 0;
    unsigned copies = 0;
    unsigned fills = 0;
};

/// Two small images to copy, blit and clear.
class Images {
public:
    static constexpr uint32_t kSide = 16;

    explicit Images(VulkanDevice& device) : device_(device) {
        for (int i = 0; i < 2; ++i) make(i);
    }
    ~Images() {
        for (const VkImage image : images_) vkDestroyImage(device_.handle(), image, nullptr);
        for (const VkDeviceMemory memory : memory_) vkFreeMemory(device_.handle(), memory, nullptr);
    }
    Images(const Images&) = delete;
    Images& operator=(const Images&) = delete;

    VkImage first() const { return images_[0]; }
    VkImage second() const { return images_[1]; }

    /// Both images become usable for transfers; the contents are undefined.
    void make_general(VkCommandBuffer commands) const {
        VkImageMemoryBarrier barriers[2]{};
        for (int i = 0; i < 2; ++i) {
            barriers[i].sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
            barriers[i].dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
            barriers[i].newLayout = VK_IMAGE_LAYOUT_GENERAL;
            barriers[i].srcQueueFamilyIndex = barriers[i].dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
            barriers[i].image = images_[i];
            barriers[i].subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
        }
        vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0,
                             nullptr, 0, nullptr, 2, barriers);
    }

private:
    void make(int index) {
        VkImageCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
        info.imageType = VK_IMAGE_TYPE_2D;
        info.format = VK_FORMAT_R8G8B8A8_UNORM;
        info.extent = {kSide, kSide, 1};
        info.mipLevels = 1;
        info.arrayLayers = 1;
        info.samples = VK_SAMPLE_COUNT_1_BIT;
        info.tiling = VK_IMAGE_TILING_OPTIMAL;
        info.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
        check(vkCreateImage(device_.handle(), &info, nullptr, &images_[index]), "vkCreateImage");
        VkMemoryRequirements needs{};
        vkGetImageMemoryRequirements(device_.handle(), images_[index], &needs);
        VkMemoryAllocateInfo memory{};
        memory.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
        memory.allocationSize = needs.size;
        memory.memoryTypeIndex = device_.memory_type(needs.memoryTypeBits);
        check(vkAllocateMemory(device_.handle(), &memory, nullptr, &memory_[index]), "vkAllocateMemory");
        check(vkBindImageMemory(device_.handle(), images_[index], memory_[index], 0), "vkBindImageMemory");
    }

    VulkanDevice& device_;
    VkImage images_[2]{};
    VkDeviceMemory memory_[2]{};
};

void record_dispatches(VulkanDevice& device, VkCommandBuffer commands, unsigned layer, VkPipeline mul_mat,
                       VkPipeline norm, Expected& expected) {
    std::string suffix("-");    // not "-" + to_string(): g++ 12 warns about it (GCC bug 105651)
    suffix += std::to_string(layer);
    device.begin_label(commands, "MUL_MAT out" + suffix);
    device.begin_label(commands, "mul_mat_f32 (4,1,1)");
    device.dispatch(commands, mul_mat);
    device.end_label(commands);
    device.end_label(commands);
    device.barrier(commands);

    device.begin_label(commands, "RMS_NORM+MUL norm" + suffix);
    device.begin_label(commands, "rms_norm_f32 (4,1,1)");
    device.bind(commands, norm, 16);
    vkCmdDispatchBase(commands, 0, 0, 0, 4, 1, 1);
    device.barrier(commands);
    vkCmdDispatchIndirect(commands, device.other(), 0);
    device.end_label(commands);
    device.end_label(commands);
    device.barrier(commands);
    expected.dispatches += 3;
}

void record_buffer_transfers(VulkanDevice& device, VkCommandBuffer commands, Expected& expected) {
    // The first words of other() are the indirect dispatch: all writes stay behind them.
    const VkBufferCopy region{.srcOffset = 0, .dstOffset = 4096, .size = 1024};
    vkCmdCopyBuffer(commands, device.values(), device.other(), 1, &region);
    device.barrier(commands);
    VkBufferCopy2 region2{};
    region2.sType = VK_STRUCTURE_TYPE_BUFFER_COPY_2;
    region2.dstOffset = 8192;
    region2.size = 1024;
    VkCopyBufferInfo2 copy{};
    copy.sType = VK_STRUCTURE_TYPE_COPY_BUFFER_INFO_2;
    copy.srcBuffer = device.values();
    copy.dstBuffer = device.other();
    copy.regionCount = 1;
    copy.pRegions = &region2;
    vkCmdCopyBuffer2(commands, &copy);
    const uint32_t words[4] = {1, 2, 3, 4};
    vkCmdUpdateBuffer(commands, device.other(), 16384, sizeof words, words);
    expected.copies += 3;
    vkCmdFillBuffer(commands, device.other(), 32768, 4096, 7);
    expected.fills += 1;
    device.barrier(commands);
}

void record_image_transfers(VulkanDevice& device, VkCommandBuffer commands, const Images& images, Expected& expected) {
    constexpr VkImageLayout kLayout = VK_IMAGE_LAYOUT_GENERAL;
    const VkImageSubresourceLayers layers{VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    const VkExtent3D extent{Images::kSide, Images::kSide, 1};
    const VkClearColorValue colour{};
    const VkImageSubresourceRange range{VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    images.make_general(commands);
    vkCmdClearColorImage(commands, images.first(), kLayout, &colour, 1, &range);
    expected.fills += 1;
    device.barrier(commands);
    const VkBufferImageCopy buffer_region{65536, 0, 0, layers, {}, extent};
    vkCmdCopyBufferToImage(commands, device.other(), images.first(), kLayout, 1, &buffer_region);
    device.barrier(commands);
    const VkImageCopy image_region{layers, {}, layers, {}, extent};
    vkCmdCopyImage(commands, images.first(), kLayout, images.second(), kLayout, 1, &image_region);
    device.barrier(commands);
    const VkOffset3D corner{Images::kSide, Images::kSide, 1};
    const VkImageBlit blit{layers, {{}, corner}, layers, {{}, corner}};
    vkCmdBlitImage(commands, images.first(), kLayout, images.second(), kLayout, 1, &blit, VK_FILTER_NEAREST);
    device.barrier(commands);
    vkCmdCopyImageToBuffer(commands, images.second(), kLayout, device.other(), 1, &buffer_region);
    device.barrier(commands);
    expected.copies += 4;
}

}    // namespace

int run_sequence(unsigned rounds) {
    VulkanDevice device;
    const Images images(device);
    const VkPipeline mul_mat = device.make_pipeline("mul_mat_f32");
    const VkPipeline norm = device.make_pipeline("rms_norm_f32");
    const VkFence fence = device.make_fence();
    const VkCommandPool pool = device.make_pool();
    Expected expected;
    for (unsigned submission = 0; submission < 2; ++submission) {
        const VkCommandBuffer commands = device.make_commands(pool);
        device.begin(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
        device.begin_label(commands, "submit");
        for (unsigned round = 0; round < rounds; ++round) {
            record_dispatches(device, commands, round, mul_mat, norm, expected);
            record_buffer_transfers(device, commands, expected);
            record_image_transfers(device, commands, images, expected);
        }
        device.end_label(commands);
        device.end(commands);
        if (submission == 0) {
            device.submit({commands}, fence);
        } else {
            VkCommandBufferSubmitInfo buffer{};
            buffer.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
            buffer.commandBuffer = commands;
            VkSubmitInfo2 info{};
            info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
            info.commandBufferInfoCount = 1;
            info.pCommandBufferInfos = &buffer;
            check(vkQueueSubmit2(device.queue(), 1, &info, fence), "vkQueueSubmit2");
        }
        device.wait(fence);
    }
    std::printf("{\"dispatches\":%u,\"copies\":%u,\"fills\":%u,\"layers\":%u}\n", expected.dispatches, expected.copies,
                expected.fills, rounds);
    return 0;
}

}    // namespace programs
