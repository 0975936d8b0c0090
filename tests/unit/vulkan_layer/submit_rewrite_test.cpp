// Command buffers of ours inside the program's submit structures.
#include "attach/vulkan_layer/submit_rewrite.hpp"

#include <gtest/gtest.h>

#include "unit/vulkan_fake_driver.hpp"

namespace lapwing::attach::vulkan_layer {
namespace {

using testing::FakeDriver;
using Copy = SubmitContents::Insert;

VkCommandBuffer buffer(uint64_t number) {
    return FakeDriver::handle<VkCommandBuffer>(number);
}

VkSubmitInfo batch_of(const std::vector<VkCommandBuffer>& buffers) {
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = static_cast<uint32_t>(buffers.size());
    info.pCommandBuffers = buffers.data();
    return info;
}

std::vector<VkCommandBuffer> buffers_of(const VkSubmitInfo& info) {
    return {info.pCommandBuffers, info.pCommandBuffers + info.commandBufferCount};
}

TEST(SubmitRewrite, EachCopyStandsBehindItsRecording) {
    const std::vector<VkCommandBuffer> first{buffer(1), buffer(1), buffer(2)};
    const std::vector<VkCommandBuffer> third{buffer(3)};
    const VkSubmitInfo batches[] = {batch_of(first), batch_of({}), batch_of(third)};
    const Copy copies[] = {{0, buffer(0x10)}, {1, buffer(0x11)}, {3, buffer(0x13)}};
    SubmitRewrite rewrite;
    for (int round = 0; round < 2; ++round) {    // its memory is used again
        const std::span<const VkSubmitInfo> out = rewrite.insert(batches, copies);
        ASSERT_EQ(out.size(), 3u);
        EXPECT_EQ(buffers_of(out[0]), (std::vector{buffer(1), buffer(0x10), buffer(1), buffer(0x11), buffer(2)}));
        EXPECT_TRUE(buffers_of(out[1]).empty());
        EXPECT_EQ(buffers_of(out[2]), (std::vector{buffer(3), buffer(0x13)}));
    }
}

TEST(SubmitRewrite, SemaphoresAndExtensionsStay) {
    const std::vector<VkCommandBuffer> buffers{buffer(1)};
    const uint64_t value = 7;
    const VkSemaphore semaphore = FakeDriver::handle<VkSemaphore>(0x777);
    VkTimelineSemaphoreSubmitInfo timeline{};
    timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &value;
    VkSubmitInfo info = batch_of(buffers);
    info.pNext = &timeline;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &semaphore;
    const Copy copy{0, buffer(0x10)};
    SubmitRewrite rewrite;
    const std::span<const VkSubmitInfo> out = rewrite.insert({&info, 1}, {&copy, 1});
    EXPECT_EQ(out[0].pNext, &timeline);
    EXPECT_EQ(out[0].signalSemaphoreCount, 1u);
    EXPECT_EQ(out[0].pSignalSemaphores, &semaphore);
}

TEST(SubmitRewrite, ACopyRunsOnTheDevicesOfItsRecording) {
    const std::vector<VkCommandBuffer> buffers{buffer(1), buffer(2)};
    const uint32_t masks[] = {0b01, 0b10};
    VkTimelineSemaphoreSubmitInfo behind{};
    behind.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    VkDeviceGroupSubmitInfo group{};
    group.sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO;
    group.pNext = &behind;
    group.commandBufferCount = 2;
    group.pCommandBufferDeviceMasks = masks;
    VkProtectedSubmitInfo protection{};
    protection.sType = VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO;
    protection.pNext = &group;
    VkSubmitInfo info = batch_of(buffers);
    info.pNext = &protection;
    ASSERT_TRUE(takes_copies(info));

    const Copy copies[] = {{0, buffer(0x10)}, {1, buffer(0x11)}};
    SubmitRewrite rewrite;
    const std::span<const VkSubmitInfo> out = rewrite.insert({&info, 1}, copies);
    const auto* first = static_cast<const VkProtectedSubmitInfo*>(out[0].pNext);
    ASSERT_EQ(first->sType, VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO);
    EXPECT_NE(first, &protection) << "the program's structure is not written to";
    const auto* second = static_cast<const VkDeviceGroupSubmitInfo*>(first->pNext);
    ASSERT_EQ(second->sType, VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO);
    EXPECT_EQ(second->pNext, &behind);
    ASSERT_EQ(second->commandBufferCount, 4u);
    const std::vector<uint32_t> extended(second->pCommandBufferDeviceMasks, second->pCommandBufferDeviceMasks + 4);
    EXPECT_EQ(extended, (std::vector<uint32_t>{0b01, 0b01, 0b10, 0b10}));
    EXPECT_EQ(group.commandBufferCount, 2u);
    EXPECT_EQ(protection.pNext, &group);
}

TEST(SubmitRewrite, ProtectedBatchesTakeNone) {
    VkProtectedSubmitInfo protection{};
    protection.sType = VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO;
    protection.protectedSubmit = VK_TRUE;
    VkSubmitInfo info{};
    info.pNext = &protection;
    EXPECT_FALSE(takes_copies(info));
    VkSubmitInfo2 info2{};
    EXPECT_TRUE(takes_copies(info2));
    info2.flags = VK_SUBMIT_PROTECTED_BIT;
    EXPECT_FALSE(takes_copies(info2));
}

TEST(SubmitRewrite, AnUnknownExtensionInFrontOfDeviceMasksTakesNone) {
    VkDeviceGroupSubmitInfo group{};
    group.sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO;
    VkBaseInStructure unknown{VK_STRUCTURE_TYPE_MAX_ENUM, reinterpret_cast<const VkBaseInStructure*>(&group)};
    VkSubmitInfo info{};
    info.pNext = &unknown;
    EXPECT_FALSE(takes_copies(info));
    unknown.pNext = nullptr;
    EXPECT_TRUE(takes_copies(info)) << "alone it may stay";
    info.pNext = &group;
    EXPECT_TRUE(takes_copies(info));
    group.commandBufferCount = 5;
    EXPECT_FALSE(takes_copies(info)) << "masks that are not one a command buffer";
}

TEST(SubmitRewrite, SecondFormCarriesMasksAndSemaphoresToo) {
    VkCommandBufferSubmitInfo theirs[2]{};
    theirs[0].sType = theirs[1].sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
    theirs[0].commandBuffer = buffer(1);
    theirs[0].deviceMask = 0b10;
    theirs[1].commandBuffer = buffer(2);
    VkSemaphoreSubmitInfo signal{};
    VkSubmitInfo2 info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
    info.commandBufferInfoCount = 2;
    info.pCommandBufferInfos = theirs;
    info.signalSemaphoreInfoCount = 1;
    info.pSignalSemaphoreInfos = &signal;
    const Copy copy{0, buffer(0x10)};
    SubmitRewrite rewrite;
    const std::span<const VkSubmitInfo2> out = rewrite.insert({&info, 1}, {&copy, 1});
    ASSERT_EQ(out[0].commandBufferInfoCount, 3u);
    const VkCommandBufferSubmitInfo& ours = out[0].pCommandBufferInfos[1];
    EXPECT_EQ(ours.sType, VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO);
    EXPECT_EQ(ours.commandBuffer, buffer(0x10));
    EXPECT_EQ(ours.deviceMask, 0b10u);
    EXPECT_EQ(out[0].pCommandBufferInfos[2].commandBuffer, buffer(2));
    EXPECT_EQ(out[0].pSignalSemaphoreInfos, &signal);
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
