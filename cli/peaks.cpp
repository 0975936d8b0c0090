// lapwing bench --peaks: what was measured, as text, JSON and Markdown.
#include "peaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "commands.hpp"
#include "lapwing/peaks_file.hpp"

namespace lapwing::cli {
namespace {

std::string cell(const std::optional<double>& value, double unit) {
    return value ? fmt::format("{:.1f}", *value / unit) : "-";
}

struct Line {
    std::string device, api;
    std::array<std::string, 5> figures;
};
constexpr std::array<const char*, 5> kHeaders{"f32 GFLOP/s", "f16 GFLOP/s", "int8 Gop/s", "GB/s", "launch us"};

Line line_of(const DevicePeaks& peaks) {
    return {peaks.device,
            peaks.api,
            {cell(peaks.f32_flops, 1e9), cell(peaks.f16_flops, 1e9), cell(peaks.int8_ops, 1e9),
             cell(peaks.bytes_per_s, 1e9), cell(peaks.launch_ns, 1e3)}};
}

std::string to_markdown(const MachinePeaks& peaks) {
    std::string out = "| device | api |";
    std::string rule = "|---|---|";
    for (const char* header : kHeaders) {
        out += fmt::format(" {} |", header);
        rule += "---:|";
    }
    out += "\n" + rule + "\n";
    for (const DevicePeaks& device : peaks.devices) {
        const Line line = line_of(device);
        out += fmt::format("| {} | {} |", line.device, line.api);
        for (const std::string& figure : line.figures) out += fmt::format(" {} |", figure);
        out += "\n";
    }
    return out;
}

std::string to_text(const MachinePeaks& peaks) {
    std::size_t width = 6;
    for (const DevicePeaks& device : peaks.devices) width = std::max(width, device.device.size());
    std::string out = fmt::format("{:<{}}  {:<6}", "device", width, "api");
    for (const char* header : kHeaders) out += fmt::format("  {:>11}", header);
    out += "\n";
    for (const DevicePeaks& device : peaks.devices) {
        const Line line = line_of(device);
        out += fmt::format("{:<{}}  {:<6}", line.device, width, line.api);
        for (const std::string& figure : line.figures) out += fmt::format("  {:>11}", figure);
        out += "\n";
    }
    for (const DevicePeaks& device : peaks.devices) {
        out += fmt::format("\n{} ({})\n", device.device, device.api);
        for (const std::string& note : device.notes) out += "  " + note + "\n";
    }
    return out;
}

}    // namespace

int run_peaks(const BenchEffort& effort, const std::string& format) {
    MachinePeaks peaks;
    peaks.devices.push_back(measure_host_peaks(effort));
    std::vector<DevicePeaks> devices = measure_vulkan_peaks(effort);
    if (devices.empty()) say(no_vulkan_peaks());
    for (DevicePeaks& device : devices) peaks.devices.push_back(std::move(device));
    return print(format == "json" ? to_json(peaks) : format == "md" ? to_markdown(peaks) : to_text(peaks), "the peaks");
}

}    // namespace lapwing::cli
