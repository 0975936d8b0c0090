#include "lapwing/brick_id.hpp"

namespace lapwing {
namespace {

struct Known {
    const char* name;
    std::array<const char*, 3> others;    // further spellings; null = none
    BrickCategory category;
};

using C = BrickCategory;
constexpr std::array<Known, kBrickIdCount> kKnown{{
    {"RmsNorm", {}, C::kNorm},
    {"LayerNorm", {}, C::kNorm},
    {"QkvProjection", {"Qkv"}, C::kAttention},
    {"RopeEmbedding", {"Rope", "RoPE"}, C::kAttention},
    {"AttentionScore", {}, C::kAttention},
    {"AttentionSoftmax", {"Softmax"}, C::kAttention},
    {"AttentionOutput", {}, C::kAttention},
    {"OutputProjection", {"OutProj"}, C::kAttention},
    {"GateProjection", {"Gate"}, C::kFfn},
    {"UpProjection", {"Up"}, C::kFfn},
    {"Activation", {"SiLU", "GELU", "ReLU"}, C::kFfn},
    {"DownProjection", {"Down"}, C::kFfn},
    {"Embedding", {"Embed"}, C::kOther},
    {"LmHead", {"Head"}, C::kOther},
    {"Sampling", {"Sample"}, C::kOther},
    {"SpMV", {"spmv"}, C::kSparse},
    {"SpMM", {"spmm"}, C::kSparse},
    {"FormatConvert", {}, C::kSparse},
    {"FFT1D", {"fft1d", "FFT"}, C::kFft},
    {"FFT2D", {"fft2d"}, C::kFft},
    {"LUFactorize", {"LU"}, C::kSolver},
    {"QRFactorize", {"QR"}, C::kSolver},
    {"SVDCompute", {"SVD"}, C::kSolver},
}};

constexpr std::array<const char*, kBrickCategoryCount> kCategoryNames{"Norm",   "Attention", "FFN",   "Other",
                                                                      "Sparse", "FFT",       "Solver"};

}    // namespace

const char* to_text(BrickId id) noexcept {
    const auto number = static_cast<std::size_t>(id);
    return number < kBrickIdCount ? kKnown[number].name : "(unknown)";
}

const char* to_text(BrickCategory category) noexcept {
    const auto number = static_cast<std::size_t>(category);
    return number < kBrickCategoryCount ? kCategoryNames[number] : "(user)";
}

std::optional<BrickId> parse_brick_id(std::string_view name) noexcept {
    for (std::size_t i = 0; i < kBrickIdCount; ++i) {
        if (name == kKnown[i].name) return static_cast<BrickId>(i);
        for (const char* other : kKnown[i].others)
            if (other != nullptr && name == other) return static_cast<BrickId>(i);
    }
    return std::nullopt;
}

BrickCategory category_of(BrickId id) noexcept {
    const auto number = static_cast<std::size_t>(id);
    return number < kBrickIdCount ? kKnown[number].category : BrickCategory::kOther;
}

}    // namespace lapwing
