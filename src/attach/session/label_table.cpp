#include "attach/session/label_table.hpp"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace lapwing::attach {

struct LabelTable::State {
    mutable std::shared_mutex mutex;
    std::size_t capacity = 0;
    std::size_t bytes_left = 0;
    std::string other = "other";
    std::deque<std::string> texts;    // a deque never moves what it holds, so views and pointers into it stay valid
    std::unordered_map<std::string_view, const std::string*> by_text;
};

LabelTable::LabelTable(std::size_t capacity, std::size_t max_bytes) : state_(std::make_unique<State>()) {
    state_->capacity = capacity;
    state_->bytes_left = max_bytes;
}
LabelTable::~LabelTable() = default;

const std::string* LabelTable::intern(std::string_view text) {
    State& state = *state_;
    {
        const std::shared_lock lock(state.mutex);
        if (const auto found = state.by_text.find(text); found != state.by_text.end()) return found->second;
        if (state.texts.size() >= state.capacity || text.size() > state.bytes_left) return &state.other;
    }
    const std::unique_lock lock(state.mutex);
    if (const auto found = state.by_text.find(text); found != state.by_text.end()) return found->second;
    if (state.texts.size() >= state.capacity || text.size() > state.bytes_left) return &state.other;
    const std::string& kept = state.texts.emplace_back(text);
    state.by_text.emplace(kept, &kept);
    state.bytes_left -= text.size();
    return &kept;
}

const std::string* LabelTable::other() const noexcept {
    return &state_->other;
}

std::size_t LabelTable::size() const {
    const std::shared_lock lock(state_->mutex);
    return state_->texts.size();
}

}    // namespace lapwing::attach
