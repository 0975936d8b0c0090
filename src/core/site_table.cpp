#include "lapwing/site_table.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace lapwing {

namespace {
constexpr std::size_t kKinds = static_cast<std::size_t>(SpanKind::kHost) + 1;

std::array<const std::string*, 8> texts_of(const Site& site) noexcept {
    return {&site.label, &site.op, &site.kernel, &site.note, &site.category, &site.family, &site.phase, &site.lane};
}

std::size_t hash_of(const Site& site) noexcept {
    const std::hash<std::string_view> hash_text;
    const auto mix = [](std::size_t seed, std::size_t value) {
        return seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2));
    };
    std::size_t seed = 0;
    for (const std::string* text : texts_of(site)) seed = mix(seed, hash_text(*text));
    seed = mix(seed, static_cast<std::size_t>(site.layer));
    for (const uint32_t extent : site.grid) seed = mix(seed, extent);
    const auto flags = static_cast<std::size_t>(site.kind) << 3 | static_cast<std::size_t>(site.container) << 2 |
                       static_cast<std::size_t>(site.warmup) << 1 | static_cast<std::size_t>(site.validity);
    for (const std::optional<uint64_t>& work : {site.flops, site.bytes})
        seed = mix(seed, work ? static_cast<std::size_t>(*work) + 1 : 0);
    return mix(seed, flags);
}

std::size_t text_bytes(const Site& site) noexcept {
    std::size_t bytes = 0;
    for (const std::string* text : texts_of(site)) bytes += text->size();
    return bytes;
}
}    // namespace

struct SiteTable::State {
    mutable std::mutex mutex;
    std::size_t capacity = 0;
    std::size_t bytes_left = 0;
    std::size_t told_apart = 0;
    uint64_t folded = 0;
    std::deque<Site> sites;    // sites[id - 1]
    std::unordered_multimap<std::size_t, SiteId> by_hash;
    std::array<SiteId, kKinds> others{};    // 0 = not given out yet
};

SiteTable::SiteTable(std::size_t capacity, std::size_t max_bytes) : state_(std::make_unique<State>()) {
    state_->capacity = capacity;
    state_->bytes_left = max_bytes;
}
SiteTable::~SiteTable() = default;

Site SiteTable::other(SpanKind kind) {
    Site site;
    site.op = "other";
    site.kind = kind;
    return site;
}

SiteTable::Interned SiteTable::intern(const Site& site) {
    const std::size_t hash = hash_of(site);
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    const auto [begin, end] = state.by_hash.equal_range(hash);
    for (auto it = begin; it != end; ++it)
        if (state.sites[it->second - 1] == site) return {it->second, false, false};

    const std::size_t bytes = text_bytes(site);
    if (state.told_apart < state.capacity && bytes <= state.bytes_left) {
        ++state.told_apart;
        state.bytes_left -= bytes;
        state.sites.push_back(site);
        const auto id = static_cast<SiteId>(state.sites.size());
        state.by_hash.emplace(hash, id);
        return {id, true, false};
    }
    ++state.folded;
    SiteId& other_id = state.others[std::min(static_cast<std::size_t>(site.kind), kKinds - 1)];
    const bool fresh = other_id == 0;
    if (fresh) {
        state.sites.push_back(other(site.kind));
        other_id = static_cast<SiteId>(state.sites.size());
    }
    return {other_id, fresh, true};
}

Site SiteTable::at(SiteId id) const {
    const std::lock_guard lock(state_->mutex);
    if (id == 0 || id > state_->sites.size()) return {};
    return state_->sites[id - 1];
}

std::size_t SiteTable::size() const noexcept {
    const std::lock_guard lock(state_->mutex);
    return state_->sites.size();
}

uint64_t SiteTable::folded() const noexcept {
    const std::lock_guard lock(state_->mutex);
    return state_->folded;
}

}    // namespace lapwing
