#include "trace/chrome_writer.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace lapwing::trace {

namespace {

constexpr std::size_t kTextBytes = std::size_t{1} << 20;    // of events that wait to be written
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr std::size_t kTailBytes = 2048;    // kept free for the tail below max_bytes

bool placeable(int64_t begin_ns, int64_t duration_ns) {
    return begin_ns >= 0 && duration_ns >= 0 && begin_ns <= std::numeric_limits<int64_t>::max() - duration_ns;
}

std::string process_name(const ProcessInfo& process) {
    const std::string name = process.command.empty() ? "process" : process.command;
    return name + " (pid " + std::to_string(process.pid) + ")";
}

std::string device_name(const DeviceInfo& device) {
    std::string out = "device " + std::to_string(device.id);
    if (!device.name.empty()) out += ": " + device.name;
    if (!device.driver.empty()) out += " (" + device.driver + ")";
    return out;
}

void append_count(std::string& out, std::string_view key, uint64_t value) {
    if (!out.empty()) out += ',';
    (((out += '"') += key) += "\":") += std::to_string(value);
}

}    // namespace

ChromeWriter::ChromeWriter(TraceFile file, const ChromeWriterOptions& options)
    : file_(std::move(file)),
      options_(options),
      has_events_(!options.object) {}    // the array's head is an event itself

ChromeWriter::~ChromeWriter() {
    static_cast<void>(close());
}

Status ChromeWriter::start() {
    write_text();
    return state();
}

Status ChromeWriter::process(const ProcessInfo& process) {
    // Numbers of tracks and devices may mean others from here on.
    write_out();
    process_name_ = process_name(process);
    host_pid_ = 0;
    tracks_.clear();
    steps_.reset();
    devices_.clear();
    device_pids_.clear();
    return state();
}

Status ChromeWriter::device(const DeviceInfo& device) {
    devices_[device.id] = device;
    return state();
}

Status ChromeWriter::track(const TrackInfo& track) {
    if (track.id == 0) return Error{Errc::kInvalidArgument, 0, "track ids start at 1"};
    track_of(track.id).info = track;
    return state();
}

Status ChromeWriter::site(SiteId id, const Site& site) {
    if (id == 0) return Error{Errc::kInvalidArgument, 0, "site 0 means unknown and is not described"};
    if (sites_.contains(id)) write_out();    // the spans so far are of what it meant before
    sites_[id] = chrome::site_text(site);
    return state();
}

Status ChromeWriter::spans(std::span<const SpanRecord> spans) {
    if (closed_ || !status_.ok()) return state();
    for (const SpanRecord& span : spans) {
        pending_.push_back(span);
        if (pending_.size() >= options_.max_buffered_spans) write_out();
    }
    return state();
}

Status ChromeWriter::step(const StepRecord& step) {
    if (closed_ || !status_.ok()) return state();
    if (step.end_ns < step.begin_ns || step.begin_ns < 0) {
        ++dropped_steps_.time;
        return state();
    }
    settle_base(step.begin_ns);
    if (!steps_) steps_ = Track{{0, TrackKind::kHostThread, 0, "steps"}, 0, {}};
    const chrome::SiteText text{"\"name\":\"step " + std::to_string(step.index) + "\",\"cat\":\"step\"", {}};
    std::string args;
    append_count(args, "dispatches", step.dispatches);
    args += step.armed ? ",\"armed\":true" : ",\"armed\":false";
    static_cast<void>(append_slice(*steps_, text, step.begin_ns, step.end_ns - step.begin_ns, args, dropped_steps_));
    return state();
}

Status ChromeWriter::stats(const RecordingStats& stats) {
    stats_ = stats;
    return flush();
}

Status ChromeWriter::flush() {
    if (!closed_) write_out();
    return state();
}

Status ChromeWriter::close() {
    if (closed_) return status_;
    write_out();
    Status closed = file_.close();
    if (status_.ok()) status_ = std::move(closed);
    closed_ = true;
    return status_;
}

