// The recording of this process: one file, one writer, shared by all its devices and threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "attach/session/config.hpp"
#include "attach/session/counters.hpp"
#include "attach/session/label_table.hpp"
#include "attach/session/step_clock.hpp"
#include "attach/session/step_labels.hpp"
#include "lapwing/recorder.hpp"
#include "lapwing/site_table.hpp"

namespace lapwing::attach {

/// Calls of the program that show up on its threads' host tracks.
enum class HostCall : uint8_t {
    kQueueSubmit = 0,
    kQueueSubmit2,
    kQueueWaitIdle,
    kDeviceWaitIdle,
    kWaitForFences,
    kWaitSemaphores,
    kFenceStatus,
    kSemaphoreValue,
    kFinish,
    kWaitForEvents,
    kBlockingTransfer,
    kEventStatus,
};
inline constexpr std::size_t kHostCallCount = 12;

/// Names devices, tracks and sites, counts, finds steps, and hands everything to the recorder.
/// Shape:   opened at the first device, never destroyed: threads of the program may be in a hook while it exits.
/// Threads: any.
class Session {
public:
    /// Claims the file, starts the writer thread and announces the process. Later errors are kept by the recorder.
    /// Errors:  kUnwritable naming the file; kExhausted where no thread can be started.
    [[nodiscard]] static Result<std::unique_ptr<Session>> open(const LayerConfig& config);

    /// Uses a recorder that is already there, to which the process was announced.
    Session(const LayerConfig& config, std::unique_ptr<Recorder> recorder);

    /// This process as a recording describes it.
    [[nodiscard]] static ProcessInfo describe_process(const LayerConfig& config);

    /// The recording's file; empty where the recorder came from elsewhere.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Whether command buffers that are begun now get stamps.
    /// Cost:    hot: a constant and one relaxed load.
    [[nodiscard]] bool armed() const noexcept { return stamps_commands() && steps_.armed(); }
    /// Whether submits are stamped and not commands: level lane.
    [[nodiscard]] bool stamps_submits() const noexcept { return config_.level == Level::kLane; }

    /// Numbers and announces a device.
    [[nodiscard]] uint32_t add_device(DeviceInfo info);
    /// Announces again what is now known better of a device.
    void update_device(const DeviceInfo& info);

    /// Numbers and announces a track; 0 where there are no numbers left.
    [[nodiscard]] TrackId add_track(TrackKind kind, uint32_t device, std::string name);

    /// The number of a site, announced before it is returned.
    [[nodiscard]] SiteId site(const Site& site);

    /// Hands over device spans, which count as recorded; those that the recorder drops are lost as `ring_full`.
    void device_spans(std::span<const SpanRecord> spans);

    /// A span on a host thread's track: one call, or a run of calls that polled.
    void host_span(TrackId track, HostCall call, bool polled, int64_t begin_ns, int64_t end_ns);

    /// Where a submit belongs.
    struct Submitted {
        uint32_t step = kNoStep;
        bool stamped = false;    ///< it is to be stamped: see stamps_submits()
        bool armed = false;      ///< its step is timed, at a level that times
    };
    /// See StepClock. A step that closes is announced.
    Submitted submitted(int64_t now_ns, const StepClock::Work& work);
    [[nodiscard]] bool is_step_over(uint32_t step) const noexcept { return steps_.is_over(step); }
    void withdrawn(const StepClock::Work& work) noexcept;
    /// Shape:   true where a step closed; publish_stats() is due when its spans are handed over.
    bool completed(uint64_t count, int64_t now_ns);
    /// A label was opened on a queue, or closed.
    void scope_opened(const char* label, int64_t now_ns);
    void scope_closed();
    /// A label was opened in a command buffer that is being recorded.
    /// Shape:   absent where it begins no step; else whether that step is armed.
    /// Cost:    one branch unless steps are found by labels.
    [[nodiscard]] std::optional<bool> label_begins_step(const char* label) {
        if (!step_labels_) [[likely]]
            return std::nullopt;
        return label_begins_step_cold(label);
    }

    /// Shape:   with `final` the open step is closed first, where nothing but its end could do it.
    void publish_stats(bool final);

    /// Writes all there is and ends the writer. Waits for it at most `deadline_ns`.
    void close(int64_t deadline_ns);

    [[nodiscard]] Counters& counters() noexcept { return counters_; }
    [[nodiscard]] LabelTable& labels() noexcept { return labels_; }

private:
    [[nodiscard]] bool stamps_commands() const noexcept { return config_.level >= Level::kKernel; }
    bool announce_step(const std::optional<StepRecord>& step);
    [[nodiscard]] SiteId site_locked(const Site& site);
    [[nodiscard]] std::optional<bool> label_begins_step_cold(const char* label);
    [[nodiscard]] RecordingStats stats(bool final) const;

    const LayerConfig config_;
    std::string path_;
    const int64_t opened_ns_;
    Counters counters_;
    LabelTable labels_;
    std::unique_ptr<StepLabels> step_labels_;    // null unless steps are found by labels
    StepClock steps_;
    SiteTable sites_;
    std::atomic<uint32_t> next_device_{1};
    std::atomic<uint32_t> next_track_{1};

    // Held while something is handed to the recorder: a site must be announced before any thread uses its number, and
    // what the recorder drops must be told apart by who handed it over.
    std::mutex sink_mutex_;
    std::array<std::array<SiteId, 2>, kHostCallCount> host_sites_{};    // by call and whether it polled
    const std::unique_ptr<Recorder> recorder_;
};

}    // namespace lapwing::attach
