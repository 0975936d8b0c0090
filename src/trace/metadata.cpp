#include "trace/metadata.hpp"

#include <bit>
#include <cmath>
#include <optional>
#include <type_traits>

#include "trace/wire_reader.hpp"
#include "trace/wire_writer.hpp"

namespace lapwing::trace {

namespace {

struct LossEntry {
    uint32_t reason = 0;
    uint64_t count = 0;
};

constexpr uint64_t last_of(TrackKind) {
    return static_cast<uint64_t>(TrackKind::kHostThread);
}
constexpr uint64_t last_of(SpanKind) {
    return static_cast<uint64_t>(SpanKind::kHost);
}
constexpr uint64_t last_of(Validity) {
    return static_cast<uint64_t>(Validity::kEstimated);
}

constexpr uint64_t last_of(DType) {
    return static_cast<uint64_t>(DType::kI8);
}

// One list of fields a message, used for both directions: `visit(number, member, default)`.
template <class V>
void fields(V& visit, RecordingInfo& recording) {
    visit(1, recording.magic);
    visit(2, recording.version);
    visit(3, recording.id);
    visit(4, recording.run);
    visit(5, recording.part, 1u);
}
template <class V>
void fields(V& visit, ProcessInfo& process) {
    visit(1, process.pid);
    visit(2, process.command);
    visit(3, process.lapwing_version);
    visit(4, process.level);
    visit(5, process.every, 1u);
    visit(6, process.step);
    visit(7, process.skip);
    visit(8, process.duration_ns);
}
template <class V>
void fields(V& visit, ClockInfo& clock) {
    visit(1, clock.resolution_ns);
    visit(2, clock.valid_bits);
    visit(3, clock.calibrated);
    visit(4, clock.uncertainty_ns);
    visit(5, clock.drift_ppm);
    visit(6, clock.residual_ns);
    visit(7, clock.clock_steps);
    visit(8, clock.floor_ns);
    visit(9, clock.floor_pairs);
}
template <class V>
void fields(V& visit, DeviceInfo& device) {
    visit(1, device.id);
    visit(2, device.api);
    visit(3, device.name);
    visit(4, device.driver);
    visit(5, device.clock);
    visit(6, device.uuid);
}
template <class V>
void fields(V& visit, TrackInfo& track) {
    visit(1, track.id);
    visit(2, track.kind);
    visit(3, track.device);
    visit(4, track.name);
}
template <class V>
void fields(V& visit, LaneInfo& lane) {
    visit(1, lane.track);
    visit(2, lane.number, 1u);
}
template <class V>
void fields(V& visit, SiteInfo& info) {
    visit(1, info.id);
    visit(2, info.site.label);
    visit(3, info.site.op);
    visit(4, info.site.kernel);
    visit(5, info.site.layer, -1);
    visit(6, info.site.kind);
    visit(7, info.site.grid[0]);
    visit(8, info.site.grid[1]);
    visit(9, info.site.grid[2]);
    visit(10, info.site.warmup);
    visit(11, info.site.validity);
    visit(12, info.site.note);
    visit(13, info.site.category);
    visit(14, info.site.family);
    visit(15, info.site.phase);
    visit(16, info.site.lane);
    visit(17, info.site.container);
    visit(18, info.site.flops);
    visit(19, info.site.bytes);
}
template <class V>
void fields(V& visit, StepRecord& step) {
    visit(1, step.index);
    visit(2, step.begin_ns);
    visit(3, step.end_ns);
    visit(4, step.dispatches);
    visit(5, step.armed, true);
    visit(6, step.untimed);
    visit(7, step.sampled, true);
}
template <class V>
void fields(V& visit, LossEntry& loss) {
    visit(1, loss.reason);
    visit(2, loss.count);
}
template <class V>
void fields(V& visit, RecordingStats& stats) {
    visit(1, stats.begun);
    visit(2, stats.recorded);
    visit(3, stats.estimated);
    visit(4, stats.lost);
    visit(5, stats.stamps);
    visit(6, stats.result_reads);
    visit(7, stats.own_submits);
    visit(8, stats.hook_ns);
    visit(9, stats.faults);
    visit(10, stats.window_begin_ns);
    visit(11, stats.window_end_ns);
    visit(12, stats.final);
    visit(13, stats.executed_dispatches);
    visit(14, stats.names_dropped);
    visit(15, stats.left_out);
    visit(16, stats.write_error);
    visit(17, stats.budget_ppm);
    visit(18, stats.budget_share_ppm);
    visit(19, stats.armed_step_ns);
    visit(20, stats.stride, 1u);
    visit(21, stats.stride_changes);
    visit(22, stats.start_ns);
    visit(23, stats.fingerprints_dropped);
    visit(24, stats.fingerprints_left_out);
}
template <class V>
void fields(V& visit, SpanRecord& loose) {
    visit(1, loose.track);
    visit(2, loose.site);
    visit(3, loose.begin_ns);
    visit(4, loose.duration_ns);
    visit(5, loose.step, kNoStep);
}
template <class V>
void fields(V& visit, FingerprintRecord& record) {
    visit(1, record.name);
    visit(2, record.layer, -1);
    visit(3, record.position);
    visit(4, record.order);
    visit(5, record.shape[0]);
    visit(6, record.shape[1]);
    visit(7, record.shape[2]);
    visit(8, record.shape[3]);
    visit(9, record.fingerprint.type);
    visit(10, record.fingerprint.count);
    visit(11, record.fingerprint.nans);
    visit(12, record.fingerprint.infs);
    visit(13, record.fingerprint.sum);
    visit(14, record.fingerprint.sum_squares);
    visit(15, record.fingerprint.sum_abs);
    visit(16, record.fingerprint.min);
    visit(17, record.fingerprint.max);
    visit(18, record.fingerprint.seed);
    visit(19, record.fingerprint.projections);
    visit(20, record.fingerprint.checksum);
    visit(21, record.isolated_ns);
}

using Projections = std::array<double, kProjections>;

template <class T>
std::string encode_fields(T message);

class Encoder {
public:
    template <class T>
    requires std::is_integral_v<T>
    void operator()(uint32_t field, T value, T absent = T{}) {
        if (value != absent) out_.varint(field, static_cast<uint64_t>(value));
    }
    template <class E>
    requires std::is_enum_v<E>
    void operator()(uint32_t field, E value) { (*this)(field, static_cast<uint64_t>(value)); }
    void operator()(uint32_t field, double value) {
        if (value != 0) out_.fixed_double(field, value);
    }
    void operator()(uint32_t field, const std::string& value) {
        if (!value.empty()) out_.bytes(field, value);
    }
    template <class T>
    requires std::is_integral_v<T>
    void operator()(uint32_t field, const std::optional<T>& value) {
        if (value) out_.varint(field, static_cast<uint64_t>(*value));
    }
    void operator()(uint32_t field, const std::optional<double>& value) {
        if (value) out_.fixed_double(field, *value);
    }
    // Packed: the doubles one after another.
    void operator()(uint32_t field, const Projections& values) {
        if (values == Projections{}) return;
        std::string bytes;
        for (const double value : values) append_double(bytes, value);
        out_.bytes(field, bytes);
    }
    void operator()(uint32_t field, const ClockInfo& clock) { out_.bytes(field, encode_fields(clock)); }
    void operator()(uint32_t field, const LossCounts& lost) {
        for (uint32_t reason = 0; reason < kLossReasonCount; ++reason) {
            const LossEntry entry{reason, lost.by_reason[reason]};
            if (entry.count != 0) out_.bytes(field, encode_fields(entry));
        }
    }
    [[nodiscard]] const std::string& str() const { return out_.str(); }

private:
    MessageWriter out_;
};

template <class T>
std::string encode_fields(T message) {
    Encoder encoder;
    fields(encoder, message);
    return encoder.str();
}

template <class T>
bool decode_fields(std::string_view body, T& message);

// Takes the value of the reader's current field if the field is the visited one.
class Decoder {
public:
    explicit Decoder(MessageReader& reader) : reader_(reader) {}

