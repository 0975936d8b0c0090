// Several queues: families that differ in what they can do and in their clocks.
#include <gtest/gtest.h>

#include "unit/vulkan_layer/scripted_device.hpp"

namespace lapwing::attach::vulkan_layer {
namespace {

using testing::fence;
using testing::ScriptedDevice;

// As GPUs have them: everything; compute; transfer with timestamps; transfer without.
class LayerFamilies : public ::testing::Test {
protected:
    static constexpr uint32_t kCompute = 1;
    static constexpr uint32_t kTransfer = 2;
    static constexpr uint32_t kVideo = 3;

    LayerFamilies() {
        VkQueueFamilyProperties family = scripted.driver.families[0];
        family.queueFlags = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
        family.timestampValidBits = 16;
        scripted.driver.families.push_back(family);
        family.queueFlags = VK_QUEUE_TRANSFER_BIT;
        family.timestampValidBits = 64;
        scripted.driver.families.push_back(family);
        family.timestampValidBits = 0;
        scripted.driver.families.push_back(family);
    }

    ScriptedDevice scripted;
};

TEST_F(LayerFamilies, EachQueueUnwrapsItsOwnBits) {
    scripted.driver.next_tick = 0xffff - 150;    // the 16 bits wrap inside
    const auto everything = scripted.command_buffer();
    const auto compute = scripted.command_buffer(kCompute);
    scripted.record(*everything, 1);
    scripted.record(*compute, 3);
    scripted.submit_to(ScriptedDevice::queue(kCompute), {compute.get()}, fence(1));
    scripted.submit_to(ScriptedDevice::queue(), {everything.get()}, fence(2));
    // The compute queue's counter has no more than its 16 bits.
    for (auto& [pool, queries] : scripted.driver.pools)
        for (testing::FakeDriver::Query& query : queries)
            if (query.ticks < 0xffff + 200) query.ticks &= 0xffff;
    scripted.see(fence(1));
    scripted.see(fence(2));
    const std::vector<SpanRecord> spans = scripted.stream.device_spans();
    ASSERT_EQ(spans.size(), 4u);
    for (const SpanRecord& span : spans) EXPECT_NEAR(static_cast<double>(span.duration_ns), 100 * 52.083, 1.0);
    for (std::size_t i = 1; i < 3; ++i)
        EXPECT_EQ(spans[i].begin_ns, spans[i - 1].begin_ns + spans[i - 1].duration_ns) << "through the wrap";
    EXPECT_TRUE(scripted.balanced());
}

TEST_F(LayerFamilies, EachQueueHasATrackOfItsOwn) {
    const auto everything = scripted.command_buffer();
    const auto compute = scripted.command_buffer(kCompute);
    scripted.record(*everything, 1);
    scripted.record(*compute, 1);
    scripted.submit_to(ScriptedDevice::queue(), {everything.get()}, fence(1));
    scripted.submit_to(ScriptedDevice::queue(kCompute), {compute.get()}, fence(2));
    scripted.see(fence(2));
    scripted.see(fence(1));
    ASSERT_EQ(scripted.stream.tracks.size(), 2u);
    EXPECT_EQ(scripted.stream.tracks[0].name, "queue 1");
    EXPECT_EQ(scripted.stream.tracks[1].name, "queue 0");
}

TEST_F(LayerFamilies, CopiesAreMadeForTheFamilyTheyRunOn) {
    const auto everything = scripted.command_buffer();
    const auto compute = scripted.command_buffer(kCompute);
    scripted.record(*everything, 2, 0);
    scripted.record(*compute, 2, 0);
    for (int i = 0; i < 3; ++i) {
        scripted.submit_to(ScriptedDevice::queue(), {everything.get()}, fence(1));
        scripted.submit_to(ScriptedDevice::queue(kCompute), {compute.get()}, fence(2));
    }
    scripted.see(fence(1));
    scripted.see(fence(2));
    EXPECT_EQ(scripted.recorded(), 12u);
    EXPECT_EQ(scripted.driver.pool_families, (std::vector<uint32_t>{0, kCompute}));
}

// VulkanProfiler#8, #9: a stamp on a queue that only copies may lose the device.
TEST_F(LayerFamilies, QueuesThatOnlyCopyAreLeftAloneAndSaySo) {
    uint64_t lost = 0;
    for (const uint32_t family : {kTransfer, kVideo}) {
        const auto buffer = scripted.command_buffer(family);
        scripted.begin(*buffer, 0);
        scripted.command(*buffer, SpanKind::kCopy);
        scripted.command(*buffer, SpanKind::kFill);
        scripted.submit_to(ScriptedDevice::queue(family), {buffer.get()}, fence(1));
        scripted.see(fence(1));
        EXPECT_EQ(scripted.lost()[LossReason::kUnsupported], lost += 2);
    }
    for (const char* call : {"CmdWriteTimestamp", "CmdResetQueryPool", "CreateQueryPool", "CreateCommandPool"})
        EXPECT_EQ(scripted.driver.calls[call], 0u) << call;
    EXPECT_TRUE(scripted.balanced());
}

TEST_F(LayerFamilies, WorkOnOneQueueIsReadWhileAnotherIsBusy) {
    const auto everything = scripted.command_buffer();
    const auto compute = scripted.command_buffer(kCompute);
    scripted.record(*everything, 1);
    scripted.record(*compute, 1);
    scripted.submit_to(ScriptedDevice::queue(), {everything.get()}, fence(1), VK_SUCCESS, false);
    scripted.submit_to(ScriptedDevice::queue(kCompute), {compute.get()}, fence(2));
    scripted.see(fence(2));
    EXPECT_EQ(scripted.recorded(), 1u);
    EXPECT_EQ(scripted.stream.steps.size(), 0u) << "the step goes on";
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
