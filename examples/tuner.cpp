// Measures real work in several configurations, trains a model on the runs, asks it about one that it has not seen, and
// lets a brick profiler say what to try next.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "lapwing/brick_profiler.hpp"
#include "lapwing/clock.hpp"
#include "lapwing/tuner_model.hpp"
#include "lapwing/tuner_report.hpp"

namespace {

constexpr int64_t kWidth = 512;
constexpr int kSteps = 20;

// One layer of a model: a matrix times `batch` vectors.
float step(const std::vector<float>& weights, const std::vector<float>& in, int64_t batch) {
    float sum = 0;
    for (int64_t row = 0; row < kWidth; ++row) {
        for (int64_t sequence = 0; sequence < batch; ++sequence) {
            float dot = 0;
            for (int64_t i = 0; i < kWidth; ++i)
                dot += weights[static_cast<std::size_t>(row * kWidth + i)] *
                       in[static_cast<std::size_t>(sequence * kWidth + i)];
            sum += dot;
        }
    }
    return sum;
}

// Tokens a second of a batch, by its fastest step: what the machine's other work leaves alone. Every step is a brick.
double run(lapwing::BrickProfiler& profiler, int64_t batch) {
    const std::vector<float> weights(kWidth * kWidth, 0.5F);
    const std::vector<float> in(static_cast<std::size_t>(batch * kWidth), 2.0F);
    volatile float sink = 0;
    int64_t fastest = INT64_MAX;
    for (int i = 0; i < kSteps; ++i) {
        const int64_t begin = lapwing::host_now().value;
        LAPWING_BRICK(profiler, lapwing::BrickId::kUpProjection, static_cast<uint64_t>(batch * kWidth));
        sink = sink + step(weights, in, batch);
        fastest = std::min(fastest, lapwing::host_now().value - begin);
    }
    profiler.add_tokens(static_cast<uint64_t>(batch * kSteps));
    return static_cast<double>(batch) * 1e9 / static_cast<double>(fastest);
}

lapwing::RunConfig config_of(int64_t batch) {
    return {.model_params_b = 1e-9 * kWidth * kWidth,
            .hidden_dim = kWidth,
            .num_layers = 1,
            .num_heads = 1,
            .batch_size = batch,
            .quant_type = lapwing::QuantType::kF32,
            .kernel_type = lapwing::KernelChoice::kOther};
}

}    // namespace

int main() {
    lapwing::BrickProfiler profiler({.enabled = true});
    // [readme]
    std::vector<lapwing::TrainingRun> runs;
    for (const int64_t batch : {1, 2, 3, 5, 6, 8, 1, 2, 3, 5, 6, 8}) {
        lapwing::TrainingRun& one = runs.emplace_back();
        one.config = config_of(batch);
        one.measured_tps = run(profiler, batch);
    }
    const auto model = lapwing::TunerModel::train(runs);
    if (!model.ok()) return 1;
    std::printf("%s\n", model->describe().c_str());

    const auto predicted = model->predict(config_of(4), {});    // a batch of 4 was not among the runs
    if (!predicted.ok()) return 1;
    const auto line = lapwing::comparison_line(predicted->tokens_per_s, run(profiler, 4));
    if (!line.ok()) return 1;
    std::printf("%s\n\n", line->c_str());

    const auto shown = lapwing::print_tuner_recommendations(profiler.snapshot(), config_of(1), stdout, {}, &*model);
    // [/readme]
    return shown.ok() ? 0 : 1;
}
