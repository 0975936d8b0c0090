// A Chrome trace as a stream of events, read through one reused buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/result.hpp"
#include "trace/byte_source.hpp"
#include "trace/json_scan.hpp"

namespace lapwing::trace {

/// What of an event is looked at; where it has a key twice, the last. Valid until the next event is asked for.
struct ChromeEvent {
    json::Text name, cat, ph, ts, dur, pid, tid, args;
};

/// What stands at the top level of a trace beside its events.
struct ChromeRoot {
    std::vector<std::string> keys;    // at most 64
    std::optional<int64_t> base_time_ns;
    std::vector<std::pair<std::string, std::string>> devices;    // deviceProperties: id and name

    [[nodiscard]] bool has(std::string_view key) const noexcept;
};

/// Hands out the events of a trace, an array or an object with "traceEvents".
/// Shape:   an event is read whole or not at all. Memory: `buffer_bytes`, or twice the largest event (at most 16 MiB).
class ChromeSource {
public:
    enum class Step : uint8_t {
        kEvent = 0,
        kEnd,       ///< the trace is complete, or an array of events that lacks its closing bracket only
        kTorn,      ///< the file ends at or inside what begins at offset()
        kFailed,    ///< error() says what is wrong
    };
    static constexpr std::size_t kBufferBytes = 256 * 1024;

    explicit ChromeSource(ByteSource source, std::size_t buffer_bytes = kBufferBytes);

    [[nodiscard]] Step next(ChromeEvent& event);

    /// Where the last event, or what is torn, begins; bytes of the unpacked file.
    [[nodiscard]] uint64_t offset() const noexcept { return offset_; }
    /// Unpacked bytes read so far.
    [[nodiscard]] uint64_t bytes() const noexcept { return base_ + static_cast<uint64_t>(scan_.end - buffer_.data()); }
    [[nodiscard]] uint64_t events() const noexcept { return events_; }
    [[nodiscard]] bool open_array() const noexcept { return open_array_; }
    /// The file is an array, or has had its "traceEvents".
    [[nodiscard]] bool has_events() const noexcept { return has_events_; }
    [[nodiscard]] const ChromeRoot& root() const noexcept { return root_; }
    [[nodiscard]] const Error& error() const noexcept { return error_; }
    [[nodiscard]] const std::string& name() const noexcept { return source_.name(); }

private:
    enum class Place : uint8_t { kStart, kEvents, kRoot, kBehind };
    enum class Whole : uint8_t { kRead, kEnded, kFailed };

    template <class Read>
    Whole whole(Read read);
    bool refill();
    char peek();
    Step step_in_events(ChromeEvent& event, bool& again);
    Step read_member(bool& again);
    bool skip_value();
    void keep_value(std::string_view key, json::Text value);
    const char* read_event(const char* at, ChromeEvent& event);
    Step torn(uint64_t at);
    Step fail(const char* at, const char* expected);
    Step ended_in(Whole whole);
    [[nodiscard]] uint64_t offset_of(const char* at) const noexcept {
        return base_ + static_cast<uint64_t>(at - buffer_.data());
    }

    ByteSource source_;
    std::vector<char> buffer_;    // and json::kPadding zeros
    json::Scan scan_;
    const char* at_ = nullptr;
    uint64_t base_ = 0;    // offset of the buffer's first byte
    bool at_end_ = false;
    Place place_ = Place::kStart;
    bool object_ = false;
    bool has_events_ = false;
    bool open_array_ = false;
    uint64_t offset_ = 0;
    uint64_t events_ = 0;
    ChromeRoot root_;
    Error error_;
};

}    // namespace lapwing::trace
