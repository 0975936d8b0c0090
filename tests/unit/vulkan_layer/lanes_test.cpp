// Level lane: one span a step and queue, by two stamps around each submit's work, none in the program's own buffers.
#include <gtest/gtest.h>

#include "unit/vulkan_layer/scripted_device.hpp"

namespace lapwing::attach::vulkan_layer {
namespace {

using testing::FakeDriver;
using testing::fence;
using testing::ScriptedDevice;

constexpr VkCommandBufferUsageFlags kReusable = 0;

class LayerLanes : public ::testing::Test {
protected:
    LayerLanes() { scripted.config.level = Level::kLane; }

    /// A step of its own: submitted, and seen complete.
    void step(std::initializer_list<CommandBuffer*> buffers) {
        scripted.submit(buffers, fence(1));
        scripted.see(fence(1));
    }
    [[nodiscard]] uint64_t stamps() { return Counters::read(scripted.session().counters().stamps); }
    [[nodiscard]] std::vector<uint32_t> steps_of_spans() {
        std::vector<uint32_t> out;
        for (const SpanRecord& span : scripted.stream.device_spans()) out.push_back(span.step);
        return out;
    }

    ScriptedDevice scripted;
};

TEST_F(LayerLanes, AStepOfSeveralSubmitsIsOneSpan) {
    const auto first = scripted.command_buffer();
    const auto second = scripted.command_buffer();
    scripted.record(*first, 100);
    scripted.record(*second, 100);
    scripted.submit({first.get()}, fence(1));
    scripted.submit({second.get(), first.get()}, fence(2));
    scripted.see(fence(2));
    EXPECT_EQ(scripted.begun(), 1u);
    ASSERT_EQ(scripted.stream.device_spans().size(), 1u);
    EXPECT_GT(scripted.stream.device_spans()[0].duration_ns, 0);
    EXPECT_EQ(stamps(), 4u) << "two a submit, none a dispatch";
    ASSERT_EQ(scripted.stream.steps.size(), 1u);
    EXPECT_EQ(scripted.stream.steps[0].dispatches, 300u);
    EXPECT_EQ(scripted.stream.steps[0].untimed, 0u) << "no kernel was to be timed";
    EXPECT_TRUE(scripted.stream.steps[0].armed);
    EXPECT_EQ(scripted.driver.reads.size(), 0u) << "results are memory";
    step({first.get()});
    EXPECT_GT(scripted.stream.device_spans()[0].duration_ns, scripted.stream.device_spans()[1].duration_ns)
        << "from the first submit to the end of the last";
}

TEST_F(LayerLanes, BuffersSubmittedAgainNeedNoStampsOfTheirOwn) {
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10, kReusable);
    step({buffer.get()});
    const uint64_t calls = scripted.driver.total_calls();
    for (int i = 0; i < 100; ++i) step({buffer.get(), buffer.get()});
    EXPECT_EQ(scripted.driver.total_calls(), calls) << "in steady state a submit calls nothing";
    EXPECT_EQ(scripted.recorded(), 101u);
    EXPECT_TRUE(scripted.balanced());
    const std::vector<SpanRecord> spans = scripted.stream.device_spans();
    for (std::size_t i = 1; i < spans.size(); ++i)
        EXPECT_GE(spans[i].begin_ns, spans[i - 1].begin_ns + spans[i - 1].duration_ns);
}

TEST_F(LayerLanes, AreOfTheArmedStepsWhereverTheirBuffersWereRecorded) {
    scripted.config.arming = {.every = 3, .skip = 1};
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1, kReusable);
    for (int i = 0; i < 9; ++i) step({buffer.get()});
    EXPECT_EQ(steps_of_spans(), (std::vector<uint32_t>{1, 4, 7}));
    EXPECT_EQ(stamps(), 6u);
}

TEST_F(LayerLanes, EachQueueHasItsOwn) {
    const auto other = FakeDriver::handle<VkQueue>(0x5800);
    scripted.device().queues().add_queue(other, 0, 1);
    const auto here = scripted.command_buffer();
    const auto there = scripted.command_buffer();
    scripted.record(*here, 1, kReusable);
    scripted.record(*there, 1, kReusable);
    for (int i = 0; i < 3; ++i) {
        scripted.submit({here.get()}, fence(1));
        scripted.submit_to(other, {there.get()}, fence(2));
        scripted.see(fence(1));
        scripted.see(fence(2));
    }
    EXPECT_EQ(steps_of_spans(), (std::vector<uint32_t>{0, 0, 1, 1, 2, 2}));
    EXPECT_EQ(scripted.begun(), 6u);
}

TEST_F(LayerLanes, StandAroundTheWorkOfASubmit) {
    const auto idle = scripted.command_buffer();
    const auto busy = scripted.command_buffer();
    scripted.record(*idle, 0, kReusable);
    scripted.record(*busy, 1, kReusable);
    scripted.submit({idle.get(), busy.get(), idle.get(), busy.get(), idle.get()}, fence(1));
    EXPECT_EQ(scripted.copies_behind(), (std::vector<std::size_t>{3}));
    scripted.submit({idle.get()}, fence(2));
    EXPECT_TRUE(scripted.copies_behind().empty());
    scripted.submit({}, fence(3));
    EXPECT_EQ(stamps(), 2u);
    scripted.see(fence(3));
    EXPECT_EQ(scripted.recorded(), 1u);
}

