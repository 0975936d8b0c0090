// The engine of the bricks example: the same layers on the host and on a device.
#pragma once

#include <cstdint>
#include <cstdio>

#include "lapwing/brick_profiler.hpp"

using lapwing::BrickId;

constexpr int kSteps = 6;
constexpr int kLayers = 3;
constexpr uint32_t kWidth = 4096;

inline int fail(const lapwing::Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 1;
}

// `run` does the work of a brick, or queues it.
template <class Run>
void decode(lapwing::BrickProfiler& profiler, Run&& run) {
    for (int layer = 0; layer < kLayers; ++layer) {
        profiler.begin_layer(layer);
        for (const BrickId id : {BrickId::kRmsNorm, BrickId::kUpProjection, BrickId::kActivation}) {
            LAPWING_BRICK(profiler, id, kWidth);
            run(id);
        }
        profiler.end_layer();
    }
    profiler.add_tokens(1);
}

// Steps on the first Vulkan device, timed by its stamps. Returns 0, or 1 with a message printed.
int run_on_vulkan(lapwing::SpanSink& file, lapwing::SiteTable& sites, lapwing::BrickProfiler& profiler,
                  lapwing::RecordingStats& stats);
