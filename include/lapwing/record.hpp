// The one stream of spans: what harvest produces, recordings hold and views consume.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace lapwing {

/// What a span is of.
enum class SpanKind : uint8_t {
    kDispatch = 0,    ///< one kernel (compute dispatch, direct or indirect)
    kCopy,            ///< a copy or an update of memory by the device
    kFill,            ///< a fill or clear by the device
    kRender,          ///< a render pass
    kHost,            ///< host time: a call, a scope, a wait
};

/// The kind's name in reports and files ("dispatch", ...). Static string.
[[nodiscard]] const char* to_text(SpanKind kind) noexcept;

/// How a span's time is known.
enum class Validity : uint8_t {
    kMeasured = 0,    ///< two valid stamps of its own queue
    kEstimated,       ///< derived; `Site::note` says from what
};

/// Number of a site, unique in one recording. 0 means "unknown" and is never described.
using SiteId = uint32_t;

/// What the spans of one place in a program have in common. Described once, referred to by number.
struct Site {
    std::string label;     ///< the engine's full label ("RMS_NORM+MUL norm-0"); empty if it gave none
    std::string op;        ///< the engine's name for it ("RMS_NORM+MUL"); empty if it gave none
    std::string kernel;    ///< the GPU program as the driver knows it; empty for copies and fills
    int32_t layer = -1;    ///< transformer layer; -1 = none known
    SpanKind kind = SpanKind::kDispatch;
    std::array<uint32_t, 3> grid{};    ///< workgroups; zeros = not known (indirect dispatches)
    bool warmup = false;               ///< a first use whose time may contain compilation
    Validity validity = Validity::kMeasured;
    std::string note;          ///< what an estimate is made from; empty when measured
    std::string category{};    ///< of the brick that `op` names ("Attention"); empty where it is no brick
    std::string family{};      ///< "gemm", "fused_block", ...; empty if it has none
    std::string phase{};       ///< "prefill", "decode", ...; empty if it belongs to none
    std::string lane{};        ///< "admit", "decode", ...: the scheduler's activity that the span is of; empty = none
    bool container = false;    ///< it contains other spans' work (a lane, several passes): not busy time, and in no row
                               ///< by op, kernel, layer or step

    // The work of one execution, as the program says (op_work.hpp computes it from shapes). Absent = not known, which
    // is not the same as 0: a copy has 0 FLOPs.
    std::optional<uint64_t> flops{};    ///< arithmetic operations; a multiply-add counts 2
    std::optional<uint64_t> bytes{};    ///< that it has to move to and from memory, at least

    friend bool operator==(const Site&, const Site&) = default;
};

/// Number of a track (a device queue, a host thread), unique in one recording; starts at 1.
using TrackId = uint16_t;

/// Step number of a span outside every step.
inline constexpr uint32_t kNoStep = 0xffffffffu;

/// One finished span. Plain data, 32 bytes.
/// Units:   nanoseconds of CLOCK_MONOTONIC for `begin_ns`, aligned by its device's clock anchor; exact integers.
struct SpanRecord {
    int64_t begin_ns = 0;
    int64_t duration_ns = 0;    ///< >= 0
    SiteId site = 0;
    uint32_t step = kNoStep;
    TrackId track = 0;
    uint16_t reserved = 0;
    uint32_t tag = 0;    ///< the producer's own number for it, for views in its process; not written to files
};
static_assert(sizeof(SpanRecord) == 32);

}    // namespace lapwing
