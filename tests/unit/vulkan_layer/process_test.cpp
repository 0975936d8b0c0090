#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "attach/session/output_file.hpp"
#include "attach/session/process_command.hpp"

namespace lapwing::attach::vulkan_layer {
namespace {

class OutputFile : public testing::Test {
protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "lapwing_XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }

    std::filesystem::path folder_;
};

TEST_F(OutputFile, TheFirstProcessOwnsTheFileAndLaterOnesGetTheirOwn) {
    const auto first = claim_output_file(path("x.pftrace"), 100);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(first.value(), path("x.pftrace"));
    const auto second = claim_output_file(path("x.pftrace"), 101);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(second.value(), path("x.pftrace.101"));
    EXPECT_TRUE(std::filesystem::exists(path("x.pftrace.101")));
}

TEST_F(OutputFile, AFolderIsRefusedAndNothingIsWrittenBesideIt) {
    const auto claimed = claim_output_file(folder_.string(), 103);
    ASSERT_FALSE(claimed.ok());
    EXPECT_NE(claimed.error().message.find("is a folder; name a file in it"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(folder_.string() + ".103"));
    EXPECT_FALSE(claim_output_file("/dev/null", 103).ok());
}

// TRT-LLM#13536, opencl-intercept#374: two writers of one file.
TEST_F(OutputFile, WhatAnotherProcessWroteIsNotTouched) {
    std::ofstream(path("x.pftrace")) << "theirs";
    ASSERT_TRUE(claim_output_file(path("x.pftrace"), 102).ok());
    std::string content;
    std::ifstream(path("x.pftrace")) >> content;
    EXPECT_EQ(content, "theirs");
}

// A process number comes again: what an older run left under it is neither overwritten nor a reason to record nothing.
TEST_F(OutputFile, FileThatAnOlderProcessOfThatNumberLeftIsNotTouched) {
    std::ofstream(path("x.pftrace")) << "first";
    std::ofstream(path("x.pftrace.102")) << "older";
    for (const char* name : {"x.pftrace.102-2", "x.pftrace.102-3"}) {
        const auto claimed = claim_output_file(path("x.pftrace"), 102);
        ASSERT_TRUE(claimed.ok());
        EXPECT_EQ(claimed.value(), path(name));
    }
    std::string content;
    std::ifstream(path("x.pftrace.102")) >> content;
    EXPECT_EQ(content, "older");
}

TEST_F(OutputFile, OptionsOfTheFileComeFromTheEnvironment) {
    PerfettoWriterOptions options;
    const auto all = [](const char* name) -> const char* {
        const std::string_view wanted = name;
        if (wanted == "LAPWING_RUN") return "18446744073709551615";
        if (wanted == "LAPWING_COMPRESS") return "1";
        if (wanted == "LAPWING_MAX_BYTES") return "1048576";
        if (wanted == "LAPWING_KEEP") return "3";
        return wanted == "LAPWING_LAST_NS" ? "30000000000" : nullptr;
    };
    EXPECT_EQ(read_file_options(all, options), "");
    EXPECT_EQ(options.run_id, ~uint64_t{0});
    EXPECT_TRUE(options.compress);
    EXPECT_EQ(options.max_part_bytes, 1'048'576u);
    EXPECT_EQ(options.keep_parts, 3u);
    EXPECT_EQ(options.keep_ns, 30'000'000'000);
    const auto bad = [](const char* name) -> const char* {
        return std::string_view(name) == "LAPWING_MAX_BYTES" ? "1000" : nullptr;
    };
    EXPECT_NE(read_file_options(bad, options).find("LAPWING_MAX_BYTES: '1000'"), std::string::npos);
}

TEST_F(OutputFile, AFolderThatDoesNotExistIsNamed) {
    const auto claimed = claim_output_file(path("no/such/x.pftrace"), 103);
    ASSERT_FALSE(claimed.ok());
    EXPECT_EQ(claimed.error().code, Errc::kUnwritable);
    EXPECT_NE(claimed.error().message.find("no/such/x.pftrace"), std::string::npos) << claimed.error().message;
}

TEST(Command, WordsAreJoinedAndQuotedWhereTheyHaveSpaces) {
    EXPECT_EQ(masked_command({"llama-bench", "-m", "my model.gguf", "-n", "32"}),
              "llama-bench -m 'my model.gguf' -n 32");
}

TEST(Command, ValuesThatLookSecretAreMasked) {
    EXPECT_EQ(masked_command({"x", "--api-key", "abc", "-n", "1"}), "x --api-key *** -n 1");
    EXPECT_EQ(masked_command({"x", "--hf-token=abc"}), "x --hf-token=***");
    EXPECT_EQ(masked_command({"env", "AWS_SECRET=abc", "x"}), "env AWS_SECRET=*** x");
    EXPECT_EQ(masked_command({"x", "--password", "-n", "1"}), "x --password -n 1") << "an option is no value";
    EXPECT_EQ(masked_command({"x", "monkey", "y"}), "x monkey y");
}

TEST(Command, LongCommandsAreCut) {
    EXPECT_EQ(masked_command({std::string(10'000, 'a')}).size(), 4096u);
}

TEST(Command, OwnWordsAreThoseOfThisTest) {
    const std::vector<std::string> words = own_command_words();
    ASSERT_FALSE(words.empty());
    EXPECT_NE(words[0].find("vulkan_layer_test"), std::string::npos);
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
