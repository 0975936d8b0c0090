// What only the OpenCL backend has: times of the program's own events, on PoCL.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <optional>
#include <thread>

#include "conformance/opencl_harness.hpp"
#include "lapwing/clock.hpp"
#include "lapwing/device_ring.hpp"
#include "lapwing/level.hpp"

namespace lapwing::testing {
namespace {

constexpr TrackId kTrack = 3;

cl_ulong profile(cl_event event, cl_profiling_info what) {
    cl_ulong out = 0;
    EXPECT_EQ(clGetEventProfilingInfo(event, what, sizeof out, &out, nullptr), CL_SUCCESS);
    return out;
}

cl_uint references(cl_event event) {
    cl_uint out = 0;
    EXPECT_EQ(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof out, &out, nullptr), CL_SUCCESS);
    return out;
}

struct OpenClAdopt : ::testing::Test {
    void SetUp() override {
        std::string why_not;
        cl = OpenClHarness::make(why_not);
        if (cl == nullptr) GTEST_SKIP() << why_not;
        set_level(Level::kKernel);
        reset_forbidden_cl_calls();
    }
    void TearDown() override {
        if (backend != nullptr) {
            ring->abandon_all();
            const DeviceRingStats stats = ring->stats();
            EXPECT_EQ(stats.begun, stats.recorded + stats.lost.total()) << "spans lost in silence";
            backend->shutdown();
            EXPECT_EQ(backend->stats().events_held, 0u);
            EXPECT_EQ(forbidden_cl_calls(), 0u) << "the backend waited for the device";
        }
        set_level(Level::kOff);
    }
    void open(cl_command_queue_properties properties, DeviceRingOptions options = {}) {
        handle = cl->make_queue(properties);
        backend = cl->make_backend();
        auto queue = backend->open_queue(handle);
        ASSERT_TRUE(queue.ok()) << queue.error().message;
        ring = std::make_unique<DeviceRing<OpenClBackend>>(*backend, options);
        ASSERT_TRUE(ring->add_queue(*queue, kTrack).ok());
    }
    // The driver holds on to the newest events of a queue for a while.
    cl_uint references_at_rest(cl_event event) {
        for (int i = 0; i < 3; ++i) cl->dispatch(handle, 1);
        cl->finish(handle);
        for (int i = 0; i < 200 && references(event) > 1; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return references(event);
    }
    std::vector<SpanRecord> harvest() {
        std::vector<SpanRecord> out(1024);
        out.resize(ring->harvest(out));
        return out;
    }

    std::unique_ptr<OpenClHarness> cl;
    std::unique_ptr<OpenClBackend> backend;
    std::unique_ptr<DeviceRing<OpenClBackend>> ring;
    cl_command_queue handle = nullptr;
};

TEST_F(OpenClAdopt, ASpanHasTheTimesOfTheProgramsEvent) {
    open(CL_QUEUE_PROFILING_ENABLE);
    const HostNs before = host_now();
    std::array<cl_event, 5> events{};
    for (cl_event& event : events) {
        cl->dispatch(handle, 16, &event);
        EXPECT_TRUE(ring->adopt(0, event, 7, Level::kKernel, 9));
    }
    cl->finish(handle);
    const HostNs after = host_now();
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), events.size());
    const std::optional<int64_t> uncertainty = ring->info(0).clock.uncertainty_ns;
    ASSERT_TRUE(uncertainty.has_value());
    EXPECT_LT(*uncertainty, 1'000'000) << "no pair of clocks was found";
    for (std::size_t i = 0; i < events.size(); ++i) {
        const auto exact = static_cast<int64_t>(profile(events[i], CL_PROFILING_COMMAND_END) -
                                                profile(events[i], CL_PROFILING_COMMAND_START));
        EXPECT_NEAR(static_cast<double>(spans[i].duration_ns), static_cast<double>(exact), 1 + 1e-3 * double(exact));
        EXPECT_EQ(spans[i].site, 7u);
        EXPECT_EQ(spans[i].tag, 9u);
        // PoCL's clock is CLOCK_MONOTONIC_RAW, seconds away from CLOCK_MONOTONIC after some days: not placed, it shows.
        EXPECT_GE(spans[i].begin_ns, before.value - *uncertainty);
        EXPECT_LE(spans[i].begin_ns + spans[i].duration_ns, after.value + *uncertainty);
        EXPECT_EQ(references_at_rest(events[i]), 1u) << "the event is still held after its harvest";
        clReleaseEvent(events[i]);
    }
    EXPECT_EQ(ring->stats().stamps, 0u) << "an adopted command needs no stamp";
    EXPECT_EQ(backend->stats().marks, 0u);
}

