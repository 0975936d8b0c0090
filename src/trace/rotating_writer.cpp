#include "trace/rotating_writer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "lapwing/clock.hpp"
#include "trace/recording_set.hpp"
#include "trace/trace_file.hpp"

namespace lapwing::trace {

namespace {

constexpr std::size_t kChunkSpans = 1024;
constexpr std::size_t kMostSpanBytes = 64;    // its two packets and a step's mark between them, wide numbers all
constexpr std::size_t kEndBytes = 1024;       // statistics, descriptions of a lane or two
constexpr std::size_t kMostFingerprintBytes = 512 + kEndBytes;    // beside its name
constexpr std::size_t kSiteOverheadBytes = 256;                   // beside the names themselves
constexpr int64_t kRingParts = 8;    // more make the end sharper and repeat the descriptions more often

}    // namespace

RotatingWriter::RotatingWriter(std::string path, const PerfettoWriterOptions& options, uint64_t id)
    : path_(std::move(path)), options_(options), id_(id), owner_(::getpid()) {}

RotatingWriter::~RotatingWriter() {
    static_cast<void>(close());
}

Result<std::unique_ptr<SpanSink>> RotatingWriter::open(const std::string& path, const PerfettoWriterOptions& options,
                                                       uint64_t id) {
    auto rotating = std::make_unique<RotatingWriter>(path, options, id);
    Result<std::unique_ptr<PerfettoWriter>> first = rotating->begin_part(path, 1);
    if (!first.ok()) return first.error();
    rotating->writer_ = std::move(first).value();
    rotating->parts_.push_back({path, host_now().value});
    return std::unique_ptr<SpanSink>(std::move(rotating));
}

Result<std::unique_ptr<PerfettoWriter>> RotatingWriter::begin_part(const std::string& path, uint32_t number) const {
    Result<TraceFile> file = TraceFile::create(path);
    if (!file.ok()) return file.error();
    RecordingInfo identity;
    identity.id = id_;
    identity.run = options_.run_id;
    identity.part = number;
    auto writer = std::make_unique<PerfettoWriter>(std::move(file).value(), options_, identity);
    Status status = writer->start();
    if (status.ok() && number > 1) status = describe(*writer);
    if (!status.ok()) {
        ::unlink(path.c_str());    // a part without its head is no recording
        return status.error();
    }
    return writer;
}

Status RotatingWriter::describe(PerfettoWriter& writer) const {
    Status status = writer.process(process_);
    for (const auto& [id, device] : devices_)
        if (status.ok()) status = writer.device(device);
    for (const auto& [id, track] : tracks_)
        if (status.ok()) status = writer.track(track);
    return status;
}

Status RotatingWriter::process(const ProcessInfo& process) {
    process_ = process;
    return first_error(writer_->process(process));
}

Status RotatingWriter::device(const DeviceInfo& device) {
    devices_[device.id] = device;
    return first_error(writer_->device(device));
}

Status RotatingWriter::track(const TrackInfo& track) {
    tracks_[track.id] = track;
    device_tracks_.announce(track);
    return first_error(writer_->track(track));
}

// Described in a part when the first span there refers to it.
Status RotatingWriter::site(SiteId id, const Site& site) {
    sites_[id] = site;
    described_.erase(id);
    return first_error({});
}

Status RotatingWriter::spans(std::span<const SpanRecord> spans) {
    while (!spans.empty() && status_.ok()) {
        const auto chunk = spans.first(std::min(kChunkSpans, spans.size()));
        spans = spans.subspan(chunk.size());
        take_fresh(chunk);
        const int64_t now_ns = host_now().value;
        if (due(bytes_of(chunk), now_ns)) {
            rotate(now_ns);
            take_fresh(chunk);
        }
        if (!status_.ok()) break;
        for (const SiteId id : fresh_) static_cast<void>(writer_->site(id, sites_.at(id)));
        if (Status status = writer_->spans(chunk); !status.ok()) return status;
        device_spans_ += device_tracks_.count(chunk);
    }
    return first_error({});
}

Status RotatingWriter::step(const StepRecord& step) {
    return first_error(status_.ok() ? writer_->step(step) : Status());
}

Status RotatingWriter::fingerprint(const FingerprintRecord& record) {
    const int64_t now_ns = host_now().value;
    if (status_.ok() && due(kMostFingerprintBytes + record.name.size(), now_ns)) rotate(now_ns);
    if (!status_.ok()) return status_;
    if (Status status = writer_->fingerprint(record); !status.ok()) return status;
    ++fingerprints_;
    return {};
}

Status RotatingWriter::stats(const RecordingStats& stats) {
    stats_ = stats;
    RecordingStats out = of_part(stats);
    if (!status_.ok()) out.write_error = status_.error().driver_code;
    return first_error(writer_->stats(out));
}

Status RotatingWriter::flush() {
    return first_error(writer_->flush());
}

Status RotatingWriter::close() {
    const Status closed = writer_ == nullptr ? Status() : writer_->close();
    hold_lock(-1);
    return first_error(closed);
}

Status RotatingWriter::first_error(Status status) const {
    if (!status_.ok()) return status_;
    return status;
}

bool RotatingWriter::due(std::size_t more_bytes, int64_t now_ns) const {
    if (options_.keep_ns != 0 && now_ns - parts_.back().begin_ns >= options_.keep_ns / kRingParts) return true;
    return options_.max_part_bytes != 0 && writer_->size_bound() + more_bytes > options_.max_part_bytes;
}

void RotatingWriter::rotate(int64_t now_ns) {
    if (::getpid() != owner_) return;    // a forked child: its writes are refused
    // A name that something else bears is passed over; what an older recording left is not.
    std::string path;
    do path = part_path(path_, ++number_);
    while (::access(path.c_str(), F_OK) == 0 && !identify(path));
    Result<std::unique_ptr<PerfettoWriter>> next = begin_part(path, number_);
    if (!next.ok()) {
        status_ = next.error();
        return;
    }
    if (stats_) {
        // Nothing of this part comes any more, so it must add up by itself: what is in flight is begun in the next one.
        RecordingStats last = of_part(*stats_);
        last.recorded = device_spans_;
        last.begun = device_spans_ + last.lost.total();
        last.window_end_ns = now_ns;
        last.final = true;
        static_cast<void>(writer_->stats(last));
    }
    if (Status closed = writer_->close(); !closed.ok()) {
        status_ = closed;
        return;
    }
    // Locked on, or another recording could take the name while this one goes on.
    if (parts_.size() == 1) hold_lock(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    writer_ = std::move(next).value();
    older_spans_ = device_spans_;
    older_fingerprints_ = fingerprints_;
    described_.clear();
    parts_.push_back({path, now_ns});
    drop_old(now_ns);
}

void RotatingWriter::drop_old(int64_t now_ns) {
    const auto oldest_is_due = [&] {
        if (parts_.size() < 2) return false;
        if (options_.keep_parts != 0 && parts_.size() > options_.keep_parts) return true;
        return options_.keep_ns != 0 && parts_[1].begin_ns <= now_ns - options_.keep_ns;
    };
    bool dropped = false;
    while (oldest_is_due()) {
        if (::rename(parts_[1].path.c_str(), path_.c_str()) != 0) {
            const int error = errno;
            status_ = Error{Errc::kUnwritable, error,
                            "cannot drop the oldest part '" + path_ + "': " + std::generic_category().message(error) +
                                "; give a path in a folder that you may write to"};
            return;
        }
        parts_.pop_front();
        parts_.front().path = path_;
        dropped = true;
    }
    if (dropped) hold_lock(parts_.size() == 1 ? -1 : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
}

void RotatingWriter::hold_lock(int fd) {
    if (lock_ >= 0) ::close(lock_);
    lock_ = fd;
    if (fd >= 0) static_cast<void>(::flock(fd, LOCK_EX | LOCK_NB));
}

// Sites of these spans that the part does not describe yet; from here on they count as described.
void RotatingWriter::take_fresh(std::span<const SpanRecord> spans) {
    fresh_.clear();
    SiteId last = 0;
    for (const SpanRecord& span : spans) {
        const SiteId id = span.site;
        if (id == last || id == 0) continue;
        last = id;
        if (described_.insert(id) && sites_.contains(id)) fresh_.push_back(id);
    }
}

// What the spans and their fresh sites add at most.
std::size_t RotatingWriter::bytes_of(std::span<const SpanRecord> spans) const {
    std::size_t bytes = spans.size() * kMostSpanBytes + kEndBytes;
    for (const SiteId id : fresh_) {
        const Site& site = sites_.at(id);
        // Its name once more for viewers, where each byte may become a replacement character.
        bytes += kSiteOverheadBytes + 4 * (site.label.size() + site.op.size() + site.kernel.size()) + site.note.size() +
                 site.category.size() + site.family.size() + site.phase.size() + site.lane.size();
    }
    return bytes;
}

RecordingStats RotatingWriter::of_part(const RecordingStats& stats) const {
    RecordingStats out = stats;
    out.left_out = older_spans_;
    out.fingerprints_left_out = older_fingerprints_;
    if (parts_.size() > 1 || older_spans_ != 0)
        out.window_begin_ns = std::max(out.window_begin_ns, parts_.back().begin_ns);
    return out;
}

}    // namespace lapwing::trace
