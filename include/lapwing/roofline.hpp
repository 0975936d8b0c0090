// The roofline: how near an operation comes to what its device could do at its arithmetic intensity.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/brick_stats.hpp"
#include "lapwing/op_work.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

/// In what an operation computes, and so which peak is its roof.
enum class Arithmetic : uint8_t { kF32 = 0, kF16, kInt8 };
/// "f32", "f16", "int8". Static string.
[[nodiscard]] const char* to_text(Arithmetic arithmetic) noexcept;
/// Errors:  kInvalidArgument naming the text and the accepted names.
[[nodiscard]] Result<Arithmetic> parse_arithmetic(std::string_view text);

/// What one device can do at best. Absent = not known.
struct DevicePeaks {
    std::string device{};    ///< DeviceInfo::name; of the host its processor's
    std::string api{};       ///< "vulkan", "host"; empty = any
    std::string driver{};
    std::string origin = "given";         ///< "measured" (lapwing bench --peaks) or "given"
    std::optional<double> f32_flops{};    ///< a second; a multiply-add counts 2
    std::optional<double> f16_flops{};
    std::optional<double> int8_ops{};
    std::optional<double> bytes_per_s{};    ///< of memory, reads and writes together
    std::optional<double> launch_ns{};      ///< what a dispatch of nothing takes
    std::vector<std::string> notes{};       ///< how they were had; why one is absent

    [[nodiscard]] std::optional<double> flops(Arithmetic arithmetic) const noexcept;
};

/// Errors:  kInvalidArgument naming the device and the peak that is not finite and positive.
[[nodiscard]] Status validate(const DevicePeaks& peaks);

/// The peaks of a machine's devices (peaks_file.hpp reads and writes them).
struct MachinePeaks {
    std::vector<DevicePeaks> devices{};

    /// The peaks of a device by its name, and by its API where both sides say one. Null where there are none.
    [[nodiscard]] const DevicePeaks* find(std::string_view device, std::string_view api = {}) const noexcept;
};

/// Executions of equal work on one device.
struct WorkEntry {
    OpWork work;            ///< of one execution
    uint32_t device = 0;    ///< DeviceInfo::id; 0 = the host
    uint64_t executions = 0;
    int64_t total_ns = 0;
};

/// What takes most of the time that an operation needs at least.
enum class Bound : uint8_t {
    kUnknown = 0,    ///< FLOPs, bytes or peaks are not known
    kCompute,
    kMemory,
    kLaunch,    ///< a dispatch of nothing takes longer than its arithmetic and its traffic would
};
/// "unknown", "compute", "memory", "launch". Static string.
[[nodiscard]] const char* to_text(Bound bound) noexcept;

/// The roof over one device's work. Absent = not known.
struct Roof {
    std::optional<double> flops_per_s{};
    std::optional<double> bytes_per_s{};
    std::optional<double> launch_ns{};
};
[[nodiscard]] Roof roof_of(const DevicePeaks& peaks, Arithmetic arithmetic) noexcept;

/// Where some work stands under its roof.
/// Shape:   nothing is clamped: a share above 1 is what the figures say, and `model_error` that they cannot all be
///          right.
struct RooflineFigures {
    uint64_t executions = 0;    ///< whose FLOPs or bytes are known
    int64_t total_ns = 0;       ///< of these
    /// Rates over the executions whose FLOPs (bytes) are known. Units: 1e9 a second.
    std::optional<double> gflops{};
    std::optional<double> gb_s{};
    std::optional<double> intensity{};    ///< FLOPs a byte, of executions with both

    /// The time needed at the roof over the time taken, each execution's roof being the higher of its two; over
    /// executions whose FLOPs, bytes and both peaks are known.
    std::optional<double> share{};
    std::optional<double> compute_share{};    ///< of the arithmetic peak alone
    std::optional<double> memory_share{};     ///< of the memory peak alone
    Bound bound = Bound::kUnknown;            ///< of the executions in `share`
    /// Some entry was faster than its roof allows: FLOPs, bytes, peak or time are wrong.
    bool model_error = false;
};
/// Shape:   `roofs` are by WorkEntry::device; a device beyond them has no roof. Entries without time or executions
///          count as unknown.
[[nodiscard]] RooflineFigures roofline(std::span<const WorkEntry> entries, std::span<const Roof> roofs);
/// The same of one operation that took `ns` once.
[[nodiscard]] RooflineFigures roofline(const OpWork& work, int64_t ns, const Roof& roof);

/// What BrickProfiler::set_brick_bottleneck takes: launch-bound work is limited by neither, so it stays unknown.
[[nodiscard]] BrickBottleneck bottleneck_of(const RooflineFigures& figures) noexcept;

struct Report;
/// Fills ReportRow::roofline of all rows with work, by the peaks of the report's own devices and of the host.
/// Shape:   Report::peaks says which were found; a device without peaks keeps its rates and has no share.
void apply_peaks(Report& report, const MachinePeaks& peaks, Arithmetic arithmetic = Arithmetic::kF32);

}    // namespace lapwing
