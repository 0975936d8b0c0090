// What `lapwing bench` measures, as rows of one table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace lapwing::cli {

/// One figure beside the floor that was measured in turn with it.
struct BenchRow {
    std::string what;       ///< "host span, begin + end"
    std::string floor{};    ///< what the hardware or the system charges for the bare thing: "two counter reads"
    std::string unit;       ///< of both: "ns", "ms", "M spans/s"; or of `value` alone where there is no floor
    std::optional<double> floor_value{};
    std::optional<double> value{};    ///< absent where it could not be had; `reason` says why
    std::optional<double> ratio{};    ///< value / floor, median over the rounds
    std::string reason{};
};

/// The middle one; of an even number, the upper of the two. `values` is not empty.
[[nodiscard]] inline double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Why a build without the Vulkan headers has no figure.
inline constexpr const char* kNoVulkan = "not in this build: install libvulkan-dev and build again";

/// Called with (done, all) now and then.
using Progress = void (*)(int done, int all);

/// How long to measure: rounds in which everything takes its turn.
struct BenchEffort {
    int rounds = 12;
    Progress progress = nullptr;
};

/// Spans, laps, off, the device ring on the sim backend. Cost: some seconds of one core.
[[nodiscard]] std::vector<BenchRow> bench_host(const BenchEffort& effort);

/// Recordings written into a file below `folder`: by processor time.
[[nodiscard]] std::vector<BenchRow> bench_writer(const BenchEffort& effort, const std::string& folder);

/// What the layer takes of a program's start: its own meter, read from recordings of small programs below `folder`.
[[nodiscard]] BenchRow bench_layer_start(const BenchEffort& effort, const std::string& folder);

/// The start of a small Vulkan program: creates an instance and a device and prints how long that took, in ns. What
/// bench_layer_start() runs as a child, under the layer. Returns an exit code.
[[nodiscard]] int bench_startup_probe();

/// What a pair of stamps costs each Vulkan device that is found.
[[nodiscard]] std::vector<BenchRow> bench_devices(const BenchEffort& effort);

}    // namespace lapwing::cli
