// Bricks and tiles as JSON and text.
#include "lapwing/brick_report.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "lapwing/brick_profiler.hpp"

namespace lapwing {
namespace {

using nlohmann::json;

BrickSnapshot fixed() {
    BrickProfiler profiler({.enabled = true});
    (void)profiler.set_sync_mode(SyncMode::kNone);
    EXPECT_EQ(profiler.record_elapsed_with_bytes("RmsNorm", 1500, 10, 100, 25), BrickFault::kNone);
    EXPECT_EQ(profiler.record_elapsed("RmsNorm", 500, 5), BrickFault::kNone);
    EXPECT_EQ(profiler.record_elapsed("a \"quoted\"\n\xff name", 6000, 5), BrickFault::kNone);
    EXPECT_EQ(profiler.record_elapsed("Qkv", 2000, 20), BrickFault::kNone);
    return profiler.snapshot();
}

TEST(BrickJson, KeepsTheKnownKeysInTheirOrderWithTheirDecimals) {
    const std::string text = to_json(fixed());
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_EQ(
        text.rfind(
            R"({"total_tokens":null,"total_ns":10000,"total_throughput":4000000.0,"bricks":[{"name":"a \"quoted\"\n)",
            0),
        0u)
        << text;
    EXPECT_NE(text.find(R"({"name":"RmsNorm","count":2,"total_ns":2000,"avg_us":1.00,"min_us":0.50,"max_us":1.50,)"
                        R"("throughput":7500000.0,"pct":20.0,"total_bytes":100,"compression_ratio":4.00,)"
                        R"("throughput_gbps":0.05,"bottleneck":"unknown",)"),
              std::string::npos)
        << text;
    const json parsed = json::parse(text);
    EXPECT_EQ(parsed["schema"], "lapwing.bricks/1");
    std::vector<std::string> names;
    for (const json& brick : parsed["bricks"]) names.push_back(brick["name"]);
    EXPECT_EQ(names[1], "QkvProjection");    // as long as RmsNorm: by name
    EXPECT_EQ(names[2], "RmsNorm");
    const json& norm = parsed["bricks"][2];
    EXPECT_EQ(norm["category"], "Norm");
    EXPECT_EQ(norm["clock"], "host");
    EXPECT_EQ(norm["sync_mode"], "none");
    EXPECT_EQ(norm["exclusive_ns"], 2000);
    EXPECT_TRUE(norm["total_cycles"].is_null());
    EXPECT_TRUE(norm["ci95_ns"].is_null());    // two samples
    EXPECT_EQ(norm["variance_ns2"], 500000.0);
    EXPECT_EQ(parsed["categories"].size(), 7u);
    EXPECT_TRUE(parsed["l2_cache_hit_rate"].is_null());
    EXPECT_EQ(to_json(fixed()), text);
}

TEST(BrickJson, EmptyHasEveryKeyAndNoBrick) {
    const json parsed = json::parse(to_json(BrickProfiler().snapshot()));
    EXPECT_EQ(parsed["bricks"], json::array());
    EXPECT_EQ(parsed["total_ns"], 0);
    EXPECT_TRUE(parsed["total_tokens"].is_null());
    EXPECT_EQ(parsed["refused"], json::object());
}

TEST(BrickJson, FileIsReplacedWholeOrKept) {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("bricks-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    const std::string path = folder / "bricks.json";
    std::ofstream(path) << "before";
    ASSERT_TRUE(write_json(fixed(), path).ok());
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    EXPECT_EQ(text.str(), to_json(fixed()) + "\n");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);    // nothing is left beside it
    const std::string missing = folder / "nowhere" / "bricks.json";
    const Status failed = write_json(fixed(), missing);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, Errc::kUnwritable);
    EXPECT_NE(failed.error().message.find(missing), std::string::npos);
    std::filesystem::create_directory(folder / "taken");
    EXPECT_FALSE(write_json(fixed(), folder / "taken").ok());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
    std::filesystem::remove_all(folder);
}

TEST(BrickText, SummaryHasTotalsAndRowsByTimeAndSaysWhatTimesMean) {
    BrickProfiler profiler({.enabled = true, .warmup_samples = 1});
    for (const int64_t ns : {9000, 2000, 2000}) EXPECT_EQ(profiler.record_elapsed("RmsNorm", ns, 4), BrickFault::kNone);
    for (const int64_t ns : {1, 6000}) EXPECT_EQ(profiler.record_elapsed("LmHead", ns, 4), BrickFault::kNone);
    EXPECT_EQ(profiler.record_elapsed("LmHead", -1, 4), BrickFault::kNegativeDuration);
    profiler.add_tokens(2);
    const std::string text = summary(profiler.snapshot());
    EXPECT_NE(text.find("Brick Profiler Summary"), std::string::npos);
    EXPECT_NE(text.find("Tokens: 2  Time: 10.00 us"), std::string::npos) << text;
    EXPECT_NE(text.find("Per-Brick Breakdown"), std::string::npos);
    EXPECT_NE(text.find("Category Breakdown"), std::string::npos);
    EXPECT_LT(text.find("LmHead  "), text.find("RmsNorm  "));
    EXPECT_NE(text.find("launch time"), std::string::npos);
    EXPECT_NE(text.find("+ 1 warm-up of 9.00 us"), std::string::npos);
    EXPECT_NE(text.find("Refused: 1 x negative_duration"), std::string::npos);
    const std::string table = category_table(profiler.snapshot());
    EXPECT_NE(table.find("| Norm "), std::string::npos);
    EXPECT_EQ(table.find("| FFN "), std::string::npos);
    std::FILE* const out = std::tmpfile();
    ASSERT_NE(out, nullptr);
    print_category_stats(profiler.snapshot(), out);
    EXPECT_EQ(std::ftell(out), static_cast<long>(table.size()));
    std::fclose(out);
}

TEST(TileReport, HasLevelsWithSamplesOnly) {
    TileProfiler profiler;
    const json empty = json::parse(tile_stats_to_json(profiler.snapshot()));
    EXPECT_EQ(empty["tile_profiling_enabled"], false);
    EXPECT_EQ(empty["tiles"], json::array());
    profiler.enable_tile_profiling();
    EXPECT_EQ(profiler.record_tile(TileLevel::kMidi, 1, 2, 100'000'000, 500, 1'000'000'000), BrickFault::kNone);
    EXPECT_EQ(profiler.record_tile(TileLevel::kMidi, 1, 3, 100'000'000, 700, 1'000'000'000), BrickFault::kNone);
    const std::string text = tile_stats_to_json(profiler.snapshot());
    EXPECT_EQ(text.rfind(R"({"tile_profiling_enabled":true,"tiles":[{"level":"midi","count":2,"total_ns":200000000,)"
                         R"("avg_us":100000.00,"min_us":100000.00,"max_us":100000.00,"gflops":10.00,)"
                         R"("arithmetic_intensity":416666.67,"total_elements":1200,"total_flops":2000000000,)",
                         0),
              0u)
        << text;
    EXPECT_EQ(json::parse(text)["heat"].size(), 2u);
    const std::string table = tile_summary(profiler.snapshot());
    EXPECT_NE(table.find("Level"), std::string::npos);
    EXPECT_NE(table.find("midi"), std::string::npos);
    EXPECT_EQ(table.find("macro"), std::string::npos);
    EXPECT_NE(table.find(" 600\n"), std::string::npos);    // elements a sample
}

}    // namespace
}    // namespace lapwing
