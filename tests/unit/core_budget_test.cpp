// The budget held, on a device of scripted time whose stamps are expensive.
#include <gtest/gtest.h>

#include <random>

#include "lapwing/arming.hpp"
#include "lapwing/budget.hpp"
#include "unit/sim_ring.hpp"

namespace lapwing {
namespace {

constexpr int64_t kStepNs = 100'000;

/// Steps of 100 us of device work under a budget; a timed one has two stamps.
class BudgetedSim : public testing::SimRing {
protected:
    void begin(double budget, uint64_t stamp_ns) {
        set_level(Level::kKernel);
        start({.ticks_per_mark = stamp_ns, .max_stamps = 1u << 17});
        arming_ = std::make_unique<Arming>(ArmingOptions{.budget = budget});
    }
    /// Runs steps and returns the share of their time that went into stamps: the truth, not the estimate.
    double run(uint32_t steps, double noise = 0) {
        const uint64_t from_ns = sim->device_ticks();
        const uint64_t from_marks = sim->marks();
        uint64_t stamps_ns = 0;
        std::normal_distribution<double> jitter(0, noise * kStepNs);
        for (uint32_t i = 0; i < steps; ++i, ++step_) {
            const uint64_t begin_ns = sim->device_ticks();
            const uint64_t begin_marks = sim->marks();
            const bool armed = arming_->decide(step_, static_cast<int64_t>(begin_ns)).armed;
            const DeviceToken token = armed ? ring->begin(0, 1) : DeviceToken{};
            sim->advance(static_cast<uint64_t>(std::max(kStepNs + jitter(random_), 1.0)));
            if (armed) ring->end(0, token);
            stamps_ns += (sim->marks() - begin_marks) * stamp_ns_now_;
            arming_->ended({static_cast<int64_t>(sim->device_ticks() - begin_ns), 0, armed});
            static_cast<void>(harvest(64));
        }
        EXPECT_GT(sim->marks(), from_marks) << "a budget does not switch the timing off";
        return static_cast<double>(stamps_ns) / static_cast<double>(sim->device_ticks() - from_ns);
    }
    void settle() { run(Budget::kSettlingSteps); }
    void stamps_cost(uint64_t ns) {
        stamp_ns_now_ = ns;
        sim->set_ticks_per_mark(ns);
    }
    [[nodiscard]] const Budget& budget() const { return *arming_->budget(); }