    template <class T>
    requires std::is_integral_v<T>
    void operator()(uint32_t field, T& value, T = T{}) {
        if (!is(field, Wire::kVarint)) return;
        const uint64_t read = reader_.varint();
        value = static_cast<T>(read);
        // A number that does not fit its type is damage, not something to truncate.
        fits_ = fits_ && static_cast<uint64_t>(value) == read;
    }
    template <class E>
    requires std::is_enum_v<E>
    void operator()(uint32_t field, E& value) {
        if (!is(field, Wire::kVarint)) return;
        const uint64_t read = reader_.varint();
        fits_ = fits_ && read <= last_of(E{});
        if (fits_) value = static_cast<E>(read);
    }
    void operator()(uint32_t field, double& value) {
        if (is(field, Wire::kFixed64)) value = reader_.fixed_double();
    }
    void operator()(uint32_t field, std::string& value) {
        if (is(field, Wire::kBytes)) value = reader_.bytes();
    }
    template <class T>
    requires(std::is_integral_v<T> && sizeof(T) == sizeof(uint64_t)) void operator()(uint32_t field,
                                                                                     std::optional<T>& value) {
        if (is(field, Wire::kVarint)) value = static_cast<T>(reader_.varint());
    }
    void operator()(uint32_t field, std::optional<double>& value) {
        if (is(field, Wire::kFixed64)) value = reader_.fixed_double();
        fits_ = fits_ && (!value || std::isfinite(*value));
    }
    void operator()(uint32_t field, Projections& values) {
        if (!is(field, Wire::kBytes)) return;
        const std::string_view bytes = reader_.bytes();
        fits_ = fits_ && bytes.size() == values.size() * sizeof(double);
        for (std::size_t i = 0; fits_ && i < values.size(); ++i) values[i] = double_at(bytes, i * sizeof(double));
    }
    void operator()(uint32_t field, ClockInfo& clock) {
        if (is(field, Wire::kBytes)) fits_ = decode_fields(reader_.bytes(), clock) && fits_;
    }
    void operator()(uint32_t field, LossCounts& lost) {
        if (!is(field, Wire::kBytes)) return;
        LossEntry entry;
        fits_ = decode_fields(reader_.bytes(), entry) && entry.reason < kLossReasonCount && fits_;
        if (fits_) lost.by_reason[entry.reason] = entry.count;
    }

