#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "export/figures.hpp"
#include "export/names.hpp"
#include "lapwing/divergence_export.hpp"

namespace lapwing {
namespace {

ComparedBrick key_of(const FingerprintRecord& record) {
    return {record.name, record.layer, record.position};
}

std::string brick_text(const ComparedBrick& brick) {
    std::string out = detail::printable(brick.name);
    if (brick.layer >= 0) out += fmt::format(", layer {}", brick.layer);
    return out + fmt::format(", position {}", brick.position);
}

std::string shape_text(const FingerprintRecord& record) {
    if (record.shape == std::array<uint64_t, 4>{}) return fmt::format("{} elements", record.fingerprint.count);
    std::size_t dimensions = 4;
    while (dimensions > 1 && record.shape[dimensions - 1] <= 1) --dimensions;
    return fmt::format("{}", fmt::join(record.shape.begin(), record.shape.begin() + dimensions, " x "));
}

// How bad it is, in one line.
std::string badness(const DivergenceFinding& finding) {
    const Fingerprint& a = finding.reference.fingerprint;
    const Fingerprint& b = finding.candidate.fingerprint;
    switch (finding.kind) {
        case DivergenceKind::kShape:
            return shape_text(finding.reference) + " against " + shape_text(finding.candidate);
        case DivergenceKind::kNotFinite:
            return fmt::format("{} NaN and {} infinite against {} and {}", a.nans, a.infs, b.nans, b.infs);
        case DivergenceKind::kType:
            return fmt::format("{} against {}; the values agree (NMSE {:.2g})", to_text(a.type), to_text(b.type),
                               finding.nmse);
        case DivergenceKind::kValues:
            break;
    }
    return fmt::format("NMSE {:.2g}, {:.3g} times the limit {:.2g}", finding.nmse, finding.nmse / finding.limit,
                       finding.limit);
}

// Both sides' figures, one a line; only those that can tell something.
std::string sides(const DivergenceFinding& finding) {
    const Fingerprint& a = finding.reference.fingerprint;
    const Fingerprint& b = finding.candidate.fingerprint;
    std::string out = fmt::format("  {:<14}{:>22}{:>22}\n", "", "reference", "candidate");
    const auto line = [&](const char* what, const std::string& left, const std::string& right) {
        out += fmt::format("  {:<14}{:>22}{:>22}\n", what, left, right);
    };
    const auto number = [](double value) { return fmt::format("{:.9g}", value); };
    const auto checksum = [](uint64_t hash) { return hash == 0 ? "unknown" : fmt::format("0x{:016X}", hash); };
    const auto isolated = [](const std::optional<int64_t>& ns) {
        return ns ? detail::duration_text(*ns) : std::string("unknown");
    };
    line("type", to_text(a.type), to_text(b.type));
    line("shape", shape_text(finding.reference), shape_text(finding.candidate));
    line("NaN, infinite", fmt::format("{}, {}", a.nans, a.infs), fmt::format("{}, {}", b.nans, b.infs));
    line("sum", number(a.sum), number(b.sum));
    line("sum of |x|", number(a.sum_abs), number(b.sum_abs));
    line("sum of x^2", number(a.sum_squares), number(b.sum_squares));
    line("min", number(a.min), number(b.min));
    line("max", number(a.max), number(b.max));
    line("first 64", checksum(a.checksum), checksum(b.checksum));
    if (finding.reference.isolated_ns || finding.candidate.isolated_ns)
        line("time, isolated", isolated(finding.reference.isolated_ns), isolated(finding.candidate.isolated_ns));
    if (finding.kind == DivergenceKind::kValues)
        out +=
            fmt::format("  |a - b| is about {:.3g}: where one element is wrong, it is off by that\n", finding.distance);
    return out;
}

std::string rest_text(std::size_t count, std::size_t shown) {
    return count > shown ? fmt::format("  and {} more (--format json has all)\n", count - shown) : std::string();
}

std::string unmatched(const char* heading, const std::vector<ComparedBrick>& bricks, std::size_t most) {
    if (bricks.empty()) return {};
    std::string out = fmt::format("\n{} ({}):\n", heading, bricks.size());
    const std::size_t shown = std::min(most, bricks.size());
    for (std::size_t i = 0; i < shown; ++i) out += "  " + brick_text(bricks[i]) + "\n";
    return out + rest_text(bricks.size(), shown);
}

std::string verdict(const DivergenceReport& report) {
    if (!report.findings.empty()) {
        const DivergenceFinding& first = report.findings.front();
        return "diverges first at " + brick_text(key_of(first.reference)) + " (" + to_text(first.kind) +
               "): " + badness(first) + "\n\n" + sides(first);
    }
    if (report.diverges()) return "diverges: what both have agrees, but they do not have the same bricks\n";
    return "agrees\n";
}

std::string lost_text(const ComparedRun& run) {
    std::string out;
    if (run.dropped != 0)
        out += fmt::format("{}: {} dropped because a pool or queue was full; those bricks are missing below\n",
                           detail::printable(run.name), detail::counted(run.dropped, "fingerprint", "fingerprints"));
    if (run.left_out != 0)
        out += fmt::format("{}: {} in parts of the recording that are gone; those bricks are missing below\n",
                           detail::printable(run.name), detail::counted(run.left_out, "fingerprint", "fingerprints"));
    return out;
}

}    // namespace

std::string to_text(const DivergenceReport& report, const ComparedRun& reference, const ComparedRun& candidate,
                    std::size_t most_rows) {
    std::string out = fmt::format("reference {}, candidate {}\n", detail::printable(reference.name),
                                  detail::printable(candidate.name));
    out += lost_text(reference) + lost_text(candidate) + verdict(report);
    if (report.findings.size() > 1) {
        out += fmt::format("\nall findings ({}):\n", report.findings.size());
        const std::size_t shown = std::min(most_rows, report.findings.size());
        for (std::size_t i = 0; i < shown; ++i) {
            const DivergenceFinding& finding = report.findings[i];
            out += fmt::format("  {}: {}: {}\n", brick_text(key_of(finding.reference)), to_text(finding.kind),
                               badness(finding));
        }
        out += rest_text(report.findings.size(), shown);
    }
    out += unmatched("only in the reference", report.missing, most_rows);
    out += unmatched("only in the candidate", report.extra, most_rows);
    out += fmt::format("\n{} compared: {} diverge, {} only in the reference, {} only in the candidate",
                       detail::counted(report.compared, "brick", "bricks"), report.findings.size(),
                       report.missing.size(), report.extra.size());
    if (report.worst)
        out += fmt::format("; worst NMSE {:.2g} at {} (limit {:.2g})", report.worst_nmse, brick_text(*report.worst),
                           report.worst_limit);
    return out + "\n";
}

}    // namespace lapwing