TEST_F(OpenClAdopt, EventsInFlightStayPendingAndAreNotWaitedFor) {
    open(CL_QUEUE_PROFILING_ENABLE);
    cl_event const gate = cl->make_gate();
    cl->hold(handle, gate);
    cl_event event = nullptr;
    cl->dispatch(handle, 4, &event);
    const cl_uint before = references(event);
    ASSERT_TRUE(ring->adopt(0, event, 1));
    EXPECT_EQ(references(event), before + 1);
    EXPECT_EQ(clFlush(handle), CL_SUCCESS);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(harvest().empty());
    cl->open_gate(gate);
    cl->finish(handle);
    EXPECT_EQ(harvest().size(), 1u);
    clReleaseEvent(event);
}

TEST_F(OpenClAdopt, OutOfOrderCommandsKeepTheirOwnTimes) {
    open(CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_event const gate = cl->make_gate();
    // The first one waits for a gate, the second one overtakes it.
    std::array<cl_event, 2> events{};
    cl->dispatch(handle, 16, &events[0], {gate});
    cl->dispatch(handle, 16, &events[1]);
    for (SiteId i = 0; i < 2; ++i) ASSERT_TRUE(ring->adopt(0, events[i], i + 1));
    EXPECT_EQ(clFlush(handle), CL_SUCCESS);
    EXPECT_EQ(clWaitForEvents(1, &events[1]), CL_SUCCESS);
    EXPECT_TRUE(harvest().empty()) << "the head has not run";
    cl->open_gate(gate);
    cl->finish(handle);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(spans[0].site, 1u);
    EXPECT_GE(spans[0].begin_ns, spans[1].begin_ns + spans[1].duration_ns) << "the second one ran first";
    for (cl_event event : events) clReleaseEvent(event);
}

TEST_F(OpenClAdopt, AQueueWithoutProfilingLosesItsSpansAsUnsupported) {
    open(0);
    EXPECT_FALSE(ring->info(0).supported);
    EXPECT_STREQ(ring->info(0).reason,
                 "the queue was made without CL_QUEUE_PROFILING_ENABLE: its commands have no times");
    cl_event event = nullptr;
    cl->dispatch(handle, 1, &event);
    EXPECT_FALSE(ring->adopt(0, event, 1));
    ring->end(0, ring->begin(0, 2));
    cl->finish(handle);
    EXPECT_TRUE(harvest().empty());
    EXPECT_EQ(ring->stats().lost[LossReason::kUnsupported], 2u);
    EXPECT_EQ(references_at_rest(event), 1u);
    clReleaseEvent(event);
}

// field-cases B9: llama.cpp#23495, events kept until the program ends.
TEST_F(OpenClAdopt, EventsAreReleasedAtHarvestSoTheirNumberIsBounded) {
    open(CL_QUEUE_PROFILING_ENABLE, {.initial_spans = 64, .max_spans = 64});
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 64; ++i) {
            cl_event event = nullptr;
            cl->dispatch(handle, 0, &event);
            static_cast<void>(ring->adopt(0, event, 1));
            clReleaseEvent(event);    // ours is the last reference
        }
        EXPECT_LE(backend->stats().events_held, 64u);
        cl->finish(handle);
        EXPECT_EQ(harvest().size(), 64u);
        EXPECT_EQ(backend->stats().events_held, 0u);
    }
    EXPECT_EQ(ring->stats().recorded, 3200u);
    EXPECT_EQ(ring->stats().lost.total(), 0u);
    // In order: one status answers for a whole batch.
    EXPECT_LE(backend->stats().status_checks, 50u * 4u);
}

TEST_F(OpenClAdopt, AFullRingDropsTheNewestAndHoldsNoEventOfIt) {
    open(CL_QUEUE_PROFILING_ENABLE, {.initial_spans = 8, .max_spans = 8});
    std::array<cl_event, 12> events{};
    for (cl_event& event : events) {
        cl->dispatch(handle, 0, &event);
        static_cast<void>(ring->adopt(0, event, 1));
    }
    cl->finish(handle);
    EXPECT_EQ(backend->stats().events_held, 8u);
    EXPECT_EQ(harvest().size(), 8u);
    EXPECT_EQ(ring->stats().lost[LossReason::kRingFull], 4u);
    for (cl_event event : events) {
        EXPECT_EQ(references_at_rest(event), 1u);
        clReleaseEvent(event);
    }
}

TEST_F(OpenClAdopt, MarkersAndAdoptedEventsShareOneQueue) {
    open(CL_QUEUE_PROFILING_ENABLE);
    const DeviceToken outer = ring->begin(0, 1);
    cl_event event = nullptr;
    cl->dispatch(handle, 64, &event);
    ASSERT_TRUE(ring->adopt(0, event, 2));
    ring->end(0, outer);
    cl->finish(handle);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(spans[0].site, 2u);
    EXPECT_LE(spans[1].begin_ns, spans[0].begin_ns);
    EXPECT_GE(spans[1].begin_ns + spans[1].duration_ns, spans[0].begin_ns + spans[0].duration_ns);
    EXPECT_EQ(ring->stats().stamps, 2u);
    clReleaseEvent(event);
}

}    // namespace
}    // namespace lapwing::testing
