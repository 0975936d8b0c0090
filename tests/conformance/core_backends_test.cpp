// The backends that are always there.
#include "conformance/backend_suite.hpp"
#include "lapwing/cpu_backend.hpp"
#include "lapwing/sim_backend.hpp"

namespace lapwing::testing {
namespace {

class SimHarnessBase {
public:
    using BackendType = SimBackend;
    static constexpr bool kCanWithhold = true;
    static constexpr uint32_t kMaxMarks = 1u << 16;

    explicit SimHarnessBase(const SimOptions& options) : sim_(options) {}
    [[nodiscard]] std::string why_not() const { return {}; }
    SimBackend& backend() { return sim_; }
    SimBackend::Queue queue() { return {3}; }
    DeviceRingOptions options() { return {.max_spans = 4096, .now = SimBackend::host_clock, .now_context = &sim_}; }
    HostNs now() { return sim_.host_now(); }
    void begin(uint32_t /*max_marks*/) { sim_.hold(true); }
    void work() { sim_.advance(700); }
    void submit() {}
    void finish() {
        sim_.advance(1000);
        sim_.hold(false);
    }
    [[nodiscard]] uint64_t blocking_calls() const { return 0; }

private:
    SimBackend sim_;
};
struct SimHarness : SimHarnessBase {
    SimHarness() : SimHarnessBase({}) {}
};
// 36 bits of 52.08 ns, about to wrap, without calibration: as an integrated GPU has it.
struct WrappingSimHarness : SimHarnessBase {
    WrappingSimHarness()
        : SimHarnessBase({.valid_bits = 36,
                          .ns_per_tick = 52.083332061767578125,
                          .start_ticks = (uint64_t{1} << 36) - 1500,
                          .calibrated = false}) {}
};
// Stamps quantised as browsers do it.
struct CoarseSimHarness : SimHarnessBase {
    CoarseSimHarness() : SimHarnessBase({.start_ticks = 1 << 20, .quantum_ticks = 65536, .calibrated = false}) {}
};

class CpuHarness {
public:
    using BackendType = CpuBackend;
    static constexpr bool kCanWithhold = false;
    static constexpr uint32_t kMaxMarks = 1u << 16;

    [[nodiscard]] std::string why_not() const { return {}; }
    CpuBackend& backend() { return cpu_; }
    CpuBackend::Queue queue() { return {}; }
    DeviceRingOptions options() { return {.max_spans = 4096}; }
    HostNs now() { return host_now(); }
    void begin(uint32_t /*max_marks*/) {}
    void work() {
        volatile uint64_t sum = 0;
        for (uint64_t i = 0; i < 100; ++i) sum = sum + i;
    }
    void submit() {}
    void finish() {}
    [[nodiscard]] uint64_t blocking_calls() const { return 0; }

private:
    CpuBackend cpu_;
};

}    // namespace

using CoreBackends = ::testing::Types<SimHarness, WrappingSimHarness, CoarseSimHarness, CpuHarness>;
INSTANTIATE_TYPED_TEST_SUITE_P(Core, BackendSuite, CoreBackends);

}    // namespace lapwing::testing
