// The sink behind open_perfetto_writer().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lapwing/perfetto.hpp"
#include "trace/lane.hpp"
#include "trace/metadata.hpp"
#include "trace/packet_output.hpp"

namespace lapwing::trace {

/// A number that no other recording is likely to have: ids must not meet when traces are joined.
[[nodiscard]] uint64_t random_id();

class PerfettoWriter final : public SpanSink {
public:
    /// `identity`: magic and version are filled in.
    PerfettoWriter(TraceFile file, const PerfettoWriterOptions& options, RecordingInfo identity);
    ~PerfettoWriter() override;

    /// Writes the head of the file, so that even a program that records nothing leaves a recording.
    Status start();

    Status process(const ProcessInfo& process) override;
    Status device(const DeviceInfo& device) override;
    Status track(const TrackInfo& track) override;
    Status site(SiteId id, const Site& site) override;
    Status spans(std::span<const SpanRecord> spans) override;
    Status step(const StepRecord& step) override;
    Status stats(const RecordingStats& stats) override;
    Status fingerprint(const FingerprintRecord& record) override;
    Status flush() override;
    Status close() override;

    /// What the file comes to at most when all that is held back is written.
    [[nodiscard]] uint64_t size_bound() const noexcept;

private:
    struct Track {
        TrackInfo info;
        uint64_t process_uuid = 0;    // of the process it was announced for
        int32_t pid = 1;
        int32_t thread_id = 0;    // as viewers know it; 0 = none of its own
        std::vector<std::unique_ptr<Lane>> lanes;
        std::vector<SpanRecord> batch;    // host spans of the current call
    };
    struct StepTrack {
        uint64_t uuid = 0;
        int64_t last_ns = 0;
    };

    Track& track_of(TrackId id);
    void write_device_spans(Track& track, std::span<const SpanRecord> spans);
    void write_device_span(Track& track, const SpanRecord& span);
    void write_host_batch(Track& track);
    void write_loose(const SpanRecord& span);
    Lane* add_lane(Track& track, int64_t first_ns);
    Lane* host_lane(Track& track, const SpanRecord& span);
    void close_until(Lane& lane, int64_t at_ns);
    std::string shown_name(const TrackInfo& track);
    void describe_lane(Track& track, std::size_t index);
    void prepare(Lane& lane, const SpanRecord& span);

    void append(Lane& lane, std::string_view packets);
    void make_room(Lane& lane, std::size_t bytes);
    void flush_lane(Lane& lane);
    void flush_all();
    [[nodiscard]] uint64_t new_uuid();

    PacketOutput out_;
    PerfettoWriterOptions options_;
    RecordingInfo identity_;
    uint64_t uuid_state_;
    uint64_t process_uuid_;    // of the latest process
    bool has_process_ = false;
    int32_t viewer_pid_ = 1;
    uint32_t next_sequence_ = 2;
    std::size_t buffered_capacity_ = 0;
    std::vector<std::unique_ptr<Track>> tracks_;    // by TrackId
    std::vector<Track*> batched_;                   // host tracks with a batch in the current call
    std::unordered_map<uint32_t, DeviceInfo> devices_;
    std::unordered_map<SiteId, std::string> site_names_;
    std::unordered_map<std::string, TrackId> shown_names_;
    std::unordered_set<int32_t> thread_ids_;
    std::vector<StepTrack> step_tracks_;
};

}    // namespace lapwing::trace
