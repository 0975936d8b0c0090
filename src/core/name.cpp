#include "lapwing/name.hpp"

#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

namespace lapwing {

namespace {
constexpr std::string_view kOther = "other";
}    // namespace

struct NameTable::State {
    mutable std::mutex mutex;
    NameTableOptions options;
    std::deque<std::string> texts;    // texts[id - 1]; a deque never moves what it holds
    std::unordered_map<std::string_view, NameId> ids;
    std::size_t told_apart = 0;
    std::size_t bytes = 0;
    NameId other = 0;    // 0 = not given out yet
    uint64_t overflowed = 0;

    NameId append(std::string_view name) {
        texts.emplace_back(name);
        bytes += name.size();
        return static_cast<NameId>(texts.size());
    }
};

NameTable::NameTable(const NameTableOptions& options) : state_(std::make_unique<State>()) {
    state_->options = options;
}
NameTable::~NameTable() = default;

NameId NameTable::intern(std::string_view name) {
    if (name.empty()) return 0;
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    const auto known = state.ids.find(name);
    if (known != state.ids.end()) return known->second;
    const NameTableOptions& limits = state.options;
    if (state.told_apart < limits.max_names && name.size() <= limits.max_name_bytes &&
        state.bytes + name.size() <= limits.max_bytes) {
        const NameId id = state.append(name);
        state.ids.emplace(state.texts.back(), id);
        ++state.told_apart;
        return id;
    }
    ++state.overflowed;
    // Not in `ids`: a program's own "other" is a name of its own.
    if (state.other == 0) state.other = state.append(kOther);
    return state.other;
}

std::string_view NameTable::text(NameId id) const noexcept {
    const std::lock_guard lock(state_->mutex);
    if (id == 0 || id > state_->texts.size()) return {};
    return state_->texts[id - 1];
}

std::size_t NameTable::size() const noexcept {
    const std::lock_guard lock(state_->mutex);
    return state_->texts.size();
}

std::size_t NameTable::bytes() const noexcept {
    const std::lock_guard lock(state_->mutex);
    return state_->bytes;
}

uint64_t NameTable::overflowed() const noexcept {
    const std::lock_guard lock(state_->mutex);
    return state_->overflowed;
}

}    // namespace lapwing
