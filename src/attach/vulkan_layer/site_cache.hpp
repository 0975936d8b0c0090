// From what a command was recorded with to the number of its site, without making the site's texts each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "attach/session/session.hpp"
#include "attach/vulkan_layer/recording.hpp"

namespace lapwing::attach::vulkan_layer {

/// Threads: one at a time.
class SiteCache {
public:
    /// Throws std::bad_alloc.
    [[nodiscard]] SiteId find(const RecordedOp& op, bool warmup, Session& session, uint64_t names_generation);

private:
    struct Key {
        const PipelineInfo* pipeline = nullptr;
        const std::string* op_label = nullptr;
        const std::string* kernel_label = nullptr;
        std::array<uint32_t, 3> grid{};
        SpanKind kind = SpanKind::kDispatch;
        bool warmup = false;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept;
    };
    std::unordered_map<Key, SiteId, Hash> known_;
    uint64_t generation_ = 0;
};

}    // namespace lapwing::attach::vulkan_layer
