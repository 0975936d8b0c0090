// The hub's host side, its configuration, and named ranges.
#include <gtest/gtest.h>

#include "unit/telemetry_server.hpp"

namespace lapwing {
namespace {

using test::CountingClock;
using test::TelemetryServer;

TEST(TelemetryConfig, LevelsAreStrictAndTheErrorCarriesTheText) {
    for (const char* level : {"off", "basic", "lane", "kernel"}) {
        const auto config = TelemetryConfig::make({.level = level});
        ASSERT_TRUE(config.ok()) << level;
        EXPECT_STREQ(to_text(config.value().level()), level);
    }
    for (const char* level : {"Basic", "on", "1", "", " off", "kernels"}) {
        const TelemetryOptions options{.level = level};
        EXPECT_EQ(TelemetryConfig::fault_of(options), ConfigFault::kUnknownLevel);
        const auto config = TelemetryConfig::make(options);
        ASSERT_FALSE(config.ok()) << level;
        EXPECT_EQ(config.error().code, Errc::kInvalidArgument);
        EXPECT_EQ(config.error().message.rfind("UnknownLevel: ", 0), 0u);
        EXPECT_NE(config.error().message.find(level), std::string::npos);
        EXPECT_NE(config.error().message.find("kernel"), std::string::npos) << "names what is accepted";
    }
}

TEST(TelemetryConfig, DevicePeriodsLieWithinTenMillisecondsAndTenSeconds) {
    for (const int64_t period : {int64_t{10'000'000}, int64_t{100'000'000}, int64_t{10'000'000'000}}) {
        const auto config = TelemetryConfig::make({.device_period_ns = period});
        ASSERT_TRUE(config.ok());
        EXPECT_EQ(config.value().device_period_ns(), period);
    }
    for (const int64_t period : {int64_t{9'999'999}, int64_t{10'000'000'001}, int64_t{0}, int64_t{-1}, INT64_MIN}) {
        const auto config = TelemetryConfig::make({.device_period_ns = period});
        ASSERT_FALSE(config.ok());
        EXPECT_EQ(
            config.error().message.rfind(std::string("DevicePeriodOutOfRange: ").append(std::to_string(period)), 0),
            0u);
        EXPECT_NE(config.error().message.find("from 10 ms to 10 s"), std::string::npos);
    }
}

TEST(TelemetryConfig, AStrideOfZeroIsRefused) {
    const auto config = TelemetryConfig::make({.level = "kernel", .kernel_span_every = 0});
    ASSERT_FALSE(config.ok());
    EXPECT_EQ(TelemetryConfig::fault_of({.kernel_span_every = 0}), ConfigFault::kZeroKernelSpanStride);
    EXPECT_EQ(config.error().message.rfind("ZeroKernelSpanStride: ", 0), 0u);
    EXPECT_TRUE(TelemetryConfig::make({.kernel_span_every = UINT32_MAX}).ok());
}

TEST(TelemetryConfig, ServingReadsTheDeviceEach100MillisecondsAndTimesOneStepIn64) {
    const TelemetryConfig config = TelemetryConfig::serving(Level::kKernel, 3);
    EXPECT_EQ(config.level(), Level::kKernel);
    EXPECT_EQ(config.device_period_ns(), 100'000'000);
    EXPECT_EQ(config.kernel_span_every(), 64u);
    EXPECT_EQ(config.device_index(), 3u);
}

const PhaseFigures* phase_of(const TelemetrySnapshot& snapshot, const std::string& name) {
    for (const PhaseFigures& figures : snapshot.phases)
        if (figures.phase == name) return &figures;
    return nullptr;
}

TEST_F(TelemetryServer, PhasesAreTimedByNameAndTheFirstNamesStay) {
    configure("basic");
    const std::vector<std::string_view> names{"tokenize", "schedule"};
    ASSERT_TRUE(hub.name_phases(names).ok());
    EXPECT_EQ(hub.name_phases(names).error().code, Errc::kInvalidArgument) << "the first call wins";
    { const TelemetryScope scope = hub.phase(0); }
    hub.record_phase(1, 5000);
    hub.record_phase(7, 1);
    hub.record_phase(31, 1);
    hub.record_phase(32, 1);
    hub.record_phase(4'000'000'000, 1);
    const TelemetrySnapshot snapshot = hub.snapshot();
    EXPECT_EQ(phase_of(snapshot, "tokenize")->time_ns.sum, 1000u) << "one tick of the clock";
    EXPECT_EQ(phase_of(snapshot, "schedule")->time_ns.sum, 5000u);
    EXPECT_EQ(phase_of(snapshot, "phase_7")->time_ns.count(), 1u);
    EXPECT_EQ(phase_of(snapshot, "phase_31")->time_ns.count(), 3u) << "larger ones go to the last";
    EXPECT_EQ(snapshot.phases.size(), 4u);
}

TEST_F(TelemetryServer, PhasesBeyond32ShareTheLast) {
    configure("basic");
    std::vector<std::string> texts;
    for (int i = 0; i < 40; ++i) texts.push_back(std::string("p").append(std::to_string(i)));
    const std::vector<std::string_view> names(texts.begin(), texts.end());
    ASSERT_TRUE(hub.name_phases(names).ok());
    for (uint32_t i = 0; i < 40; ++i) hub.record_phase(i, 1);
    const TelemetrySnapshot snapshot = hub.snapshot();
    EXPECT_EQ(snapshot.phases.size(), 32u);
    EXPECT_EQ(phase_of(snapshot, "p30")->time_ns.count(), 1u);
    EXPECT_EQ(phase_of(snapshot, "other")->time_ns.count(), 9u);
}

TEST_F(TelemetryServer, PhasesWithoutANameOrTwiceTheSameAreRefused) {
    EXPECT_EQ(hub.name_phases(std::vector<std::string_view>{"a", ""}).error().code, Errc::kInvalidArgument);
    EXPECT_EQ(hub.name_phases(std::vector<std::string_view>{"a", "a"}).error().code, Errc::kInvalidArgument);
    EXPECT_TRUE(hub.name_phases(std::vector<std::string_view>{"a", "b"}).ok()) << "refused names do not count as first";
}

TEST_F(TelemetryServer, EveryEntryPointCountsWhatItIsTold) {
    configure("basic");
    hub.tokens(TokenKind::kPrompt, 100);
    hub.tokens(TokenKind::kGenerated, 7);
    hub.sched_tick({.running = 3, .batch_tokens = 64, .cache_used = 0.25});
    { const TelemetryScope scope = hub.stream_sync(); }
    hub.record_stream_sync(2000);
    { const TelemetryScope scope = hub.blocking_copy(CopyDirection::kDeviceToHost, 4096); }
    hub.record_blocking_copy(CopyDirection::kDeviceToHost, 4096, 3000);
    { const TelemetryScope scope = hub.graph_capture(); }
    hub.graph_replay(120);
    hub.graph_replay();
    hub.spec_verified(4, 3);
    hub.spec_verified(4, 0);
    hub.request_finished({.outcome = RequestOutcome::kCompleted,
                          .prompt_tokens = 100,
                          .output_tokens = 11,
                          .queue_ns = 1000,
                          .first_token_ns = 5000,
                          .total_ns = 105'000});
    hub.request_finished({.outcome = RequestOutcome::kFailed});
    const TelemetrySnapshot s = hub.snapshot();
    EXPECT_EQ(s.tokens[0], 100u);
    EXPECT_EQ(s.tokens[1], 7u);
    EXPECT_EQ(s.scheduler_ticks, 1u);
    EXPECT_EQ(s.scheduler.running, 3u);
    EXPECT_FALSE(s.scheduler.waiting.has_value()) << "not said, not 0";
    EXPECT_EQ(s.scheduler.cache_used, 0.25);
    EXPECT_EQ(s.batch_tokens.sum, 64u);
    EXPECT_EQ(s.stream_sync_ns.count(), 2u);
    EXPECT_EQ(s.stream_sync_ns.sum, 3000u);
    EXPECT_EQ(s.copy_bytes[1], 8192u);
    EXPECT_EQ(s.copy_ns[1].sum, 4000u);
    EXPECT_EQ(s.copy_ns[0].count(), 0u);
    EXPECT_EQ(s.graph_capture_ns.count(), 1u);
    EXPECT_EQ(s.graph_replays, 2u);
    EXPECT_EQ(s.graph_replayed_kernels, 120u);
    EXPECT_EQ(s.spec_verifications, 2u);
    EXPECT_EQ(s.spec_drafted, 8u);
    EXPECT_EQ(s.spec_accepted, 3u);
    EXPECT_EQ(s.requests[0], 1u);
    EXPECT_EQ(s.requests[2], 1u);
    EXPECT_EQ(s.request_queue_ns.sum, 1000u);
    EXPECT_EQ(s.first_token_ns.sum, 5000u);
    EXPECT_EQ(s.request_ns.sum, 105'000u);
    EXPECT_EQ(s.per_token_ns.sum, 10'000u);
    EXPECT_EQ(s.misuse.refused_durations + s.misuse.refused_values, 0u);
}

TEST_F(TelemetryServer, DurationsAndFiguresThatCannotBeAreCountedAndNotRecorded) {
    configure("basic");
    for (const int64_t bad : {int64_t{-1}, INT64_MIN, INT64_MAX, kLongestSampleNs + 1}) {
        hub.record_phase(0, bad);
        hub.record_stream_sync(bad);
        hub.record_blocking_copy(CopyDirection::kHostToDevice, 10, bad);
        hub.record_graph_capture(bad);
    }
    hub.request_finished({.output_tokens = 5, .queue_ns = -1, .first_token_ns = -5, .total_ns = INT64_MAX});
    EXPECT_EQ(hub.snapshot().misuse.refused_durations, 19u);
    hub.request_finished({.output_tokens = 5, .first_token_ns = 10, .total_ns = 5});
    hub.spec_verified(3, 4);
    hub.sched_tick({.running = 1, .cache_used = 1.5});
    hub.sched_tick({.running = 2, .cache_used = std::numeric_limits<double>::quiet_NaN()});
    hub.tokens(static_cast<TokenKind>(9), 1);
    hub.record_blocking_copy(static_cast<CopyDirection>(9), 1, 1);
    hub.request_finished({.outcome = static_cast<RequestOutcome>(9)});
    const TelemetrySnapshot s = hub.snapshot();
    EXPECT_EQ(s.misuse.refused_values, 7u);
    EXPECT_TRUE(s.phases.empty());
    EXPECT_EQ(s.stream_sync_ns.count() + s.copy_ns[0].count() + s.graph_capture_ns.count(), 0u);
    EXPECT_EQ(s.copy_bytes[0], 0u);
    EXPECT_EQ(s.spec_drafted, 0u);
    EXPECT_EQ(s.scheduler.running, 2u);
    EXPECT_FALSE(s.scheduler.cache_used.has_value());
    EXPECT_EQ(s.per_token_ns.count(), 0u);
}

TEST_F(TelemetryServer, AScopeThatWasBegunIsRecordedThoughTheLevelWasLowered) {
    configure("basic");
    {
        const TelemetryScope scope = hub.stream_sync();
        set_level(Level::kOff);
    }
    EXPECT_EQ(hub.snapshot().stream_sync_ns.count(), 1u);
    { const TelemetryScope scope = hub.stream_sync(); }
    EXPECT_EQ(hub.snapshot().stream_sync_ns.count(), 1u);
}

TEST_F(TelemetryServer, ALevelRaisedWithoutConfiguringIsRecordedToo) {
    set_level(Level::kBasic);
    hub.tokens(TokenKind::kPrompt, 5);
    EXPECT_EQ(hub.snapshot().tokens[0], 5u);
}

// Ranges of somebody else's profiler.

struct Ranges {
    static inline std::vector<std::string> open;
    static inline uint64_t pushes = 0;
    static inline uint64_t pops = 0;
    static void push(const char* name) noexcept {
        ++pushes;
        open.emplace_back(name);
    }
    static void pop() noexcept {
        ++pops;
        if (!open.empty()) open.pop_back();
    }
    static constexpr RangeHooks kHooks{push, pop};
};

struct RangedServer : TelemetryServer {
    void SetUp() override {
        Ranges::open.clear();
        Ranges::pushes = Ranges::pops = 0;
        hub.set_range_hooks(&Ranges::kHooks);
    }
};

TEST_F(RangedServer, LanesAreWrappedInRangesOfTheirNames) {
    ASSERT_TRUE(hub.add_lane("draft").ok());
    add_device();
    configure("lane");
    hub.step_begin();
    hub.lane_begin(kPrefill);
    EXPECT_EQ(Ranges::open, std::vector<std::string>{"prefill"});
    hub.lane_begin(3);
    EXPECT_EQ(Ranges::open, (std::vector<std::string>{"prefill", "draft"}));
    hub.lane_end(3);
    hub.lane_end(kPrefill);
    EXPECT_TRUE(Ranges::open.empty());
    EXPECT_EQ(Ranges::pushes, 2u);
}

TEST_F(RangedServer, RangesStayBalancedWhateverHappensInALane) {
    add_device();
    configure("lane");
    hub.step_begin();
    hub.lane_begin(kDecode);
    set_level(Level::kOff);    // the level flips mid-lane
    hub.lane_end(kDecode);
    EXPECT_EQ(Ranges::pops, 1u);
    hub.lane_begin(kDecode);    // off: no range
    set_level(Level::kLane);
    hub.lane_end(kDecode);    // no begin: no pop
    hub.lane_begin(kDecode);
    hub.lane_begin(kDecode);         // twice
    hub.set_range_hooks(nullptr);    // no more of them, and the open one still ends
    hub.lane_end(kDecode);
    hub.lane_begin(kDecode);
    hub.set_range_hooks(&Ranges::kHooks);
    hub.lane_end(kDecode);
    hub.lane_begin(kAdmit);
    hub.step_begin();    // left open
    EXPECT_EQ(Ranges::pushes, 4u);
    EXPECT_EQ(Ranges::pops, 4u);
    EXPECT_TRUE(Ranges::open.empty());
}

TEST_F(RangedServer, BelowLevelLaneThereAreNoRanges) {
    add_device();
    configure("basic");
    lane(kDecode, 10);
    EXPECT_EQ(Ranges::pushes, 0u);
}

}    // namespace
}    // namespace lapwing
