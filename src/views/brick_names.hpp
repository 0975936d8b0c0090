// Which names a profiler knows, and which categories.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/brick_id.hpp"
#include "lapwing/op_work.hpp"
#include "lapwing/record.hpp"
#include "lapwing/result.hpp"
#include "views/brick_shard.hpp"

namespace lapwing::detail {

/// The 23 ids first, then names as they come. Threads: any.
class BrickNames {
public:
    explicit BrickNames(uint16_t max_named);

    /// The key of a name; a new one of category Other where it is new.
    [[nodiscard]] Result<uint16_t> key_of(std::string_view name);
    [[nodiscard]] Result<uint16_t> add(std::string_view name, BrickCategory category);
    [[nodiscard]] Result<BrickCategory> add_category(std::string_view name);

    struct Brick {
        std::string name;
        BrickCategory category = BrickCategory::kOther;
        OpWork work{};
    };
    [[nodiscard]] Brick brick(uint16_t key) const;
    void set_work(uint16_t key, const OpWork& work);
    [[nodiscard]] std::vector<std::string> categories() const;
    [[nodiscard]] uint16_t size() const;

    /// The number of a brick's spans in the process.
    [[nodiscard]] SiteId site(uint16_t key, int16_t layer, SpanKind kind, bool warmup) const;

private:
    static constexpr std::size_t kMaxCategories = 64;
    [[nodiscard]] Result<uint16_t> add_locked(std::string_view name, BrickCategory category);

    mutable std::mutex mutex_;
    std::size_t max_bricks_;
    std::vector<Brick> bricks_;
    TextMap<uint16_t> keys_;    // beside the ids and their spellings
    std::vector<std::string> categories_;
};

}    // namespace lapwing::detail