    [[nodiscard]] bool taken() const { return taken_; }
    [[nodiscard]] bool fits() const { return fits_; }

private:
    bool is(uint32_t field, Wire wire) {
        const bool same = !taken_ && reader_.tag_value() == tag(field, wire);
        taken_ = taken_ || same;
        return same;
    }
    MessageReader& reader_;
    bool taken_ = false;
    bool fits_ = true;
};

template <class T>
bool decode_fields(std::string_view body, T& message) {
    MessageReader reader(body);
    while (reader.next()) {
        Decoder decoder(reader);
        fields(decoder, message);
        if (!decoder.taken()) reader.skip();
        if (!decoder.fits()) return false;
    }
    return reader.ok();
}

}    // namespace

std::string encode(const RecordingInfo& recording) {
    return encode_fields(recording);
}
std::string encode(const ProcessInfo& process) {
    return encode_fields(process);
}
std::string encode(const DeviceInfo& device) {
    return encode_fields(device);
}
std::string encode(const TrackInfo& track) {
    return encode_fields(track);
}
std::string encode(const LaneInfo& lane) {
    return encode_fields(lane);
}
std::string encode(const SiteInfo& site) {
    return encode_fields(site);
}
std::string encode(const StepRecord& step) {
    return encode_fields(step);
}
std::string encode(const RecordingStats& stats) {
    return encode_fields(stats);
}
std::string encode(const SpanRecord& loose) {
    return encode_fields(loose);
}
std::string encode(const FingerprintRecord& record) {
    return encode_fields(record);
}

bool decode(std::string_view body, RecordingInfo& recording) {
    return decode_fields(body, recording);
}
bool decode(std::string_view body, ProcessInfo& process) {
    return decode_fields(body, process);
}
bool decode(std::string_view body, DeviceInfo& device) {
    return decode_fields(body, device);
}
bool decode(std::string_view body, TrackInfo& track) {
    return decode_fields(body, track) && track.id != 0;
}
bool decode(std::string_view body, LaneInfo& lane) {
    return decode_fields(body, lane) && lane.track != 0;
}
bool decode(std::string_view body, SiteInfo& site) {
    return decode_fields(body, site) && site.id != 0;
}
bool decode(std::string_view body, StepRecord& step) {
    return decode_fields(body, step);
}
bool decode(std::string_view body, RecordingStats& stats) {
    return decode_fields(body, stats);
}
bool decode(std::string_view body, SpanRecord& loose) {
    return decode_fields(body, loose);
}
bool decode(std::string_view body, FingerprintRecord& record) {
    if (!decode_fields(body, record)) return false;
    const Fingerprint& print = record.fingerprint;
    return print.nans <= print.count && print.infs <= print.count - print.nans;
}

}    // namespace lapwing::trace