TEST_F(LayerLanes, OfStepsInFlightAreClosedByTheStepThatFollows) {
    scripted.config.step = parse_step_rule("label:decode").value();
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1, kReusable);
    scripted.submit({buffer.get()}, fence(9));    // in no step
    for (int i = 0; i < 3; ++i) {
        scripted.session().scope_opened("decode", scripted.tick());
        scripted.session().scope_closed();
        scripted.submit({buffer.get()}, fence(1));
        scripted.submit({buffer.get()}, fence(2));
    }
    scripted.see(fence(2));
    EXPECT_EQ(steps_of_spans(), (std::vector<uint32_t>{0, 1})) << "more may come in the last one";
    scripted.device().queues().finish(scripted.tick());
    EXPECT_EQ(steps_of_spans(), (std::vector<uint32_t>{0, 1, 2}));
    EXPECT_TRUE(scripted.balanced());
}

TEST_F(LayerLanes, ALostDeviceLosesOneALaneThatIsOpen) {
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1, kReusable);
    step({buffer.get()});
    scripted.submit({buffer.get()}, fence(1));
    scripted.submit({buffer.get()}, fence(2));
    scripted.submit({buffer.get()}, fence(3), VK_ERROR_DEVICE_LOST);
    EXPECT_EQ(scripted.recorded(), 1u);
    EXPECT_EQ(scripted.lost()[LossReason::kDeviceLost], 1u);
    EXPECT_TRUE(scripted.balanced());
}

TEST_F(LayerLanes, AtExitWhatWasSeenCompleteIsReadFromMemory) {
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1, kReusable);
    step({buffer.get()});
    scripted.submit({buffer.get()}, fence(1), VK_SUCCESS, false);
    const uint64_t calls = scripted.driver.total_calls();
    scripted.device().queues().abandon_at_exit();
    EXPECT_EQ(scripted.driver.total_calls(), calls);
    EXPECT_EQ(scripted.recorded(), 1u);
    EXPECT_EQ(scripted.lost()[LossReason::kAbandoned], 1u);
    EXPECT_TRUE(scripted.balanced());
}

TEST_F(LayerLanes, ARefusedSubmitNeverWas) {
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1, kReusable);
    scripted.submit({buffer.get()}, fence(1), VK_ERROR_OUT_OF_HOST_MEMORY);
    EXPECT_EQ(scripted.begun(), 0u);
    step({buffer.get()});
    EXPECT_EQ(scripted.begun(), 1u);
    EXPECT_EQ(scripted.recorded(), 1u);
}

TEST_F(LayerLanes, WhatCannotBeBracketedIsLostOnceAStep) {
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1, kReusable);
    scripted.takes_copies = false;
    for (int i = 0; i < 2; ++i) {
        scripted.submit({buffer.get()}, fence(1));
        scripted.submit({buffer.get()}, fence(2));
        scripted.see(fence(2));
    }
    EXPECT_EQ(scripted.begun(), 2u);
    EXPECT_EQ(scripted.lost()[LossReason::kUnsupported], 2u);
    EXPECT_EQ(stamps(), 0u);
    EXPECT_TRUE(scripted.balanced());
}

// Such a signal may come in front of our stamps, whose command buffers must not be used again before they are done.
TEST_F(LayerLanes, ASignalOfSomeStagesDoesNotCompleteThem) {
    const auto semaphore = FakeDriver::handle<VkSemaphore>(0x777);
    DeviceQueues& queues = scripted.device().queues();
    queues.add_timeline(semaphore);
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 2, kReusable);
    scripted.signals = {{semaphore, 1, false}};
    scripted.submit({buffer.get()}, fence(1));
    queues.timeline_reached(semaphore, 1, scripted.tick());
    EXPECT_EQ(scripted.recorded(), 0u);
    scripted.see(fence(1));
    EXPECT_EQ(scripted.recorded(), 1u);
}

TEST_F(LayerLanes, EndlessSubmissionWithoutCompletionIsBounded) {
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1, kReusable);
    for (int i = 0; i < 10'000; ++i) scripted.submit({buffer.get()}, fence(1), VK_SUCCESS, false);
    EXPECT_EQ(scripted.driver.calls["AllocateCommandBuffers"], CopyStore::kMaxCopies);
    scripted.device().queues().abandon_at_exit();
    EXPECT_EQ(scripted.begun(), 1u);
    EXPECT_EQ(scripted.lost().total(), 1u);
}

class LayerLaneFaults : public ::testing::TestWithParam<const char*> {};

TEST_P(LayerLaneFaults, CostTheLaneAndNothingElse) {
    ScriptedDevice scripted;
    scripted.config.level = Level::kLane;
    scripted.driver.failures[GetParam()] = {VK_ERROR_OUT_OF_DEVICE_MEMORY, 1};
    {
        const auto buffer = scripted.command_buffer();
        scripted.record(*buffer, 5, kReusable);
        for (int i = 0; i < 20; ++i) {
            scripted.submit({buffer.get()}, fence(1));
            scripted.see(fence(1));
        }
        EXPECT_EQ(scripted.begun(), 20u);
        EXPECT_EQ(scripted.lost().total(), 20u);
        EXPECT_TRUE(scripted.balanced());
        scripted.device().queues().finish(scripted.tick());
    }
    scripted.device().copies().destroy();
    scripted.device().chunks().destroy();
    EXPECT_EQ(scripted.driver.live_objects, 0u) << "leaked";
}

INSTANTIATE_TEST_SUITE_P(EachCall, LayerLaneFaults,
                         ::testing::Values("CreateCommandPool", "AllocateCommandBuffers", "BeginCommandBuffer",
                                           "EndCommandBuffer", "CreateBuffer", "AllocateMemory", "BindBufferMemory",
                                           "MapMemory", "CreateQueryPool"));

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
