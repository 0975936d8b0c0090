// The named operations of a transformer step ("bricks"), their spellings and their categories.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lapwing {

/// A well-known brick. The numbers are stable: 0..22, one byte.
enum class BrickId : uint8_t {
    kRmsNorm = 0,         ///< "RmsNorm", Norm
    kLayerNorm,           ///< "LayerNorm", Norm
    kQkvProjection,       ///< "QkvProjection", also "Qkv"; Attention
    kRopeEmbedding,       ///< "RopeEmbedding", also "Rope", "RoPE"; Attention
    kAttentionScore,      ///< "AttentionScore", Attention
    kAttentionSoftmax,    ///< "AttentionSoftmax", also "Softmax"; Attention
    kAttentionOutput,     ///< "AttentionOutput", Attention
    kOutputProjection,    ///< "OutputProjection", also "OutProj"; Attention
    kGateProjection,      ///< "GateProjection", also "Gate"; Ffn
    kUpProjection,        ///< "UpProjection", also "Up"; Ffn
    kActivation,          ///< "Activation", also "SiLU", "GELU", "ReLU"; Ffn
    kDownProjection,      ///< "DownProjection", also "Down"; Ffn
    kEmbedding,           ///< "Embedding", also "Embed"; Other
    kLmHead,              ///< "LmHead", also "Head"; Other
    kSampling,            ///< "Sampling", also "Sample"; Other
    kSpMV,                ///< "SpMV", also "spmv"; Sparse
    kSpMM,                ///< "SpMM", also "spmm"; Sparse
    kFormatConvert,       ///< "FormatConvert", Sparse
    kFft1D,               ///< "FFT1D", also "fft1d", "FFT"; Fft
    kFft2D,               ///< "FFT2D", also "fft2d"; Fft
    kLuFactorize,         ///< "LUFactorize", also "LU"; Solver
    kQrFactorize,         ///< "QRFactorize", also "QR"; Solver
    kSvdCompute,          ///< "SVDCompute", also "SVD"; Solver
};
inline constexpr std::size_t kBrickIdCount = 23;

/// What a brick belongs to. A profiler numbers categories of its user from kBrickCategoryCount on.
enum class BrickCategory : uint8_t {
    kNorm = 0,     ///< "Norm"
    kAttention,    ///< "Attention"
    kFfn,          ///< "FFN"
    kOther,        ///< "Other": the default, and that of names nobody registered
    kSparse,       ///< "Sparse"
    kFft,          ///< "FFT"
    kSolver,       ///< "Solver"
};
inline constexpr std::size_t kBrickCategoryCount = 7;

/// All ids, in order of their numbers.
[[nodiscard]] constexpr std::array<BrickId, kBrickIdCount> all_brick_ids() noexcept {
    std::array<BrickId, kBrickIdCount> ids{};
    for (std::size_t i = 0; i < kBrickIdCount; ++i) ids[i] = static_cast<BrickId>(i);
    return ids;
}

/// The canonical name ("RmsNorm"). Static string; "(unknown)" for a number that is no id.
[[nodiscard]] const char* to_text(BrickId id) noexcept;

/// The display name ("FFN"). Static string; "(user)" for a category that a profiler gave out.
[[nodiscard]] const char* to_text(BrickCategory category) noexcept;

/// The id of a canonical name or of one of its other spellings; case counts. Absent for any other text.
/// Cost:    no allocation, a few comparisons.
[[nodiscard]] std::optional<BrickId> parse_brick_id(std::string_view name) noexcept;

[[nodiscard]] BrickCategory category_of(BrickId id) noexcept;

/// The number of a brick in a profiler: an id, or one that the profiler gave to a name (BrickProfiler::brick).
class BrickKey {
public:
    constexpr BrickKey(BrickId id) noexcept
        : value_(static_cast<uint16_t>(id)) {}    // NOLINT(google-explicit-constructor)
    constexpr explicit BrickKey(uint16_t value) noexcept : value_(value) {}
    [[nodiscard]] constexpr uint16_t value() const noexcept { return value_; }
    friend constexpr bool operator==(BrickKey, BrickKey) = default;

private:
    uint16_t value_;
};

}    // namespace lapwing
