// `lapwing bench --peaks`: what this machine's devices can do at best, measured now.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench_figures.hpp"
#include "lapwing/roofline.hpp"

namespace lapwing::cli {

/// The best and the middle round of one measurement.
struct PeakSample {
    double best = 0;
    double median = 0;
};

/// Largest and middle of what the rounds gave; absent where there were none.
[[nodiscard]] inline std::optional<PeakSample> peak_of(const std::vector<double>& rounds) {
    if (rounds.empty()) return std::nullopt;
    return PeakSample{*std::max_element(rounds.begin(), rounds.end()), median(rounds)};
}

/// The processors this process may use, all at once: multiply-adds in registers, and the triad a = b + s c over arrays
/// that no cache holds.
/// Cost:    some seconds of all cores; up to a quarter of the free memory.
[[nodiscard]] DevicePeaks measure_host_peaks(const BenchEffort& effort);

/// Every Vulkan device that computes: multiply-adds, triad, and a dispatch of nothing, timed by device spans where the
/// device has timestamps.
/// Shape:   empty where there is no device; devices that could not be measured say why in their notes.
[[nodiscard]] std::vector<DevicePeaks> measure_vulkan_peaks(const BenchEffort& effort);

/// Why there are no Vulkan devices in this build or on this machine: a sentence for a user.
[[nodiscard]] const char* no_vulkan_peaks() noexcept;

/// Measures all, and prints them as text, json or md. Returns an exit code.
[[nodiscard]] int run_peaks(const BenchEffort& effort, const std::string& format);

}    // namespace lapwing::cli
