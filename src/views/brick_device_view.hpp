// Bricks that a device times: what is known of them until their spans are harvested.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lapwing/brick_profiler.hpp"
#include "lapwing/sink.hpp"

namespace lapwing::detail {

/// A brick between its start on the device and its harvest.
struct BrickDeviceEntry {
    std::atomic<uint32_t> tag{0};    // 0 = free
    uint16_t brick = kNoBrick;
    uint16_t parent = kNoBrick;
    bool warmup = false;
    DeviceToken token;
    BrickSample work;
};

/// Entries by tag. Tags count up over the process, so that another profiler's are never taken for ours.
class BrickDeviceTable {
public:
    static constexpr uint32_t kEntries = 65536;    // as many spans as a queue's ring holds at most

    /// Cold, once.
    void make() {
        if (entries_ == nullptr) entries_ = std::make_unique<BrickDeviceEntry[]>(kEntries);
    }
    [[nodiscard]] BrickDeviceEntry& at(uint32_t tag) noexcept { return entries_[tag % kEntries]; }
    /// The entry of a span, or null for a tag that is not ours.
    [[nodiscard]] BrickDeviceEntry* find(uint32_t tag) noexcept {
        if (tag == 0 || entries_ == nullptr) return nullptr;
        BrickDeviceEntry& entry = at(tag);
        return entry.tag.load(std::memory_order_acquire) == tag ? &entry : nullptr;
    }
    [[nodiscard]] static uint32_t next_tag() noexcept;

private:
    std::unique_ptr<BrickDeviceEntry[]> entries_;
};

/// The profiler as a consumer of harvested spans.
class BrickDeviceView final : public SpanSink {
public:
    explicit BrickDeviceView(BrickProfiler& profiler) : profiler_(profiler) {}
    Status process(const ProcessInfo&) override { return {}; }
    Status device(const DeviceInfo&) override { return {}; }
    Status track(const TrackInfo&) override { return {}; }
    Status site(SiteId id, const Site& site) override;
    Status spans(std::span<const SpanRecord> spans) override;
    Status step(const StepRecord&) override { return {}; }
    Status stats(const RecordingStats&) override { return {}; }
    Status close() override { return {}; }

private:
    BrickProfiler& profiler_;
    std::vector<bool> is_brick_;    // by site: tags of other producers may equal ours
};

}    // namespace lapwing::detail
