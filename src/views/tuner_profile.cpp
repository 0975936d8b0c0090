// What a recording or a brick profiler says to a tuner.
#include <algorithm>
#include <string>
#include <string_view>

#include "lapwing/report.hpp"
#include "lapwing/tuner.hpp"

namespace lapwing {
namespace {

// Where most of the device's time has known work, the roofline of that speaks for all of it.
constexpr double kMostlyKnown = 0.8;

void add(TunerProfile& profile, std::string_view category, uint64_t ns) {
    if (category == "Attention") profile.attention_ns += ns;
    if (category == "FFN") profile.ffn_ns += ns;
    if (category == "Norm") profile.norm_ns += ns;
}

// The category of an operation by its label, as llama.cpp and its like name tensors ("MUL_MAT ffn_up-0"): a guess.
std::string_view guess(std::string_view label) {
    const auto has = [label](std::string_view part) { return label.find(part) != std::string_view::npos; };
    for (const std::string_view part : {"ffn_norm", "attn_norm", "_norm", "RMS_NORM", "LayerNorm", "rms_norm"})
        if (has(part)) return "Norm";
    for (const std::string_view part : {"ffn", "FFN", "GLU", "SwiGLU", "mlp"})
        if (has(part)) return "FFN";
    for (const std::string_view part :
         {"Qcur", "Kcur", "Vcur", "kqv", "kq", "attn", "FLASH_ATTN", "ROPE", "SOFT_MAX", "cache_k", "cache_v"})
        if (has(part)) return "Attention";
    return "";
}

bool of_device(const ReportRow& row) {
    return row.kind != "host";
}

}    // namespace

TunerProfile tuner_profile_of(const BrickSnapshot& bricks) {
    TunerProfile out;
    out.enabled = bricks.enabled;
    out.zero_copy = bricks.zero_copy;
    out.total_ns = bricks.total_ns;
    for (const CategoryStats& category : bricks.categories) add(out, category.name, category.total_ns);
    out.measured_tps = bricks.tokens_per_sec();
    return out;
}

Result<TunerProfile> tuner_profile_of(const ReportBuilder& recording, const RunConfig& config,
                                      const MachinePeaks* peaks) {
    if (Status valid = validate(config); !valid.ok()) return valid.error();
    Report report = recording.build(GroupBy::kOp);    // without spans that contain the work of others
    if (report.device_total_ns <= 0)
        return Error{
            Errc::kNotFound, 0,
            "the recording has no device time: record with level kernel or lane (lapwing run), on a device that "
            "has timestamps (lapwing devices)"};
    const Distribution& wall = report.steps.wall_ns.count != 0 ? report.steps.wall_ns : report.steps.all_wall_ns;
    if (wall.count == 0 || wall.p50_ns <= 0)
        return Error{Errc::kNotFound, 0,
                     "the recording has no finished step: let the program wait for its work, or say what a step is "
                     "(lapwing run --step label:REGEX or --step submits:N)"};
    TunerProfile out;
    out.steps = wall.count;
    out.measured_tps = tokens_per_step(config) * 1e9 / static_cast<double>(wall.p50_ns);
    out.gpu_share = report.steps.gpu_share;
    const Report categories = recording.build(GroupBy::kCategory);
    for (const ReportRow& row : categories.rows)
        if (of_device(row)) add(out, row.name, static_cast<uint64_t>(row.spans.total_ns));
    out.by_label = out.attention_ns + out.ffn_ns + out.norm_ns == 0;
    if (out.by_label)
        for (const ReportRow& row : recording.build(GroupBy::kName).rows)
            if (of_device(row)) add(out, guess(row.name), static_cast<uint64_t>(row.spans.total_ns));
    std::vector<WorkEntry> work;
    for (const ReportRow& row : report.rows) {
        out.total_ns += static_cast<uint64_t>(row.spans.total_ns);
        work.insert(work.end(), row.work.begin(), row.work.end());
    }
    if (peaks == nullptr || work.empty()) return out;
    // One row that holds all work, so that apply_peaks() finds the devices.
    report.rows.resize(1);
    report.rows.front().work = std::move(work);
    apply_peaks(report, *peaks);
    const RooflineFigures& figures = *report.rows.front().roofline;
    if (static_cast<double>(figures.total_ns) >= kMostlyKnown * static_cast<double>(out.total_ns) && figures.share)
        out.roofline = figures;
    return out;
}

TunerDevice tuner_device_of(const DevicePeaks& peaks) {
    TunerDevice out;
    out.name = peaks.device;
    if (peaks.bytes_per_s) out.bandwidth_gb_s = *peaks.bytes_per_s / 1e9;
    // The fastest arithmetic that it was seen to do.
    for (const std::optional<double>& flops : {peaks.f32_flops, peaks.f16_flops})
        if (flops) out.tflops = std::max(out.tflops.value_or(0), *flops / 1e12);
    return out;
}

TunerDevice tuner_device_of(const ReportBuilder& recording, const MachinePeaks* peaks) {
    const Report report = recording.build(GroupBy::kQueue);
    const DeviceInfo* busiest = nullptr;
    int64_t most = -1;
    for (const DeviceFigures& figures : report.device_figures) {
        for (const DeviceInfo& device : report.devices) {
            if (device.id != figures.id || figures.busy_ns <= most) continue;
            most = figures.busy_ns;
            busiest = &device;
        }
    }
    if (busiest == nullptr) return {};
    const DevicePeaks* found = peaks != nullptr ? peaks->find(busiest->name, busiest->api) : nullptr;
    TunerDevice out = found != nullptr ? tuner_device_of(*found) : TunerDevice{};
    out.name = busiest->name;
    return out;
}

}    // namespace lapwing
