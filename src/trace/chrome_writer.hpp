// The sink behind open_chrome_writer().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lapwing/chrome.hpp"
#include "trace/chrome_text.hpp"
#include "trace/nested_slices.hpp"
#include "trace/trace_file.hpp"

namespace lapwing::trace {

/// The file is always its events followed by a tail that ends it; each write puts new events and a new tail in the
/// place of the old tail.
class ChromeWriter final : public SpanSink {
public:
    ChromeWriter(TraceFile file, const ChromeWriterOptions& options);
    ~ChromeWriter() override;

    /// Writes an empty trace, so that even a program that records nothing leaves one.
    Status start();

    Status process(const ProcessInfo& process) override;
    Status device(const DeviceInfo& device) override;
    Status track(const TrackInfo& track) override;
    Status site(SiteId id, const Site& site) override;
    Status spans(std::span<const SpanRecord> spans) override;
    Status step(const StepRecord& step) override;
    Status stats(const RecordingStats& stats) override;
    Status flush() override;
    Status close() override;

private:
    struct Lane {
        uint32_t tid = 0;
        NestedSlices slices;
    };
    struct Track {
        TrackInfo info;
        uint32_t pid = 0;    // 0 until its first span
        std::vector<Lane> lanes;
    };
    // What is not in the file, and why.
    struct Dropped {
        uint64_t size = 0;     // the file is as large as it may become
        uint64_t lanes = 0;    // more overlap than there may be lanes
        uint64_t time = 0;     // negative, or beyond what a clock can show
        [[nodiscard]] uint64_t total() const noexcept { return size + lanes + time; }
    };

    Track& track_of(TrackId id);
    [[nodiscard]] uint32_t pid_of(const TrackInfo& track);
    [[nodiscard]] uint32_t named_pid(const std::string& name);
    Lane* lane_for(Track& track, int64_t begin_ns, int64_t end_ns);
    void append_span(const SpanRecord& span);
    bool append_slice(Track& track, const chrome::SiteText& site, int64_t begin_ns, int64_t duration_ns,
                      std::string_view args, Dropped& dropped);
    [[nodiscard]] const chrome::SiteText& text_of(SiteId id);
    [[nodiscard]] std::string& new_line();
    [[nodiscard]] std::string head() const;
    [[nodiscard]] std::string tail() const;
    [[nodiscard]] std::string counts() const;
    void settle_base(int64_t earliest_ns);
    void write_out();
    void write_text();
    [[nodiscard]] Status state() const;

    TraceFile file_;
    ChromeWriterOptions options_;
    Status status_;    // the first error, after which nothing more is written
    bool closed_ = false;
    int64_t base_ns_ = 0;
    bool base_settled_ = false;
    bool has_events_;            // in the file or in text_
    uint64_t events_end_ = 0;    // where the tail begins
    std::string old_tail_;
    std::string text_;    // events that wait to be written

    std::vector<SpanRecord> pending_;
    std::map<TrackId, Track> tracks_;
    std::optional<Track> steps_;
    std::unordered_map<uint32_t, DeviceInfo> devices_;
    std::unordered_map<uint32_t, uint32_t> device_pids_;    // of the current process
    std::string process_name_;
    uint32_t host_pid_ = 0;    // of the current process; 0 until its first span
    uint32_t next_pid_ = 1;
    uint32_t next_tid_ = 1;
    std::unordered_map<SiteId, chrome::SiteText> sites_;
    uint64_t written_ = 0;
    Dropped dropped_;
    Dropped dropped_steps_;
    std::optional<RecordingStats> stats_;
};

}    // namespace lapwing::trace
