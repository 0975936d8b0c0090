#include "views/brick_device_view.hpp"

#include "views/brick_state.hpp"

namespace lapwing {

using detail::BrickDeviceEntry;
using detail::BrickThread;

uint32_t detail::BrickDeviceTable::next_tag() noexcept {
    static constinit std::atomic<uint32_t> last{0};
    uint32_t tag = 0;
    while (tag == 0) tag = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return tag;
}

uint64_t BrickProfiler::start_on_device(BrickThread& thread, uint16_t key, uint16_t parent) noexcept {
    BrickDevice* const device = impl_->device.load(std::memory_order_acquire);
    if (device == nullptr) return 0;    // unbound meanwhile: stop_on_device() counts it
    const uint32_t tag = detail::BrickDeviceTable::next_tag();
    BrickDeviceEntry& entry = impl_->device_table.at(tag);
    // Its span never came, and 65 535 others did.
    if (entry.tag.load(std::memory_order_acquire) != 0) count_fault(BrickFault::kDeviceLost);
    entry.brick = key;
    entry.parent = parent;
    entry.warmup = impl_->take_warmup(key, BrickClock::kDevice);
    entry.tag.store(tag, std::memory_order_release);
    SiteId& site = static_cast<detail::BrickShard&>(thread)
                       .device_sites[detail::brick_site_key(key, thread.place.layer(), entry.warmup)];
    if (site == 0) site = impl_->names.site(key, thread.place.layer(), SpanKind::kDispatch, entry.warmup);
    entry.token = device->begin(site, tag);
    return tag;
}

BrickFault BrickProfiler::stop_on_device(BrickTimer started, const BrickSample& work) noexcept {
    const Nesting nesting = leave(started);
    BrickDevice* const device = impl_->device.load(std::memory_order_acquire);
    BrickDeviceEntry* const entry = impl_->device_table.find(static_cast<uint32_t>(started.begin));
    const DeviceToken token = entry != nullptr ? entry->token : DeviceToken{};
    if (device != nullptr && token != DeviceToken{} && work.elements != 0) {
        entry->work = work;
        if (nesting == Nesting::kNone) entry->parent = detail::kNoBrick;
        device->end(token);    // hands the entry over to whoever harvests the span
        return BrickFault::kNone;
    }
    // The span is ended all the same, so that the ring gets its slot back; nobody claims it.
    if (entry != nullptr) entry->tag.store(0, std::memory_order_release);
    if (device != nullptr) device->end(token);
    return count_fault(work.elements == 0 ? BrickFault::kNoElements : BrickFault::kDeviceLost);
}

namespace detail {

Status BrickDeviceView::site(SiteId id, const Site& site) {
    if (id >= is_brick_.size()) is_brick_.resize(id + std::size_t{1});
    is_brick_[id] = !site.category.empty();
    return {};
}

Status BrickDeviceView::spans(std::span<const SpanRecord> spans) {
    BrickProfiler::State& state = *profiler_.impl_;
    const std::lock_guard lock(state.mutex);
    for (const SpanRecord& span : spans) {
        if (span.site >= is_brick_.size() || !is_brick_[span.site]) continue;
        BrickDeviceEntry* const entry = state.device_table.find(span.tag);
        if (entry == nullptr) continue;
        state.add_device_sample(*entry, static_cast<uint64_t>(span.duration_ns));
        entry->tag.store(0, std::memory_order_release);
    }
    return {};
}

}    // namespace detail

}    // namespace lapwing
