#include "lapwing/brick_snapshot.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "views/brick_state.hpp"

namespace lapwing {
namespace {

bool has_any(const BrickStats& stats) noexcept {
    return stats.count() != 0 || stats.warmup_count != 0 || stats.until_sync_count != 0;
}

void merge_layers(std::vector<LayerStats>& into, const std::vector<LayerStats>& from) {
    for (const LayerStats& layer : from) {
        auto at = std::find_if(into.begin(), into.end(),
                               [&layer](const LayerStats& known) { return known.layer == layer.layer; });
        if (at == into.end()) at = into.insert(at, LayerStats{.layer = layer.layer});
        at->count += layer.count;
        at->total_ns += layer.total_ns;
        at->wait_ns += layer.wait_ns;
    }
    std::sort(into.begin(), into.end(), [](const LayerStats& a, const LayerStats& b) { return a.layer < b.layer; });
}

void sum_up(BrickSnapshot& out) {
    for (const BrickStats& brick : out.bricks) {
        CategoryStats& category = out.categories[static_cast<std::size_t>(brick.category)];
        category.count += brick.count();
        category.total_ns += brick.total_ns;
        category.total_elements += brick.total_elements;
        category.exclusive_ns += brick.exclusive_ns();
        out.total_ns += brick.total_ns;
        out.total_elements += brick.total_elements;
        out.exclusive_ns += brick.exclusive_ns();
    }
}

}    // namespace

BrickSnapshot BrickProfiler::snapshot() const {
    State& state = *impl_;
    BrickSnapshot out;
    const std::lock_guard lock(state.mutex);
    detail::BrickTallies host(state.max_keys());
    for (const auto& shard : state.shards) {
        const std::lock_guard shard_lock(shard->mutex);
        state.fold(*shard, state.output.get());
        for (std::size_t key = 0; key < shard->tallies.size(); ++key)
            if (const detail::BrickTally* tally = shard->tallies.find(key))
                host.at(static_cast<uint16_t>(key)).stats.merge(tally->stats);
        merge_layers(out.layers, shard->layers);
        out.pending += shard->pending.size();
    }
    const std::vector<std::string> category_names = state.names.categories();
    for (const BrickClock clock : {BrickClock::kHost, BrickClock::kDevice}) {
        const detail::BrickTallies& tallies = clock == BrickClock::kHost ? host : state.device_tallies;
        for (std::size_t key = 0; key < tallies.size(); ++key) {
            const detail::BrickTally* const tally = tallies.find(key);
            if (tally == nullptr || !has_any(tally->stats)) continue;
            BrickStats& brick = out.bricks.emplace_back(tally->stats);
            const detail::BrickNames::Brick named = state.names.brick(static_cast<uint16_t>(key));
            brick.name = named.name;
            brick.category = named.category;
            brick.category_name = category_names[static_cast<std::size_t>(named.category)];
            brick.clock = clock;
            if (key < state.bottlenecks.size()) brick.bottleneck = state.bottlenecks[key];
        }
    }
    std::sort(out.bricks.begin(), out.bricks.end(), [](const BrickStats& a, const BrickStats& b) {
        return std::tie(b.total_ns, a.name, a.clock) < std::tie(a.total_ns, b.name, b.clock);
    });
    for (std::size_t i = 0; i < category_names.size(); ++i) {
        CategoryStats& category = out.categories.emplace_back();
        category.category = static_cast<BrickCategory>(i);
        category.name = category_names[i];
    }
    sum_up(out);
    out.enabled = is_enabled();
    out.sync_mode = sync_mode();
    out.warmup_samples = state.options.warmup_samples;
    out.total_tokens = state.tokens;
    for (std::size_t i = 0; i < kBrickFaultCount; ++i) out.faults[i] = state.faults[i].load(std::memory_order_relaxed);
    out.overlapping = state.overlapping.load(std::memory_order_relaxed);
    out.l2_cache_hit_rate = state.l2_cache_hit_rate;
    out.zero_copy = state.zero_copy;
    return out;
}

double BrickSnapshot::total_throughput() const noexcept {
    return total_ns == 0 ? 0 : static_cast<double>(total_elements) * 1e9 / static_cast<double>(total_ns);
}

std::optional<double> BrickSnapshot::tokens_per_sec() const noexcept {
    if (!total_tokens || *total_tokens == 0 || exclusive_ns <= 0) return std::nullopt;
    return static_cast<double>(*total_tokens) * 1e9 / static_cast<double>(exclusive_ns);
}

Result<const BrickStats*> BrickSnapshot::stats(std::string_view name) const {
    const Result<const BrickStats*> on_device = stats(name, BrickClock::kDevice);
    return on_device.ok() ? on_device : stats(name, BrickClock::kHost);
}

Result<const BrickStats*> BrickSnapshot::stats(std::string_view name, BrickClock clock) const {
    const auto id = parse_brick_id(name);
    const std::string_view wanted = id ? std::string_view(to_text(*id)) : name;
    for (const BrickStats& brick : bricks)
        if (brick.name == wanted && brick.clock == clock) return &brick;
    return Error{Errc::kNotFound, 0,
                 "no samples of brick \"" + std::string(name) + "\" on the " + to_text(clock) +
                     " clock: BrickSnapshot::bricks has those there are; was the profiler enabled?"};
}

}    // namespace lapwing