ChromeWriter::Track& ChromeWriter::track_of(TrackId id) {
    const auto [found, fresh] = tracks_.try_emplace(id);
    if (fresh) found->second.info = {id, TrackKind::kDeviceQueue, 0, "track " + std::to_string(id)};
    return found->second;
}

uint32_t ChromeWriter::named_pid(const std::string& name) {
    const uint32_t pid = next_pid_++;
    chrome::append_metadata(new_line(), "process_name", pid, 0, "name", chrome::json_string(name));
    chrome::append_metadata(new_line(), "process_sort_index", pid, 0, "sort_index", std::to_string(pid));
    return pid;
}

uint32_t ChromeWriter::pid_of(const TrackInfo& track) {
    if (host_pid_ == 0) host_pid_ = named_pid(process_name_.empty() ? "process" : process_name_);
    if (track.kind == TrackKind::kHostThread) return host_pid_;
    const auto known = device_pids_.find(track.device);
    if (known != device_pids_.end()) return known->second;
    const auto device = devices_.find(track.device);
    const uint32_t pid = named_pid(device != devices_.end() ? device_name(device->second) : "device");
    return device_pids_[track.device] = pid;
}

ChromeWriter::Lane* ChromeWriter::lane_for(Track& track, int64_t begin_ns, int64_t end_ns) {
    for (Lane& lane : track.lanes)
        if (lane.slices.take(begin_ns, end_ns)) return &lane;
    if (track.lanes.size() >= options_.max_lanes) return nullptr;
    if (track.pid == 0) track.pid = pid_of(track.info);
    Lane& lane = track.lanes.emplace_back();
    lane.tid = next_tid_++;
    static_cast<void>(lane.slices.take(begin_ns, end_ns));
    const std::size_t number = track.lanes.size();
    const std::string name = number == 1 ? track.info.name : track.info.name + " lane " + std::to_string(number);
    // Lanes stand below their track; the steps, track 0, above all others.
    const uint64_t place = track.info.id * uint64_t{1000} + number;
    chrome::append_metadata(new_line(), "thread_name", track.pid, lane.tid, "name", chrome::json_string(name));
    chrome::append_metadata(new_line(), "thread_sort_index", track.pid, lane.tid, "sort_index", std::to_string(place));
    return &lane;
}

const chrome::SiteText& ChromeWriter::text_of(SiteId id) {
    const auto known = sites_.find(id);
    if (known != sites_.end()) return known->second;
    Site site;
    site.label = id == 0 ? "unknown" : "site " + std::to_string(id);
    return sites_[id] = chrome::site_text(site);
}

bool ChromeWriter::append_slice(Track& track, const chrome::SiteText& site, int64_t begin_ns, int64_t duration_ns,
                                std::string_view args, Dropped& dropped) {
    // Its own line, and those of a new lane and process.
    const std::size_t names = 6 * (track.info.name.size() + process_name_.size());    // as long as escapes make them
    const std::size_t most = 4096 + names + site.head.size() + site.args.size();
    if (options_.max_bytes != 0 && events_end_ + text_.size() + most + kTailBytes > options_.max_bytes) {
        ++dropped.size;
        return false;
    }
    Lane* const lane = lane_for(track, begin_ns, begin_ns + duration_ns);
    if (lane == nullptr) {
        ++dropped.lanes;
        return false;
    }
    chrome::append_complete(new_line(), site, track.pid, lane->tid, begin_ns - base_ns_, duration_ns, args);
    if (text_.size() >= kTextBytes) write_text();
    return true;
}

void ChromeWriter::append_span(const SpanRecord& span) {
    if (!placeable(span.begin_ns, span.duration_ns)) {
        ++dropped_.time;
        return;
    }
    std::string args;
    if (span.step != kNoStep) append_count(args, "step", span.step);
    const chrome::SiteText& site = text_of(span.site);
    written_ += append_slice(track_of(span.track), site, span.begin_ns, span.duration_ns, args, dropped_) ? 1 : 0;
}

