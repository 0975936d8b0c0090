#include "lapwing/opencl_backend.hpp"

#include <time.h>

#include <algorithm>
#include <vector>

#include "backends/opencl/device_clock.hpp"
#include "backends/opencl/entry_points.hpp"
#include "backends/opencl/event_cells.hpp"
#include "lapwing/clock.hpp"
#include "lapwing/opencl_devices.hpp"

namespace lapwing {

using namespace opencl;

namespace {

using detail::SoloCounter;

constexpr timespec kAnchorPause{0, 50'000};

}    // namespace

struct OpenClBackend::Impl {
    explicit Impl(const EntryPoints& table) noexcept : cl(table), anchors(cl) {}

    EntryPoints cl;
    cl_device_id device = nullptr;
    DeviceTraits traits;
    EventCells cells;
    std::vector<std::unique_ptr<Stream>> streams;
    bool open = true;

    AnchorQueue anchors;
    std::optional<ClockAnchor> first_anchor;
    const char* anchor_reason = "";    // why there is none

    // Threads that enqueue: several queues at once.
    std::atomic<uint64_t> refused{0};
    std::atomic<uint64_t> dropped{0};    // references given back by who enqueues
    // Who polls.
    SoloCounter status_checks;
    SoloCounter profile_reads;
    SoloCounter failed;
    SoloCounter nonsense;
    SoloCounter released;

    static void count(std::atomic<uint64_t>& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }
    static Stream& stream_of(const Queue& queue) noexcept { return *static_cast<Stream*>(queue.stream_); }

    // A slot is given up without its result where its span is: what it held is released when it is used again.
    void reuse(EventCell& cell) noexcept {
        cl_event const old = cell.event.load(std::memory_order_acquire);
        if (old == nullptr) [[likely]]
            return;
        cell.event.store(nullptr, std::memory_order_relaxed);
        cl.ReleaseEvent(old);
        count(dropped);
    }
    static void begin_cell(EventCell& cell, Stream& stream, uint64_t number) noexcept {
        cell.stream = &stream;
        cell.number = number;
        cell.state = StampState::kPending;
        cell.partner = EventCell::kNoPartner;
        cell.holds_partners_event = false;
    }
    bool refuse() noexcept {
        count(refused);
        return false;
    }

