// How often and how long each kernel ran: bounded, readable at any time, fed by spans or by hand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"

namespace lapwing {

/// A kernel of a KernelTable. 0 is "other": all kernels that found the table full.
using KernelId = uint32_t;

/// The longest duration that is taken for one (2.3 years): what is above it is an overflow, not a time.
inline constexpr int64_t kLongestSampleNs = int64_t{1} << 56;

/// How large a KernelTable may grow.
struct KernelTableOptions {
    uint32_t max_kernels = 512;     ///< kernels told apart, beside "other"; >= 1; 30 KB each once it is seen
    uint32_t max_handles = 4096;    ///< handles told apart; >= 1; 16 bytes each; rounded up to a power of two
};

/// What all launches of a kernel took, estimated from those that were timed.
/// Shape:   N x mean of n timed launches, and half of its 95 % interval: t(n - 1) x N x sqrt((1 - n / N) x s^2 / n).
///          The interval takes the timed launches for a random choice among all.
/// Source:  Cochran, Sampling Techniques, 3rd ed., 2.5 and 2.7.
struct ScaledKernelTime {
    double total_ns = 0;
    std::optional<double> error_ns;    ///< absent below 3 timed launches
};

/// A kernel's figures at one moment.
struct KernelRow {
    std::string name;                  ///< "module:name", "name", "fn@1f40" for a handle without a name, "other"
    uint64_t samples = 0;              ///< durations recorded
    int64_t total_ns = 0;              ///< their sum
    int64_t min_ns = 0, max_ns = 0;    ///< exact
    int64_t p50_ns = 0, p90_ns = 0, p99_ns = 0;    ///< nearest rank, within 1/128, and between min_ns and max_ns
    std::optional<uint64_t> launches;              ///< timed or not; absent where nobody counts them (launched())
    std::optional<ScaledKernelTime> scaled;        ///< absent without launches
};

/// What was not counted as it should have been; all zero in a table that is large enough and well used.
struct KernelTableLosses {
    uint64_t table_full = 0;       ///< samples that went to "other" for want of room
    uint64_t handle_zero = 0;      ///< samples and launches of handle 0: not recorded
    uint64_t refused = 0;          ///< durations that are negative or above kLongestSampleNs: not recorded
    uint64_t unknown_sites = 0;    ///< spans of sites that were never described: not recorded
};

/// Counts, totals, extremes and percentiles of each kernel.
///
/// A kernel is what has the same module and name: a module that is loaded again continues its row. A row is made when a
/// kernel is first seen; at `max_kernels` further ones share the row "other", so nobody's time is lost and the number
/// of series stays bounded whatever names come.
///
/// As a sink it records the device spans of the stream: a site's kernel, else its kind, as report's --by kernel; spans
/// of lanes contain kernels and are left out.
///
/// Cost:    record: hot, four relaxed read-modify-writes, after one or two probes where a handle is given. A kernel or
///          handle that was never seen takes a lock and allocates.
/// Threads: record, launched, rows, losses, reset, name_handle: any. The sink: one at a time. A reader takes no lock
///          and holds nobody up; beside a record() it may see a sample's count and not yet its time.
class KernelTable final : public SpanSink {
public:
    explicit KernelTable(const KernelTableOptions& options = {});
    ~KernelTable() override;
    KernelTable(const KernelTable&) = delete;
    KernelTable& operator=(const KernelTable&) = delete;

    /// The kernel of this identity; "other" where the table is full. `module` may be empty.
    /// Cost:    cold: a lock, a hash; an allocation for a new kernel.
    [[nodiscard]] KernelId kernel(std::string_view module, std::string_view name);

    /// The kernel that a driver's handle stands for. One that was never named is "fn@" and the handle in hexadecimal.
    /// Returns: "other" for handle 0, which is counted, and where the table is full.
    /// Cost:    hot for a handle that was met before: one or two probes.
    [[nodiscard]] KernelId of_handle(uint64_t handle) noexcept;

    /// Says what a handle stands for. What was recorded under the handle alone so far is that kernel's; a handle that
    /// had another name (its module was unloaded and the number used again) stands for the new one from now on.
    /// Errors:  kInvalidArgument for handle 0 or an empty name; kExhausted at max_handles.
    Status name_handle(uint64_t handle, std::string_view module, std::string_view name);

    /// Adds one duration.
    void record(KernelId kernel, int64_t ns) noexcept;
    void record_handle(uint64_t handle, int64_t ns) noexcept;

    /// Counts a launch, timed or not, so that the totals of sampled kernels can be scaled up.
    /// Cost:    hot: one relaxed add.
    void launched(KernelId kernel) noexcept;

    /// The kernels with samples or launches, by total time descending, then name.
    /// Cost:    cold: linear in kernels, some microseconds each.
    [[nodiscard]] std::vector<KernelRow> rows() const;
    [[nodiscard]] KernelTableLosses losses() const noexcept;
    /// The text that `kernel` was made from.
    [[nodiscard]] std::string name_of(KernelId kernel) const;

    /// Forgets all figures and losses; kernels and handles keep their numbers.
    /// Shape:   a sample that another thread records meanwhile may be split: counted before, its time after.
    void reset() noexcept;

    // The sink. close() and flush() do nothing; another process() means that sites are numbered anew.
    Status process(const ProcessInfo& process) override;
    Status device(const DeviceInfo& device) override;
    Status track(const TrackInfo& track) override;
    Status site(SiteId id, const Site& site) override;
    Status spans(std::span<const SpanRecord> spans) override;
    Status step(const StepRecord& step) override;
    Status stats(const RecordingStats& stats) override;
    Status close() override;

private:
    struct State;
    std::unique_ptr<State> state_;
};

namespace detail {
/// Where the search for a handle starts in a table of 2^bits slots.
[[nodiscard]] constexpr uint32_t handle_slot(uint64_t handle, uint32_t bits) noexcept {
    return static_cast<uint32_t>((handle * 0x9E3779B97F4A7C15u) >> (64 - bits));
}
}    // namespace detail

}    // namespace lapwing
