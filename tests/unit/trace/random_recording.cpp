#include "unit/trace/random_recording.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <string>

namespace lapwing::test {

namespace {

class Maker {
public:
    explicit Maker(const RandomShape& shape) : shape_(shape), random_(shape.seed), prints_(shape.seed) {}

    Recording make() {
        recording_ = sample_recording();
        recording_.tracks.clear();
        recording_.sites.clear();
        recording_.spans.clear();
        recording_.steps.clear();
        recording_.fingerprints.clear();
        for (uint32_t i = 0; i < shape_.sites; ++i) recording_.sites.emplace_back(site_id(i), site(i));
        const auto tracks = static_cast<TrackId>(shape_.device_tracks + shape_.host_tracks);
        for (TrackId id = 1; id <= tracks; ++id) {
            const bool host = id > shape_.device_tracks;
            recording_.tracks.push_back({id, host ? TrackKind::kHostThread : TrackKind::kDeviceQueue, host ? 0u : 1u,
                                         host ? "thread " + std::to_string(1000 + id) : "queue " + std::to_string(id)});
            now_.push_back(kStart + below(1'000'000));
        }
        while (recording_.spans.size() < shape_.spans) {
            const auto track = static_cast<TrackId>(1 + below(tracks));
            if (track > shape_.device_tracks)
                scope(track, 0);
            else
                device_span(track);
            if (below(50) == 0) next_step();
            if (prints_() % 100 == 0) fingerprint();
        }
        return std::move(recording_);
    }

private:
    static constexpr int64_t kStart = 1'700'000'000'000'000'000;

    int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }
    // Dense for the most part, with a few numbers that take three and five bytes.
    static SiteId site_id(uint32_t index) {
        if (index % 17 == 11) return 20'000 + index;
        if (index % 17 == 13) return 3'000'000'000u + index;
        return index + 1;
    }
    SiteId any_site() { return site_id(static_cast<uint32_t>(below(shape_.sites))); }

    Site site(uint32_t index) {
        // Names that broke other tools: pytorch#146900 (quotes and braces), pytorch#136040 (bytes that are not UTF-8),
        // perfetto#598 (control characters), kineto output_json (not ASCII), HTA (names of 5 kB).
        static const std::array<std::string, 8> kHostile{"{\"device\": \"cpu\"}(12): run",
                                                         "torch\\cuda\nline two",
                                                         "\xff\xfe lone \x80 bytes",
                                                         std::string("|||S\x01(1): <module>"),
                                                         "attention_\xe9\x9d\x9e"
                                                         "ASCII",
                                                         std::string("nul\0inside", 10),
                                                         std::string(5000, 'k'),
                                                         "\xf0\x9f\x98"};
        Site out;
        if (shape_.hostile_names)
            out.label = kHostile[index % kHostile.size()] + (index % 3 ? "" : std::to_string(index));
        out.op = "OP_" + std::to_string(index % 7);
        out.kernel = "kernel_" + std::to_string(index);
        out.layer = static_cast<int32_t>(index % 5) - 1;
        out.kind = static_cast<SpanKind>(index % 5);
        out.grid = {index, index * 1000, 1};
        out.warmup = index % 9 == 0;
        out.validity = index % 8 == 0 ? Validity::kEstimated : Validity::kMeasured;
        if (index % 8 == 0) out.note = "from its submit";
        if (index % 3 == 0) out.category = "Category_" + std::to_string(index % 4);
        if (index % 4 == 1) out.family = kHostile[index % kHostile.size()];
        if (index % 5 == 2) out.phase = index % 2 == 0 ? "prefill" : "decode";
        if (index % 11 == 3) out.lane = "admit";
        out.container = index % 7 == 3;
        if (index % 6 == 1) out.flops = index % 12 == 1 ? uint64_t{0} : ~uint64_t{0} - index;
        if (index % 10 < 3) out.bytes = uint64_t{index} * 4096;
        return out;
    }

    int64_t length() {
        switch (below(40)) {
            case 0:
                return 0;
            case 1:
                return (int64_t{1} << 21) - 1 + below(3);
            case 2:
                return (int64_t{1} << 35) + below(1000);
            default:
                return below(20'000);
        }
    }

    void add(TrackId track, int64_t begin_ns, int64_t duration_ns) {
        const SiteId site = below(200) == 0 ? 0 : any_site();
        recording_.spans.push_back(span_of(track, begin_ns, duration_ns, site, step_));
    }

    void device_span(TrackId track) {
        int64_t& now = now_[track - 1u];
        if (shape_.late && below(100) == 0) {
            add(track, std::max<int64_t>(0, now - below(5'000'000)), below(1000));
            return;
        }
        now += length();
        const int64_t duration = length();
        add(track, now, duration);
        now += shape_.overlaps && below(8) == 0 ? duration / 2 : duration;
    }

    // A scope and what lies in it, innermost first, as scopes are handed over.
    void scope(TrackId track, int depth) {
        int64_t& now = now_[track - 1u];
        const int64_t begin = now += length() / 4;
        while (depth < 6 && below(3) == 0) scope(track, depth + 1);
        now += length() / 4;
        add(track, begin, now - begin);
    }

    void fingerprint() {
        FingerprintRecord record;
        record.name = "\xff norm " + std::to_string(prints_() % 5);
        record.layer = static_cast<int32_t>(prints_() % 40) - 1;
        record.position = static_cast<uint32_t>(prints_());
        record.order = static_cast<uint32_t>(prints_() % 300);
        record.shape = {prints_(), 1, 0, 0};
        Fingerprint& print = record.fingerprint;
        print.type = static_cast<DType>(prints_() % 4);
        print.count = prints_();
        print.sum = std::uniform_real_distribution<double>(-1e9, 1e9)(prints_);
        print.seed = static_cast<uint32_t>(prints_());
        for (double& value : print.projections) value = std::normal_distribution<double>()(prints_);
        print.checksum = prints_();
        if (prints_() % 2 == 0) record.isolated_ns = static_cast<int64_t>(prints_() % 1'000'000'000);
        recording_.fingerprints.push_back(record);
    }

    void next_step() {
        recording_.steps.push_back({steps_, now_[0], now_[0] + below(1000), static_cast<uint64_t>(below(100)), true});
        step_ = below(4) == 0 ? kNoStep : ++steps_;
    }

    RandomShape shape_;
    std::mt19937_64 random_;
    std::mt19937_64 prints_;    // of fingerprints: spans do not depend on them
    Recording recording_;
    std::vector<int64_t> now_;    // by track
    uint32_t step_ = kNoStep;
    uint32_t steps_ = 0;
};

}    // namespace

Recording random_recording(const RandomShape& shape) {
    return Maker(shape).make();
}

}    // namespace lapwing::test
