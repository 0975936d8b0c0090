// Fingerprints of tensors: a few numbers that tell whether two tensors agree within rounding, without either at hand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lapwing/result.hpp"

namespace lapwing {

/// The type of a tensor's elements.
enum class DType : uint8_t {
    kF32 = 0,    ///< "f32"
    kF16,        ///< "f16": IEEE half
    kBf16,       ///< "bf16": the upper half of an f32
    kI8,         ///< "i8": quantised values, compared as integers
};
[[nodiscard]] const char* to_text(DType type) noexcept;
/// Units:   bytes.
[[nodiscard]] std::size_t size_of(DType type) noexcept;

/// The normalised mean squared error that rounding alone may come to: |a - b|^2 / |a|^2. f32 1e-7, f16 1e-6, bf16 1e-4,
/// i8 1e-3.
/// Source:  ferrum's op_diff for f32 and f16; the others stand in the same relation to one unit in the last place.
[[nodiscard]] double nmse_bound(DType type) noexcept;

/// A tensor in memory, read in the order of its elements.
struct TensorView {
    const void* data = nullptr;
    uint64_t count = 0;    ///< elements
    DType type = DType::kF32;
};

inline constexpr std::size_t kProjections = 16;

/// What is kept of a tensor.
/// Shape:   sums, extremes and projections are over finite values. projection k = sum over i of s(i, k) x value(i),
/// with
///          signs s that a hash of the seed and the index chooses: the mean of the squared differences of two tensors'
///          projections estimates |a - b|^2, and for one changed element it is exact.
struct Fingerprint {
    DType type = DType::kF32;
    uint64_t count = 0;
    uint64_t nans = 0;
    uint64_t infs = 0;
    double sum = 0;
    double sum_squares = 0;
    double sum_abs = 0;
    double min = 0;    ///< 0 where no value is finite, as max
    double max = 0;
    uint32_t seed = 0;
    std::array<double, kProjections> projections{};
    uint64_t checksum = 0;    ///< float_checksum() (divergence.hpp) of the first 64 values as f32; 0 = not taken

    friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

/// The seed that both sides use where nobody says another.
inline constexpr uint32_t kFingerprintSeed = 0x1a9b179u;

/// Bit k is 1 where sign s(i, k) is negative. 32-bit arithmetic only, so that a GPU computes the same.
/// Source:  the hash is lowbias32 by Chris Wellons, https://nullprogram.com/blog/2018/07/31/.
[[nodiscard]] constexpr uint32_t projection_signs(uint32_t seed, uint32_t index) noexcept {
    uint32_t hash = index ^ seed;
    hash = (hash ^ (hash >> 16)) * 0x7feb352du;
    hash = (hash ^ (hash >> 15)) * 0x846ca68bu;
    return hash ^ (hash >> 16);
}

/// Errors:  kInvalidArgument: no data for a count above 0, or more than 2^32 - 1 elements.
/// Cost:    cold: reads the tensor once, some 10 ns an element.
[[nodiscard]] Result<Fingerprint> fingerprint_of(const TensorView& tensor, uint32_t seed = kFingerprintSeed);

/// The fingerprint of what one brick of a run put out.
struct FingerprintRecord {
    std::string name;                   ///< of the brick or op
    int32_t layer = -1;                 ///< -1 = none
    uint32_t position = 0;              ///< token or step
    uint32_t order = 0;                 ///< topological: bricks of a position are compared in this order
    std::array<uint64_t, 4> shape{};    ///< elements a dimension, innermost first; zeros = only the count is known
    Fingerprint fingerprint{};
    /// Host ns that this brick took by itself, the device idle before and after: what fusing and overlapping with its
    /// neighbours save is not in it, so it is no share of a step. Absent = not measured.
    std::optional<int64_t> isolated_ns{};

    friend bool operator==(const FingerprintRecord&, const FingerprintRecord&) = default;
};

}    // namespace lapwing
