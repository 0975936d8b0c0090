#include "lapwing/op_work.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

namespace lapwing {
namespace {

struct Named {
    const char* name;
    TensorBlock block;
};
// By TensorType.
constexpr std::array<Named, kTensorTypeCount> kTypes{{{"f32", {1, 4}},
                                                      {"f16", {1, 2}},
                                                      {"bf16", {1, 2}},
                                                      {"i8", {1, 1}},
                                                      {"q4_0", {32, 18}},
                                                      {"q4_1", {32, 20}},
                                                      {"q5_0", {32, 22}},
                                                      {"q5_1", {32, 24}},
                                                      {"q8_0", {32, 34}},
                                                      {"q2_k", {256, 84}},
                                                      {"q3_k", {256, 110}},
                                                      {"q4_k", {256, 144}},
                                                      {"q5_k", {256, 176}},
                                                      {"q6_k", {256, 210}},
                                                      {"iq4_nl", {32, 18}},
                                                      {"iq4_xs", {256, 136}},
                                                      {"mxfp4", {32, 17}}}};

struct Size {
    const char* name;
    int64_t value;
    int64_t least = 1;
};

Error bad(std::string message) {
    return Error{Errc::kInvalidArgument, 0, std::move(message)};
}

Status all_in_range(std::initializer_list<Size> sizes) {
    for (const Size& size : sizes)
        if (size.value < size.least)
            return bad(std::string(size.name) + " is " + std::to_string(size.value) + ": it must be at least " +
                       std::to_string(size.least));
    return {};
}

// Products and sums of 64 bits that remember having overflowed.
class Checked {
public:
    explicit Checked(uint64_t value = 0) : value_(value) {}
    static Checked product(std::initializer_list<int64_t> factors) {
        Checked out(1);
        for (const int64_t factor : factors) out.times(static_cast<uint64_t>(factor));
        return out;
    }
    Checked& times(uint64_t factor) {
        overflow_ = __builtin_mul_overflow(value_, factor, &value_) || overflow_;
        return *this;
    }
    Checked& plus(const Checked& other) {
        overflow_ = __builtin_add_overflow(value_, other.value_, &value_) || overflow_ || other.overflow_;
        return *this;
    }
    // `count` rows of `columns` elements.
    static Checked bytes(TensorType type, const Checked& rows, int64_t columns) {
        const TensorBlock block = block_of(type);
        const uint64_t blocks = (static_cast<uint64_t>(columns) - 1) / block.elements + 1;
        Checked out = rows;
        return out.times(blocks).times(block.bytes);
    }
    [[nodiscard]] bool ok() const { return !overflow_; }
    [[nodiscard]] uint64_t value() const { return value_; }

private:
    uint64_t value_;
    bool overflow_ = false;
};

Result<OpWork> work(const char* op, const Checked& flops, const Checked& bytes) {
    for (const auto& [figure, name] : {std::pair{flops, "FLOPs"}, std::pair{bytes, "bytes"}})
        if (!figure.ok())
            return bad(std::string("the ") + name + " of this " + op + " do not fit 64 bits: check its sizes");
    return OpWork{flops.value(), bytes.value()};
}

}    // namespace

const char* to_text(TensorType type) noexcept {
    return kTypes[static_cast<std::size_t>(type)].name;
}

TensorBlock block_of(TensorType type) noexcept {
    return kTypes[static_cast<std::size_t>(type)].block;
}

Result<TensorType> parse_tensor_type(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    std::string accepted;
    for (std::size_t i = 0; i < kTypes.size(); ++i) {
        if (lower == kTypes[i].name) return static_cast<TensorType>(i);
        accepted += i == 0 ? "" : ", ";
        accepted += kTypes[i].name;
    }
    return bad(std::string("\"").append(text) + "\" is no element type: use one of " + accepted);
}

Result<uint64_t> bytes_of(TensorType type, uint64_t rows, uint64_t columns) {
    if (rows == 0 || columns == 0) return uint64_t{0};
    const TensorBlock block = block_of(type);
    Checked out(rows);
    out.times((columns - 1) / block.elements + 1).times(block.bytes);
    if (!out.ok())
        return bad(std::to_string(rows) + " x " + std::to_string(columns) + " elements of " + to_text(type) +
                   " do not fit 64 bits of bytes");
    return out.value();
}

Result<OpWork> matmul_work(const MatmulShape& shape) {
    if (Status valid = all_in_range({{"m", shape.m}, {"n", shape.n}, {"k", shape.k}, {"batch", shape.batch}});
        !valid.ok())
        return valid.error();
    // Rows along k, as weights and activations are stored.
    Checked bytes = Checked::bytes(shape.a, Checked::product({shape.batch, shape.m}), shape.k);
    bytes.plus(Checked::bytes(shape.b, Checked::product({shape.batch, shape.n}), shape.k));
    bytes.plus(Checked::bytes(shape.out, Checked::product({shape.batch, shape.n}), shape.m));
    return work("matmul", Checked::product({2, shape.batch, shape.m, shape.n, shape.k}), bytes);
}

Result<OpWork> expert_matmul_work(const ExpertMatmulShape& shape) {
    if (Status valid = all_in_range({{"tokens", shape.tokens},
                                     {"experts", shape.experts},
                                     {"experts_per_token", shape.experts_per_token},
                                     {"columns_in", shape.columns_in},
                                     {"columns_out", shape.columns_out}});
        !valid.ok())
        return valid.error();
    if (shape.experts_per_token > shape.experts)
        return bad("experts_per_token is " + std::to_string(shape.experts_per_token) + " of " +
                   std::to_string(shape.experts) + " experts: a token cannot choose more than there are");
    const Checked rows = Checked::product({shape.tokens, shape.experts_per_token});
    if (shape.experts_used) {
        const int64_t most = rows.ok() && rows.value() < static_cast<uint64_t>(shape.experts)
                                 ? static_cast<int64_t>(rows.value())
                                 : shape.experts;
        if (*shape.experts_used < shape.experts_per_token || *shape.experts_used > most)
            return bad("experts_used is " + std::to_string(*shape.experts_used) + ": " + std::to_string(shape.tokens) +
                       " tokens use from " + std::to_string(shape.experts_per_token) + " to " + std::to_string(most));
    }
    const int64_t used = shape.experts_used.value_or(shape.experts_per_token);
    Checked bytes = Checked::bytes(shape.weights, Checked::product({used, shape.columns_out}), shape.columns_in);
    bytes.plus(Checked::bytes(shape.in, Checked::product({shape.tokens}), shape.columns_in));
    bytes.plus(Checked::bytes(shape.out, rows, shape.columns_out));
    Checked flops = rows;
    flops.times(2).times(static_cast<uint64_t>(shape.columns_in)).times(static_cast<uint64_t>(shape.columns_out));
    Result<OpWork> out = work("expert matmul", flops, bytes);
    if (out.ok() && shape.tokens > 1 && !shape.experts_used && shape.experts_per_token != shape.experts)
        out->bytes.reset();
    return out;
}

Result<OpWork> attention_work(const AttentionShape& shape) {
    if (Status valid = all_in_range({{"heads", shape.heads},
                                     {"kv_heads", shape.kv_heads},
                                     {"head_dim", shape.head_dim},
                                     {"queries", shape.queries},
                                     {"context", shape.context},
                                     {"batch", shape.batch}});
        !valid.ok())
        return valid.error();
    if (shape.heads % shape.kv_heads != 0)
        return bad("kv_heads is " + std::to_string(shape.kv_heads) + ", which does not divide " +
                   std::to_string(shape.heads) + " heads");
    if (shape.causal && shape.context < shape.queries)
        return bad("context is " + std::to_string(shape.context) + ", less than its last " +
                   std::to_string(shape.queries) + " queries: count the queries' own positions in it");
    // Query i of q sees context - q + 1 + i positions. q (q - 1) is even, and computed before the halving.
    Checked pairs = Checked::product({shape.queries, shape.causal ? shape.context - shape.queries : shape.context});
    if (shape.causal) {
        const bool even = shape.queries % 2 == 0;
        pairs.plus(Checked::product(
            {even ? shape.queries / 2 : shape.queries, even ? shape.queries + 1 : shape.queries / 2 + 1}));
    }
    Checked flops = pairs;
    for (const int64_t factor : {int64_t{4}, shape.batch, shape.heads, shape.head_dim})
        flops.times(static_cast<uint64_t>(factor));
    const Checked query_rows = Checked::product({shape.batch, shape.heads, shape.queries});
    Checked bytes = Checked::bytes(shape.q, query_rows, shape.head_dim);
    bytes.plus(Checked::bytes(shape.out, query_rows, shape.head_dim));
    bytes.plus(
        Checked::bytes(shape.kv, Checked::product({2, shape.batch, shape.kv_heads, shape.context}), shape.head_dim));
    return work("attention", flops, bytes);
}

Result<OpWork> norm_work(const NormShape& shape) {
    if (Status valid = all_in_range({{"rows", shape.rows}, {"columns", shape.columns}}); !valid.ok())
        return valid.error();
    const Checked rows = Checked::product({shape.rows});
    Checked bytes = Checked::bytes(shape.in, rows, shape.columns);
    bytes.plus(Checked::bytes(shape.out, rows, shape.columns));
    // A layer norm has a bias beside its weight.
    bytes.plus(Checked::bytes(shape.weight, Checked(shape.layer_norm ? 2 : 1), shape.columns));
    return work("norm", Checked::product({shape.layer_norm ? 7 : 4, shape.rows, shape.columns}), bytes);
}

Result<OpWork> elementwise_work(const ElementwiseShape& shape) {
    if (Status valid = all_in_range({{"elements", shape.elements},
                                     {"inputs", shape.inputs, 0},
                                     {"flops_per_element", shape.flops_per_element, 0}});
        !valid.ok())
        return valid.error();
    Checked bytes = Checked::bytes(shape.out, Checked(1), shape.elements);
    bytes.plus(Checked::bytes(shape.in, Checked::product({shape.inputs}), shape.elements));
    return work("element-wise op", Checked::product({shape.elements, shape.flops_per_element}), bytes);
}

}    // namespace lapwing
