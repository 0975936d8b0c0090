// What a telemetry hub holds once it is in use.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "lapwing/telemetry.hpp"
#include "telemetry/telemetry_sink.hpp"

namespace lapwing {
namespace detail {
/// Adds what became of a stream's spans; those of its ring where no other stream of it was added.
void add(GpuSpanFigures& sum, const TelemetryQueue& stream, bool with_ring);
}    // namespace detail

struct Telemetry::State {
    State(const KernelTableOptions& options, const TelemetryConfig& config);

    /// Null, and counted, where none is installed.
    [[nodiscard]] TelemetryQueue* stream(uint32_t number) noexcept {
        TelemetryQueue* const found = number < kMaxStreams ? streams[number].load(std::memory_order_acquire) : nullptr;
        if (found == nullptr) [[unlikely]]
            no_stream.add();
        return found;
    }
    /// Calls `use(stream, first)` for each stream; `first`: no earlier one has its ring.
    template <class Use>
    void each_stream(Use&& use) const {
        for (std::size_t i = 0; i < kMaxStreams; ++i) {
            TelemetryQueue* const one = streams[i].load(std::memory_order_acquire);
            if (one == nullptr) continue;
            bool first = true;
            for (std::size_t earlier = 0; earlier < i; ++earlier) {
                const TelemetryQueue* const other = streams[earlier].load(std::memory_order_acquire);
                first = first && (other == nullptr || other->ring() != one->ring());
            }
            use(*one, first);
        }
    }
    /// Whether a duration is one; counted where it is not.
    [[nodiscard]] bool takes(int64_t ns) noexcept {
        if (ns >= 0 && ns <= kLongestSampleNs) [[likely]]
            return true;
        refused_durations.add();
        return false;
    }
    template <class Histogram>
    void record(Histogram& histogram, int64_t ns) noexcept {
        if (takes(ns)) histogram.record(static_cast<uint64_t>(ns));
    }
    /// Fills in the device's side of a snapshot.
    void read_gpu(TelemetrySnapshot& out);
    /// The site of a kernel in the process.
    [[nodiscard]] SiteId site_of(KernelId kernel);

    KernelTable kernels;
    uint32_t kernel_count;    // with "other"
    std::unique_ptr<std::atomic<SiteId>[]> kernel_sites;
    detail::LaneNames lanes;
    detail::TelemetrySink sink;

    std::array<std::atomic<TelemetryQueue*>, kMaxStreams> streams{};
    std::mutex streams_lock;    // of those who install, and of snapshots: a stream must not vanish under one
    std::atomic<bool> ever_installed{false};
    GpuSpanFigures retired;    // of streams that were taken away; under the lock

    // Of whoever begins steps.
    uint32_t kernel_span_every;
    uint64_t kernel_step = 0;    // since it was configured: 64 bits, a server runs for years
    uint32_t step = 0;
    Counter steps;
    Counter armed_steps;

    std::array<std::string, kMaxPhases> phase_names;
    std::atomic<uint32_t> named_phases{0};
    std::array<NsHistogram, kMaxPhases> phases;

    Counter ticks;
    SeqCell<SchedulerTick> tick;
    CountHistogram batch_tokens;
    std::array<Counter, kTokenKinds> tokens;
    NsHistogram stream_sync;
    std::array<Counter, kCopyDirections> copy_bytes;
    std::array<NsHistogram, kCopyDirections> copies;
    NsHistogram graph_captures;
    Counter graph_replays;
    Counter graph_replayed_kernels;
    Counter spec_verifications;
    Counter spec_drafted;
    Counter spec_accepted;
    std::array<Counter, kRequestOutcomes> requests;
    NsHistogram request_queue;
    NsHistogram first_token;
    NsHistogram per_token;
    NsHistogram request_total;

    Counter refused_durations;
    Counter refused_values;
    Counter no_stream;
    Counter sink_errors;
};

}    // namespace lapwing
