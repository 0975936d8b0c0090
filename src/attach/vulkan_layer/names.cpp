#include "attach/vulkan_layer/names.hpp"

#include <algorithm>
#include <charconv>

namespace lapwing::attach::vulkan_layer {

namespace {
constexpr std::size_t kMaxLayerDigits = 4;

constexpr bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}
constexpr bool is_upper(char c) noexcept {
    return c >= 'A' && c <= 'Z';
}

bool is_operation_word(std::string_view word) noexcept {
    return !word.empty() && is_upper(word[0]) && std::all_of(word.begin(), word.end(), [](char c) {
        return is_upper(c) || is_digit(c) || c == '_' || c == '+';
    });
}

// A word's trailing "-N" or "_lN": the layer and where the suffix begins.
struct LayerSuffix {
    int32_t layer = -1;
    std::size_t begin = std::string_view::npos;
};

LayerSuffix layer_suffix(std::string_view word) noexcept {
    std::size_t digits = 0;
    while (digits < word.size() && is_digit(word[word.size() - 1 - digits])) ++digits;
    if (digits == 0 || digits > kMaxLayerDigits) return {};
    const std::string_view stem = word.substr(0, word.size() - digits);
    LayerSuffix found;
    if (stem.size() >= 2 && stem.ends_with('-')) found.begin = stem.size() - 1;
    if (stem.size() >= 3 && stem.ends_with("_l")) found.begin = stem.size() - 2;
    if (found.begin == std::string_view::npos) return {};
    std::from_chars(word.data() + stem.size(), word.data() + word.size(), found.layer);
    return found;
}

// Calls visit(word) for each space-separated word until it returns false.
template <class Visit>
void each_word(std::string_view text, Visit visit) {
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        if (end > begin && !visit(text.substr(begin, end - begin))) return;
        begin = end + 1;
    }
}
}    // namespace

OpName parse_op_label(std::string_view label) noexcept {
    OpName out;
    bool in_operations = true;
    std::string_view first_word;
    each_word(label, [&](std::string_view word) {
        if (first_word.empty()) first_word = word;
        if (in_operations && is_operation_word(word)) {
            const char* const begin = out.op.empty() ? word.data() : out.op.data();
            out.op = {begin, static_cast<std::size_t>(word.data() + word.size() - begin)};
            return true;
        }
        in_operations = false;
        out.layer = layer_suffix(word).layer;
        return out.layer < 0;
    });
    if (out.op.empty()) {
        // Not an engine that writes operation words: what it wrote is the op, in one row for all layers.
        const LayerSuffix suffix = layer_suffix(first_word);
        out.op = suffix.layer >= 0 ? first_word.substr(0, suffix.begin) : label;
    }
    return out;
}

std::string_view without_grid(std::string_view label) noexcept {
    if (!label.ends_with(')')) return label;
    const std::size_t open = label.rfind(" (");
    if (open == std::string_view::npos || open == 0) return label;
    const std::string_view inside = label.substr(open + 2, label.size() - open - 3);
    const auto commas = std::count(inside.begin(), inside.end(), ',');
    const bool numbers = std::all_of(inside.begin(), inside.end(), [](char c) { return is_digit(c) || c == ','; });
    const bool filled = !inside.empty() && is_digit(inside.front()) && is_digit(inside.back()) &&
                        inside.find(",,") == std::string_view::npos;
    return commas == 2 && numbers && filled ? label.substr(0, open) : label;
}

bool is_region_label(std::string_view label) noexcept {
    constexpr std::string_view kPrefix = "submit ";
    if (!label.starts_with(kPrefix) || label.size() == kPrefix.size()) return false;
    return std::all_of(label.begin() + kPrefix.size(), label.end(), is_digit);
}

std::string_view given_name(std::string_view object_name) noexcept {
    if (!object_name.starts_with("DawnDbg=")) return object_name;
    const std::size_t type = object_name.find(";Dawn_");
    if (type == std::string_view::npos) return object_name;
    const std::string_view rest = object_name.substr(type + std::string_view(";Dawn_").size());
    const std::size_t label = rest.find('_');
    return label == std::string_view::npos ? std::string_view{} : rest.substr(label + 1);
}

Site make_site(SpanKind kind, const CommandNames& names, const std::array<uint32_t, 3>& grid, bool warmup) {
    Site site;
    site.kind = kind;
    site.grid = grid;
    site.warmup = warmup;
    if (!names.op_label.empty()) {
        const OpName op = parse_op_label(names.op_label);
        site.label = names.op_label;
        site.op = op.op;
        site.layer = op.layer;
    }
    if (kind == SpanKind::kDispatch) {
        site.kernel = names.pipeline;
        if (site.kernel.empty()) site.kernel = names.kernel_label;
        if (site.kernel.empty()) site.kernel = names.fallback;
    }
    return site;
}

}    // namespace lapwing::attach::vulkan_layer
