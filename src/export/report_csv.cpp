#include <fmt/format.h>

#include <iterator>

#include "export/known.hpp"
#include "export/roofline_text.hpp"
#include "lapwing/report.hpp"

namespace lapwing {
namespace {

// RFC 4180: a field with a comma, a quote or a line break is quoted, quotes in it are doubled.
std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

template <class T>
std::string or_empty(const std::optional<T>& value) {
    return value ? fmt::format("{}", *value) : std::string{};
}

// What is known of a step that never finished is its GPU time.
std::string step_fields(const ReportRow& row) {
    if (!row.step) return ",,,,";
    const std::string gpu_ns = or_empty(detail::known_gpu_ns(*row.step));
    if (!row.step->finished) return fmt::format(",{},,,", gpu_ns);
    return fmt::format("{},{},{},{},", row.step->armed ? 1 : 0, gpu_ns, row.step->wall_ns, row.step->dispatches);
}

std::string roofline_fields(const ReportRow& row) {
    if (!row.roofline) return ",,,,,,,,";
    const RooflineFigures& figures = *row.roofline;
    return fmt::format("{},{},{},{},{},{},{},{},", or_empty(figures.gflops), or_empty(figures.gb_s),
                       or_empty(figures.intensity), or_empty(figures.share), or_empty(figures.compute_share),
                       or_empty(figures.memory_share), figures.bound == Bound::kUnknown ? "" : to_text(figures.bound),
                       figures.model_error ? 1 : 0);
}

}    // namespace

std::string to_csv(const Report& report, std::size_t top) {
    const auto lost = report.has_stats ? std::optional{report.stats.lost.total()} : std::nullopt;
    const auto begun = report.has_stats ? std::optional{report.begun()} : std::nullopt;
    const auto left_out = report.has_stats ? std::optional{report.stats.left_out} : std::nullopt;
    const std::string accounting = fmt::format("{},{},{},{},{}", or_empty(begun), report.spans, report.estimated,
                                               or_empty(lost), or_empty(left_out));

    std::string out =
        "name,kind,count,total_ns,mean_ns,min_ns,p50_ns,p90_ns,p99_ns,max_ns,share,per_step_ns,per_step_count,"
        "warmup_count,warmup_ns,scaled_total_ns,scaled_error_ns,below_floor,";
    const bool steps = report.by == GroupBy::kStep;
    if (steps) out += "step_armed,step_gpu_ns,step_wall_ns,step_executed,";
    const bool work = detail::has_work(report);
    if (work) out += "gflops,gb_s,intensity,roofline_share,compute_share,memory_share,bound,model_error,";
    out += "report_begun,report_measured,report_estimated,report_lost,report_left_out\n";
    for (const ReportRow* row : detail::select_rows(report, top).rows) {
        const Distribution& spans = row->spans;
        const auto known = [&](int64_t value) { return spans.count == 0 ? std::string{} : std::to_string(value); };
        fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},",
                       csv_field(row->name), row->kind, spans.count, spans.total_ns,
                       spans.count == 0 ? std::string{} : fmt::format("{}", spans.mean_ns()), known(spans.min_ns),
                       known(spans.p50_ns), known(spans.p90_ns), known(spans.p99_ns), known(spans.max_ns),
                       or_empty(detail::known_share(report, *row)), or_empty(row->per_step_ns),
                       or_empty(row->per_step_count), row->warmup_count, row->warmup_ns,
                       row->scaled ? fmt::format("{}", row->scaled->total_ns) : std::string{},
                       row->scaled ? or_empty(row->scaled->error_ns) : std::string{}, row->below_floor);
        if (steps) out += step_fields(*row);
        if (work) out += roofline_fields(*row);
        out += accounting + "\n";
    }
    return out;
}

}    // namespace lapwing
