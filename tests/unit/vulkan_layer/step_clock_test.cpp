#include "attach/session/step_clock.hpp"

#include <gtest/gtest.h>

namespace lapwing::attach::vulkan_layer {
namespace {

constexpr StepClock::Work kWork{.dispatches = 4, .begun = 4};
constexpr StepClock::Work kCopies{.dispatches = 0, .begun = 2};

TEST(StepClock, AStepIsTheWorkBetweenTwoIdleMoments) {
    StepClock clock;
    EXPECT_EQ(clock.submitted(100, kWork).step, 0u);
    EXPECT_EQ(clock.submitted(110, kWork).step, 0u);
    EXPECT_FALSE(clock.completed(1, 150));
    const auto step = clock.completed(1, 200);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->index, 0u);
    EXPECT_EQ(step->begin_ns, 100);
    EXPECT_EQ(step->end_ns, 200);
    EXPECT_EQ(step->dispatches, 8u);
    EXPECT_TRUE(step->armed);
    EXPECT_EQ(clock.submitted(300, kWork).step, 1u);
}

TEST(StepClock, CopiesAloneMakeNoStepAndBelongToTheNextOne) {
    StepClock clock;
    EXPECT_EQ(clock.submitted(100, kCopies).step, 0u);
    EXPECT_FALSE(clock.completed(1, 150));
    EXPECT_EQ(clock.submitted(200, kWork).step, 0u);
    const auto step = clock.completed(1, 250);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->begin_ns, 100);
    EXPECT_EQ(step->dispatches, 4u);
}

TEST(StepClock, WhereNothingTakesStampsNoStepIsArmed) {
    StepClock clock({}, {}, false);
    EXPECT_FALSE(clock.armed());
    static_cast<void>(clock.submitted(100, {.dispatches = 4, .begun = 0}));
    const auto step = clock.completed(1, 200);
    ASSERT_TRUE(step);
    EXPECT_FALSE(step->armed);
    EXPECT_FALSE(step->sampled);
}

TEST(StepClock, AnArmedStepWhoseBuffersCarryNoStampsIsArmedAllTheSame) {
    StepClock clock;
    static_cast<void>(clock.submitted(100, {.dispatches = 4, .begun = 0, .untimed = 4}));
    const auto step = clock.completed(1, 200);
    ASSERT_TRUE(step);
    EXPECT_TRUE(step->armed);
    EXPECT_EQ(step->untimed, 4u);
}

TEST(StepClock, ARefusedSubmitNeverWas) {
    StepClock clock;
    static_cast<void>(clock.submitted(100, kWork));
    static_cast<void>(clock.submitted(110, {.dispatches = 100, .begun = 100}));
    clock.withdrawn({.dispatches = 100, .begun = 100});
    const auto step = clock.completed(1, 200);
    ASSERT_TRUE(step) << "the refused submit must not be waited for";
    EXPECT_EQ(step->dispatches, 4u);
}

TEST(StepClock, CompletionsBeyondWhatIsOutstandingAreHarmless) {
    StepClock clock;
    EXPECT_FALSE(clock.completed(5, 10));
    static_cast<void>(clock.submitted(100, kWork));
    EXPECT_TRUE(clock.completed(5, 200));
    EXPECT_EQ(clock.submitted(300, kWork).step, 1u);
    EXPECT_TRUE(clock.completed(1, 400));
}

// ggml waits for its device in the middle of its first graph, to make its buffers larger.
TEST(StepClock, FallingIdleInsideAnOpenScopeClosesNothing) {
    StepClock clock;
    clock.scope_opened();
    static_cast<void>(clock.submitted(100, kWork));
    EXPECT_FALSE(clock.completed(1, 150));
    EXPECT_EQ(clock.submitted(160, kWork).step, 0u);
    EXPECT_FALSE(clock.scope_closed()) << "work is outstanding";
    const auto step = clock.completed(1, 200);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->dispatches, 8u);
}

TEST(StepClock, AStepThatIsOverInsideItsScopeClosesWithIt) {
    StepClock clock;
    clock.scope_opened();
    static_cast<void>(clock.submitted(100, kWork));
    EXPECT_FALSE(clock.completed(1, 150));
    const auto step = clock.scope_closed();
    ASSERT_TRUE(step);
    EXPECT_EQ(step->end_ns, 150) << "when the program saw completion, not when it closed its label";
    EXPECT_FALSE(clock.scope_closed()) << "ends without a begin are harmless";
}

TEST(StepClock, AScopeAroundTheWholeProgramIsIgnoredAfterAWhile) {
    StepClock clock;
    clock.scope_opened();
    uint32_t steps = 0;
    for (int i = 0; i < 100; ++i) {
        static_cast<void>(clock.submitted(10 * i + 1, kWork));
        if (clock.completed(1, 10 * i + 5)) ++steps;
    }
    EXPECT_EQ(steps, 92u);
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
