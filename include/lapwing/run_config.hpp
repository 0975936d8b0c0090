// How a model is run: what a recording cannot say by itself and a tuner needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lapwing/result.hpp"

namespace lapwing {

/// How weights are stored, as the tuner tells them apart.
enum class QuantType : uint8_t { kQ4_0 = 0, kQ4_1, kQ4K, kQ5K, kQ6K, kQ8_0, kF16, kF32 };
inline constexpr std::size_t kQuantTypeCount = 8;
/// "q4_0", "q4_k", ... Static string.
[[nodiscard]] const char* to_text(QuantType quant) noexcept;
/// Errors:  kInvalidArgument naming the accepted names ("Q4K" and "Q4_K" are taken too).
[[nodiscard]] Result<QuantType> parse_quant_type(std::string_view text);
/// Bytes a parameter: 0.5625 for the 4-bit types, 0.6875, 0.8125, 1, 2, 4. The tuner's figures are fixed; op_work.hpp
/// has the formats' own.
[[nodiscard]] double bytes_per_param(QuantType quant) noexcept;

/// The kernel that does most of the work. Names that engines of this family use; others are kOther.
enum class KernelChoice : uint8_t {
    kVectorizedQ4K = 0,
    kCoalescedQ4K,
    kBatchedQ4K,
    kTiledQ4K,
    kDp4aQ4K,
    kVectorizedQ5K,
    kVectorizedQ6K,
    kCoalescedQ6K,
    kVectorizedQ8_0,
    kTensorCoreF16,
    kGemmF32,
    kIncrementalAttention,
    kMultiWarpAttention,
    kFlashAttention,
    kFusedBlock,
    kOther,
};
inline constexpr std::size_t kKernelChoiceCount = 16;
/// "VectorizedQ4K", ... Static string.
[[nodiscard]] const char* to_text(KernelChoice kernel) noexcept;
/// Errors:  kInvalidArgument naming the accepted names.
[[nodiscard]] Result<KernelChoice> parse_kernel_choice(std::string_view text);

/// Sizes are signed so that a negative one can be named.
struct RunConfig {
    double model_params_b = 1.5;    ///< parameters that a token's weights come to. Units: 1e9. 0 < n <= 1e6
    int64_t hidden_dim = 1536;      ///< 1 .. 2^20
    int64_t num_layers = 28;        ///< 1 .. 2^16
    int64_t num_heads = 12;         ///< 1 .. hidden_dim
    int64_t batch_size = 1;         ///< sequences a step; 1 .. 2^20
    int64_t seq_len = 1;            ///< tokens of a sequence a step works on; 1 .. 2^30
    bool cuda_graphs = false;       ///< launches are replayed as a graph
    QuantType quant_type = QuantType::kQ4K;
    KernelChoice kernel_type = KernelChoice::kVectorizedQ4K;
    int64_t vocab_size = 0;    ///< 0 = not known; .. 2^30
    int64_t kv_caches = 1;     ///< 1 .. 2^20
    bool prefill = false;      ///< a step takes seq_len tokens of each sequence, not one

    friend bool operator==(const RunConfig&, const RunConfig&) = default;
};

/// Errors:  kInvalidArgument naming the field, its value and its range.
[[nodiscard]] Status validate(const RunConfig& config);

/// Tokens that a step takes: batch_size, times seq_len in prefill.
[[nodiscard]] double tokens_per_step(const RunConfig& config) noexcept;

}    // namespace lapwing
