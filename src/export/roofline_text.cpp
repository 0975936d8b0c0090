#include "export/roofline_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "export/figures.hpp"

namespace lapwing::detail {
namespace {

constexpr std::size_t kMostNamed = 3;

// "a, b, c and 4 more".
std::string named(const std::vector<std::string>& names) {
    std::string out;
    for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) out += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > kMostNamed) out += fmt::format(" and {} more", names.size() - kMostNamed);
    return out;
}

}    // namespace

bool has_work(const Report& report) {
    return std::any_of(report.rows.begin(), report.rows.end(), [](const ReportRow& row) { return !row.work.empty(); });
}

std::string roof_cell(const RooflineFigures& figures) {
    std::string out = "-";
    if (figures.share)
        out = percent_cell(*figures.share) + " %";
    else if (figures.compute_share || figures.memory_share)
        out =
            ">= " + percent_cell(std::max(figures.compute_share.value_or(0), figures.memory_share.value_or(0))) + " %";
    return figures.model_error ? out + " !" : out;
}

std::vector<ReportNote> roofline_notes(const Report& report) {
    std::vector<ReportNote> out;
    std::vector<std::string> wrong;
    std::set<uint32_t> without;
    for (const ReportRow& row : report.rows) {
        if (!row.roofline) continue;
        if (row.roofline->model_error) wrong.push_back(row.name);
        for (const WorkEntry& entry : row.work)
            if (std::none_of(report.peaks.begin(), report.peaks.end(),
                             [&](const AppliedPeaks& each) { return each.device == entry.device; }))
                without.insert(entry.device);
    }
    if (!wrong.empty())
        out.push_back(
            {true, fmt::format("{} ran faster than the {} peaks allow (marked !): the FLOPs or bytes that the "
                               "program states, the peaks or the arithmetic (--arithmetic) are wrong; a "
                               "mixture of experts reads only the experts that it uses",
                               named(wrong), to_text(report.arithmetic.value_or(Arithmetic::kF32)))});
    if (!report.arithmetic) return out;
    if (!has_work(report))
        out.push_back(
            {false,
             "no row has a share of a roof: the program states no FLOPs and no bytes of its work (Site::flops and "
             "Site::bytes, BrickProfiler::set_brick_work)"});
    for (const uint32_t id : without) {
        const auto device = std::find_if(report.devices.begin(), report.devices.end(),
                                         [id](const DeviceInfo& each) { return each.id == id; });
        out.push_back(
            {false,
             fmt::format("the peaks do not name {}, so its work has no share of a roof: measure them where it "
                         "runs (lapwing bench --peaks)",
                         id == 0 ? "the host"
                                 : "\"" +
                                       (device == report.devices.end() ? std::string("device ") + std::to_string(id)
                                                                       : device->name) +
                                       "\"")});
    }
    return out;
}

}    // namespace lapwing::detail
