#include "interleaved.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "lapwing/level.hpp"
#include "loops.hpp"

namespace lapwing::bench {

namespace {

constexpr int kBlockOps = 1000;
constexpr int kSlices = 10;
constexpr int kBlocksPerSlice = 20;

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

struct Series {
    std::string name;
    std::string floor;
    std::function<double()> block;    // ns per operation of one block
    std::function<void()> before;     // untimed, before each slice
    std::vector<double> blocks;       // of this round
    std::vector<double> round_medians;
};

double timed_ns(const std::function<void()>& body) {
    const uint64_t begin = counter();
    body();
    return static_cast<double>(counter() - begin) * counter_ns() / kBlockOps;
}

std::vector<Series> make_series(SimSpans& sim, uint64_t& dropped) {
    std::vector<Series> all;
    for (const Row& row : rows()) {
        Series series;
        series.name = row.name;
        series.floor = row.floor == nullptr ? "" : row.floor;
        series.block = [loop = row.loop] { return timed_ns([loop] { loop(kBlockOps); }); };
        series.before = [&row, &dropped] {
            dropped += discard_spans();
            set_level_for(row);
        };
        all.push_back(series);
        if (series.name == "span/enabled") {
            series.name = "span/enabled ";    // the same loop once more, against its other floor
            series.floor = "floor/two_ticks_ring";
            all.push_back(series);
        }
    }
    const auto kernel_level = [] { set_level(Level::kKernel); };
    all.push_back(
        {"floor/two_marks", "", [&sim] { return timed_ns([&sim] { sim.mark(kBlockOps); }); }, kernel_level, {}, {}});
    all.push_back({"ring/begin_end",
                   "floor/two_marks",
                   [&sim] {
                       const double ns = timed_ns([&sim] { sim.begin_end(kBlockOps); });
                       sim.harvest(kBlockOps);
                       return ns;
                   },
                   kernel_level,
                   {},
                   {}});
    all.push_back({"harvest/sim",
                   "",
                   [&sim] {
                       sim.begin_end(kBlockOps);
                       return timed_ns([&sim] { sim.harvest(kBlockOps); });
                   },
                   kernel_level,
                   {},
                   {}});
    return all;
}

const Series& named(const std::vector<Series>& all, const std::string& name) {
    return *std::find_if(all.begin(), all.end(), [&name](const Series& series) { return series.name == name; });
}

void print_row(const Series& series, const std::vector<Series>& all) {
    const double best = *std::min_element(series.round_medians.begin(), series.round_medians.end());
    std::printf("%-22s %9.2f %9.2f", series.name.c_str(), best, median(series.round_medians));
    if (!series.floor.empty()) {
        const Series& floor = named(all, series.floor);
        const double floor_best = *std::min_element(floor.round_medians.begin(), floor.round_medians.end());
        std::vector<double> ratios;
        for (std::size_t i = 0; i < series.round_medians.size(); ++i)
            ratios.push_back(series.round_medians[i] / floor.round_medians[i]);
        std::printf("   %-22s %7.3f %7.3f", series.floor.c_str(), best / floor_best, median(ratios));
    }
    std::printf("\n");
}

}    // namespace

void print_ratios(int rounds) {
    SimSpans sim;
    uint64_t dropped = 0;
    std::vector<Series> all = make_series(sim, dropped);
    for (Series& series : all) {
        series.before();
        series.block();    // first touch, outside the rounds
    }
    for (int round = 0; round < rounds; ++round) {
        for (Series& series : all) series.blocks.clear();
        for (int slice = 0; slice < kSlices; ++slice)
            for (Series& series : all) {
                series.before();
                for (int block = 0; block < kBlocksPerSlice; ++block) series.blocks.push_back(series.block());
            }
        for (Series& series : all) series.round_medians.push_back(median(series.blocks));
    }
    set_level(Level::kOff);
    dropped += discard_spans();

    std::printf("\n%-22s %9s %9s   %-22s %7s %7s\n", "ns per operation", "best", "median", "floor", "best x",
                "median x");
    for (const Series& series : all) print_row(series, all);
    std::printf("%d interleaved rounds of %d blocks of %d operations; host spans dropped: %llu\n", rounds,
                kSlices * kBlocksPerSlice, kBlockOps, static_cast<unsigned long long>(dropped));
}

}    // namespace lapwing::bench
