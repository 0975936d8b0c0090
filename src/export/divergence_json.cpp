#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "export/names.hpp"
#include "lapwing/divergence_export.hpp"

namespace lapwing {
namespace {

using Json = nlohmann::ordered_json;

Json layer_json(int32_t layer) {
    return layer < 0 ? Json(nullptr) : Json(layer);
}

// As text: a JSON number holds no 64 bits in most readers.
Json checksum_json(uint64_t hash) {
    static constexpr char kDigits[] = "0123456789abcdef";
    if (hash == 0) return nullptr;
    std::string out(16, '0');
    for (std::size_t i = 0; i < 16; ++i) out[15 - i] = kDigits[hash >> (4 * i) & 15];
    return out;
}

Json run_json(const ComparedRun& run) {
    return {{"file", detail::printable(run.name)},
            {"fingerprints", run.fingerprints},
            {"dropped", run.dropped},
            {"left_out", run.left_out}};
}

Json brick_json(const ComparedBrick& brick) {
    return {{"name", detail::printable(brick.name)}, {"layer", layer_json(brick.layer)}, {"position", brick.position}};
}

Json side_json(const FingerprintRecord& record) {
    const Fingerprint& print = record.fingerprint;
    const bool shaped = record.shape != std::array<uint64_t, 4>{};
    return {{"dtype", to_text(print.type)},
            {"shape", shaped ? Json(record.shape) : Json(nullptr)},
            {"count", print.count},
            {"nans", print.nans},
            {"infs", print.infs},
            {"sum", print.sum},
            {"sum_squares", print.sum_squares},
            {"sum_abs", print.sum_abs},
            {"min", print.min},
            {"max", print.max},
            {"checksum", checksum_json(print.checksum)},
            {"isolated_ns", record.isolated_ns ? Json(*record.isolated_ns) : Json(nullptr)}};
}

Json finding_json(const DivergenceFinding& finding) {
    const bool compared = finding.kind != DivergenceKind::kShape;
    Json out = brick_json({finding.reference.name, finding.reference.layer, finding.reference.position});
    out["order"] = finding.reference.order;
    out["kind"] = to_text(finding.kind);
    out["nmse"] = compared ? Json(finding.nmse) : Json(nullptr);
    out["limit"] = compared ? Json(finding.limit) : Json(nullptr);
    out["distance"] = compared ? Json(finding.distance) : Json(nullptr);
    out["reference"] = side_json(finding.reference);
    out["candidate"] = side_json(finding.candidate);
    return out;
}

template <class T, class F>
Json list(const std::vector<T>& items, F&& item_json) {
    Json out = Json::array();
    for (const T& item : items) out.push_back(item_json(item));
    return out;
}

}    // namespace

std::string to_json(const DivergenceReport& report, const ComparedRun& reference, const ComparedRun& candidate) {
    Json worst = nullptr;
    if (report.worst) {
        worst = brick_json(*report.worst);
        worst["nmse"] = report.worst_nmse;
        worst["limit"] = report.worst_limit;
    }
    const Json out{{"schema", "lapwing.divergence/1"},
                   {"verdict", report.diverges() ? "diverges" : "agrees"},
                   {"reference", run_json(reference)},
                   {"candidate", run_json(candidate)},
                   {"compared", report.compared},
                   {"worst", worst},
                   {"first", report.findings.empty() ? Json(nullptr) : finding_json(report.findings.front())},
                   {"findings", list(report.findings, finding_json)},
                   {"missing", list(report.missing, brick_json)},
                   {"extra", list(report.extra, brick_json)}};
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}    // namespace lapwing
