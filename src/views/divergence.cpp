#include "lapwing/divergence.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "core/float_formats.hpp"
#include "lapwing/fnv1a.hpp"

namespace lapwing {
namespace {

// Above the bound, so that the spread of the estimate raises no alarm; below the four bounds that must be found.
constexpr double kMargin = 2;
constexpr double kStepsOfI8 = 2;

struct Element {
    double value;
    int64_t rank;    // place among the representable values
};

// Representable values in their order: negative ones have the higher bit patterns the smaller they are.
template <class Bits>
int64_t rank_of(Bits bits) {
    constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
    const auto magnitude = static_cast<int64_t>(static_cast<Bits>(bits & static_cast<Bits>(~kSign)));
    return (bits & kSign) != 0 ? -magnitude : magnitude;
}

template <class T>
T load(const void* data, uint64_t index) noexcept {
    T value;
    std::memcpy(&value, static_cast<const std::byte*>(data) + index * sizeof(T), sizeof(T));
    return value;
}

Element element_of(const TensorView& tensor, uint64_t index) {
    switch (tensor.type) {
        case DType::kF32: {
            const auto bits = load<uint32_t>(tensor.data, index);
            return {static_cast<double>(std::bit_cast<float>(bits)), rank_of(bits)};
        }
        case DType::kF16: {
            const auto bits = load<uint16_t>(tensor.data, index);
            return {detail::from_f16(bits), rank_of(bits)};
        }
        case DType::kBf16: {
            const auto bits = load<uint16_t>(tensor.data, index);
            return {detail::from_bf16(bits), rank_of(bits)};
        }
        case DType::kI8: {
            const auto value = load<int8_t>(tensor.data, index);
            return {static_cast<double>(value), value};
        }
    }
    return {};
}

bool alike(double a, double b) {
    return std::isnan(a) ? std::isnan(b) : a == b;
}

using Key = std::tuple<std::string_view, int32_t, uint32_t>;
Key key_of(const FingerprintRecord& record) {
    return {record.name, record.layer, record.position};
}

std::map<Key, const FingerprintRecord*> by_key(std::span<const FingerprintRecord> records) {
    std::map<Key, const FingerprintRecord*> out;
    for (const FingerprintRecord& record : records) out[key_of(record)] = &record;
    return out;
}

ComparedBrick brick_of(const FingerprintRecord& record) {
    return {record.name, record.layer, record.position};
}

// Those that count, in topological order.
std::vector<const FingerprintRecord*> in_order(const std::map<Key, const FingerprintRecord*>& by_key) {
    std::vector<const FingerprintRecord*> out;
    out.reserve(by_key.size());
    for (const auto& [key, record] : by_key) out.push_back(record);
    // Their places in memory are the order in which they came.
    std::sort(out.begin(), out.end(), [](const FingerprintRecord* a, const FingerprintRecord* b) {
        return std::tie(a->position, a->order, a) < std::tie(b->position, b->order, b);
    });
    return out;
}

bool same_shape(const FingerprintRecord& a, const FingerprintRecord& b) {
    const bool known = a.shape != std::array<uint64_t, 4>{} && b.shape != std::array<uint64_t, 4>{};
    return a.fingerprint.count == b.fingerprint.count && (!known || a.shape == b.shape);
}

// The mean of the squared differences of the projections: an estimate of |a - b|^2.
double squared_distance(const Fingerprint& a, const Fingerprint& b) {
    double sum = 0;
    for (std::size_t k = 0; k < kProjections; ++k) {
        const double difference = a.projections[k] - b.projections[k];
        sum += difference * difference;
    }
    return sum / static_cast<double>(kProjections);
}

std::optional<DivergenceFinding> examine(const FingerprintRecord& reference, const FingerprintRecord& candidate,
                                         const CompareOptions& options, DivergenceReport& report) {
    const Fingerprint& a = reference.fingerprint;
    const Fingerprint& b = candidate.fingerprint;
    DivergenceFinding finding{DivergenceKind::kValues, reference, candidate};
    if (!same_shape(reference, candidate)) {
        finding.kind = DivergenceKind::kShape;
        return finding;
    }
    const double distance = squared_distance(a, b);
    const double mean = a.count == 0 ? 0 : distance / static_cast<double>(a.count);
    finding.nmse = a.sum_squares > 0 ? distance / a.sum_squares : mean;
    finding.limit = kMargin * options.nmse_bound.value_or(std::max(nmse_bound(a.type), nmse_bound(b.type)));
    finding.distance = std::sqrt(distance);
    const double ranked = std::isnan(finding.nmse) ? std::numeric_limits<double>::infinity() : finding.nmse;
    if (ranked > report.worst_nmse) {
        report.worst_nmse = ranked;
        report.worst_limit = finding.limit;
        report.worst = brick_of(reference);
    }
    if (a.nans != b.nans || a.infs != b.infs) {
        finding.kind = DivergenceKind::kNotFinite;
        return finding;
    }
    const bool whole_steps = a.type == DType::kI8 && b.type == DType::kI8 && mean <= kStepsOfI8;
    // Written so that a figure that is no number is a finding.
    if (!(finding.nmse <= finding.limit) && !whole_steps) return finding;
    if (a.type != b.type) {
        finding.kind = DivergenceKind::kType;
        return finding;
    }
    return std::nullopt;
}

}    // namespace

const char* to_text(DivergenceKind kind) noexcept {
    switch (kind) {
        case DivergenceKind::kValues:
            return "values";
        case DivergenceKind::kNotFinite:
            return "not finite";
        case DivergenceKind::kShape:
            return "shape";
        case DivergenceKind::kType:
            return "type";
    }
    return "unknown";
}

Result<TensorDifference> compare_tensors(const TensorView& reference, const TensorView& candidate) {
    if (reference.type != candidate.type)
        return Error{Errc::kInvalidArgument, 0,
                     std::string("tensors of ") + to_text(reference.type) + " and " + to_text(candidate.type) +
                         " are not compared element by element: convert one, or compare their fingerprints"};
    if (reference.count != candidate.count)
        return Error{Errc::kInvalidArgument, 0,
                     "tensors of " + std::to_string(reference.count) + " and " + std::to_string(candidate.count) +
                         " elements cannot be compared"};
    if (reference.count != 0 && (reference.data == nullptr || candidate.data == nullptr))
        return Error{Errc::kInvalidArgument, 0, "a tensor to compare has no data"};
    TensorDifference out;
    double distance = 0;
    double norm = 0;
    for (uint64_t i = 0; i < reference.count; ++i) {
        const Element a = element_of(reference, i);
        const Element b = element_of(candidate, i);
        if (!std::isfinite(a.value) || !std::isfinite(b.value)) {
            out.not_finite += alike(a.value, b.value) ? 0 : 1;
            continue;
        }
        const double difference = std::abs(a.value - b.value);
        distance += difference * difference;
        norm += a.value * a.value;
        out.max_ulp = std::max(out.max_ulp, static_cast<uint64_t>(std::abs(a.rank - b.rank)));
        if (difference > out.max_abs) {
            out.max_abs = difference;
            out.worst = i;
        }
    }
    if (reference.count != 0) out.nmse = norm > 0 ? distance / norm : distance / static_cast<double>(reference.count);
    return out;
}

Result<DivergenceReport> compare_runs(std::span<const FingerprintRecord> reference,
                                      std::span<const FingerprintRecord> candidate, const CompareOptions& options) {
    if (options.nmse_bound && !(*options.nmse_bound > 0 && std::isfinite(*options.nmse_bound)))
        return Error{Errc::kInvalidArgument, 0, "the bound of the NMSE is a number above 0"};
    DivergenceReport out;
    const auto known = by_key(reference);
    const auto own = by_key(candidate);
    for (const FingerprintRecord* const record : in_order(known)) {
        const auto found = own.find(key_of(*record));
        if (found == own.end()) {
            out.missing.push_back(brick_of(*record));
            continue;
        }
        if (record->fingerprint.seed != found->second->fingerprint.seed)
            return Error{Errc::kInvalidArgument, 0,
                         "the fingerprints of \"" + record->name +
                             "\" were made with different seeds: record both runs with the same one"};
        ++out.compared;
        if (auto finding = examine(*record, *found->second, options, out)) out.findings.push_back(std::move(*finding));
    }
    for (const FingerprintRecord* const record : in_order(own))
        if (!known.contains(key_of(*record))) out.extra.push_back(brick_of(*record));
    return out;
}

uint64_t float_checksum(std::span<const float> values) noexcept {
    static_assert(std::endian::native == std::endian::little, "the hash is over little-endian bytes");
    return fnv1a_64(std::as_bytes(values.first(std::min<std::size_t>(values.size(), 64))));
}

std::string to_text(const DivergenceInfo& info) {
    const auto hex = [](uint64_t hash) {
        static constexpr char kDigits[] = "0123456789ABCDEF";
        std::string out = "0x0000000000000000";
        for (std::size_t i = 0; i < 16; ++i) out[17 - i] = kDigits[hash >> (4 * i) & 15];
        return out;
    };
    return "Divergence at " + info.kernel_name + " layer " + std::to_string(info.layer_idx) + " position " +
           std::to_string(info.position) + ": expected " + hex(info.expected_checksum) + ", got " +
           hex(info.actual_checksum);
}

std::optional<DivergenceInfo> find_divergence(std::span<const KernelChecksum> own,
                                              std::span<const KernelChecksum> reference) {
    std::map<std::tuple<std::string_view, uint64_t, uint32_t>, uint64_t> known;
    for (const KernelChecksum& one : reference) known[{one.name, one.layer_idx, one.position}] = one.checksum;
    for (const KernelChecksum& one : own) {
        const auto found = known.find({one.name, one.layer_idx, one.position});
        if (found != known.end() && found->second != one.checksum)
            return DivergenceInfo{one.name, one.layer_idx, one.position, found->second, one.checksum};
    }
    return std::nullopt;
}

}    // namespace lapwing