    std::unique_ptr<Arming> arming_;
    std::mt19937_64 random_{4711};
    uint64_t stamp_ns_now_ = 0;
    uint32_t step_ = 0;
};

TEST_F(BudgetedSim, ExpensiveStampsAreHeldToOnePercentAfterSettling) {
    begin(0.01, 10'000);
    stamps_cost(10'000);
    settle();
    EXPECT_GT(budget().stride(), 15u) << "20 us of stamps on 100 us of work: one step in 20 at the most";
    EXPECT_LE(run(20'000), 0.01);
    EXPECT_LT(budget().stride(), 40u) << "and not far fewer than the budget allows";
    EXPECT_LE(*budget().share(), 0.01);
    EXPECT_EQ(budget().changes(), 1u);
    EXPECT_NEAR(static_cast<double>(*budget().armed_step_ns()), 20'000, 10);
}

TEST_F(BudgetedSim, CheapStampsTimeEveryStepButTheControls) {
    begin(0.01, 10);
    stamps_cost(10);
    settle();
    const uint64_t marks = sim->marks();
    run(1600);
    EXPECT_EQ(budget().stride(), 1u);
    EXPECT_EQ(sim->marks() - marks, 2u * 1500) << "one step in 16 stays untimed";
    EXPECT_EQ(budget().changes(), 0u);
}

TEST_F(BudgetedSim, TheStrideGoesBackToOneWhenStampsBecomeCheap) {
    begin(0.01, 10'000);
    stamps_cost(10'000);
    settle();
    run(1000);
    ASSERT_GT(budget().stride(), 15u);
    stamps_cost(10);
    run(20'000);
    EXPECT_EQ(budget().stride(), 1u);
    EXPECT_LE(budget().changes(), 6u);
}

TEST_F(BudgetedSim, StampsThatBecomeExpensiveAreNoticedAtStrideOne) {
    begin(0.01, 10);
    stamps_cost(10);
    settle();
    run(1000);
    ASSERT_EQ(budget().stride(), 1u);
    stamps_cost(10'000);
    run(1000);    // one control in 16: settles slower than at the start
    EXPECT_LE(run(20'000), 0.01);
}

// One seed says little: a controller that holds its budget by luck holds it in one of them.
TEST_F(BudgetedSim, NoiseDoesNotMakeItOscillate) {
    constexpr uint64_t kSeeds = 40;
    for (const uint64_t stamp_ns : {10u, 10'000u}) {
        double shares = 0;
        for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
            random_.seed(seed);
            begin(0.01, stamp_ns);
            stamps_cost(stamp_ns);
            settle();
            run(2000, 0.05);
            const uint64_t before = budget().changes();
            const double share = run(10'000, 0.05);
            shares += share;
            EXPECT_LE(budget().changes() - before, 8u) << stamp_ns << " ns a stamp, seed " << seed;
            EXPECT_LE(share, 0.012) << stamp_ns << " ns a stamp, steps that vary by 5 %, seed " << seed;
            EXPECT_LE(budget().stride(), stamp_ns == 10 ? 3u : 60u) << "noise alone is no cost, seed " << seed;
        }
        EXPECT_LE(shares / kSeeds, 0.01) << stamp_ns << " ns a stamp, over all seeds";
    }
}

// As on a busy machine: steps vary by a fifth, stamps cost a tenth, and the run is over after 256 steps. What the
// settling tells is less than its error then; a controller that takes that for nothing times every step.
TEST_F(BudgetedSim, ABudgetIsHeldFromTheSettlingOnWhereNoiseHidesTheCost) {
    constexpr uint64_t kSeeds = 100;
    double shares = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        random_.seed(seed);
        begin(0.01, 5'000);
        stamps_cost(5'000);
        run(Budget::kSettlingSteps, 0.2);
        const double share = run(224, 0.2);
        shares += share;
        EXPECT_LE(share, 0.025) << "seed " << seed;
    }
    EXPECT_LE(shares / kSeeds, 0.01);
}

TEST(Budget, HooksThatAloneCostMoreLeaveTheLongestStride) {
    Budget budget(0.01);
    for (int i = 0; i < 200; ++i) budget.add({100'000, 2'000, i % 2 == 0});
    EXPECT_EQ(budget.stride(), Budget::kMaxStride);
    EXPECT_GT(*budget.share(), 0.01) << "and the recording says so";
}

// The machine was busy for a while, so that the hooks took a fortieth of each step: no stride holds 1 % then, and next
// to no step is timed. When the steps are as they were before, so is the stride.
TEST(Budget, AStrideThatASlowTimeMadeEndlessComesDownAgain) {
    Budget budget(0.01);
    uint64_t step = 0;
    const auto run = [&](int steps, int64_t host_ns) {
        for (int i = 0; i < steps; ++i, ++step) {
            const bool armed = step % budget.stride() == 0;
            budget.add({armed ? 110'000 : 100'000, host_ns, armed});
        }
    };
    run(3000, 100);
    const uint32_t before = budget.stride();
    ASSERT_LT(before, 200u);
    run(20'000, 2'500);
    ASSERT_EQ(budget.stride(), Budget::kMaxStride);
    run(20'000, 100);
    EXPECT_LT(budget.stride(), 2 * before);
}

TEST(Budget, NothingIsKnownBeforeThereArePairs) {
    Budget budget(0.01);
    for (int i = 0; i < 100; ++i) budget.add({100'000, 0, true});
    EXPECT_FALSE(budget.share());
    EXPECT_FALSE(budget.armed_step_ns());
    EXPECT_EQ(budget.stride(), 1u);
}

TEST(Budget, AStepThatTookForeverDoesNotDecide) {
    Budget budget(0.01);
    for (int i = 0; i < 400; ++i) budget.add({i % 50 == 7 ? 10'000'000'000 : 100'000, 0, i % 2 == 0});
    EXPECT_EQ(budget.stride(), 1u);
}

TEST(Arming, AStrideOfTheUsersIsTheLeastThatABudgetTakes) {
    Arming arming({.every = 8, .budget = 0.5});
    uint32_t armed = 0;
    for (uint32_t step = 0; step < 800; ++step) {
        const bool now = arming.decide(step, 0).armed;
        armed += now ? 1 : 0;
        arming.ended({100'000, 0, now});
    }
    EXPECT_EQ(arming.stride(), 8u);
    EXPECT_EQ(armed, 100u);
}

}    // namespace
}    // namespace lapwing
