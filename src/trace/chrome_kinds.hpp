// What the events of each tool mean: which of them a GPU did, and who wrote the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lapwing/span.hpp"
#include "trace/chrome_source.hpp"

namespace lapwing::trace {

/// What a slice is.
struct ChromeKind {
    SpanKind kind = SpanKind::kHost;
    bool device = false;     ///< a GPU did it
    bool onnx = false;       ///< its name is "node&op&kernel"
    bool lapwing = false;    ///< written by open_chrome_writer(): `args` say more
};

/// Shape:   `on_device_process`: the event's process is one of those that open_chrome_writer() makes for devices.
[[nodiscard]] ChromeKind kind_of(const ChromeEvent& event, bool on_device_process) noexcept;

/// Gathers who wrote the file, from what its events and its top level look like.
class ChromeFlavour {
public:
    void see(const ChromeEvent& event, const ChromeKind& kind) noexcept;
    void see_lapwing() noexcept { seen_ |= kLapwing; }
    [[nodiscard]] std::string name(const ChromeRoot& root) const;

private:
    enum Seen : uint32_t { kLapwing = 1, kKineto = 2, kOnnx = 4, kGgml = 8, kAutograd = 16, kViz = 32 };
    uint32_t seen_ = 0;
};

}    // namespace lapwing::trace
