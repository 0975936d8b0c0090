#include "lapwing/roofline.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "lapwing/report.hpp"

namespace lapwing {
namespace {

constexpr std::array<const char*, 3> kArithmetics{"f32", "f16", "int8"};
constexpr std::array<const char*, 4> kBounds{"unknown", "compute", "memory", "launch"};

// A rate over the executions for which its amount is known.
struct Rate {
    double amount = 0;
    double ns = 0;
    [[nodiscard]] std::optional<double> per_ns() const { return ns > 0 ? std::optional(amount / ns) : std::nullopt; }
};

class Tally {
public:
    void add(const WorkEntry& entry, const Roof& roof) {
        const OpWork& work = entry.work;
        if (entry.executions == 0 || entry.total_ns <= 0 || (!work.flops && !work.bytes)) return;
        out_.executions += entry.executions;
        out_.total_ns += entry.total_ns;
        const auto n = static_cast<double>(entry.executions);
        const auto ns = static_cast<double>(entry.total_ns);
        if (work.flops) add_to(flops_, n * static_cast<double>(*work.flops), ns);
        if (work.bytes) add_to(bytes_, n * static_cast<double>(*work.bytes), ns);
        if (work.flops && work.bytes) {
            both_flops_ += n * static_cast<double>(*work.flops);
            both_bytes_ += n * static_cast<double>(*work.bytes);
        }
        const std::optional<double> compute_ns = needed(work.flops, roof.flops_per_s, n);
        const std::optional<double> memory_ns = needed(work.bytes, roof.bytes_per_s, n);
        if (compute_ns) add_to(compute_, *compute_ns, ns);
        if (memory_ns) add_to(memory_, *memory_ns, ns);
        const double least = std::max(compute_ns.value_or(0), memory_ns.value_or(0));
        out_.model_error = out_.model_error || least > ns;
        if (!compute_ns || !memory_ns) return;
        add_to(roof_, least, ns);
        bound_compute_ns_ += *compute_ns;
        bound_memory_ns_ += *memory_ns;
        bound_launch_ns_ += n * roof.launch_ns.value_or(0);
    }

    RooflineFigures finish() {
        out_.gflops = flops_.per_ns();
        out_.gb_s = bytes_.per_ns();
        if (both_bytes_ > 0) out_.intensity = both_flops_ / both_bytes_;
        out_.compute_share = compute_.per_ns();
        out_.memory_share = memory_.per_ns();
        out_.share = roof_.per_ns();
        if (out_.share) {
            const bool memory = bound_memory_ns_ >= bound_compute_ns_;
            out_.bound = memory ? Bound::kMemory : Bound::kCompute;
            if (bound_launch_ns_ > std::max(bound_memory_ns_, bound_compute_ns_)) out_.bound = Bound::kLaunch;
        }
        return out_;
    }

private:
    static void add_to(Rate& rate, double amount, double ns) {
        rate.amount += amount;
        rate.ns += ns;
    }
    static std::optional<double> needed(const std::optional<uint64_t>& amount, const std::optional<double>& per_s,
                                        double executions) {
        if (!amount || !per_s) return std::nullopt;
        return executions * static_cast<double>(*amount) / *per_s * 1e9;
    }

    RooflineFigures out_;
    Rate flops_, bytes_, compute_, memory_, roof_;
    double both_flops_ = 0, both_bytes_ = 0;
    double bound_compute_ns_ = 0, bound_memory_ns_ = 0, bound_launch_ns_ = 0;
};

}    // namespace

const char* to_text(Arithmetic arithmetic) noexcept {
    return kArithmetics[static_cast<std::size_t>(arithmetic)];
}

Result<Arithmetic> parse_arithmetic(std::string_view text) {
    for (std::size_t i = 0; i < kArithmetics.size(); ++i)
        if (text == kArithmetics[i]) return static_cast<Arithmetic>(i);
    return Error{Errc::kInvalidArgument, 0, std::string("\"").append(text) + "\" is not one of f32, f16, int8"};
}

const char* to_text(Bound bound) noexcept {
    return kBounds[static_cast<std::size_t>(bound)];
}

std::optional<double> DevicePeaks::flops(Arithmetic arithmetic) const noexcept {
    return arithmetic == Arithmetic::kF32 ? f32_flops : arithmetic == Arithmetic::kF16 ? f16_flops : int8_ops;
}

Status validate(const DevicePeaks& peaks) {
    if (peaks.device.empty()) return Error{Errc::kInvalidArgument, 0, "a device of the peaks has no name"};
    const std::array<std::pair<const char*, std::optional<double>>, 5> all{{{"f32_flops", peaks.f32_flops},
                                                                            {"f16_flops", peaks.f16_flops},
                                                                            {"int8_ops", peaks.int8_ops},
                                                                            {"bytes_per_s", peaks.bytes_per_s},
                                                                            {"launch_ns", peaks.launch_ns}}};
    for (const auto& [name, value] : all)
        if (value && !(std::isfinite(*value) && *value > 0))
            return Error{Errc::kInvalidArgument, 0,
                         std::string("peaks of \"") + peaks.device + "\": " + name + " is " + std::to_string(*value) +
                             ": it must be a positive number, or null where it is not known"};
    return {};
}

const DevicePeaks* MachinePeaks::find(std::string_view device, std::string_view api) const noexcept {
    for (const DevicePeaks& peaks : devices)
        if (peaks.device == device && (peaks.api.empty() || api.empty() || peaks.api == api)) return &peaks;
    return nullptr;
}

Roof roof_of(const DevicePeaks& peaks, Arithmetic arithmetic) noexcept {
    return {peaks.flops(arithmetic), peaks.bytes_per_s, peaks.launch_ns};
}

RooflineFigures roofline(std::span<const WorkEntry> entries, std::span<const Roof> roofs) {
    Tally tally;
    for (const WorkEntry& entry : entries) tally.add(entry, entry.device < roofs.size() ? roofs[entry.device] : Roof{});
    return tally.finish();
}

RooflineFigures roofline(const OpWork& work, int64_t ns, const Roof& roof) {
    const WorkEntry entry{work, 0, 1, ns};
    return roofline({&entry, 1}, {&roof, 1});
}

BrickBottleneck bottleneck_of(const RooflineFigures& figures) noexcept {
    if (figures.bound == Bound::kMemory) return BrickBottleneck::kMemory;
    return figures.bound == Bound::kCompute ? BrickBottleneck::kCompute : BrickBottleneck::kUnknown;
}

void apply_peaks(Report& report, const MachinePeaks& peaks, Arithmetic arithmetic) {
    uint32_t last = 0;
    for (const DeviceInfo& device : report.devices) last = std::max(last, device.id);
    // Recordings number devices from 1; numbers beyond any sense get no table.
    constexpr uint32_t kMostDevices = 4096;
    std::vector<Roof> roofs(std::min(last, kMostDevices) + std::size_t{1});
    report.arithmetic = arithmetic;
    report.peaks.clear();
    const auto use = [&](std::size_t id, const DevicePeaks* found) {
        if (found == nullptr || id >= roofs.size()) return;
        roofs[id] = roof_of(*found, arithmetic);
        report.peaks.push_back({static_cast<uint32_t>(id), *found});
    };
    for (const DevicePeaks& each : peaks.devices) {
        if (each.api != "host") continue;
        use(0, &each);
        break;
    }
    for (const DeviceInfo& device : report.devices) use(device.id, peaks.find(device.name, device.api));
    for (ReportRow& row : report.rows)
        if (!row.work.empty()) row.roofline = roofline(row.work, roofs);
}

}    // namespace lapwing