// Times count from a whole second shortly before the first spans: a number of ns that a double holds exactly.
void ChromeWriter::settle_base(int64_t earliest_ns) {
    if (base_settled_) return;
    for (const SpanRecord& span : pending_)
        if (placeable(span.begin_ns, span.duration_ns)) earliest_ns = std::min(earliest_ns, span.begin_ns);
    if (earliest_ns == kNever) return;
    base_settled_ = true;
    // The head goes out again.
    old_tail_.insert(0, head());
    events_end_ = 0;
    // A second to spare for spans that come late: viewers do not like negative times.
    base_ns_ = std::max<int64_t>(earliest_ns / kSecond - 1, 0) * kSecond;
}

// The place for the next event. An event is a line, behind a comma unless it is the first.
std::string& ChromeWriter::new_line() {
    if (std::exchange(has_events_, true)) text_ += ",\n";
    return text_;
}

std::string ChromeWriter::head() const {
    std::string out = options_.object ? "{\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":" : "[\n";
    if (options_.object) return out + std::to_string(base_ns_) + ",\"traceEvents\":[\n";
    chrome::append_metadata(
        out, "process_labels", 1, 0, "labels",
        "\"Lapwing\",\"clock\":\"CLOCK_MONOTONIC\",\"baseTimeNanoseconds\":" + std::to_string(base_ns_));
    return out;
}

std::string ChromeWriter::counts() const {
    std::string out;
    append_count(out, "spans", written_);
    append_count(out, "dropped", dropped_.total());
    if (dropped_.size != 0) append_count(out, "dropped_size", dropped_.size);
    if (dropped_.lanes != 0) append_count(out, "dropped_lanes", dropped_.lanes);
    if (dropped_.time != 0) append_count(out, "dropped_time", dropped_.time);
    if (dropped_steps_.total() != 0) append_count(out, "dropped_steps", dropped_steps_.total());
    if (!stats_) return out;
    append_count(out, "begun", stats_->begun);
    append_count(out, "lost", stats_->lost.total());
    for (std::size_t i = 0; i < kLossReasonCount; ++i) {
        const auto reason = static_cast<LossReason>(i);
        if (stats_->lost[reason] != 0) append_count(out, std::string("lost_") + to_text(reason), stats_->lost[reason]);
    }
    return out;
}

std::string ChromeWriter::tail() const {
    if (options_.object) return "\n],\"lapwing\":{" + counts() + "}}\n";
    std::string out = ",\n";
    const std::string label = std::to_string(written_) + " spans, " + std::to_string(dropped_.total()) + " dropped";
    chrome::append_metadata(out, "process_labels", 1, 0, "labels", "\"" + label + "\"," + counts());
    return out + "\n]\n";
}

void ChromeWriter::write_out() {
    if (!status_.ok() || closed_) return;
    settle_base(kNever);
    std::stable_sort(pending_.begin(), pending_.end(), [](const SpanRecord& a, const SpanRecord& b) {
        return std::tuple(a.track, a.begin_ns, -a.duration_ns) < std::tuple(b.track, b.begin_ns, -b.duration_ns);
    });
    for (const SpanRecord& span : pending_) append_span(span);
    pending_.clear();
    write_text();
}

void ChromeWriter::write_text() {
    if (!status_.ok()) return;
    std::string tail_text = tail();
    if (events_end_ != 0 && text_.empty() && tail_text == old_tail_) return;
    if (events_end_ == 0) text_.insert(0, head());
    const uint64_t from = events_end_;
    const std::size_t events = text_.size();
    text_ += tail_text;
    status_ = file_.replace_from(from, text_, old_tail_);
    events_end_ = from + events;
    old_tail_ = std::move(tail_text);
    text_.clear();
}

Status ChromeWriter::state() const {
    return closed_ && status_.ok() ? Status(Error{Errc::kUnwritable, 0, "the trace is closed"}) : status_;
}

}    // namespace lapwing::trace
