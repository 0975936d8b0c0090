#include "attach/vulkan_layer/label_stack.hpp"

#include <algorithm>

#include "attach/vulkan_layer/names.hpp"

namespace lapwing::attach::vulkan_layer {

void LabelStack::push(const char* label) {
    if (depth_ < kMaxDepth) {
        if (depth_ == entries_.size()) entries_.emplace_back();
        Entry& entry = entries_[depth_];
        entry.text.assign(label == nullptr ? "" : label);
        entry.interned = nullptr;
    }
    ++depth_;
}

void LabelStack::pop() noexcept {
    if (depth_ > 0) --depth_;
}

CommandLabels LabelStack::name_command(std::string_view pipeline, LabelTable& table) {
    CommandLabels out;
    std::size_t open = std::min(depth_, kMaxDepth);
    if (open == 0) return out;

    const std::string_view innermost = entries_[open - 1].text;
    const std::string_view stripped = without_grid(innermost);
    if (!pipeline.empty() && stripped == pipeline) {
        --open;
    } else if (pipeline.empty() && stripped.size() < innermost.size()) {
        out.kernel = table.intern(stripped);
        --open;
    }
    if (open == 0) return out;
    Entry& op = entries_[open - 1];
    if (op.text.empty() || is_region_label(op.text)) return out;
    out.op = interned(op, table);
    return out;
}

const std::string* LabelStack::interned(Entry& entry, LabelTable& table) {
    if (entry.interned == nullptr) entry.interned = table.intern(entry.text);
    return entry.interned;
}

}    // namespace lapwing::attach::vulkan_layer
