// write_random_recording OUT SEED: writes a seeded recording and prints what an outside reader must find in it.
//   site HEX_NAME COUNT TOTAL_NS BEGINS_NS     by the name that viewers show, raw bytes as hex; begins modulo 2^64
//   track HEX_NAME COUNT
//   spans COUNT TOTAL_NS STEPS
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "trace/descriptor.hpp"
#include "unit/trace/random_recording.hpp"

namespace {

std::string hex(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        out += digits;
    }
    return out;
}

struct Sum {
    uint64_t count = 0;
    int64_t total_ns = 0;
    uint64_t begins_ns = 0;    // modulo 2^64
};

}    // namespace

int main(int argc, char** argv) {
    using namespace lapwing;
    if (argc != 3) return 2;
    test::RandomShape shape;
    shape.seed = std::strtoull(argv[2], nullptr, 10);
    shape.device_tracks = shape.seed % 3 == 0 ? 150 : 3;
    shape.sites = shape.seed % 2 == 0 ? 400 : 40;
    const test::Recording recording = test::random_recording(shape);
    const PerfettoWriterOptions options{.buffer_bytes = shape.seed % 2 == 0 ? std::size_t{4096} : std::size_t{262'144},
                                        .max_lanes = shape.seed % 4 == 1 ? 3u : 64u,
                                        .compress = shape.seed > 4};
    auto writer = open_perfetto_writer(argv[1], options);
    if (!writer.ok() || !test::feed(recording, **writer, 200).ok()) return 1;

    std::map<std::string, Sum> names;
    std::map<TrackId, Sum> tracks;
    Sum all;
    std::map<SiteId, std::string> name_of{{0, "unknown"}};
    for (const auto& [id, site] : recording.sites) name_of[id] = trace::display_name(site);
    for (const SpanRecord& span : recording.spans) {
        for (Sum* sum : {&names[name_of[span.site]], &tracks[span.track], &all}) {
            ++sum->count;
            sum->total_ns += span.duration_ns;
            sum->begins_ns += static_cast<uint64_t>(span.begin_ns);
        }
    }
    for (const auto& [name, sum] : names)
        std::printf("site %s %" PRIu64 " %" PRId64 " %" PRIu64 "\n", hex(name).c_str(), sum.count, sum.total_ns,
                    sum.begins_ns);
    for (const TrackInfo& track : recording.tracks) {
        const std::string name = track.kind == TrackKind::kHostThread
                                     ? track.name
                                     : "GPU " + track.name + " (" + recording.devices[0].name + ")";
        std::printf("track %s %" PRIu64 "\n", hex(name).c_str(), tracks[track.id].count);
    }
    std::printf("spans %" PRIu64 " %" PRId64 " %zu\n", all.count, all.total_ns, recording.steps.size());
    return 0;
}
