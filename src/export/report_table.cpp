#include "export/report_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "export/figures.hpp"
#include "export/roofline_text.hpp"

namespace lapwing::detail {
namespace {

constexpr const char* kAbsent = "-";    // a figure that does not exist, as against one that is zero

std::string optional_duration(const std::optional<double>& ns) {
    return ns ? duration_text(*ns) : kAbsent;
}

std::string first_use(uint64_t count, int64_t ns) {
    return count == 0 ? "" : duration_text(ns);
}

// Figures of rows, one column each; `cell` gives a row's text.
class TableBuilder {
public:
    explicit TableBuilder(const std::vector<const ReportRow*>& rows) : rows_(rows) {}

    template <class Cell>
    void add(const char* header, int drop, Cell&& cell) {
        TextColumn column{header, drop, {}};
        for (const ReportRow* row : rows_) column.cells.push_back(cell(*row));
        columns_.push_back(std::move(column));
    }
    // Durations that a row without steady spans does not have.
    void add_duration(const char* header, int drop, int64_t Distribution::*member) {
        add(header, drop, [member](const ReportRow& row) {
            return row.spans.count == 0 ? std::string{kAbsent} : duration_text(row.spans.*member);
        });
    }
    std::vector<TextColumn> take() { return std::move(columns_); }

private:
    const std::vector<const ReportRow*>& rows_;
    std::vector<TextColumn> columns_;
};

std::string row_name(const Report& report, const ReportRow& row) {
    if (report.by == GroupBy::kLayer && row.name == "-") return "- (no layer)";
    if (report.by != GroupBy::kStep) return row.name;
    if (!row.step) return "- (no step)";
    if (!row.step->finished) return row.name + " (unfinished)";
    if (row.step->cut) return row.name + " (cut off)";
    return row.step->armed ? row.name : row.name + " (not armed)";
}

void add_step_columns(TableBuilder& builder) {
    builder.add("GPU", 0, [](const ReportRow& row) {
        const std::optional<int64_t> gpu_ns = row.step ? known_gpu_ns(*row.step) : std::nullopt;
        return gpu_ns ? duration_text(*gpu_ns) : kAbsent;
    });
    builder.add("wall", 2, [](const ReportRow& row) {
        return row.step && row.step->finished ? duration_text(row.step->wall_ns) : kAbsent;
    });
    builder.add("GPU/wall", 3, [](const ReportRow& row) -> std::string {
        if (!row.step || !row.step->finished || row.step->wall_ns <= 0) return kAbsent;
        const std::optional<int64_t> gpu_ns = known_gpu_ns(*row.step);
        if (!gpu_ns) return kAbsent;
        return percent_cell(static_cast<double>(*gpu_ns) / static_cast<double>(row.step->wall_ns)) + " %";
    });
    builder.add("executed", 5, [](const ReportRow& row) {
        return row.step && row.step->finished ? std::to_string(row.step->dispatches) : kAbsent;
    });
}

void add_roofline_columns(const Report& report, TableBuilder& builder) {
    const auto rate = [](std::optional<double> RooflineFigures::*member) {
        return [member](const ReportRow& row) -> std::string {
            return row.roofline && (*row.roofline).*member ? significant_text(*((*row.roofline).*member)) : kAbsent;
        };
    };
    builder.add("GFLOP/s", 2, rate(&RooflineFigures::gflops));
    builder.add("GB/s", 2, rate(&RooflineFigures::gb_s));
    if (!report.arithmetic) return;
    builder.add("of roof", 0, [](const ReportRow& row) { return row.roofline ? roof_cell(*row.roofline) : kAbsent; });
    builder.add("bound by", 4, [](const ReportRow& row) -> std::string {
        return row.roofline && row.roofline->bound != Bound::kUnknown ? to_text(row.roofline->bound) : kAbsent;
    });
}

bool has_per_step(const Report& report) {
    for (const ReportRow& row : report.rows) {
        if (row.per_step_ns) return true;
    }
    return false;
}

std::vector<TextColumn> make_columns(const Report& report, const std::vector<const ReportRow*>& rows) {
    const bool steps = report.by == GroupBy::kStep;
    TableBuilder builder{rows};
    if (steps) add_step_columns(builder);
    // Rows that gather kinds say nothing by it.
    const bool gathers = steps || report.by == GroupBy::kLayer || report.by == GroupBy::kQueue;
    builder.add("kind", gathers ? 10 : 6, [](const ReportRow& row) { return row.kind; });
    builder.add("count", 1, [](const ReportRow& row) { return std::to_string(row.spans.count); });
    if (has_per_step(report)) {
        builder.add("n/step", 9, [](const ReportRow& row) {
            return row.per_step_count ? ratio_text(*row.per_step_count) : std::string{kAbsent};
        });
        builder.add("per step", 4, [](const ReportRow& row) { return optional_duration(row.per_step_ns); });
    }
    builder.add("total", 0, [](const ReportRow& row) { return duration_text(row.spans.total_ns); });
    if (report.sampling && !steps) {
        builder.add("all steps", 3, [](const ReportRow& row) {
            return row.scaled ? duration_text(row.scaled->total_ns) : std::string{kAbsent};
        });
        builder.add("+- 95 %", 3, [](const ReportRow& row) {
            return row.scaled ? optional_duration(row.scaled->error_ns) : std::string{kAbsent};
        });
    }
    builder.add("mean", 7, [](const ReportRow& row) {
        return row.spans.count == 0 ? kAbsent : duration_text(row.spans.mean_ns());
    });
    builder.add_duration("min", 8, &Distribution::min_ns);
    builder.add_duration("p50", 0, &Distribution::p50_ns);
    builder.add_duration("p99", 3, &Distribution::p99_ns);
    builder.add_duration("max", 7, &Distribution::max_ns);
    const auto below_floor = [](const ReportRow* row) { return row->below_floor != 0; };
    if (std::any_of(rows.begin(), rows.end(), below_floor))
        builder.add("<= floor", 5, [](const ReportRow& row) { return std::to_string(row.below_floor); });
    builder.add("share", 0, [&](const ReportRow& row) {
        const std::optional<double> share = known_share(report, row);
        return share ? percent_cell(*share) + " %" : std::string{kAbsent};
    });
    if (has_work(report)) add_roofline_columns(report, builder);
    if (report.warmup_spans != 0) {
        builder.add("1st use", 5, [](const ReportRow& row) { return first_use(row.warmup_count, row.warmup_ns); });
    }
    return builder.take();
}

// A sum has the columns that can be summed, and blanks elsewhere.
struct Sum {
    std::string name;
    uint64_t count = 0;
    int64_t total_ns = 0;
    std::optional<double> per_step_ns;
    uint64_t warmup_count = 0;
    int64_t warmup_ns = 0;
};

void add_sum(const Report& report, TextTable& table, const Sum& sum) {
    table.names.push_back(sum.name);
    for (TextColumn& column : table.columns) {
        std::string cell;
        if (column.header == "count") cell = std::to_string(sum.count);
        if (column.header == "total") cell = duration_text(sum.total_ns);
        if (column.header == "per step") cell = optional_duration(sum.per_step_ns);
        if (column.header == "1st use") cell = first_use(sum.warmup_count, sum.warmup_ns);
        if (column.header == "share" && report.total_ns > 0)
            cell = percent_cell(static_cast<double>(sum.total_ns) / static_cast<double>(report.total_ns)) + " %";
        column.cells.push_back(std::move(cell));
    }
    ++table.sums;
}

}    // namespace

TextTable report_table(const Report& report, const RowSelection& selection) {
    TextTable table;
    table.header = to_text(report.by);
    table.columns = make_columns(report, selection.rows);
    for (const ReportRow* row : selection.rows) table.names.push_back(row_name(report, *row));

    if (selection.left_out != 0) {
        add_sum(report, table,
                Sum{fmt::format("({} more)", selection.left_out), selection.left_out_spans, selection.left_out_ns,
                    selection.left_out_per_step_ns, selection.left_out_warmup_count, selection.left_out_warmup_ns});
    }
    if (report.rows.size() > 1) {
        Sum all{"sum", 0, report.total_ns, std::nullopt, 0, 0};
        for (const ReportRow& row : report.rows) {
            all.count += row.spans.count;
            all.warmup_count += row.warmup_count;
            all.warmup_ns += row.warmup_ns;
            if (row.per_step_ns) all.per_step_ns = all.per_step_ns.value_or(0.0) + *row.per_step_ns;
        }
        add_sum(report, table, all);
    }
    return table;
}

}    // namespace lapwing::detail
