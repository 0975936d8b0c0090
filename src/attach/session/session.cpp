#include "attach/session/session.hpp"

#include <unistd.h>

#include <algorithm>

#include "attach/session/host_time.hpp"
#include "attach/session/output_file.hpp"
#include "attach/session/process_command.hpp"
#include "lapwing/perfetto.hpp"

namespace lapwing::attach {

namespace {
// TrackId is 16 bits; a program that starts threads for ever shares the last numbers.
constexpr uint32_t kMaxTracks = 60'000;

constexpr std::array<const char*, kHostCallCount> kHostCallNames = {
    "vkQueueSubmit",   "vkQueueSubmit2",   "vkQueueWaitIdle",   "vkDeviceWaitIdle",
    "vkWaitForFences", "vkWaitSemaphores", "vkGetFenceStatus",  "vkGetSemaphoreCounterValue",
    "clFinish",        "clWaitForEvents",  "blocking transfer", "clGetEventInfo",
};
}    // namespace

Result<std::unique_ptr<Session>> Session::open(const LayerConfig& config) {
    Result<std::string> path = claim_output_file(config.out, getpid());
    if (!path.ok()) return path.error();
    Result<std::unique_ptr<SpanSink>> writer = open_perfetto_writer(path.value(), config.file);
    if (!writer.ok()) return writer.error();
    // Before there is a thread: whatever ends the process, the file says whose it is.
    if (Status announced = (*writer)->process(describe_process(config)); !announced.ok()) return announced.error();
    auto session = std::make_unique<Session>(config, make_recorder(std::move(writer).value()));
    session->path_ = std::move(path).value();
    return session;
}

Session::Session(const LayerConfig& config, std::unique_ptr<Recorder> recorder)
    : config_(config),
      opened_ns_(host_now_ns()),
      step_labels_(StepLabels::of(config.step)),
      steps_(config.step, config.arming, config.level >= Level::kLane, &counters_.hook_ns),
      recorder_(std::move(recorder)) {}

ProcessInfo Session::describe_process(const LayerConfig& config) {
    ProcessInfo process;
    process.pid = getpid();
    process.command = masked_command(own_command_words());
    process.lapwing_version = LAPWING_VERSION;
    process.level = to_text(config.level);
    process.every = config.arming.every;
    process.step = config.step_text;
    process.skip = config.arming.skip;
    process.duration_ns = config.arming.duration_ns;
    return process;
}

uint32_t Session::add_device(DeviceInfo info) {
    info.id = next_device_.fetch_add(1, std::memory_order_relaxed);
    update_device(info);
    return info.id;
}

void Session::update_device(const DeviceInfo& info) {
    const std::lock_guard lock(sink_mutex_);
    static_cast<void>(recorder_->device(info));
}

TrackId Session::add_track(TrackKind kind, uint32_t device, std::string name) {
    const uint32_t id = next_track_.fetch_add(1, std::memory_order_relaxed);
    if (id > kMaxTracks) return 0;
    TrackInfo track;
    track.id = static_cast<TrackId>(id);
    track.kind = kind;
    track.device = device;
    track.name = std::move(name);
    const std::lock_guard lock(sink_mutex_);
    static_cast<void>(recorder_->track(track));
    return track.id;
}

SiteId Session::site(const Site& site) {
    const std::lock_guard lock(sink_mutex_);
    return site_locked(site);
}

SiteId Session::site_locked(const Site& site) {
    const SiteTable::Interned interned = sites_.intern(site);
    if (interned.fresh)
        static_cast<void>(recorder_->site(interned.id, interned.folded ? SiteTable::other(site.kind) : site));
    return interned.id;
}

void Session::device_spans(std::span<const SpanRecord> spans) {
    if (spans.empty()) return;
    const std::lock_guard lock(sink_mutex_);
    const uint64_t dropped_before = recorder_->dropped();
    const uint64_t unwritten_before = recorder_->unwritten();
    static_cast<void>(recorder_->spans(spans));
    const uint64_t dropped = recorder_->dropped() - dropped_before;
    // The writer's own thread may have given others up meanwhile; those were counted as recorded and are told apart
    // by who reads the file.
    const uint64_t unwritten = std::min<uint64_t>(recorder_->unwritten() - unwritten_before, spans.size() - dropped);
    if (dropped > 0) counters_.lost.add(LossReason::kRingFull, dropped);
    if (unwritten > 0) counters_.lost.add(LossReason::kUnwritten, unwritten);
    Counters::add(counters_.recorded, spans.size() - dropped - unwritten);
}

void Session::host_span(TrackId track, HostCall call, bool polled, int64_t begin_ns, int64_t end_ns) {
    const std::lock_guard lock(sink_mutex_);
    SiteId& id = host_sites_[static_cast<std::size_t>(call)][polled ? 1 : 0];
    if (id == 0) {
        Site site;
        site.kind = SpanKind::kHost;
        site.label = kHostCallNames[static_cast<std::size_t>(call)];
        if (polled) site.label += " (polling)";
        id = site_locked(site);
    }
    SpanRecord span;
    span.begin_ns = begin_ns;
    span.duration_ns = std::max<int64_t>(end_ns - begin_ns, 0);
    span.site = id;
    span.step = steps_.index();
    span.track = track;
    static_cast<void>(recorder_->spans({&span, 1}));
}

Session::Submitted Session::submitted(int64_t now_ns, const StepClock::Work& work) {
    const StepClock::Submitted submitted = steps_.submitted(now_ns, work);
    if (announce_step(submitted.closed)) publish_stats(false);
    return {submitted.step, submitted.armed && stamps_submits(), submitted.armed};
}

void Session::withdrawn(const StepClock::Work& work) noexcept {
    steps_.withdrawn(work);
}

bool Session::completed(uint64_t count, int64_t now_ns) {
    return announce_step(steps_.completed(count, now_ns));
}

void Session::scope_opened(const char* label, int64_t now_ns) {
    if (step_labels_ && step_labels_->begins_step(label, labels_)) steps_.label_opened(true, now_ns);
    steps_.scope_opened();
}

void Session::scope_closed() {
    // Results were read when the program learned of completion, inside the scope.
    if (announce_step(steps_.scope_closed())) publish_stats(false);
}

std::optional<bool> Session::label_begins_step_cold(const char* label) {
    if (!step_labels_->begins_step(label, labels_)) return std::nullopt;
    return steps_.label_opened(false, host_now_ns()) && stamps_commands();
}

bool Session::announce_step(const std::optional<StepRecord>& step) {
    if (!step) return false;
    const std::lock_guard lock(sink_mutex_);
    static_cast<void>(recorder_->step(*step));
    return true;
}

RecordingStats Session::stats(bool final) const {
    RecordingStats stats;
    stats.begun = Counters::read(counters_.begun);
    stats.recorded = Counters::read(counters_.recorded);
    stats.lost = counters_.lost.snapshot();
    stats.stamps = Counters::read(counters_.stamps);
    stats.result_reads = Counters::read(counters_.result_reads);
    stats.hook_ns = static_cast<int64_t>(Counters::read(counters_.hook_ns));
    stats.start_ns = static_cast<int64_t>(Counters::read(g_start_ns));
    stats.faults = Counters::read(counters_.faults);
    stats.window_begin_ns = opened_ns_;
    stats.window_end_ns = host_now_ns();
    stats.final = final;
    stats.executed_dispatches = Counters::read(counters_.executed_dispatches);
    stats.names_dropped = sites_.folded();
    steps_.describe(stats);
    return stats;
}

void Session::publish_stats(bool final) {
    if (final) announce_step(steps_.finish());
    const std::lock_guard lock(sink_mutex_);
    static_cast<void>(recorder_->stats(stats(final)));
}

void Session::close(int64_t deadline_ns) {
    steps_.disarm();
    static_cast<void>(recorder_->close_within(deadline_ns));
}

}    // namespace lapwing::attach
