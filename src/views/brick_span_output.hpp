// A profiler's host samples on their way into a sink.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lapwing/brick_profiler.hpp"
#include "lapwing/loss.hpp"
#include "lapwing/process_sites.hpp"
#include "lapwing/sink.hpp"
#include "views/brick_names.hpp"
#include "views/brick_shard.hpp"

namespace lapwing::detail {

/// Threads: under the profiler's mutex.
class BrickSpanOutput {
public:
    BrickSpanOutput(SpanSink& sink, const BrickSinkOptions& options, const BrickNames& names);

    void add(BrickShard& shard, const BrickRecord& record, int64_t begin_ns, int64_t duration_ns, bool warmup);
    /// Hands a shard's spans over, in order of begin.
    void deliver();
    Status flush();
    Status close(const LossCounts& lost);
    [[nodiscard]] const LossCounts& lost() const noexcept { return lost_; }
    [[nodiscard]] const Status& status() const noexcept { return status_; }

private:
    void keep(Status status);
    void announce(BrickShard& shard);

    SpanSink& sink_;
    BrickSinkOptions options_;
    const BrickNames& names_;
    SiteAnnouncer sites_;
    std::unordered_map<uint64_t, SiteId> site_of_;    // by brick, layer and warm-up
    std::vector<SpanRecord> batch_;
    LossCounts lost_;
    Status status_;
    TrackId next_track_;
    int64_t begun_ns_;
};

/// What tells the sites of a profiler's bricks apart on one clock.
[[nodiscard]] constexpr uint64_t brick_site_key(uint16_t brick, int16_t layer, bool warmup) noexcept {
    return uint64_t{brick} << 32 | uint64_t{static_cast<uint16_t>(layer)} << 8 | (warmup ? 1u : 0u);
}

}    // namespace lapwing::detail
