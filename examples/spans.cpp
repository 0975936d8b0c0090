// Marks the ops of an engine's loop and writes them as a recording: spans FILE.
// Then: lapwing report FILE --by name, or open FILE in https://ui.perfetto.dev.
#include <cmath>
#include <cstdio>
#include <vector>

#include "lapwing/host_spans.hpp"
#include "lapwing/level.hpp"
#include "lapwing/perfetto.hpp"
#include "lapwing/span.hpp"

namespace {

constexpr int kSteps = 8;
constexpr int kLayers = 4;

// Stand-ins for an engine's ops. A mark costs two clock reads while it is on, and one load and a branch while it is
// off.
void rms_norm(std::vector<float>& x) {
    LAPWING_SPAN("RmsNorm");
    float squares = 0;
    for (const float value : x) squares += value * value;
    const float scale = 1.0f / std::sqrt(squares / static_cast<float>(x.size()) + 1e-5f);
    for (float& value : x) value *= scale;
}

void feed_forward(std::vector<float>& x) {
    LAPWING_SPAN("FeedForward");
    for (float& value : x) value /= 1.0f + std::exp(-value);
}

void decode(std::vector<float>& x) {
    LAPWING_SPAN("Decode");
    for (int layer = 0; layer < kLayers; ++layer) {
        rms_norm(x);
        feed_forward(x);
    }
}

int fail(const lapwing::Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 1;
}

int run(const char* path) {
    std::vector<float> x(4096, 0.5f);

    // [readme]
    auto file = lapwing::open_perfetto_writer(path);
    if (!file.ok()) return fail(file.error());
    lapwing::HostSpanCollector spans(*file.value());
    lapwing::set_level(lapwing::Level::kBasic);
    for (int step = 0; step < kSteps && spans.drain().ok(); ++step) {
        decode(x);    // its ops begin with LAPWING_SPAN("RmsNorm"); and LAPWING_SPAN("FeedForward");
    }
    const lapwing::Status closed = spans.close();    // drains the rest; the first error of all the above
    // [/readme]

    if (!closed.ok()) return fail(closed.error());
    std::printf("%llu spans in %s, %llu lost\n", static_cast<unsigned long long>(spans.recorded()), path,
                static_cast<unsigned long long>(spans.lost().total()));
    return 0;
}

}    // namespace

int main(int argc, char** argv) {
    if (argc == 2) return run(argv[1]);
    std::fprintf(stderr, "usage: spans FILE\n");
    return 2;
}
