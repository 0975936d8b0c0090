#include "trace/chrome_reader.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "trace/decimal_time.hpp"

namespace lapwing::trace {

namespace {

constexpr std::size_t kBatchSpans = 4096;
constexpr std::size_t kMaxTracks = 65000;    // beside the folded ones; a TrackId has 16 bits
constexpr std::size_t kMaxSites = 65536;
constexpr std::size_t kMaxNameBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxOpenSlices = std::size_t{1} << 18;
constexpr SiteId kFirstFoldedSite = 1u << 20;
constexpr char kSeparator = '\x1f';

char phase_of(const ChromeEvent& event) {
    const std::string_view phase = event.ph.view();
    return phase.size() == 1 && event.ph.quoted ? phase[0] : '\0';
}

std::optional<int64_t> time_of(const json::Text& text) {
    return text.there() ? ns_of_microseconds(text.view()) : std::nullopt;
}

// ONNX Runtime's WebGPU kernels: "/decoder/Concat&Concat&ConcatKernel".
void split_onnx_name(Site& site) {
    const std::size_t last = site.label.rfind('&');
    if (last == std::string::npos) {
        site.kernel = site.label;
        return;
    }
    site.kernel = site.label.substr(last + 1);
    const std::size_t before = site.label.rfind('&', last - (last == 0 ? 0 : 1));
    if (before != std::string::npos && before < last) site.op = site.label.substr(before + 1, last - before - 1);
}

// What open_chrome_writer() puts into `args`.
void take_own_args(const ChromeEvent& event, Site& site) {
    json::for_each_member(event.args, [&](const json::Text& key, const json::Text& value) {
        const std::string_view name = key.view();
        if (name == "op") site.op = json::text_of(value);
        if (name == "kernel") site.kernel = json::text_of(value);
        if (name == "family") site.family = json::text_of(value);
        if (name == "phase") site.phase = json::text_of(value);
        if (name == "lane") site.lane = json::text_of(value);
        if (name == "layer") {
            const std::optional<int64_t> layer = whole_number_of(value.view());
            if (layer && *layer >= 0 && *layer <= std::numeric_limits<int32_t>::max())
                site.layer = static_cast<int32_t>(*layer);
        }
        if (name == "warmup") site.warmup = value.view() == "true";
    });
    if (site.op.empty() && site.kernel.empty() && site.kind == SpanKind::kDispatch) site.op = site.label;
}

// Tells spans of one name apart whose sites differ.
char class_of(const ChromeEvent& event, const ChromeKind& kind) {
    const auto number = static_cast<char>(static_cast<int>(kind.kind) + (kind.onnx ? 8 : 0));
    const bool warmup = kind.lapwing && event.args.view().find("\"warmup\":true") != std::string_view::npos;
    return static_cast<char>('A' + number + (warmup ? 16 : 0));
}

}    // namespace

Status ChromeReader::told(Status status) {
    sink_failed_ = sink_failed_ || !status.ok();
    return status;
}

Status ChromeReader::start() {
    batch_.reserve(kBatchSpans);
    return told(sink_.process({}));
}

Status ChromeReader::event(const ChromeEvent& event, uint64_t offset) {
    ++counts_.events;
    switch (phase_of(event)) {
        case 'X':
            ++counts_.complete;
            return complete(event, offset);
        case 'B':
            ++counts_.begins;
            return begin(event, offset);
        case 'E':
            ++counts_.ends;
            return end(event, offset);
        case 'M':
            ++counts_.metadata;
            names_.metadata(event);
            return {};
        case 'b':
        case 'e':
        case 'n':
        case 'S':
        case 'T':
        case 'F':
        case 'p':
            ++counts_.async;
            return {};
        case 's':
        case 't':
        case 'f':
            ++counts_.flow;
            return {};
        case 'C':
            ++counts_.counter;
            return {};
        case 'i':
        case 'I':
        case 'R':
            ++counts_.instant;
            return {};
        default:
            ++counts_.other;
            return {};
    }
}

void ChromeReader::bad_time(uint64_t offset) {
    if (counts_.bad_times++ == 0) counts_.first_bad_at = offset;
}

ChromeKind ChromeReader::look_at(const ChromeEvent& event) {
    const ChromeKind kind = kind_of(event, names_.is_device_process(event.pid.view()));
    flavour_.see(event, kind);
    return kind;
}

Status ChromeReader::complete(const ChromeEvent& event, uint64_t offset) {
    const std::optional<int64_t> begin_ns = time_of(event.ts);
    const std::optional<int64_t> duration_ns = time_of(event.dur);
    if (!begin_ns || !duration_ns) {
        bad_time(offset);
        return {};
    }
    const ChromeKind kind = look_at(event);
    const Result<TrackId> track = track_of(event, kind.device);
    if (!track) return track.error();
    const Result<SiteId> site = site_of(event, kind);
    if (!site) return site.error();
    return add(*begin_ns, *duration_ns, *site, *track, offset);
}

Status ChromeReader::begin(const ChromeEvent& event, uint64_t offset) {
    const std::optional<int64_t> begin_ns = time_of(event.ts);
    if (open_slices_ >= kMaxOpenSlices)
        return Error{Errc::kExhausted, 0,
                     "262144 slices are open at once, the most that Lapwing follows: their ends are missing"};
    const ChromeKind kind = look_at(event);
    const Result<TrackId> track = track_of(event, kind.device);
    if (!track) return track.error();
    const Result<SiteId> site = site_of(event, kind);
    if (!site) return site.error();
    key_ = json::text_of(event.pid);
    key_ += kSeparator;
    key_ += json::text_of(event.tid);
    uint32_t stack = stacks_.find(key_);
    if (stack == NameTable::kNone) {
        stack = stacks_.add(key_);
        open_.emplace_back();
    }
    if (!begin_ns) bad_time(offset);
    // A slice without a time is opened all the same, so that its end is not taken for another's.
    open_[stack].push_back({begin_ns.value_or(std::numeric_limits<int64_t>::min()), *site, *track});
    ++open_slices_;
    return {};
}

Status ChromeReader::end(const ChromeEvent& event, uint64_t offset) {
    key_ = json::text_of(event.pid);
    key_ += kSeparator;
    key_ += json::text_of(event.tid);
    const uint32_t stack = stacks_.find(key_);
    if (stack == NameTable::kNone || open_[stack].empty()) {
        ++counts_.unmatched_ends;
        return {};
    }
    const Open open = open_[stack].back();
    open_[stack].pop_back();
    --open_slices_;
    if (open.begin_ns == std::numeric_limits<int64_t>::min()) return {};    // counted when it was begun
    const std::optional<int64_t> end_ns = time_of(event.ts);
    int64_t duration_ns = 0;
    if (!end_ns || __builtin_sub_overflow(*end_ns, open.begin_ns, &duration_ns)) {
        bad_time(offset);
        return {};
    }
    const uint64_t before = counts_.bad_times;
    Status status = add(open.begin_ns, duration_ns, open.site, open.track, offset);
    counts_.pairs += counts_.bad_times == before ? 1u : 0u;
    return status;
}

Status ChromeReader::add(int64_t begin_ns, int64_t duration_ns, SiteId site, TrackId track, uint64_t offset) {
    int64_t end_ns = 0;
    if (duration_ns < 0 || __builtin_add_overflow(begin_ns, duration_ns, &end_ns)) {
        bad_time(offset);
        return {};
    }
    ++spans_;
    batch_.push_back({begin_ns, duration_ns, site, kNoStep, track, 0, 0});
    return batch_.size() < kBatchSpans ? Status() : hand_over();
}

Status ChromeReader::hand_over() {
    if (batch_.empty()) return {};
    Status status = told(sink_.spans(batch_));
    batch_.clear();
    return status;
}

Result<TrackId> ChromeReader::track_of(const ChromeEvent& event, bool device) {
    const auto append = [&](const json::Text& text) {
        if (text.escaped)
            key_ += json::unescape(text.view());
        else
            key_ += text.view();
    };
    key_.clear();
    append(event.pid);
    const std::size_t pid_bytes = key_.size();
    key_ += kSeparator;
    append(event.tid);
    const std::size_t thread_bytes = key_.size();
    key_ += device ? 'd' : 'h';
    const uint32_t known = threads_.find(key_);
    if (known != NameTable::kNone) return static_cast<TrackId>(known + 1);
    if (threads_.size() >= kMaxTracks || threads_.bytes() + key_.size() > kMaxNameBytes) {
        ++counts_.tracks_folded;
        return folded_track(device);
    }
    Track track;
    track.thread = {key_.substr(0, pid_bytes), key_.substr(pid_bytes + 1, thread_bytes - pid_bytes - 1), device};
    track.info.id = static_cast<TrackId>(threads_.add(key_) + 1);
    track.info.kind = device ? TrackKind::kDeviceQueue : TrackKind::kHostThread;
    track.info.process = track.thread.pid;
    if (device) {
        const Result<uint32_t> id = device_of(track.thread.pid);
        if (!id) return id.error();
        track.info.device = *id;
    }
    if (!device && pids_.find(track.thread.pid) == NameTable::kNone) pids_.add(track.thread.pid);
    track.info.name = names_.thread(track.thread, pids_.size() > 1);
    Status status = told(sink_.track(track.info));
    const TrackId id = track.info.id;
    tracks_.push_back(std::move(track));
    if (!status.ok()) return status.error();
    return id;
}

Result<TrackId> ChromeReader::folded_track(bool device) {
    const auto [found, fresh] = folded_tracks_.try_emplace(device);
    if (fresh) {
        found->second.id = static_cast<TrackId>(kMaxTracks + (device ? 2 : 1));
        found->second.kind = device ? TrackKind::kDeviceQueue : TrackKind::kHostThread;
        found->second.name = "(other threads)";
        if (Status status = told(sink_.track(found->second)); !status.ok()) return status.error();
    }
    return found->second.id;
}

Result<uint32_t> ChromeReader::device_of(const std::string& pid) {
    uint32_t known = device_pids_.find(pid);
    if (known == NameTable::kNone) {
        known = device_pids_.add(pid);
        DeviceInfo device;
        device.id = known + 1;
        device.name = names_.device(pid, {});
        devices_.push_back(device);
        if (Status status = told(sink_.device(device)); !status.ok()) return status.error();
    }
    return known + 1;
}

Result<SiteId> ChromeReader::site_of(const ChromeEvent& event, const ChromeKind& kind) {
    key_.assign(1, class_of(event, kind));
    if (event.name.escaped)
        key_ += json::unescape(event.name.view());
    else
        key_ += event.name.view();
    const uint32_t known = sites_.find(key_);
    if (known != NameTable::kNone) return known + 1;
    if (sites_.size() >= kMaxSites || sites_.bytes() + key_.size() > kMaxNameBytes) {
        ++counts_.names_folded;
        return folded_site(kind);
    }
    Site site;
    site.kind = kind.kind;
    site.label = key_.size() > 1 ? key_.substr(1) : "(unnamed)";
    if (kind.onnx)
        split_onnx_name(site);
    else if (kind.lapwing)
        take_own_args(event, site);
    else if (kind.device && kind.kind == SpanKind::kDispatch)
        site.kernel = site.label;
    const SiteId id = sites_.add(key_) + 1;
    if (Status status = told(sink_.site(id, site)); !status.ok()) return status.error();
    return id;
}

Result<SiteId> ChromeReader::folded_site(const ChromeKind& kind) {
    const auto [found, fresh] = folded_sites_.try_emplace(static_cast<int>(kind.kind));
    if (fresh) {
        found->second = kFirstFoldedSite + next_folded_site_++;
        Site site;
        site.kind = kind.kind;
        site.label = "(other names)";
        if (kind.kind == SpanKind::kDispatch) site.kernel = site.label;
        if (Status status = told(sink_.site(found->second, site)); !status.ok()) return status.error();
    }
    return found->second;
}

// Metadata may stand behind the spans that it names, and a second process may come late.
Status ChromeReader::announce_again(const ChromeRoot& root) {
    for (DeviceInfo& device : devices_) {
        std::string name = names_.device(device_pids_.text(device.id - 1), root);
        if (name == device.name) continue;
        device.name = std::move(name);
        if (Status status = told(sink_.device(device)); !status.ok()) return status;
    }
    for (Track& track : tracks_) {
        std::string name = names_.thread(track.thread, pids_.size() > 1);
        if (name == track.info.name) continue;
        track.info.name = std::move(name);
        if (Status status = told(sink_.track(track.info)); !status.ok()) return status;
    }
    return {};
}

Status ChromeReader::finish(const ChromeRoot& root, TraceSummary& summary) {
    Status status = hand_over();
    if (status.ok()) status = announce_again(root);
    if (names_.by_lapwing()) flavour_.see_lapwing();
    summary.flavour = flavour_.name(root);
    summary.chrome = counts_;
    summary.base_time_ns = root.base_time_ns;
    summary.read.spans = spans_;
    summary.read.unclosed = open_slices_;
    return status;
}

}    // namespace lapwing::trace
