// Explores the ring's scenarios: ring_model [--expect-violation]
// Prints what was explored; exits with 1 where an invariant is broken, or with --expect-violation where none is.
#include <cstdio>
#include <cstring>

#include "model/ring_scenarios.hpp"

namespace lapwing::model {
namespace {

// One thread that begins and ends spans, beside one that harvests twice.
struct Harvested : RingScenario {
    using RingScenario::RingScenario;
    [[nodiscard]] int threads() const final { return 2; }
    void run(int thread) final {
        if (thread == 0) return produce();
        harvest();
        harvest();
    }
    virtual void produce() = 0;
};

// Three spans through two slots, the first token used again while its slot may belong to the third.
struct TokenReuse final : Harvested {
    void produce() override {
        const DeviceToken first = begin(1);
        end(1, first);
        const DeviceToken second = begin(2);
        end(2, second);
        const DeviceToken third = begin(3);
        end_again(first);
        if (third.slot != detail::kNoSlot) end(3, third);
        end_again(second);
    }
};

// The level goes down and up again while a span is open.
struct LevelChange final : RingScenario {
    [[nodiscard]] int threads() const override { return 3; }
    void run(int thread) override {
        if (thread == 1) return harvest();
        if (thread == 2) {
            set_level(Level::kOff);
            set_level(Level::kKernel);
            return;
        }
        begin_and_end(2);
    }
};

struct TwoHarvesters final : RingScenario {
    [[nodiscard]] int threads() const override { return 3; }
    void run(int thread) override {
        if (thread != 0) return harvest();
        for (SiteId site = 1; site <= 2; ++site) end(site, begin(site));
    }
};

// What is open is given up; its token is stale, its slot serves again.
struct Reclaim final : Harvested {
    void produce() override {
        const DeviceToken lost = begin(1);
        end(2, begin(2));
        ring.reclaim(0);
        end_again(lost);
        const DeviceToken third = begin(3);
        end_again(lost);
        if (third.slot != detail::kNoSlot) end(3, third);
    }
};

struct Laps final : Harvested {
    Laps() : Harvested(4, 4) {}
    void produce() override {
        const LapChain chain = ring.lap_begin(0);
        lap(chain, 1);
        lap(chain, 2);
        end(3, begin(3));
    }
    void lap(LapChain chain, SiteId site) {
        // 2^n ticks since the previous mark, which is where a lap begins.
        const uint64_t from = backend.now;
        ring.lap(0, chain, site);
        expect(site, backend.now - from);
    }
};

// The ring is grown while spans are begun.
struct Growth final : Harvested {
    Growth() : Harvested(2, 4) {}
    void produce() override { begin_and_end(3); }
};

// The device is lost under the harvester's hands.
struct DeviceLost final : Harvested {
    DeviceLost() { backend.may_lose = true; }
    void produce() override { begin_and_end(2); }
};

template <class S>
Scenario* make() {
    return new S;
}

struct Named {
    const char* name;
    MakeScenario make;
};
constexpr Named kScenarios[] = {
    {"token_reuse", make<TokenReuse>},
    {"level_change", make<LevelChange>},
    {"two_harvesters", make<TwoHarvesters>},
    {"reclaim", make<Reclaim>},
    {"laps", make<Laps>},
    {"growth", make<Growth>},
    {"device_lost", make<DeviceLost>},
};

}    // namespace
}    // namespace lapwing::model

int main(int argc, char** argv) {
    using namespace lapwing::model;
    const bool expect_violation = argc == 2 && std::strcmp(argv[1], "--expect-violation") == 0;
    bool violated = false;
    for (const Named& scenario : kScenarios) {
        if (argc == 2 && !expect_violation && std::strcmp(argv[1], scenario.name) != 0) continue;
        const Outcome outcome = explore(scenario.make);
        std::printf("%-15s %9llu states, %9llu executions (%llu to the end), %llu steps: %s\n", scenario.name,
                    static_cast<unsigned long long>(outcome.states),
                    static_cast<unsigned long long>(outcome.executions),
                    static_cast<unsigned long long>(outcome.complete), static_cast<unsigned long long>(outcome.steps),
                    outcome.violation.empty() ? "holds" : outcome.violation.c_str());
        std::fflush(stdout);
        violated |= !outcome.violation.empty();
        if (violated && expect_violation) break;
    }
    return violated == expect_violation ? 0 : 1;
}
