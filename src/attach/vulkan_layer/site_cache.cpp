#include "attach/vulkan_layer/site_cache.hpp"

#include <functional>

#include "attach/vulkan_layer/names.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
// The session's table is bounded, this cache in front of it must be as well.
constexpr std::size_t kMaxKnown = 65536;

std::string_view view(const std::string* text) noexcept {
    return text == nullptr ? std::string_view{} : std::string_view(*text);
}
}    // namespace

std::size_t SiteCache::Hash::operator()(const Key& key) const noexcept {
    const std::hash<const void*> hash_pointer;
    std::size_t seed = hash_pointer(key.pipeline);
    const auto mix = [&](std::size_t value) { seed ^= value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2); };
    mix(hash_pointer(key.op_label));
    mix(hash_pointer(key.kernel_label));
    for (const uint32_t extent : key.grid) mix(extent);
    mix(static_cast<std::size_t>(key.kind) << 1 | static_cast<std::size_t>(key.warmup));
    return seed;
}

SiteId SiteCache::find(const RecordedOp& op, bool warmup, Session& session, uint64_t names_generation) {
    if (names_generation != generation_ || known_.size() >= kMaxKnown) known_.clear();
    generation_ = names_generation;
    const Key key{op.pipeline, op.op_label, op.kernel_label, op.grid, op.kind, warmup};
    if (const auto found = known_.find(key); found != known_.end()) return found->second;

    CommandNames names;
    names.op_label = view(op.op_label);
    names.kernel_label = view(op.kernel_label);
    if (op.pipeline != nullptr) {
        names.pipeline = view(op.pipeline->name.load(std::memory_order_acquire));
        names.fallback = view(op.pipeline->fallback);
    }
    const SiteId id = session.site(make_site(op.kind, names, op.grid, warmup));
    known_.emplace(key, id);
    return id;
}

}    // namespace lapwing::attach::vulkan_layer
