// Structured profile events: what the validating reader takes and refuses, and what the writer leaves.
#include "lapwing/profile_events.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "lapwing/statistics_json.hpp"

namespace lapwing {
namespace {

using Json = nlohmann::ordered_json;

Json valid_event() {
    return Json::parse(R"({"event":"unified_prof","commit_sha":"abc123","env_hash":"sha256:env","model":"Qwen/Qwen3",
        "concurrency":32,"shape":{"batch":32,"kind":"moe"},"stage_us":{"model":12500.5,"post":350,"sync":null},
        "graph_enabled":true,"runtime_flags":{"schema_version":1,"entries":[]},"source":"server_log"})");
}

std::string refusal(const Json& event) {
    const auto result = parse_profile_events(event.dump());
    EXPECT_FALSE(result.ok()) << event;
    if (result.ok()) return "";
    EXPECT_EQ(result.error().code, Errc::kBadFormat);
    return result.error().message;
}

void expect_in(const std::string& part, const std::string& text) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

class Folder : public testing::Test {
protected:
    Folder() {
        std::string name = testing::TempDir() + "lapwing-profile-XXXXXX";
        folder = mkdtemp(name.data());
    }
    ~Folder() override { std::filesystem::remove_all(folder); }
    std::filesystem::path folder;
};

TEST(ProfileEvents, RoundTripKeepsEveryFieldAndTheOrderOfKeys) {
    const auto events = parse_profile_events(valid_event().dump());
    ASSERT_TRUE(events.ok()) << events.error().message;
    ASSERT_EQ(events->size(), 1u);
    const ProfileEvent& event = events->front();
    EXPECT_EQ(event.metadata.concurrency, 32u);
    EXPECT_EQ(std::get<int64_t>(event.shape.at("batch")), 32);
    EXPECT_EQ(std::get<std::string>(event.shape.at("kind")), "moe");
    EXPECT_DOUBLE_EQ(std::get<double>(event.stage_us.at("model")), 12500.5);
    EXPECT_TRUE(std::holds_alternative<std::nullptr_t>(event.stage_us.at("sync")));
    const auto line = to_json(event);
    ASSERT_TRUE(line.ok());
    EXPECT_EQ(Json::parse(*line), valid_event());
    std::vector<std::string> keys;
    const Json written = Json::parse(*line);
    for (const auto& [key, value] : written.items()) keys.push_back(key);
    keys.pop_back();    // source
    EXPECT_EQ(keys, std::vector<std::string>(required_profile_keys().begin(), required_profile_keys().end()));
}

TEST(ProfileEvents, EachMissingKeyIsNamed) {
    EXPECT_EQ(required_profile_keys().size(), 9u);
    for (const std::string_view key : required_profile_keys()) {
        Json event = valid_event();
        event.erase(std::string(key));
        expect_in("line 1: missing required field: " + std::string(key), refusal(event));
    }
}

TEST(ProfileEvents, CommitMayBeNullButNotEmpty) {
    Json event = valid_event();
    event["commit_sha"] = nullptr;
    const auto events = parse_profile_events(event.dump());
    ASSERT_TRUE(events.ok());
    EXPECT_FALSE(events->front().metadata.commit_sha);
    event["commit_sha"] = " ";
    expect_in("commit_sha", refusal(event));
}

TEST(ProfileEvents, WrongValuesAreNamedWithWhatTheyMustBe) {
    const std::vector<std::tuple<std::string, Json, std::string>> cases{
        {"env_hash", "env", "env_hash must start with sha256:"},
        {"env_hash", 5, "env_hash must be a string"},
        {"concurrency", 0, "concurrency must be > 0"},
        {"concurrency", -3, "concurrency must be a whole number > 0"},
        {"concurrency", 1.5, "concurrency must be a whole number > 0"},
        {"concurrency", 4294967296, "concurrency must be a whole number > 0"},
        {"event", "", "event must be non-empty"},
        {"model", " ", "model must be non-empty"},
        {"shape", Json::array(), "shape must be an object"},
        {"stage_us", Json::object({{"a", Json::object()}}), "stage_us must hold"},
        {"graph_enabled", 1, "graph_enabled must be true or false"},
        {"runtime_flags", "x", "runtime_flags must be an object"},
        {"source_line", 7, "source_line must be a string"}};
    for (const auto& [key, value, message] : cases) {
        Json event = valid_event();
        event[key] = value;
        expect_in(message, refusal(event));
    }
    expect_in("must be a JSON object", refusal(Json::array()));
    expect_in("line 1: it is not JSON", parse_profile_events("{\"event\":").error().message);
}

TEST(ProfileEvents, BlankLinesAreSkippedAndLinesCounted) {
    const std::string line = valid_event().dump();
    const auto two = parse_profile_events(line + "\n\n  \r\n" + line + "\r\n");
    ASSERT_TRUE(two.ok()) << two.error().message;
    EXPECT_EQ(two->size(), 2u);
    expect_in("line 4: ", parse_profile_events("\n" + line + "\n\n{}").error().message);
    EXPECT_TRUE(parse_profile_events("")->empty());
}

TEST(ProfileEvents, RequiredGroupsThatAreMissingAreAllNamed) {
    const auto events = parse_profile_events(valid_event().dump());
    EXPECT_TRUE(require_profile_groups(*events, std::vector<std::string_view>{"unified_prof"}).ok());
    const Status missing =
        require_profile_groups(*events, std::vector<std::string_view>{"bucket_prof", "unified_prof", "moe_dump"});
    EXPECT_EQ(missing.error().message, "missing profile event groups: bucket_prof, moe_dump");
}

TEST_F(Folder, WriterAppendsWholeLinesAndMakesFolders) {
    const std::string path = folder / "a" / "b" / "profile.jsonl";
    const ProfileConfig config{path, {"abc", "sha256:x", "model", 4, R"({"flag":true})"}};
    for (int run = 0; run < 2; ++run) {
        auto writer = ProfileWriter::open(config);
        ASSERT_TRUE(writer.ok()) << writer.error().message;
        EXPECT_TRUE((*writer)->enabled());
        EXPECT_EQ((*writer)->path(), path);
        ASSERT_TRUE((*writer)->push("bucket_prof", {{"layers", int64_t{48}}}, {{"gemm1", 1200.25}}, run == 1).ok());
        // Read while the writer is open: each event is in the file when push() returns.
        const auto events = read_profile_events(path);
        ASSERT_TRUE(events.ok()) << events.error().message;
        ASSERT_EQ(events->size(), static_cast<std::size_t>(run) + 1);
        EXPECT_EQ(events->back().graph_enabled, run == 1);
        EXPECT_EQ(*events->back().source, "native");
        EXPECT_EQ(*events->back().metadata.commit_sha, "abc");
        EXPECT_EQ(Json::parse(events->back().metadata.runtime_flags)["flag"], true);
    }
}

TEST_F(Folder, ThreadsWriteWholeLines) {
    const std::string path = folder / "profile.jsonl";
    auto writer = ProfileWriter::open({path, {}});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i)
                EXPECT_TRUE((*writer)->push("e", {{"text", std::string(200, 'x')}}, {}, false).ok());
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(read_profile_events(path)->size(), 200u);
}

