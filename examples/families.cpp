// Times an engine's passes by family (gemm, attention, ...) and writes the same spans as a recording: families FILE.
// Then: lapwing report FILE --by family. The device is the calling thread itself; every backend is used in the same
// way.
#include "lapwing/families.hpp"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <vector>

#include "lapwing/cpu_backend.hpp"
#include "lapwing/device_spans.hpp"
#include "lapwing/level.hpp"
#include "lapwing/perfetto.hpp"
#include "lapwing/span_tee.hpp"

namespace {

constexpr int kTokens = 16;
constexpr std::size_t kWidth = 128;

using Families = lapwing::FamilySpans<lapwing::CpuBackend>;
using lapwing::Family;

// Stand-ins for an engine's passes.
void multiply(std::vector<float>& x, const std::vector<float>& weights) {
    std::vector<float> out(kWidth, 0.0f);
    for (std::size_t row = 0; row < kWidth; ++row)
        for (std::size_t column = 0; column < kWidth; ++column) out[row] += weights[row * kWidth + column] * x[column];
    x = out;
}
void soften(std::vector<float>& x) {
    float sum = 0;
    for (float& value : x) sum += value = std::exp(value / 1000.0f);
    for (float& value : x) value /= sum;
}

// [readme]
void decode(Families& families, std::vector<float>& x, const std::vector<float>& weights) {
    {
        const lapwing::FamilyScope gemm(families, 0, Family::kGemm);
        multiply(x, weights);
    }
    {
        const lapwing::FamilyScope attention(families, 0, Family::kAttention);
        soften(x);
    }
    // Several passes are one call: its time from first to last, and the time at work inside.
    const lapwing::FamilyScope block(families, 0, Family::kFusedBlock, lapwing::Passes::kSeveral);
    for (int pass = 0; pass < 4; ++pass) {
        const lapwing::FamilyToken one = families.begin_pass(block.token());
        multiply(x, weights);
        families.end_pass(one);
    }
}
// [/readme]

int fail(const lapwing::Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 1;
}

int run(const char* path) {
    auto file = lapwing::open_perfetto_writer(path);
    if (!file.ok()) return fail(file.error());
    lapwing::FamilyView view;
    lapwing::SpanTee both({file.value().get(), &view});

    lapwing::CpuBackend cpu;
    lapwing::DeviceRing<lapwing::CpuBackend> ring(cpu);
    lapwing::DeviceSpanCollector<lapwing::CpuBackend> spans(ring, both, {.id = 1, .api = "cpu", .name = "this thread"});
    if (const auto queue = spans.add_queue({}, "queue 0"); !queue.ok()) return fail(queue.error());
    Families families(ring);
    lapwing::set_level(lapwing::Level::kKernel);

    std::vector<float> x(kWidth, 0.5f);
    const std::vector<float> weights(kWidth * kWidth, 0.01f);
    for (int token = 0; token < kTokens; ++token) {
        decode(families, x, weights);
        if (!spans.harvest().ok()) break;
    }
    lapwing::set_level(lapwing::Level::kOff);
    if (const lapwing::Status closed = spans.close(); !closed.ok()) return fail(closed.error());

    std::printf("%-12s %8s %12s %12s\n", "family", "calls", "total ns", "busy ns");
    for (const lapwing::FamilyTiming& family : view.snapshot())
        std::printf("%-12s %8" PRIu64 " %12" PRId64 " %12" PRId64 "\n", family.family.c_str(), family.calls,
                    family.total_ns, family.busy_ns.value_or(-1));
    return 0;
}

}    // namespace

int main(int argc, char** argv) {
    if (argc == 2) return run(argv[1]);
    std::fprintf(stderr, "usage: families FILE\n");
    return 2;
}
