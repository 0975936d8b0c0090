// Completion by every means a program has, host tracks, and names that change.
#include "attach/session/session.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "attach/session/host_track.hpp"
#include "unit/vulkan_layer/scripted_device.hpp"

namespace lapwing::attach::vulkan_layer {
namespace {

using testing::FakeDriver;
using testing::ScriptedDevice;

class LayerCompletion : public ::testing::Test {
protected:
    void submit_work(VkFence fence = VK_NULL_HANDLE) {
        scripted.record(*buffer, 4);
        scripted.submit({buffer.get()}, fence);
    }
    DeviceQueues& queues() { return scripted.device().queues(); }

    ScriptedDevice scripted;
    std::unique_ptr<CommandBuffer> buffer = scripted.command_buffer();
};

TEST_F(LayerCompletion, AFenceCoversAllThatWasSubmittedBefore) {
    submit_work();
    const auto other = scripted.command_buffer();
    scripted.record(*other, 4);
    scripted.submit({other.get()}, testing::fence(1));
    scripted.see(testing::fence(1));
    EXPECT_EQ(scripted.recorded(), 8u);
}

// ggml ends each token with a submit of nothing but a fence.
TEST_F(LayerCompletion, AnEmptySubmitsFenceCounts) {
    submit_work();
    scripted.submit({}, testing::fence(1));
    scripted.see(testing::fence(1));
    EXPECT_EQ(scripted.recorded(), 4u);
    EXPECT_EQ(scripted.stream.steps.size(), 1u);
}

TEST_F(LayerCompletion, AnEmptySubmitThatNobodyCanSeeIsNotWaitedFor) {
    submit_work(testing::fence(1));
    scripted.submit({});
    scripted.see(testing::fence(1));
    EXPECT_EQ(scripted.stream.steps.size(), 1u);
}

TEST_F(LayerCompletion, AResetFenceWasSignalledAndMeansNothingAfterwards) {
    submit_work(testing::fence(1));
    const VkFence fence = testing::fence(1);
    queues().fences_forgotten({&fence, 1}, scripted.tick());
    EXPECT_EQ(scripted.stream.steps.size(), 1u);
    submit_work(testing::fence(2));
    EXPECT_EQ(scripted.recorded(), 4u) << "read at the next submit";
    scripted.see(fence);
    EXPECT_EQ(scripted.recorded(), 4u) << "the second submit is not complete";
}

TEST_F(LayerCompletion, AnUnknownFenceMeansNothing) {
    submit_work(testing::fence(1));
    scripted.see(testing::fence(2));
    EXPECT_EQ(scripted.recorded(), 0u);
}

TEST_F(LayerCompletion, QueueAndDeviceIdleCoverEverything) {
    submit_work();
    queues().queue_idle(scripted.queue(), queues().latest_submit(scripted.queue()), scripted.tick());
    EXPECT_EQ(scripted.recorded(), 4u);
    submit_work();
    queues().device_idle(scripted.tick());
    EXPECT_EQ(scripted.recorded(), 8u);
}

TEST_F(LayerCompletion, ATimelineValueCoversTheSubmitsThatSignalIt) {
    const auto semaphore = FakeDriver::handle<VkSemaphore>(0x777);
    queues().add_timeline(semaphore);
    for (uint64_t value = 1; value <= 3; ++value) {
        scripted.record(*buffer, 4);
        SubmitContents contents;
        contents.batches.push_back({1, true});
        contents.recordings.push_back(buffer->recording());
        contents.signals.push_back({semaphore, value, true});
        const SubmitTicket ticket = queues().begin_submit(scripted.queue(), VK_NULL_HANDLE, contents, scripted.tick());
        for (auto& [commands, list] : scripted.driver.commands) scripted.driver.execute(commands);
        queues().end_submit(ticket, VK_SUCCESS);
    }
    queues().timeline_reached(semaphore, 2, scripted.tick());
    EXPECT_EQ(scripted.recorded(), 8u);
    queues().timeline_reached(semaphore, 3, scripted.tick());
    EXPECT_EQ(scripted.recorded(), 12u);
    queues().forget_semaphore(semaphore);
}

TEST_F(LayerCompletion, DestroyingTheDeviceReadsWhatNobodyLookedAt) {
    submit_work();
    queues().finish(scripted.tick());
    EXPECT_EQ(scripted.recorded(), 4u);
    EXPECT_TRUE(scripted.balanced());
    EXPECT_TRUE(scripted.stream.devices.back().clock.uncertainty_ns.has_value());
}

// gapid#3661: VK_NOT_READY for work that is complete; asked for again, for a bounded time.
TEST_F(LayerCompletion, DestroyingTheDeviceAsksAgainForResultsThatAreLate) {
    scripted.driver.not_ready_reads = 9;
    submit_work();
    queues().finish(scripted.tick());
    EXPECT_EQ(scripted.recorded(), 4u);
    EXPECT_EQ(scripted.driver.not_ready_reads, 0u);
}

TEST_F(LayerCompletion, DestroyingTheDeviceDoesNotWaitForResultsThatNeverCome) {
    scripted.driver.not_ready_reads = UINT32_MAX;
    submit_work();
    queues().finish(scripted.tick());
    EXPECT_EQ(scripted.lost()[LossReason::kAbandoned], 4u);
    EXPECT_TRUE(scripted.balanced());
}

TEST_F(LayerCompletion, ADeviceFoundLostWhileItIsDestroyedIsCountedOnce) {
    submit_work();
    scripted.driver.read_result = VK_ERROR_DEVICE_LOST;
    queues().finish(scripted.tick());
    EXPECT_EQ(scripted.lost()[LossReason::kDeviceLost], 4u);
    EXPECT_TRUE(scripted.balanced());
}

TEST_F(LayerCompletion, ADriverThatRefusesEveryReadIsToBlame) {
    scripted.driver.read_result = VK_ERROR_OUT_OF_HOST_MEMORY;
    submit_work();
    queues().finish(scripted.tick());
    EXPECT_EQ(scripted.lost()[LossReason::kDriverError], 4u);
    EXPECT_TRUE(scripted.balanced());
}

TEST_F(LayerCompletion, ForgottenFencesAreNotKept) {
    for (uint64_t i = 0; i < 1000; ++i) {
        const VkFence fence = testing::fence(i);
        submit_work(fence);
        scripted.see(fence);
        EXPECT_EQ(queues().fences_followed(), 1u);
        queues().fences_forgotten({&fence, 1}, scripted.tick());
    }
    EXPECT_EQ(queues().fences_followed(), 0u);
}

TEST_F(LayerCompletion, ARefusedSubmitsFenceMeansNothing) {
    submit_work(testing::fence(1));
    scripted.see(testing::fence(1));
    scripted.submit({buffer.get()}, testing::fence(2), VK_ERROR_OUT_OF_HOST_MEMORY);
    scripted.submit({buffer.get()}, testing::fence(3));    // takes the number of the refused one
    scripted.see(testing::fence(2));
    EXPECT_EQ(scripted.stream.steps.size(), 1u);
    scripted.see(testing::fence(3));
    EXPECT_EQ(scripted.stream.steps.size(), 2u);
}

TEST(LayerSession, EachStepBringsFreshStats) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    for (int i = 0; i < 3; ++i) {
        scripted.record(*buffer, 5);
        scripted.submit({buffer.get()}, testing::fence(1));
        scripted.see(testing::fence(1));
    }
    ASSERT_EQ(scripted.stream.stats.size(), 3u);
    const RecordingStats& stats = scripted.stream.stats.back();
    EXPECT_EQ(stats.begun, 15u);
    EXPECT_EQ(stats.recorded, 15u);
    EXPECT_EQ(stats.stamps, 18u);
    EXPECT_EQ(stats.executed_dispatches, 15u);
    EXPECT_EQ(stats.own_submits, 0u);
    EXPECT_FALSE(stats.final);
}

TEST(LayerHostTrack, ARunOfPollsIsOneSpanUpToTheSignalledOne) {
    ScriptedDevice scripted;
    Session& session = scripted.session();
    std::thread([&] {
        for (int64_t i = 0; i < 1000; ++i) note_poll(session, HostCall::kFenceStatus, 1000 + 10 * i, 1005 + 10 * i);
        record_host_call(session, HostCall::kFenceStatus, 11'000, 11'005);
        record_host_call(session, HostCall::kQueueSubmit, 12'000, 12'500);
    }).join();
    const std::vector<SpanRecord> spans = scripted.stream.host_spans();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(scripted.stream.site_of(spans[0]).label, "vkGetFenceStatus (polling)");
    EXPECT_EQ(spans[0].begin_ns, 1000);
    EXPECT_EQ(spans[0].begin_ns + spans[0].duration_ns, 11'005);
    EXPECT_EQ(scripted.stream.site_of(spans[1]).label, "vkQueueSubmit");
    EXPECT_EQ(spans[1].duration_ns, 500);
    EXPECT_EQ(scripted.stream.unannounced, 0u);
    EXPECT_EQ(scripted.begun(), 0u) << "host spans are not device spans";
}

TEST(LayerHostTrack, PollsThatSawNothingEndWhereTheyLastWere) {
    ScriptedDevice scripted;
    Session& session = scripted.session();
    std::thread([&] {
        note_poll(session, HostCall::kFenceStatus, 1000, 1005);
        note_poll(session, HostCall::kFenceStatus, 2000, 2005);
        record_host_call(session, HostCall::kQueueSubmit, 9000, 9100);
    }).join();
    const std::vector<SpanRecord> spans = scripted.stream.host_spans();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(spans[0].begin_ns + spans[0].duration_ns, 2005);
    EXPECT_EQ(spans[1].begin_ns, 9000);
}

TEST(LayerHostTrack, AStatusThatCameAtOnceIsNoWait) {
    ScriptedDevice scripted;
    Session& session = scripted.session();
    std::thread([&] {
        record_host_call(session, HostCall::kFenceStatus, 1000, 1050);
        record_host_call(session, HostCall::kSemaphoreValue, 2000, 2050);
        record_host_call(session, HostCall::kFenceStatus, 3000, 50'000);
        record_host_call(session, HostCall::kWaitForFences, 60'000, 60'010);
    }).join();
    const std::vector<SpanRecord> spans = scripted.stream.host_spans();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(scripted.stream.site_of(spans[0]).label, "vkGetFenceStatus");
    EXPECT_EQ(scripted.stream.site_of(spans[1]).label, "vkWaitForFences");
}

TEST(LayerHostTrack, WaitsWithoutPatienceAreARunOfPollsToo) {
    ScriptedDevice scripted;
    Session& session = scripted.session();
    std::thread([&] {
        for (int64_t i = 0; i < 100; ++i) note_poll(session, HostCall::kWaitForFences, 10 * i + 1, 10 * i + 5);
        note_poll(session, HostCall::kSemaphoreValue, 2000, 2005);    // another call: another run
        record_host_call(session, HostCall::kSemaphoreValue, 2010, 2015);
    }).join();
    const std::vector<SpanRecord> spans = scripted.stream.host_spans();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(scripted.stream.site_of(spans[0]).label, "vkWaitForFences (polling)");
    EXPECT_EQ(spans[0].duration_ns, 994);
    EXPECT_EQ(scripted.stream.site_of(spans[1]).label, "vkGetSemaphoreCounterValue (polling)");
    EXPECT_EQ(spans[1].duration_ns, 15);
}

TEST(LayerHostTrack, EachThreadHasATrackOfItsOwn) {
    ScriptedDevice scripted;
    Session& session = scripted.session();
    for (int i = 0; i < 3; ++i) std::thread([&] { record_host_call(session, HostCall::kQueueSubmit, 1, 2); }).join();
    EXPECT_EQ(scripted.stream.tracks.size(), 3u);
}

// Field case F8: what a thread has left behind was freed under the hands of whoever collects it.
TEST(LayerHostTrack, ThreadsMayEndWhileTheirSpansAreCollected) {
    constexpr int kThreads = 200;
    ScriptedDevice scripted;
    Session& session = scripted.session();
    std::atomic<bool> ended{false};
    std::thread collector([&] {
        while (!ended) session.publish_stats(false);
    });
    for (int i = 0; i < kThreads; i += 4) {
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] { record_host_call(session, HostCall::kQueueSubmit, 1000, 1500); });
        for (std::thread& thread : threads) thread.join();
    }
    ended = true;
    collector.join();
    EXPECT_EQ(scripted.stream.host_spans().size(), static_cast<std::size_t>(kThreads));
    EXPECT_EQ(scripted.stream.tracks.size(), static_cast<std::size_t>(kThreads));
    EXPECT_EQ(scripted.stream.unannounced, 0u);
}

TEST(LayerNames, ANameGivenLaterIsTheOneThatIsShown) {
    ScriptedDevice scripted;
    const auto pipeline = FakeDriver::handle<VkPipeline>(0x123);
    VkComputePipelineCreateInfo info{};
    info.stage.pName = "main";
    PipelineTable& pipelines = scripted.device().pipelines();
    pipelines.add_compute_pipeline(pipeline, info);
    const auto buffer = scripted.command_buffer();
    const auto kernel_of_a_run = [&] {
        scripted.driver.commands.clear();
        buffer->begin({});
        buffer->bind_compute_pipeline(pipeline);
        scripted.command(*buffer);
        scripted.submit({buffer.get()}, testing::fence(1));
        scripted.see(testing::fence(1));
        return scripted.stream.site_of(scripted.stream.device_spans().back()).kernel;
    };
    EXPECT_EQ(kernel_of_a_run().substr(0, 5), "main@");
    pipelines.name_object(VK_OBJECT_TYPE_PIPELINE, 0x123, "axpy");
    EXPECT_EQ(kernel_of_a_run(), "axpy");
}

TEST(LayerNames, FallbacksAreTheSameInEveryRunAndTellKernelsApart) {
    const uint32_t words[] = {0x07230203, 0x00010000, 42};
    const uint32_t other_words[] = {0x07230203, 0x00010000, 43};
    const auto name_of = [](std::span<const uint32_t> code, const char* entry, const char* module_name) {
        LabelTable labels;
        PipelineTable pipelines(labels);
        const auto module = FakeDriver::handle<VkShaderModule>(0x5);
        VkShaderModuleCreateInfo module_info{};
        module_info.codeSize = code.size_bytes();
        module_info.pCode = code.data();
        pipelines.add_module(module, module_info);
        if (module_name != nullptr) pipelines.name_object(VK_OBJECT_TYPE_SHADER_MODULE, 0x5, module_name);
        VkComputePipelineCreateInfo info{};
        info.stage.module = module;
        info.stage.pName = entry;
        const auto pipeline = FakeDriver::handle<VkPipeline>(0x6);
        pipelines.add_compute_pipeline(pipeline, info);
        return *pipelines.find(pipeline)->fallback;
    };
    EXPECT_EQ(name_of(words, "main", nullptr), "main@733d31d1")
        << "the same in every version, too: recordings are compared";
    EXPECT_NE(name_of(words, "main", nullptr), name_of(other_words, "main", nullptr));
    EXPECT_EQ(name_of(words, "axpy", nullptr).substr(0, 5), "axpy@");
    EXPECT_EQ(name_of(words, "main", "softmax"), "softmax");
    EXPECT_EQ(name_of(words, "row", "softmax"), "softmax:row");
}

TEST(LayerNames, HandlesThatComeBackAreNewPipelines) {
    LabelTable labels;
    PipelineTable pipelines(labels);
    const auto pipeline = FakeDriver::handle<VkPipeline>(0x6);
    VkComputePipelineCreateInfo info{};
    pipelines.add_compute_pipeline(pipeline, info);
    PipelineInfo* const first = pipelines.find(pipeline);
    EXPECT_TRUE(pipelines.any_cold());
    pipelines.forget_pipeline(pipeline);
    EXPECT_FALSE(pipelines.any_cold()) << "a pipeline that never ran is no reason to go on looking";
    EXPECT_EQ(pipelines.find(pipeline), nullptr);
    pipelines.add_compute_pipeline(pipeline, info);
    EXPECT_NE(pipelines.find(pipeline), first);
    EXPECT_TRUE(pipelines.first_execution(*pipelines.find(pipeline)));
    EXPECT_FALSE(pipelines.first_execution(*pipelines.find(pipeline)));
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
