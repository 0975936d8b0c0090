// Which brick of a run is the first to compute something else than in another run, and how far off it is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/fingerprint.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

/// How two tensors at hand differ.
struct TensorDifference {
    double nmse = 0;            ///< |a - b|^2 / |a|^2; where a is 0 throughout, the mean of |a - b|^2
    double max_abs = 0;         ///< the largest |a - b|
    uint64_t max_ulp = 0;       ///< the largest distance in representable values; of i8, in steps
    uint64_t worst = 0;         ///< index of max_abs, the first
    uint64_t not_finite = 0;    ///< elements that are not finite in one of the two, or of another kind or sign
};
/// Errors:  kInvalidArgument: types or counts differ, or data is missing.
/// Cost:    cold: reads both once.
[[nodiscard]] Result<TensorDifference> compare_tensors(const TensorView& reference, const TensorView& candidate);

/// What is wrong with a brick's output.
enum class DivergenceKind : uint8_t {
    kValues = 0,    ///< "values": further off than rounding
    kNotFinite,     ///< "not finite": other counts of NaN or infinity
    kShape,         ///< "shape": other sizes
    kType,          ///< "type": other element types; values are compared all the same
};
[[nodiscard]] const char* to_text(DivergenceKind kind) noexcept;

struct DivergenceFinding {
    DivergenceKind kind = DivergenceKind::kValues;
    FingerprintRecord reference;
    FingerprintRecord candidate;
    double nmse = 0;        ///< estimated from the projections; not of kShape
    double limit = 0;       ///< what it has to exceed to be a finding
    double distance = 0;    ///< |a - b|, estimated: where one element is wrong, it is off by this
};

/// A brick of a run, by what it is matched by.
struct ComparedBrick {
    std::string name;
    int32_t layer = -1;
    uint32_t position = 0;
};

/// Two runs compared, brick by brick.
struct DivergenceReport {
    uint64_t compared = 0;
    double worst_nmse = 0;                      ///< of all compared, divergent or not; infinite where one is no number
    double worst_limit = 0;                     ///< of that brick
    std::optional<ComparedBrick> worst{};       ///< that brick; the first in order; absent where all NMSE are 0
    std::vector<DivergenceFinding> findings;    ///< by position, then topological order: the first is where it began
    std::vector<ComparedBrick> missing;         ///< in the reference only, in its order
    std::vector<ComparedBrick> extra;           ///< in the candidate only, in its order
    [[nodiscard]] bool diverges() const noexcept { return !findings.empty() || !missing.empty() || !extra.empty(); }
};

struct CompareOptions {
    /// Taken for the bound of every type; absent = nmse_bound(). For backends that accumulate in other types. > 0
    std::optional<double> nmse_bound{};
};

/// Compares two runs.
/// Shape:   bricks are matched by name, layer and position; of a key that comes again the last one counts. Their order
///          is by position, then `order`, then as they come in the reference (extra ones: in the candidate). A brick is
///          divergent where the estimated NMSE is above twice the bound of its type (of i8 also: where the mean squared
///          difference is above 2 steps), so that one unit in the last place everywhere never is, and a single element
///          that makes it four times the bound always.
/// Errors:  kInvalidArgument: fingerprints of different seeds cannot be compared; names the brick. A bound that is no
///          positive number.
/// Cost:    cold: n log n.
[[nodiscard]] Result<DivergenceReport> compare_runs(std::span<const FingerprintRecord> reference,
                                                    std::span<const FingerprintRecord> candidate,
                                                    const CompareOptions& options = {});

// The way of trueno's profiler: an exact hash of a tensor's beginning. It knows no rounding.

/// FNV-1a 64 over the little-endian bytes of at most the first 64 values.
[[nodiscard]] uint64_t float_checksum(std::span<const float> values) noexcept;

struct KernelChecksum {
    std::string name;
    uint64_t layer_idx = 0;
    uint32_t position = 0;
    uint64_t checksum = 0;
};
struct DivergenceInfo {
    std::string kernel_name;
    uint64_t layer_idx = 0;
    uint32_t position = 0;
    uint64_t expected_checksum = 0;
    uint64_t actual_checksum = 0;
};
/// One line, both hashes as 0x and 16 upper-case digits.
[[nodiscard]] std::string to_text(const DivergenceInfo& info);

/// The first of `own`, in its order, whose key is in the reference with another hash. Keys that only one side has are
/// passed over; of a reference key that comes again the last one counts.
[[nodiscard]] std::optional<DivergenceInfo> find_divergence(std::span<const KernelChecksum> own,
                                                            std::span<const KernelChecksum> reference);

}    // namespace lapwing
