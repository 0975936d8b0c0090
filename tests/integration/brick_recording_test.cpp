// A recording of bricks, read by the lapwing command, says what the process itself says.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "lapwing/brick_profiler.hpp"
#include "lapwing/device_bricks.hpp"
#include "lapwing/device_spans.hpp"
#include "lapwing/perfetto.hpp"
#include "lapwing/sim_backend.hpp"
#include "lapwing/span_tee.hpp"

namespace lapwing {
namespace {

using nlohmann::json;

json report_of(const std::string& file, const char* by) {
    const std::string command = std::string(LAPWING_COMMAND) + " report " + file + " --by " + by + " --format json";
    FILE* const pipe = popen(command.c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::string text;
    std::array<char, 4096> part{};
    for (std::size_t got = 0; (got = fread(part.data(), 1, part.size(), pipe)) != 0;) text.append(part.data(), got);
    EXPECT_EQ(pclose(pipe), 0) << command;
    return json::parse(text);
}

// name, host or not -> count, total, min, max, warm-up count and total
using Key = std::pair<std::string, bool>;
using Row = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t>;

std::map<Key, Row> rows_of(const json& report) {
    std::map<Key, Row> out;
    for (const json& row : report["rows"])
        out[{row["name"], row["kind"] == "host"}] = {row["count"],  row["total_ns"],        row["min_ns"],
                                                     row["max_ns"], row["warmup"]["spans"], row["warmup"]["total_ns"]};
    return out;
}

TEST(BrickRecording, ReportPrintsTheFiguresOfTheProcess) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("bricks-" + std::to_string(getpid()) + ".pftrace");
    BrickProfiler host({.enabled = true, .warmup_samples = 3});
    BrickProfiler device({.enabled = true, .warmup_samples = 1});
    SimBackend sim;
    {
        auto file = open_perfetto_writer(path);
        ASSERT_TRUE(file.ok()) << file.error().message;
        SiteTable sites;
        DeviceRing<SimBackend> ring(sim, {.now = SimBackend::host_clock, .now_context = &sim});
        SpanTee tee({file.value().get(), &device.device_view()});
        DeviceSpanCollector<SimBackend> collector(ring, tee, {.id = 1, .api = "sim", .name = "sim"}, {.sites = &sites});
        const auto queue = collector.add_queue({0}, "queue 0");
        ASSERT_TRUE(queue.ok());
        DeviceBricks<SimBackend> bricks(ring, queue.value());
        device.bind_device(&bricks);
        ASSERT_TRUE(collector.harvest().ok());    // announces the process, before the bricks of the host come
        ASSERT_TRUE(host.attach(*file.value(), {.sites = &sites, .first_track = 100, .whole_recording = false}).ok());
        for (int step = 0; step < 50; ++step) {
            for (int layer = 0; layer < 4; ++layer) {
                host.begin_layer(layer);
                device.begin_layer(layer);
                LAPWING_BRICK(host, BrickId::kQkvProjection, 4096);
                for (const BrickId id : {BrickId::kRmsNorm, BrickId::kQkvProjection, BrickId::kActivation}) {
                    LAPWING_BRICK(host, id, 4096);
                    BrickTimer timer = device.start_brick(id);
                    sim.advance(1000 + 13 * static_cast<uint64_t>(step * layer));
                    EXPECT_EQ(device.stop_brick(timer, 4096), BrickFault::kNone);
                }
                EXPECT_EQ(host.record_elapsed("router", 777 + step, 8), BrickFault::kNone);
                host.end_layer();
                device.end_layer();
            }
            ASSERT_TRUE(collector.harvest().ok());
            ASSERT_TRUE(host.flush().ok());
        }
        ASSERT_TRUE(host.detach().ok());
        ASSERT_TRUE(collector.close().ok());
        device.bind_device(nullptr);
    }

    std::map<Key, Row> by_brick, by_category;
    for (const BrickProfiler* profiler : {&host, &device}) {
        const BrickSnapshot now = profiler->snapshot();
        for (const BrickStats& brick : now.bricks) {
            const bool on_host = brick.clock == BrickClock::kHost;
            by_brick[{brick.name, on_host}] = {brick.count(), brick.total_ns,     brick.min_ns,
                                               brick.max_ns,  brick.warmup_count, brick.warmup_ns};
            Row& category =
                by_category.try_emplace({brick.category_name, on_host}, 0, 0, ~uint64_t{0}, 0, 0, 0).first->second;
            std::get<0>(category) += brick.count();
            std::get<1>(category) += brick.total_ns;
            std::get<2>(category) = std::min(std::get<2>(category), brick.min_ns);
            std::get<3>(category) = std::max(std::get<3>(category), brick.max_ns);
            std::get<4>(category) += brick.warmup_count;
            std::get<5>(category) += brick.warmup_ns;
        }
        for (const CategoryStats& category : now.categories) {
            if (category.count == 0) continue;
            EXPECT_EQ(std::get<1>(by_category.at({category.name, profiler == &host})), category.total_ns);
        }
    }
    EXPECT_EQ(by_brick.size(), 4u + 3u);
    EXPECT_EQ(rows_of(report_of(path, "brick")), by_brick);
    EXPECT_EQ(rows_of(report_of(path, "category")), by_category);

    // Quantiles of the process are within 1/128 of the report's exact ones.
    const json report = report_of(path, "brick");
    const BrickSnapshot on_host = host.snapshot();
    for (const json& row : report["rows"]) {
        if (row["kind"] != "host") continue;
        const BrickStats& brick = *on_host.stats(row["name"].get<std::string>()).value();
        for (const auto& [key, q] : {std::pair{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}}) {
            const double exact = row[key];
            EXPECT_NEAR(static_cast<double>(*brick.quantile_ns(q)), exact, exact / 127) << row["name"] << key;
        }
    }
    std::filesystem::remove(path);
}

}    // namespace
}    // namespace lapwing
