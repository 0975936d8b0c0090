#include <fmt/format.h>

#include "export/known.hpp"
#include "lapwing/report.hpp"

namespace lapwing {

std::string to_markdown(const Report& report, std::size_t top) {
    std::string out = "| name | kind | count | total ns |\n|---|---|---:|---:|\n";
    for (const ReportRow* row : detail::select_rows(report, top).rows)
        out += fmt::format("| {} | {} | {} | {} |\n", row->name, row->kind, row->spans.count, row->spans.total_ns);
    return out;
}

}    // namespace lapwing