    void find_first_anchor(const OpenClBackendOptions& options);
    [[nodiscard]] bool is_complete(const EventCell& cell, cl_event event, bool* failed_command) noexcept;
    void probe_last(std::span<const uint32_t> slots) noexcept;
    void resolve(EventCell& cell) noexcept;
    [[nodiscard]] bool read_times(EventCell& cell, cl_event event, EventCell* begin) noexcept;
    [[nodiscard]] bool is_repeat(Stream& stream, uint64_t begin, uint64_t end) const noexcept;
    void settle(EventCell& cell, StampState state) noexcept;
    [[nodiscard]] Stamp at(uint32_t slot) noexcept;
};

OpenClBackend::OpenClBackend(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
OpenClBackend::~OpenClBackend() = default;

Result<std::unique_ptr<OpenClBackend>> OpenClBackend::create(const OpenClBackendOptions& options) {
    if (options.context == nullptr || options.device == nullptr)
        return Error{Errc::kInvalidArgument, 0, "OpenClBackendOptions needs a context and a device of it"};
    const Result<EntryPoints> table =
        options.find_function != nullptr ? EntryPoints::load(options.find_function) : EntryPoints::open(kOpenClLoader);
    if (!table.ok()) return table.error();
    auto impl = std::make_unique<Impl>(*table);
    impl->device = options.device;
    impl->traits = describe_device(impl->cl, options.device);
    if (*impl->traits.no_times_reason == '\0' && !impl->traits.device_host_timer) impl->find_first_anchor(options);
    return std::unique_ptr<OpenClBackend>(new OpenClBackend(std::move(impl)));
}

// Looks, with pauses, for the markers of an empty queue to arrive: the one time that this backend lets time pass.
void OpenClBackend::Impl::find_first_anchor(const OpenClBackendOptions& options) {
    if (const Status opened = anchors.open(options.context, options.device, traits.resolution_ns); !opened.ok()) {
        anchor_reason = "the driver offers no pair of clocks, and no queue to make one with";
        return;
    }
    anchors.enqueue();    // the first enqueue of a queue may be slow, the second one brackets tightly
    anchors.enqueue();
    const int64_t deadline = host_now().value + options.first_anchor_ns;
    while (!first_anchor && *anchors.refused() == '\0' && host_now().value < deadline) {
        nanosleep(&kAnchorPause, nullptr);
        first_anchor = anchors.collect();
    }
    if (first_anchor) return;
    anchor_reason = *anchors.refused() != '\0' ? anchors.refused()
                                               : "the driver offers no pair of clocks, and the device was busy when "
                                                 "the backend looked for one of its own: calibrate() may find it";
}

Result<OpenClBackend::Queue> OpenClBackend::open_queue(cl_command_queue queue) {
    if (queue == nullptr) return Error{Errc::kInvalidArgument, 0, "open_queue() needs a command queue"};
    Impl& self = *impl_;
    cl_device_id device = nullptr;
    cl_command_queue_properties properties = 0;
    cl_int result = self.cl.GetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
    if (result == CL_SUCCESS)
        result = self.cl.GetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr);
    if (result != CL_SUCCESS) return Error{Errc::kDriver, result, "clGetCommandQueueInfo failed for the queue"};
    if (device != self.device)
        return Error{Errc::kInvalidArgument, 0, "the queue is of another device: make a backend for each device"};
    auto stream = std::make_unique<Stream>();
    stream->handle = queue;
    stream->in_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
    Caps& caps = stream->caps;
    if ((properties & CL_QUEUE_PROFILING_ENABLE) == 0) {
        caps.reason = "the queue was made without CL_QUEUE_PROFILING_ENABLE: its commands have no times";
    } else if (*self.traits.no_times_reason != '\0') {
        caps.reason = self.traits.no_times_reason;
    } else {
        caps.ns_per_tick = 1;
        caps.valid_bits = 64;
        caps.resolution_ns = std::max(self.traits.resolution_ns, 1.0);
        caps.calibrated = self.traits.device_host_timer || self.first_anchor.has_value();
        caps.reason = caps.calibrated ? "" : self.anchor_reason;
    }
    self.streams.push_back(std::move(stream));
    return Queue(self.streams.back().get());
}

void OpenClBackend::shutdown() noexcept {
    Impl& self = *impl_;
    self.open = false;
    self.cells.each([&](EventCell& cell) {
        cl_event const event = cell.event.exchange(nullptr, std::memory_order_acquire);
        if (event == nullptr) return;
        if (cell.holds_partners_event)
            if (EventCell* const partner = self.cells.find(cell.partner); partner != nullptr)
                partner->state = StampState::kFailed;
        cell.state = StampState::kFailed;
        self.cl.ReleaseEvent(event);
        self.released.add();
    });
    self.anchors.close();
}

OpenClBackend::Stats OpenClBackend::stats() const noexcept {
    const Impl& self = *impl_;
    Stats out;
    for (const auto& stream : self.streams) {
        out.marks += stream->marks.get();
        out.adopted += stream->adopted.get();
    }
    out.refused = self.refused.load(std::memory_order_relaxed);
    out.status_checks = self.status_checks.get();
    out.profile_reads = self.profile_reads.get();
    out.failed_commands = self.failed.get();
    out.nonsense = self.nonsense.get();
    out.events_held = out.marks + out.adopted - self.released.get() - self.dropped.load(std::memory_order_relaxed);
    return out;
}

Caps OpenClBackend::caps(const Queue& queue) const {
    if (queue.stream_ != nullptr) return Impl::stream_of(queue).caps;
    Caps none;
    none.reason = "no queue: the handle did not come from open_queue()";
    return none;
}

bool OpenClBackend::reserve(uint32_t first, uint32_t count) noexcept {
    return impl_->cells.reserve(first, count);
}

bool OpenClBackend::mark(Queue& queue, uint32_t slot) noexcept {
    Impl& self = *impl_;
    EventCell* const cell = self.cells.find(slot);
    if (queue.stream_ == nullptr || cell == nullptr || !self.open) return self.refuse();
    Stream& stream = Impl::stream_of(queue);
    if (stream.caps.valid_bits == 0) return self.refuse();
    cl_event event = nullptr;
    if (self.cl.EnqueueMarkerWithWaitList(stream.handle, 0, nullptr, &event) != CL_SUCCESS || event == nullptr)
        return self.refuse();
    self.reuse(*cell);
    Impl::begin_cell(*cell, stream, ++stream.enqueued);
    cell->event.store(event, std::memory_order_release);
    stream.marks.add();
    return true;
}

bool OpenClBackend::adopt(Queue& queue, cl_event event, uint32_t begin_slot, uint32_t end_slot) noexcept {
    Impl& self = *impl_;
    EventCell* const begin = self.cells.find(begin_slot);
    EventCell* const end = self.cells.find(end_slot);
    if (queue.stream_ == nullptr || event == nullptr || begin == nullptr || end == nullptr || begin == end ||
        !self.open) [[unlikely]]
        return self.refuse();
    Stream& stream = Impl::stream_of(queue);
    if (stream.caps.valid_bits == 0) [[unlikely]]
        return self.refuse();
    if (self.cl.RetainEvent(event) != CL_SUCCESS) [[unlikely]]
        return self.refuse();
    self.reuse(*begin);
    self.reuse(*end);
    const uint64_t number = ++stream.enqueued;
    Impl::begin_cell(*begin, stream, number);
    Impl::begin_cell(*end, stream, number);
    begin->partner = end_slot;
    end->partner = begin_slot;
    end->holds_partners_event = true;
    end->event.store(event, std::memory_order_release);
    stream.adopted.add();
    return true;
}

// Whether the command has ended. On an in-order queue what lies before a complete command is complete.
bool OpenClBackend::Impl::is_complete(const EventCell& cell, cl_event event, bool* failed_command) noexcept {
    Stream& stream = *cell.stream;
    if (stream.in_order && cell.number <= stream.complete) return true;
    cl_int status = CL_QUEUED;
    status_checks.add();
    if (cl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) != CL_SUCCESS)
        status = -1;
    if (status > CL_COMPLETE) return false;
    *failed_command = status < CL_COMPLETE;
    if (!*failed_command && stream.in_order) stream.complete = std::max(stream.complete, cell.number);
    return true;
}

// A batch in the order of a queue: where its last command is complete, one status answers for all.
void OpenClBackend::Impl::probe_last(std::span<const uint32_t> slots) noexcept {
    for (std::size_t i = slots.size(); i-- > 0;) {
        EventCell* const cell = cells.find(slots[i]);
        if (cell == nullptr) continue;
        cl_event const event = cell->event.load(std::memory_order_acquire);
        if (event == nullptr) continue;
        bool failed_command = false;
        if (cell->stream->in_order) static_cast<void>(is_complete(*cell, event, &failed_command));
        return;
    }
}

// Not one driver alone answers with the same numbers for every command. On an in-order queue two commands that took
// longer than the timer's step cannot have had the same times.
bool OpenClBackend::Impl::is_repeat(Stream& stream, uint64_t begin, uint64_t end) const noexcept {
    if (!stream.in_order || stream.read == 0) return false;
    return begin == stream.last_begin && end == stream.last_end && end > begin &&
           static_cast<double>(end - begin) > traits.resolution_ns;
}

bool OpenClBackend::Impl::read_times(EventCell& cell, cl_event event, EventCell* begin) noexcept {
    cl_ulong first = 0;
    cl_ulong last = 0;
    profile_reads.add(begin == nullptr ? 1 : 2);
    if (cl.GetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof last, &last, nullptr) != CL_SUCCESS)
        return false;
    if (begin != nullptr) {
        if (cl.GetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof first, &first, nullptr) != CL_SUCCESS)
            return false;
        Stream& stream = *cell.stream;
        if (is_repeat(stream, first, last)) {
            nonsense.add();
            return false;
        }
        stream.read = cell.number;
        stream.last_begin = first;
        stream.last_end = last;
        begin->ticks = first;
    }
    cell.ticks = last;
    return true;
}

