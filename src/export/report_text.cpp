#include <fmt/format.h>

#include "export/known.hpp"
#include "lapwing/report.hpp"

namespace lapwing {

std::string to_text(const Report& report, const TextOptions& options) {
    std::string out;
    if (report.steps.gpu_ns.count != 0) {
        out += fmt::format("GPU time per step: p50 {} ns, p99 {} ns over {} steps\n", report.steps.gpu_ns.p50_ns,
                           report.steps.gpu_ns.p99_ns, report.steps.gpu_ns.count);
    }
    for (const ReportRow* row : detail::select_rows(report, options.top).rows) {
        out += fmt::format("{:40} {:>8} {:>12} ns\n", row->name, row->spans.count, row->spans.total_ns);
    }
    out += fmt::format("begun {} = measured {} + estimated {} + lost {}\n", report.begun(), report.spans,
                       report.estimated, report.stats.lost.total());
    return out;
}

}    // namespace lapwing
