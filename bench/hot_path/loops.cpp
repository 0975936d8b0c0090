#include "loops.hpp"

#include <array>
#include <atomic>

#include "lapwing/brick_profiler.hpp"
#include "lapwing/clock.hpp"
#include "lapwing/device_ring.hpp"
#include "lapwing/histogram.hpp"
#include "lapwing/host_spans.hpp"
#include "lapwing/sim_backend.hpp"
#include "lapwing/span.hpp"

namespace lapwing::bench {

constexpr SiteId kSite = 7;

struct FloorRecord {
    uint64_t begin;
    uint64_t end;
    uint32_t name;
    uint32_t flags;
    uint64_t reserved;
};
static_assert(sizeof(FloorRecord) == 32);
constexpr std::size_t kFloorRing = 32768;
// Not in the anonymous namespace: what nobody else can see is not written, or not read, at all.
extern std::atomic<uint8_t> g_floor_level;
std::atomic<uint8_t> g_floor_level{0};
extern std::array<FloorRecord, kFloorRing> g_floor_ring;
extern std::size_t g_floor_ring_next;
std::array<FloorRecord, kFloorRing> g_floor_ring{};
std::size_t g_floor_ring_next = 0;

namespace {

// What the program does between the marks: nothing, but the compiler does not know.
[[gnu::always_inline]] inline void barrier() {
    asm volatile("" ::: "memory");
}
template <class T>
[[gnu::always_inline]] inline void use(T value) {
    asm volatile("" ::"r"(value));
}

// The bare instruction, without the choice that lapwing::tick() makes: the strictest floor.
[[gnu::always_inline]] inline uint64_t bare_tick() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return tick().value;
#endif
}

class DiscardingSink : public SpanSink {
public:
    Status process(const ProcessInfo&) override { return {}; }
    Status device(const DeviceInfo&) override { return {}; }
    Status track(const TrackInfo&) override { return {}; }
    Status site(SiteId, const Site&) override { return {}; }
    Status spans(std::span<const SpanRecord>) override { return {}; }
    Status step(const StepRecord&) override { return {}; }
    Status stats(const RecordingStats&) override { return {}; }
    Status close() override { return {}; }
};

}    // namespace

// Aligned to a cache line: a loop of six instructions that straddles two of them takes two cycles a turn instead of one
// (seen: 0.58 ns beside 0.32 for the same instructions).
[[gnu::noinline, gnu::aligned(64)]] void loop_load_branch(int n) {
    for (int i = 0; i < n; ++i) {
        if (g_floor_level.load(std::memory_order_relaxed) != 0) [[unlikely]]
            use(bare_tick());
        barrier();
    }
}

[[gnu::noinline, gnu::aligned(64)]] void loop_one_tick(int n) {
    for (int i = 0; i < n; ++i) {
        use(bare_tick());
        barrier();
    }
}

[[gnu::noinline, gnu::aligned(64)]] void loop_two_ticks(int n) {
    for (int i = 0; i < n; ++i) {
        use(bare_tick());
        barrier();
        use(bare_tick());
        barrier();
    }
}

[[gnu::noinline, gnu::aligned(64)]] void loop_two_ticks_ring(int n) {
    for (int i = 0; i < n; ++i) {
        const uint64_t begin = bare_tick();
        barrier();
        const uint64_t end = bare_tick();
        g_floor_ring[g_floor_ring_next] = {begin, end, kSite, 0, 0};
        g_floor_ring_next = (g_floor_ring_next + 1) % kFloorRing;
        barrier();
    }
}

[[gnu::noinline, gnu::aligned(64)]] void loop_span(int n) {
    for (int i = 0; i < n; ++i) {
        const Span span(kSite);
        barrier();
    }
}

[[gnu::noinline, gnu::aligned(64)]] void loop_lap(int n) {
    Lap lap;
    for (int i = 0; i < n; ++i) {
        lap.lap(kSite);
        barrier();
    }
}

namespace {
// Never destroyed: the thread's place in it is looked at until the thread ends.
BrickProfiler& bricks() {
    static BrickProfiler& profiler = *new BrickProfiler({.enabled = true});
    return profiler;
}
}    // namespace

[[gnu::noinline, gnu::aligned(64)]] void loop_brick(int n) {
    BrickProfiler& profiler = bricks();
    for (int i = 0; i < n; ++i) {
        BrickTimer timer = profiler.start_brick(static_cast<BrickId>(i & 15));
        barrier();
        (void)profiler.stop_brick(timer, 1);
        barrier();
    }
}

