#include "views/brick_names.hpp"

#include <algorithm>

#include "lapwing/process_sites.hpp"

namespace lapwing::detail {

BrickNames::BrickNames(uint16_t max_named) : max_bricks_(kBrickIdCount + max_named) {
    for (const BrickId id : all_brick_ids()) bricks_.push_back({to_text(id), category_of(id), {}});
    for (std::size_t i = 0; i < kBrickCategoryCount; ++i)
        categories_.emplace_back(to_text(static_cast<BrickCategory>(i)));
}

Result<uint16_t> BrickNames::key_of(std::string_view name) {
    if (const auto id = parse_brick_id(name)) return static_cast<uint16_t>(*id);
    const std::lock_guard lock(mutex_);
    const auto found = keys_.find(name);
    return found != keys_.end() ? Result<uint16_t>(found->second) : add_locked(name, BrickCategory::kOther);
}

Result<uint16_t> BrickNames::add(std::string_view name, BrickCategory category) {
    const auto id = parse_brick_id(name);
    const std::lock_guard lock(mutex_);
    if (static_cast<std::size_t>(category) >= categories_.size())
        return Error{Errc::kInvalidArgument, 0,
                     "brick \"" + std::string(name) + "\": category " + std::to_string(static_cast<int>(category)) +
                         " is unknown: get one from register_category()"};
    const auto found = keys_.find(name);
    if (!id && found == keys_.end()) return add_locked(name, category);
    const uint16_t key = id ? static_cast<uint16_t>(*id) : found->second;
    if (bricks_[key].category != category)
        return Error{Errc::kInvalidArgument, 0,
                     "brick \"" + std::string(name) + "\" is already known, with category \"" +
                         categories_[static_cast<std::size_t>(bricks_[key].category)] + "\": use another name"};
    return key;
}

Result<uint16_t> BrickNames::add_locked(std::string_view name, BrickCategory category) {
    if (name.empty()) return Error{Errc::kInvalidArgument, 0, "a brick needs a name that is not empty"};
    if (bricks_.size() >= max_bricks_)
        return Error{Errc::kExhausted, 0,
                     "no room for brick \"" + std::string(name) + "\": there are " + std::to_string(bricks_.size()) +
                         " names already; raise BrickProfilerOptions::max_named_bricks, or use fewer names"};
    const auto key = static_cast<uint16_t>(bricks_.size());
    bricks_.push_back({std::string(name), category, {}});
    keys_.emplace(name, key);
    return key;
}

Result<BrickCategory> BrickNames::add_category(std::string_view name) {
    if (name.empty()) return Error{Errc::kInvalidArgument, 0, "a category needs a name that is not empty"};
    const std::lock_guard lock(mutex_);
    const auto found = std::find(categories_.begin(), categories_.end(), name);
    if (found != categories_.end()) return static_cast<BrickCategory>(found - categories_.begin());
    if (categories_.size() >= kMaxCategories)
        return Error{Errc::kExhausted, 0, "no room for category \"" + std::string(name) + "\": 64 are the limit"};
    categories_.emplace_back(name);
    return static_cast<BrickCategory>(categories_.size() - 1);
}

BrickNames::Brick BrickNames::brick(uint16_t key) const {
    const std::lock_guard lock(mutex_);
    return bricks_[key];
}
void BrickNames::set_work(uint16_t key, const OpWork& work) {
    const std::lock_guard lock(mutex_);
    bricks_[key].work = work;
}
std::vector<std::string> BrickNames::categories() const {
    const std::lock_guard lock(mutex_);
    return categories_;
}
uint16_t BrickNames::size() const {
    const std::lock_guard lock(mutex_);
    return static_cast<uint16_t>(bricks_.size());
}

SiteId BrickNames::site(uint16_t key, int16_t layer, SpanKind kind, bool warmup) const {
    Site site;
    {
        const std::lock_guard lock(mutex_);
        site.op = bricks_[key].name;
        site.flops = bricks_[key].work.flops;
        site.bytes = bricks_[key].work.bytes;
        site.category = categories_[static_cast<std::size_t>(bricks_[key].category)];
    }
    site.label = site.op;
    site.layer = layer;
    site.kind = kind;
    site.warmup = warmup;
    return process_site(site);
}

}    // namespace lapwing::detail
