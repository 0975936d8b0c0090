// The FLOPs and bytes of memory traffic that an operation of known shape takes at least.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lapwing/result.hpp"

namespace lapwing {

/// How elements are stored: plain numbers, and the block formats of ggml.
enum class TensorType : uint8_t {
    kF32 = 0,
    kF16,
    kBf16,
    kI8,
    kQ4_0,     ///< 32 elements in 18 bytes
    kQ4_1,     ///< 32 in 20
    kQ5_0,     ///< 32 in 22
    kQ5_1,     ///< 32 in 24
    kQ8_0,     ///< 32 in 34
    kQ2K,      ///< 256 in 84
    kQ3K,      ///< 256 in 110
    kQ4K,      ///< 256 in 144
    kQ5K,      ///< 256 in 176
    kQ6K,      ///< 256 in 210
    kIq4Nl,    ///< 32 in 18
    kIq4Xs,    ///< 256 in 136
    kMxfp4,    ///< 32 in 17
};
inline constexpr std::size_t kTensorTypeCount = 17;

/// "f32", "q4_k", ... Static string.
[[nodiscard]] const char* to_text(TensorType type) noexcept;
/// The type of a name; upper case is taken too ("Q4_K").
/// Errors:  kInvalidArgument naming the text and the accepted names.
[[nodiscard]] Result<TensorType> parse_tensor_type(std::string_view text);

/// The smallest whole number of elements that is stored together, and its bytes.
struct TensorBlock {
    uint32_t elements = 1;
    uint32_t bytes = 0;
};
/// Source:  ggml-common.h, the block structs of each format.
[[nodiscard]] TensorBlock block_of(TensorType type) noexcept;

/// Rows are stored in whole blocks, so a row that ends inside one takes all of it.
/// Errors:  kInvalidArgument where it does not fit 64 bits.
[[nodiscard]] Result<uint64_t> bytes_of(TensorType type, uint64_t rows, uint64_t columns);

/// What one execution takes at least. Absent = not known, which no view takes for 0.
/// Units:   arithmetic operations, a multiply-add counting 2; bytes to and from memory, each tensor once.
struct OpWork {
    std::optional<uint64_t> flops{};
    std::optional<uint64_t> bytes{};
};

// Every shape below: sizes are >= 1 unless said otherwise; they are signed, so that a negative one can be named.
// Errors of all: kInvalidArgument naming the field that is not positive, or the product that does not fit 64 bits.

/// out[m x n] = a[m x k] b[k x n], `batch` times; nothing is shared between batches.
/// Shape:   flops 2 m n k batch; bytes of a, b and out, once each.
struct MatmulShape {
    int64_t m = 0;
    int64_t n = 0;
    int64_t k = 0;
    int64_t batch = 1;
    TensorType a = TensorType::kF16;
    TensorType b = TensorType::kF32;
    TensorType out = TensorType::kF32;
};
[[nodiscard]] Result<OpWork> matmul_work(const MatmulShape& shape);

/// A matmul whose weights are chosen by a router: each of `tokens` rows goes through `experts_per_token` of `experts`
/// matrices of columns_in x columns_out.
///
/// Only experts that some token chose are read. Counting all of them is the classic way to report more than a device's
/// bandwidth (AMD llama.cpp#50, TileOPs#629), so where several tokens choose and nobody says how many experts they came
/// to, the bytes are unknown.
struct ExpertMatmulShape {
    int64_t tokens = 0;
    int64_t experts = 0;
    int64_t experts_per_token = 0;    ///< <= experts
    int64_t columns_in = 0;
    int64_t columns_out = 0;
    /// Distinct experts that were chosen: experts_per_token .. min(experts, tokens x experts_per_token). Not needed for
    /// one token.
    std::optional<int64_t> experts_used{};
    TensorType weights = TensorType::kF16;
    TensorType in = TensorType::kF32;
    TensorType out = TensorType::kF32;
};
[[nodiscard]] Result<OpWork> expert_matmul_work(const ExpertMatmulShape& shape);

/// softmax(Q K^T) V for `queries` positions that end a context of `context` positions.
/// Shape:   4 head_dim flops a query, head and visible position (two matmuls; the softmax between is left out); bytes
/// of
///          Q, K, V and the output once each. The scores never reach memory: kernels that write them move more.
struct AttentionShape {
    int64_t heads = 0;
    int64_t kv_heads = 0;    ///< divides heads
    int64_t head_dim = 0;
    int64_t queries = 0;
    int64_t context = 0;    ///< >= queries where causal
    int64_t batch = 1;
    bool causal = true;    ///< a query sees what precedes it and itself, not all of the context
    TensorType q = TensorType::kF32;
    TensorType kv = TensorType::kF16;
    TensorType out = TensorType::kF32;
};
[[nodiscard]] Result<OpWork> attention_work(const AttentionShape& shape);

/// An RMS or layer norm of each row, with a weight a column.
/// Shape:   4 flops an element for RMS (square, sum, scale, weight), 7 for a layer norm (mean, difference, bias too).
struct NormShape {
    int64_t rows = 0;
    int64_t columns = 0;
    bool layer_norm = false;
    TensorType in = TensorType::kF32;
    TensorType weight = TensorType::kF32;
    TensorType out = TensorType::kF32;
};
[[nodiscard]] Result<OpWork> norm_work(const NormShape& shape);

/// An operation on elements: `inputs` tensors of as many elements in, one out.
struct ElementwiseShape {
    int64_t elements = 0;
    int64_t inputs = 1;               ///< 0: a fill
    int64_t flops_per_element = 1;    ///< 0: a copy
    TensorType in = TensorType::kF32;
    TensorType out = TensorType::kF32;
};
[[nodiscard]] Result<OpWork> elementwise_work(const ElementwiseShape& shape);

}    // namespace lapwing
