// Launch traces and their differences.
#include <gtest/gtest.h>

#include "lapwing/launch_trace.hpp"

namespace lapwing {
namespace {

constexpr LaunchShape kShape{.grid = {8, 1, 1}, .block = {128, 1, 1}, .shared_bytes = 0};

struct Step {
    uint64_t memory = 0x1000;    // where the allocator put the buffers
    uint64_t value = 3;
    LaunchShape shape = kShape;
    bool swapped = false;
    int extra = 0;
};

std::optional<LaunchDiff> run(LaunchTrace& trace, const Step& step, std::size_t max_differences = 20) {
    EXPECT_TRUE(trace.begin().ok());
    const uint64_t a = step.memory;
    const uint64_t b = step.memory + 0x100;
    trace.memset(a, 0, 256);
    const std::array<LaunchWord, 3> arguments{launch_buffer(a), launch_buffer(step.swapped ? a : b),
                                              launch_word(step.value)};
    trace.kernel("gemm", step.shape, arguments);
    trace.copy_d2d(b, a, 256);
    for (int i = 0; i < step.extra; ++i) trace.kernel("rope", kShape);
    Result<std::optional<LaunchDiff>> diff = trace.end(max_differences);
    EXPECT_TRUE(diff.ok());
    return diff.ok() ? diff.value() : std::nullopt;
}

TEST(LaunchTrace, TheFirstTraceHasNothingToDifferFrom) {
    LaunchTrace trace;
    EXPECT_FALSE(run(trace, {}).has_value());
}

TEST(LaunchTrace, TheSameStepAtOtherAddressesIsTheSame) {
    LaunchTrace trace;
    run(trace, {.memory = 0x1000});
    const std::optional<LaunchDiff> diff = run(trace, {.memory = 0x7f00'0000});
    ASSERT_TRUE(diff.has_value());
    EXPECT_TRUE(diff->same());
    EXPECT_EQ(diff->ops_now, 3u);
    EXPECT_EQ(to_text(*diff), "the same 3 ops\n");
}

TEST(LaunchTrace, AnotherGridArgumentOrBufferIsADifference) {
    LaunchTrace trace;
    LaunchShape wider = kShape;
    wider.grid[0] = 9;
    run(trace, {});
    EXPECT_EQ(run(trace, {.value = 4})->differences.at(0).index, 1u);
    run(trace, {});
    EXPECT_EQ(run(trace, {.shape = wider})->differing, 1u);
    run(trace, {});
    const std::optional<LaunchDiff> diff = run(trace, {.swapped = true});
    ASSERT_EQ(diff->differing, 1u);
    EXPECT_EQ(to_text(*diff),
              "1 of 3 ops differ\n"
              "op 1: gemm<<<8x1x1, 128x1x1, 0>>>(buffer 0, buffer 1, 0x3) -> "
              "gemm<<<8x1x1, 128x1x1, 0>>>(buffer 0, buffer 0, 0x3)\n");
}

TEST(LaunchTrace, EachTraceIsComparedWithTheOneBeforeIt) {
    LaunchTrace trace;
    run(trace, {.value = 1});
    EXPECT_FALSE(run(trace, {.value = 2})->same());
    EXPECT_TRUE(run(trace, {.value = 2})->same());
}

TEST(LaunchTrace, AnotherNumberOfOpsIsSaid) {
    LaunchTrace trace;
    run(trace, {.extra = 2});
    const std::optional<LaunchDiff> diff = run(trace, {.extra = 0});
    EXPECT_FALSE(diff->same());
    EXPECT_EQ(diff->ops_before, 5u);
    EXPECT_EQ(diff->ops_now, 3u);
    EXPECT_EQ(diff->differing, 2u);
    EXPECT_EQ(diff->differences.at(0).now, "");
    EXPECT_NE(to_text(*diff).find("5 ops before, 3 now"), std::string::npos);
    EXPECT_NE(to_text(*diff).find("rope<<<8x1x1, 128x1x1, 0>>>() -> none"), std::string::npos);
}

TEST(LaunchTrace, TheListOfDifferencesIsCappedAndTheirNumberIsNot) {
    LaunchTrace trace;
    run(trace, {.extra = 100});
    const std::optional<LaunchDiff> diff = run(trace, {}, 7);
    EXPECT_EQ(diff->differences.size(), 7u);
    EXPECT_EQ(diff->differing, 100u);
    EXPECT_NE(to_text(*diff).find("and 93 more"), std::string::npos);
    EXPECT_EQ(run(trace, {.extra = 5}, 0)->differing, 5u);
}

TEST(LaunchTrace, OpsBeyondTheCapacityAreCounted) {
    LaunchTrace trace(4);
    run(trace, {.extra = 10});
    EXPECT_TRUE(run(trace, {.extra = 10})->same());
    const std::optional<LaunchDiff> diff = run(trace, {.extra = 20});
    EXPECT_FALSE(diff->same()) << "what was not compared is not the same";
    EXPECT_EQ(diff->ops_now, 4u);
    EXPECT_EQ(diff->beyond_before, 9u);
    EXPECT_EQ(diff->beyond_now, 19u);
}

TEST(LaunchTrace, OpsOutsideATraceAreIgnoredAndMisuseIsAnError) {
    LaunchTrace trace;
    trace.kernel("gemm", kShape);
    EXPECT_EQ(trace.end().error().code, Errc::kInvalidArgument);
    ASSERT_TRUE(trace.begin().ok());
    EXPECT_EQ(trace.begin().error().code, Errc::kInvalidArgument);
    ASSERT_TRUE(trace.end().ok());
    trace.memset(1, 2, 3);
    EXPECT_EQ(run(trace, {})->ops_before, 0u);
}

}    // namespace
}    // namespace lapwing
