// A small model records the fingerprint of what each brick puts out; lapwing divergence then tells two such runs apart.
// Usage: example_divergence FILE [LAYER]. With LAYER one element of that layer's FeedForward is wrong.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "lapwing/fingerprint.hpp"
#include "lapwing/perfetto.hpp"

namespace {

using Values = std::vector<float>;

void rms_norm(Values& x) {
    float squares = 0;
    for (const float value : x) squares += value * value;
    for (float& value : x) value /= std::sqrt(squares / static_cast<float>(x.size()));
}

void feed_forward(Values& x, int layer) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.1F * std::sin(static_cast<float>(i + 1) * x[i] + float(layer));
}

int fail(const lapwing::Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 1;
}

}    // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 64;
    const int faulty = argc > 2 ? std::atoi(argv[2]) : -1;
    auto file = lapwing::open_perfetto_writer(argv[1]);
    if (!file.ok()) return fail(file.error());
    lapwing::SpanSink& recording = *file.value();
    lapwing::Status status = recording.process({1, "example_divergence", "", "off"});
    // [readme]
    const auto record = [&](const char* brick, int layer, uint32_t token, uint32_t order, const Values& out) {
        auto print = lapwing::fingerprint_of({out.data(), out.size(), lapwing::DType::kF32});
        if (!print.ok() || !status.ok()) return;
        status = recording.fingerprint({brick, layer, token, order, {out.size(), 1, 1, 1}, print.value()});
    };
    // [/readme]
    for (uint32_t token = 0; token < 3; ++token) {
        Values x(4096);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(static_cast<float>(i + token));
        uint32_t order = 0;
        for (int layer = 0; layer < 4; ++layer) {
            rms_norm(x);
            record("RmsNorm", layer, token, order++, x);
            feed_forward(x, layer);
            if (layer == faulty) x[1234] += 0.5F;
            record("FeedForward", layer, token, order++, x);
        }
    }
    if (status.ok()) status = recording.close();
    return status.ok() ? 0 : fail(status.error());
}
