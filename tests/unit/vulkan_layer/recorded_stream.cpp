#include "unit/vulkan_layer/recorded_stream.hpp"

#include <algorithm>
#include <iterator>

namespace lapwing::testing {

namespace {
class StreamRecorder final : public Recorder {
public:
    explicit StreamRecorder(RecordedStream& stream) : stream_(stream) {}

    Status process(const ProcessInfo& process) override {
        stream_.process = process;
        return {};
    }
    Status device(const DeviceInfo& device) override {
        stream_.devices.push_back(device);
        return {};
    }
    Status track(const TrackInfo& track) override {
        stream_.tracks.push_back(track);
        return {};
    }
    Status site(SiteId id, const Site& site) override {
        stream_.sites[id] = site;
        return {};
    }
    Status spans(std::span<const SpanRecord> spans) override {
        for (const SpanRecord& span : spans) {
            if (stream_.to_drop > 0) {
                --stream_.to_drop;
                ++stream_.dropped;
                continue;
            }
            const bool track = std::any_of(stream_.tracks.begin(), stream_.tracks.end(),
                                           [&](const TrackInfo& known) { return known.id == span.track; });
            if (!track || stream_.sites.count(span.site) == 0) ++stream_.unannounced;
            stream_.spans.push_back(span);
        }
        return {};
    }
    Status step(const StepRecord& step) override {
        stream_.steps.push_back(step);
        return {};
    }
    Status stats(const RecordingStats& stats) override {
        stream_.stats.push_back(stats);
        return {};
    }
    Status close() override { return close_within(0); }
    [[nodiscard]] uint64_t dropped() const noexcept override { return stream_.dropped; }
    [[nodiscard]] uint64_t unwritten() const noexcept override { return 0; }
    [[nodiscard]] uint64_t dropped_steps() const noexcept override { return 0; }
    [[nodiscard]] uint64_t dropped_fingerprints() const noexcept override { return 0; }
    Status close_within(int64_t) override {
        stream_.closed = true;
        return {};
    }

private:
    RecordedStream& stream_;
};

std::vector<SpanRecord> spans_on(const RecordedStream& stream, TrackKind kind) {
    std::vector<SpanRecord> out;
    std::copy_if(stream.spans.begin(), stream.spans.end(), std::back_inserter(out), [&](const SpanRecord& span) {
        return std::any_of(stream.tracks.begin(), stream.tracks.end(),
                           [&](const TrackInfo& track) { return track.id == span.track && track.kind == kind; });
    });
    return out;
}
}    // namespace

std::vector<SpanRecord> RecordedStream::device_spans() const {
    return spans_on(*this, TrackKind::kDeviceQueue);
}

std::vector<SpanRecord> RecordedStream::host_spans() const {
    return spans_on(*this, TrackKind::kHostThread);
}

std::unique_ptr<Recorder> make_stream_recorder(RecordedStream& stream) {
    return std::make_unique<StreamRecorder>(stream);
}

}    // namespace lapwing::testing