[[gnu::noinline, gnu::aligned(64)]] void loop_brick_off(int n) {
    static BrickProfiler& profiler = *new BrickProfiler;
    for (int i = 0; i < n; ++i) {
        BrickTimer timer = profiler.start_brick(BrickId::kRmsNorm);
        barrier();
        (void)profiler.stop_brick(timer, 1);
        barrier();
    }
}

// As an engine without device stamps does it: the start, the launch, the record; at the end of a step one finalize.
[[gnu::noinline, gnu::aligned(64)]] void loop_brick_deferred(int n) {
    BrickProfiler& profiler = bricks();
    for (int i = 0; i < n; ++i) {
        const uint64_t start = profiler.elapsed_ns();
        barrier();
        (void)profiler.record_deferred(static_cast<BrickId>(i & 15), start, 1);
        barrier();
    }
    profiler.finalize(profiler.elapsed_ns());
}

[[gnu::noinline, gnu::aligned(64)]] void loop_histogram(int n) {
    static LogLinearHistogram& histogram = *new LogLinearHistogram;
    for (int i = 0; i < n; ++i) {
        const uint64_t begin = bare_tick();
        barrier();
        histogram.record(bare_tick() - begin);
        barrier();
    }
}

uint64_t bricks_kept() {
    uint64_t kept = 0;
    for (const BrickStats& stats : bricks().snapshot().bricks) kept += stats.count() + stats.warmup_count;
    return kept;
}

const std::vector<Row>& rows() {
    static const std::vector<Row> all{
        {"floor/load_branch", loop_load_branch, false, nullptr},
        {"floor/one_tick", loop_one_tick, false, nullptr},
        {"floor/two_ticks", loop_two_ticks, false, nullptr},
        {"floor/two_ticks_ring", loop_two_ticks_ring, false, nullptr},
        {"span/off", loop_span, false, "floor/load_branch"},
        {"span/enabled", loop_span, true, "floor/two_ticks"},
        {"lap/enabled", loop_lap, true, "floor/one_tick"},
        {"histogram/record", loop_histogram, false, "floor/two_ticks"},
        {"brick/off", loop_brick_off, false, "floor/load_branch"},
        {"brick/start_stop", loop_brick, false, "floor/two_ticks"},
        {"brick/record_deferred", loop_brick_deferred, false, "floor/two_ticks"},
    };
    return all;
}

const Row* find_row(std::string_view name) {
    for (const Row& row : rows())
        if (row.name == name) return &row;
    return nullptr;
}

void set_level_for(const Row& row) {
    set_level(row.enabled ? Level::kBasic : Level::kOff);
}

uint64_t discard_spans() {
    static DiscardingSink sink;
    static HostSpanCollector collector(sink, {.whole_recording = false});
    const uint64_t before = collector.lost().total();
    (void)collector.drain();    // the sink has no errors
    return collector.lost().total() - before;
}

struct SimSpans::State {
    SimBackend sim;
    SimBackend bare;
    DeviceRing<SimBackend> ring{sim, {.initial_spans = 4096}};
    SimBackend::Queue bare_queue;
    uint32_t queue = 0;
    std::vector<SpanRecord> out = std::vector<SpanRecord>(4096);
};

SimSpans::SimSpans() : state_(std::make_unique<State>()) {
    const auto queue = state_->ring.add_queue(SimBackend::Queue{0}, 1);
    state_->queue = queue.ok() ? queue.value() : 0;
}
SimSpans::~SimSpans() = default;

[[gnu::noinline]] void SimSpans::mark(int n) {
    for (int i = 0; i < n; ++i) {
        const auto slot = static_cast<uint32_t>(i) & 4095u;
        use(state_->bare.mark(state_->bare_queue, 2 * slot));
        use(state_->bare.mark(state_->bare_queue, 2 * slot + 1));
    }
}

[[gnu::noinline]] void SimSpans::begin_end(int n) {
    DeviceRing<SimBackend>& ring = state_->ring;
    const uint32_t queue = state_->queue;
    for (int i = 0; i < n; ++i) ring.end(queue, ring.begin(queue, kSite));
}

[[gnu::noinline]] std::size_t SimSpans::harvest(int n) {
    std::size_t got = 0;
    for (int calls = 0; calls < 100 && got < static_cast<std::size_t>(n); ++calls)
        got += state_->ring.harvest(state_->out);
    return got;
}

uint64_t counter() noexcept {
    return bare_tick();
}

double counter_ns() {
    return host_clock().ns_per_tick;
}

}    // namespace lapwing::bench