TEST_F(Folder, WriterRefusesWhatItsReaderWould) {
    const std::string path = folder / "profile.jsonl";
    expect_in("sha256:", ProfileWriter::open({path, {{}, "md5:x"}}).error().message);
    expect_in("concurrency", ProfileWriter::open({path, {{}, "sha256:x", "m", 0}}).error().message);
    EXPECT_FALSE(std::filesystem::exists(path));
    auto writer = ProfileWriter::open({path, {}});
    expect_in("event must be non-empty", (*writer)->push("", {}, {}, false).error().message);
    expect_in("stage_us.a must be a finite number", (*writer)->push("e", {}, {{"a", HUGE_VAL}}, false).error().message);
    ASSERT_TRUE((*writer)->push("\xff e", {}, {}, false).ok());
    EXPECT_EQ(read_profile_events(path)->at(0).event, "\xef\xbf\xbd e");
    std::ofstream(folder / "file") << "x";
    expect_in((folder / "file" / "x").string(), ProfileWriter::open({folder / "file" / "x", {}}).error().message);
}

TEST(ProfileWriter, WithoutAPathDoesNothing) {
    auto writer = ProfileWriter::open({});
    ASSERT_TRUE(writer.ok());
    EXPECT_FALSE((*writer)->enabled());
    EXPECT_TRUE((*writer)->path().empty());
    EXPECT_TRUE((*writer)->push("e", {}, {}, false).ok());
    EXPECT_EQ(read_profile_events("/nonexistent/x").error().code, Errc::kNotFound);
}

TEST(ProfileWriter, ConfigurationComesFromTheEnvironmentOnlyWhenAskedFor) {
    ::setenv("LAPWING_PROFILE_JSONL", "folder/profile.jsonl", 1);
    ::setenv("LAPWING_PROFILE_MODEL", "m", 1);
    ::setenv("LAPWING_PROFILE_CONCURRENCY", "32", 1);
    ::setenv("LAPWING_PROFILE_ENV_HASH", "", 1);
    const auto config = profile_config_from_env();
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config->path, "folder/profile.jsonl");
    EXPECT_EQ(config->metadata.model, "m");
    EXPECT_EQ(config->metadata.concurrency, 32u);
    EXPECT_EQ(config->metadata.env_hash, "sha256:unknown");
    EXPECT_FALSE(config->metadata.commit_sha);
    for (const auto& [name, value] :
         {std::pair{"LAPWING_PROFILE_CONCURRENCY", "3x"}, std::pair{"LAPWING_PROFILE_CONCURRENCY", "0"},
          std::pair{"LAPWING_PROFILE_RUNTIME_FLAGS_JSON", "[]"}}) {
        ::setenv(name, value, 1);
        EXPECT_EQ(profile_config_from_env().error().code, Errc::kInvalidArgument) << value;
        ::unsetenv(name);
    }
    ::setenv("LAPWING_PROFILE_JSONL", "", 1);
    EXPECT_TRUE(profile_config_from_env()->path.empty());
}

TEST(StatisticsJson, LeavesOutWhatIsNotKnown) {
    EXPECT_EQ(to_json(sample_statistics(std::vector<double>{42})), R"({"mean":42.0})");
    EXPECT_EQ(to_json(SampleStatistics{9, 42, 1.5, 0.8}), R"({"mean":42.0,"stddev":1.5,"ci95_hw":0.8})");
    EXPECT_EQ(to_json(sample_statistics({})), "{}");
    EXPECT_EQ(to_json(sample_statistics(std::vector<double>{5, 5, 5})), R"({"mean":5.0,"stddev":0.0,"ci95_hw":0.0})")
        << "a spread known to be zero is no unknown one";
}

}    // namespace
}    // namespace lapwing