void OpenClBackend::Impl::settle(EventCell& cell, StampState state) noexcept {
    if (cell.holds_partners_event)
        if (EventCell* const partner = cells.find(cell.partner); partner != nullptr) partner->state = state;
    cell.state = state;
    if (state == StampState::kFailed) failed.add();
    cl_event const event = cell.event.load(std::memory_order_relaxed);
    cell.event.store(nullptr, std::memory_order_release);
    cl.ReleaseEvent(event);
    released.add();
}

void OpenClBackend::Impl::resolve(EventCell& cell) noexcept {
    cl_event const event = cell.event.load(std::memory_order_acquire);
    if (event == nullptr) return;
    bool failed_command = false;
    if (!is_complete(cell, event, &failed_command)) return;
    EventCell* const begin = cell.holds_partners_event ? cells.find(cell.partner) : nullptr;
    const bool ready = !failed_command && read_times(cell, event, begin);
    settle(cell, ready ? StampState::kReady : StampState::kFailed);
}

Stamp OpenClBackend::Impl::at(uint32_t slot) noexcept {
    EventCell* const cell = cells.find(slot);
    if (cell == nullptr || cell->stream == nullptr) return {{}, StampState::kFailed};
    if (cell->state == StampState::kPending) {
        resolve(*cell);
        // The begin of an adopted command: its end holds the event.
        if (cell->state == StampState::kPending && cell->partner != EventCell::kNoPartner)
            if (EventCell* const partner = cells.find(cell->partner);
                partner != nullptr && partner->stream == cell->stream && partner->number == cell->number)
                resolve(*partner);
    }
    return {Ticks{cell->ticks}, cell->state};
}

void OpenClBackend::poll(std::span<const uint32_t> slots, std::span<Stamp> out) noexcept {
    Impl& self = *impl_;
    if (slots.size() > 1) self.probe_last(slots);
    for (std::size_t i = 0; i < slots.size(); ++i) out[i] = self.at(slots[i]);
}

Result<ClockAnchor> OpenClBackend::calibrate(Queue& queue) {
    Impl& self = *impl_;
    if (!self.open) return Error{Errc::kUnsupported, 0, "the backend was shut down"};
    if (const Caps now = caps(queue); now.valid_bits == 0) return Error{Errc::kUnsupported, 0, now.reason};
    if (self.traits.device_host_timer) return read_device_timer(self.cl, self.device, self.traits);
    std::optional<ClockAnchor> found = self.anchors.collect();
    if (!found) found = std::exchange(self.first_anchor, std::nullopt);
    self.anchors.enqueue();    // for the next call
    if (found) return *found;
    if (*self.anchors.refused() != '\0') return Error{Errc::kUnsupported, 0, self.anchors.refused()};
    return Error{Errc::kExhausted, 0, "the marker that pairs the clocks has not run yet: calibrate again later"};
}

static_assert(Backend<OpenClBackend>);

}    // namespace lapwing
