#include "trace/recording_set.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lapwing/perfetto.hpp"
#include "trace/device_tracks.hpp"
#include "trace/packet_source.hpp"
#include "trace/sniff.hpp"
#include "trace/wire_reader.hpp"

namespace lapwing::trace {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartSuffix = ".part";

// The number in "NAME.part12", 0 where it is no such name.
uint32_t part_number(std::string_view name, std::string_view base) {
    if (!name.starts_with(base) || !name.substr(base.size()).starts_with(kPartSuffix)) return 0;
    const std::string_view digits = name.substr(base.size() + kPartSuffix.size());
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

// Passes the stream of one part on. Its statistics count what older parts hold as left out: what of that has been told
// is taken off again, whichever parts are still there.
class PartSink final : public SpanSink {
public:
    explicit PartSink(SpanSink& to) : to_(to) {}

    void next_part() {
        told_before_ = told_;
        fingerprints_before_ = fingerprints_;
        first_ = false;
    }

    Status process(const ProcessInfo& process) override { return first_ ? to_.process(process) : Status(); }
    Status device(const DeviceInfo& device) override { return to_.device(device); }
    Status track(const TrackInfo& track) override {
        device_tracks_.announce(track);
        return to_.track(track);
    }
    Status site(SiteId id, const Site& site) override { return to_.site(id, site); }
    Status spans(std::span<const SpanRecord> spans) override {
        told_ += device_tracks_.count(spans);
        return to_.spans(spans);
    }
    Status step(const StepRecord& step) override { return to_.step(step); }
    Status stats(const RecordingStats& stats) override {
        RecordingStats out = stats;
        out.left_out -= std::min(out.left_out, told_before_);
        out.fingerprints_left_out -= std::min(out.fingerprints_left_out, fingerprints_before_);
        // A part's own begin is not that of what is read here.
        if (first_) begin_ns_ = stats.window_begin_ns;
        if (begin_ns_) out.window_begin_ns = std::min(out.window_begin_ns, *begin_ns_);
        return to_.stats(out);
    }
    Status fingerprint(const FingerprintRecord& record) override {
        ++fingerprints_;
        return to_.fingerprint(record);
    }
    Status flush() override { return to_.flush(); }
    Status close() override { return to_.close(); }

private:
    SpanSink& to_;
    bool first_ = true;
    uint64_t told_ = 0;    // device spans
    uint64_t told_before_ = 0;
    uint64_t fingerprints_ = 0;
    uint64_t fingerprints_before_ = 0;
    std::optional<int64_t> begin_ns_;    // of the first part
    DeviceTracks device_tracks_;
};

}    // namespace

std::string part_path(const std::string& base, uint32_t number) {
    return base + std::string(kPartSuffix) + std::to_string(number);
}

std::optional<RecordingInfo> identify(const std::string& path) {
    Result<PacketSource> source = PacketSource::open(path);
    if (!source.ok()) return std::nullopt;
    std::string_view packet;
    if (!begins_like_recording(source->peek()) || source->next(packet) != PacketSource::Step::kPacket)
        return std::nullopt;
    MessageReader in(packet);
    while (in.next()) {
        if (in.tag_value() != tag(packet::kLapwing, Wire::kBytes)) {
            in.skip();
            continue;
        }
        MessageReader own(in.bytes());
        RecordingInfo info;
        if (own.next() && own.tag_value() == tag(own::kRecording, Wire::kBytes) && decode(own.bytes(), info) &&
            info.magic == kMagic)
            return info;
    }
    return std::nullopt;
}

std::vector<std::string> parts_behind(const std::string& base) {
    std::vector<std::pair<uint32_t, std::string>> found;
    const std::optional<RecordingInfo> whole = identify(base);
    if (!whole || whole->id == 0) return {};
    const fs::path folder = fs::path(base).parent_path();
    const std::string name = fs::path(base).filename().string();
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored)) {
        if (part_number(entry.path().filename().string(), name) == 0) continue;
        const std::string path = (folder / entry.path().filename()).string();
        const std::optional<RecordingInfo> part = identify(path);
        if (part && part->id == whole->id && part->part > whole->part) found.emplace_back(part->part, path);
    }
    std::sort(found.begin(), found.end());
    std::vector<std::string> paths;
    for (auto& [number, path] : found) paths.push_back(std::move(path));
    return paths;
}

}    // namespace lapwing::trace

namespace lapwing {

Result<ReadSummary> read_recording(const std::string& path, SpanSink& sink) {
    const std::vector<std::string> parts = trace::parts_behind(path);
    if (parts.empty()) return read_perfetto(path, sink);
    trace::PartSink to(sink);
    Result<ReadSummary> sum = read_perfetto(path, to);
    for (const std::string& part : parts) {
        if (!sum.ok()) return sum;
        to.next_part();
        const Result<ReadSummary> read = read_perfetto(part, to);
        if (!read.ok()) return read;
        sum->bytes += read->bytes;
        sum->packets += read->packets;
        sum->spans += read->spans;
        sum->loose_spans += read->loose_spans;
        sum->torn = read->torn;
        sum->torn_at = read->torn_at;
        sum->unclosed += read->unclosed;
        sum->unknown_sites += read->unknown_sites;
        ++sum->parts;
    }
    return sum;
}

}    // namespace lapwing
