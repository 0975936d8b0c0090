#include "lapwing/sim_backend.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "lapwing/stamp.hpp"

namespace lapwing {

namespace {
constexpr uint64_t kNever = ~uint64_t{0};
constexpr uint64_t kFails = kNever - 1;
}    // namespace

// Zeroed memory is a slot that was never marked: pending for ever. Marked by one thread, polled by another; `due` is
// written last and read first.
struct SimBackend::Cell {
    uint64_t due_word;    ///< 1 + the number of polls at which it is there; 0 = never marked; kNever; kFails
    uint64_t value_word;
    uint32_t epoch_word;
    uint32_t reserved;

    [[nodiscard]] std::atomic_ref<uint64_t> due() noexcept { return std::atomic_ref<uint64_t>(due_word); }
    [[nodiscard]] std::atomic_ref<uint64_t> value() noexcept { return std::atomic_ref<uint64_t>(value_word); }
    [[nodiscard]] std::atomic_ref<uint32_t> epoch() noexcept { return std::atomic_ref<uint32_t>(epoch_word); }
};

void SimBackend::FreeMemory::operator()(Cell* cells) const noexcept {
    std::free(cells);
}

SimBackend::SimBackend(const SimOptions& options)
    : options_(options),
      ns_per_tick_((std::isfinite(options.ns_per_tick) && options.ns_per_tick > 0 ? options.ns_per_tick : 1) /
                   (1 + options.fast_ppm * 1e-6)),
      cells_(static_cast<Cell*>(std::calloc(options.max_stamps, sizeof(Cell)))),
      base_(options.start_ticks),
      host_base_ticks_(options.start_ticks),
      host_base_ns_(options.host_start_ns),
      ready_after_polls_(options.ready_after_polls) {
    LAPWING_ASSERT(cells_ != nullptr && options.quantum_ticks >= 1 && options.valid_bits <= 64);
}

SimBackend::~SimBackend() = default;

Caps SimBackend::caps(const Queue& /*queue*/) const {
    Caps caps;
    caps.ns_per_tick = options_.ns_per_tick;
    caps.valid_bits = options_.valid_bits;
    caps.resolution_ns = options_.ns_per_tick * static_cast<double>(options_.quantum_ticks);
    caps.calibrated = options_.calibrated;
    caps.reason = options_.valid_bits == 0 ? "the simulated queue has no timestamps"
                  : options_.calibrated    ? ""
                                           : "the simulated device has no calibrated timestamps";
    return caps;
}

uint64_t SimBackend::shown(uint64_t ticks) const noexcept {
    return (options_.quantum_ticks == 1 ? ticks : ticks - ticks % options_.quantum_ticks) &
           tick_mask(options_.valid_bits);
}

bool SimBackend::mark(const Queue& queue, uint32_t slot) noexcept {
    LAPWING_ASSERT(slot < options_.max_stamps);
    if (lost_.load(std::memory_order_relaxed)) return false;
    QueueClock& clock = clocks_[queue.index];
    // One writer a queue: no read-modify-write, as a driver that fills a command buffer has none.
    const uint64_t local = clock.local.load(std::memory_order_relaxed) + options_.ticks_per_mark;
    clock.local.store(local, std::memory_order_relaxed);
    clock.marks.store(clock.marks.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    const uint64_t ticks = base_.load(std::memory_order_relaxed) + local;
    Cell& cell = cells_[slot];
    if (scripted_.load(std::memory_order_relaxed)) [[unlikely]]
        return mark_with_fault(cell, ticks);
    const uint64_t now = polls_.load(std::memory_order_relaxed);
    cell.epoch().store(epoch_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    cell.value().store(shown(ticks), std::memory_order_relaxed);
    cell.due().store(now + 2 + ready_after_polls_.load(std::memory_order_relaxed), std::memory_order_release);
    return true;
}

bool SimBackend::mark_with_fault(Cell& cell, uint64_t ticks) noexcept {
    const std::optional<Scripted> fault = fault_of_next_mark();
    const uint64_t now = polls_.load(std::memory_order_relaxed);
    uint64_t due = now + 2 + ready_after_polls_.load(std::memory_order_relaxed);
    uint64_t value = shown(ticks);
    if (fault) {
        switch (fault->fault) {
            case SimFault::kZero:
                value = 0;
                break;
            case SimFault::kEarlier:
                value = shown(ticks - fault->amount);
                break;
            case SimFault::kLater:
                value = shown(ticks + fault->amount);
                break;
            case SimFault::kStale:
                value = cell.value().load(std::memory_order_relaxed);
                break;
            case SimFault::kMarkFails:
                return false;
            case SimFault::kResultFails:
                due = kFails;
                break;
            case SimFault::kNeverCompletes:
                due = kNever;
                break;
            case SimFault::kDelayed:
                due += fault->amount;
                break;
        }
    }
    cell.epoch().store(epoch_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    cell.value().store(value, std::memory_order_relaxed);
    cell.due().store(due, std::memory_order_release);
    return true;
}

std::optional<SimBackend::Scripted> SimBackend::fault_of_next_mark() noexcept {
    const std::lock_guard lock(script_mutex_);
    const uint64_t mark = script_marks_++;
    std::optional<Scripted> found;
    for (const Scripted& entry : script_)
        if (mark >= entry.from && mark < entry.to) found = entry;
    std::erase_if(script_, [mark](const Scripted& entry) { return entry.to <= mark + 1; });
    if (script_.empty()) scripted_.store(false, std::memory_order_relaxed);
    return found;
}

void SimBackend::script(SimFault fault, uint64_t count, uint64_t after, uint64_t amount) {
    const std::lock_guard lock(script_mutex_);
    script_.push_back({fault, script_marks_ + after, script_marks_ + after + count, amount});
    scripted_.store(true, std::memory_order_relaxed);
}

void SimBackend::poll(std::span<const uint32_t> slots, std::span<Stamp> out) noexcept {
    LAPWING_ASSERT(out.size() >= slots.size());
    const uint64_t now = polls_.load(std::memory_order_relaxed) + 1;
    polls_.store(now, std::memory_order_relaxed);
    slots_polled_.store(slots_polled_.load(std::memory_order_relaxed) + slots.size(), std::memory_order_relaxed);
    const bool lost = lost_.load(std::memory_order_relaxed);
    const bool held = held_.load(std::memory_order_relaxed);
    const uint32_t epoch = epoch_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < slots.size(); ++i) {
        Cell& cell = cells_[slots[i]];
        const uint64_t due = cell.due().load(std::memory_order_acquire);
        Stamp& stamp = out[i];
        // One comparison for "marked, neither never nor failing, and there by now": 0 - 1 is beyond every poll count.
        if (!lost && !held && due - 1 <= now && cell.epoch().load(std::memory_order_relaxed) == epoch) [[likely]] {
            stamp.ticks.value = cell.value().load(std::memory_order_relaxed);
            stamp.state = StampState::kReady;
            continue;
        }
        stamp.ticks.value = 0;
        if (lost || (due != 0 && cell.epoch().load(std::memory_order_relaxed) != epoch))
            stamp.state = StampState::kLost;
        else
            stamp.state = due == kFails && !held ? StampState::kFailed : StampState::kPending;
    }
}

Result<ClockAnchor> SimBackend::calibrate(const Queue& queue) {
    if (lost_.load(std::memory_order_relaxed)) return Error{Errc::kDeviceLost, 0, "the simulated device is lost"};
    if (!options_.calibrated || options_.valid_bits == 0) return Error{Errc::kUnsupported, 0, caps(queue).reason};
    ClockAnchor anchor;
    anchor.device.value = (device_ticks() + epoch_lie_) & tick_mask(options_.valid_bits);
    anchor.host = host_now();
    anchor.uncertainty_ns = options_.anchor_uncertainty_ns;
    return anchor;
}

bool SimBackend::reserve(uint32_t first, uint32_t count) noexcept {
    return uint64_t{first} + count <= options_.max_stamps;
}

void SimBackend::restore_device(uint64_t ticks) noexcept {
    host_base_ns_ = host_now().value;
    for (QueueClock& clock : clocks_) clock.local.store(0, std::memory_order_relaxed);
    base_.store(ticks, std::memory_order_relaxed);
    host_base_ticks_ = ticks;
    epoch_.fetch_add(1, std::memory_order_relaxed);
    lost_.store(false, std::memory_order_relaxed);
}

uint64_t SimBackend::device_ticks() const noexcept {
    uint64_t furthest = 0;
    for (const QueueClock& clock : clocks_) furthest = std::max(furthest, clock.local.load(std::memory_order_relaxed));
    return base_.load(std::memory_order_relaxed) + furthest;
}

HostNs SimBackend::host_now() const noexcept {
    const uint64_t passed = device_ticks() - host_base_ticks_;
    return HostNs{host_base_ns_ + static_cast<int64_t>(std::llround(static_cast<double>(passed) * ns_per_tick_))};
}

uint64_t SimBackend::marks() const noexcept {
    uint64_t sum = 0;
    for (const QueueClock& clock : clocks_) sum += clock.marks.load(std::memory_order_relaxed);
    return sum;
}

static_assert(Backend<SimBackend>);

}    // namespace lapwing
