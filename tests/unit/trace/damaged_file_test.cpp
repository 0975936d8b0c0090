// What the reader makes of files that are torn, damaged, or something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "trace/descriptor.hpp"
#include "trace/fields.hpp"
#include "unit/trace/random_recording.hpp"

namespace lapwing::test {
namespace {

using testing::HasSubstr;

Error read_error(const std::string& path) {
    CaptureSink sink;
    const auto summary = read_perfetto(path, sink);
    return summary.ok() ? Error{} : summary.error();
}

Error error_for_content(std::string_view content) {
    const TemporaryFile file;
    file.write(content);
    const Error error = read_error(file.path());
    EXPECT_THAT(error.message, HasSubstr(file.path()));
    return error;
}

TEST(NotARecording, MissingFileIsNotFound) {
    const Error error = read_error("/nonexistent/decode.pftrace");
    EXPECT_EQ(error.code, Errc::kNotFound);
    EXPECT_THAT(error.message, HasSubstr("/nonexistent/decode.pftrace"));
}

TEST(NotARecording, FolderIsUnreadable) {
    const Error error = read_error(testing::TempDir());
    EXPECT_EQ(error.code, Errc::kUnreadable);
    EXPECT_THAT(error.message, HasSubstr("is a folder"));
}

TEST(NotARecording, FileWithoutPermissionIsUnreadable) {
    if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
    const TemporaryFile file;
    ASSERT_EQ(::chmod(file.path().c_str(), 0), 0);
    EXPECT_EQ(read_error(file.path()).code, Errc::kUnreadable);
}

TEST(NotARecording, WhatItLooksLikeIsSaid) {
    using namespace std::string_view_literals;
    const std::pair<std::string_view, const char*> contents[] = {
        {""sv, "is empty (0 bytes)"},
        {"{\"traceEvents\":[]}"sv, "Chrome trace JSON"},
        {"\xef\xbb\xbf \n [ {"sv, "Chrome trace JSON"},
        {"\x1f\x8b\x08\0\0\0"sv, "gunzip"},
        {"\x28\xb5\x2f\xfd\x04"sv, "unzstd"},
        {"\x7f"
         "ELF\x02\x01"sv,
         "lapwing run"},
        {"SQLite format 3\0"sv, "SQLite"},
        {"<!DOCTYPE html>"sv, "HTML"},
        {"# tracer: nop\n"sv, "ftrace"},
        {"\x0a\x05\x50\x01\x68\x01\x00"sv, "Perfetto trace that another tool wrote"},
        {"\x0a"sv, "Perfetto trace"},
        {"hello world"sv, "68 65 6c 6c 6f"},
        {"\0\0\0\0"sv, "00 00 00 00"},
    };
    for (const auto& [content, text] : contents) {
        const Error error = error_for_content(content);
        EXPECT_EQ(error.code, Errc::kBadFormat);
        EXPECT_THAT(error.message, HasSubstr(text));
    }
}

std::string sample_file() {
    const TemporaryFile file;
    CaptureSink sink;
    round_trip(sample_recording(), file.path(), sink);
    return file.content();
}

// Unity#9, opencl-intercept#367, perfetto trace-viewer#145: the process dies in the middle of a write. [field case C5]
TEST(TornFile, EveryPrefixGivesAPrefixOfTheSpansAndSaysWhereItEnds) {
    const std::string whole = sample_file();
    CaptureSink all;
    const TemporaryFile file;
    file.write(whole);
    ASSERT_TRUE(read_perfetto(file.path(), all).ok());
    std::size_t most = 0;
    for (std::size_t size = 4; size < whole.size(); ++size) {
        SCOPED_TRACE(size);
        file.write(std::string_view(whole).substr(0, size));
        CaptureSink part;
        const auto summary = read_perfetto(file.path(), part);
        ASSERT_TRUE(summary.ok()) << summary.error().message;
        EXPECT_EQ(summary->bytes, size);
        EXPECT_LE(summary->torn_at, size);
        ASSERT_LE(part.all.size(), all.all.size());
        for (std::size_t i = 0; i < part.all.size(); ++i) ASSERT_EQ(keys({part.all[i]}), keys({all.all[i]}));
        EXPECT_GE(part.all.size(), most);
        EXPECT_EQ(part.used_before_announced, 0);
        EXPECT_LE(summary->unclosed, 3u);
        most = part.all.size();
    }
    EXPECT_GE(most, all.all.size() - 1);
}

TEST(TornFile, TailOfZerosThatACrashLeftBehindIsTorn) {
    const std::string whole = sample_file();
    const TemporaryFile file;
    for (const std::size_t zeros : {1u, 5u, 4096u, 600'000u}) {
        file.write(whole + std::string(zeros, '\0'));
        CaptureSink sink;
        const auto summary = read_perfetto(file.path(), sink);
        ASSERT_TRUE(summary.ok()) << summary.error().message;
        EXPECT_TRUE(summary->torn);
        EXPECT_EQ(summary->torn_at, whole.size());
        EXPECT_EQ(summary->spans, sample_recording().spans.size());
    }
}

TEST(DamagedFile, GarbageBehindAWholePacketIsRefusedWithItsPlace) {
    const std::string whole = sample_file();
    const Error error = error_for_content(whole + "garbage");
    EXPECT_EQ(error.code, Errc::kBadFormat);
    EXPECT_THAT(error.message, HasSubstr("at byte " + std::to_string(whole.size())));
    EXPECT_THAT(error.message, HasSubstr("expected a trace packet"));
    EXPECT_THAT(error.message, HasSubstr("0x67"));
}

TEST(DamagedFile, MalformedPacketIsRefusedWithItsPlace) {
    const std::string whole = sample_file();
    const Error error = error_for_content(whole + std::string("\x0a\x03\x50\xff\xff", 5));
    EXPECT_EQ(error.code, Errc::kBadFormat);
    EXPECT_THAT(error.message, HasSubstr("at byte " + std::to_string(whole.size())));
}

TEST(DamagedFile, HugeLengthTakesNoMemory) {
    const std::string whole = sample_file();
    const Error error = error_for_content(whole + "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    EXPECT_EQ(error.code, Errc::kBadFormat);
    EXPECT_THAT(error.message, HasSubstr("64 MiB"));
}

// Sequence 2 is the first lane of the sample.
TEST(DamagedFile, SlicesThatNeverEndTakeNoMemoryWithoutEnd) {
    std::string file = sample_file();
    for (int i = 0; i < 70'000; ++i) file += std::string("\x0a\x0a\x50\x02\x5a\x04\x48\x01\x50\x01\x40\x05", 12);
    EXPECT_THAT(error_for_content(file).message, HasSubstr("expected slices that end"));
}

TEST(DamagedFile, SliceThatEndsBeforeItBeganIsRefused) {
    const auto at_50 = std::string("\x0a\x0d\x50\x02\x5a\x04\x48\x01\x50\x01\xd0\x03\x03\x40\x32", 15);
    const auto at_10 = std::string("\x0a\x0b\x50\x02\x5a\x02\x48\x02\xd0\x03\x03\x40\x0a", 13);
    EXPECT_THAT(error_for_content(sample_file() + at_50 + at_10).message,
                HasSubstr("expected a slice to end after it began"));
}

TEST(DamagedFile, EndWithoutABeginIsRefused) {
    EXPECT_THAT(error_for_content(sample_file() + std::string("\x0a\x08\x50\x02\x5a\x02\x48\x02\x40\x05", 10)).message,
                HasSubstr("expected the begin of a slice"));
}

TEST(DamagedFile, ValueThatDoesNotFitItsFieldIsRefusedNotTruncated) {
    const std::pair<uint32_t, std::string_view> bodies[] = {
        {trace::own::kSite, {"\x08\x01\x30\x05", 4}},             // kind 5
        {trace::own::kSite, {"\x08\x01\x58\x02", 4}},             // validity 2
        {trace::own::kTrack, {"\x08\x80\x80\x04", 4}},            // id 65536
        {trace::own::kTrack, {"\x10\x01", 2}},                    // no id
        {trace::own::kStats, {"\x22\x04\x08\x0d\x10\x01", 6}},    // loss reason 13
        {trace::own::kSite, {"\x08\x01\x12\x05op", 6}},           // a label that runs off its message
        {trace::own::kFingerprint, {"\x48\x04", 2}},              // element type 4
        {trace::own::kFingerprint,
         {"\x9a\x01\x04"
          "1234",
          7}},                                                  // half a projection
        {trace::own::kFingerprint, {"\x50\x02\x58\x03", 4}},    // 3 NaN of 2 elements
    };
    for (const auto& [field, body] : bodies) {
        const Error error = error_for_content(sample_file() + trace::own_packet(trace::kMetaSequence, field, body));
        EXPECT_EQ(error.code, Errc::kBadFormat) << field;
    }
}

TEST(DamagedFile, FieldsOfALaterVersionArePassedOver) {
    const std::string later = trace::own_packet(trace::kMetaSequence, trace::own::kSite, "\x08\x63\xa2\x06\x01x") +
                              trace::own_packet(trace::kMetaSequence, 99, "x");
    const TemporaryFile file;
    file.write(sample_file() + later);
    CaptureSink sink;
    ASSERT_TRUE(read_perfetto(file.path(), sink).ok());
    EXPECT_TRUE(sink.sites.contains(99));
}

TEST(DamagedFile, PacketsCompressedByZstdAreNamedAsSuch) {
    const Error error = error_for_content(sample_file() + std::string("\x0a\x04\xaa\x08\x01x", 6));
    EXPECT_EQ(error.code, Errc::kUnsupported);
    EXPECT_THAT(error.message, HasSubstr("zstd"));
}

TEST(DamagedFile, RecordingOfANewerFormatIsRefusedByVersion) {
    std::string whole = sample_file();
    const std::size_t magic = whole.find("lapwing");
    ASSERT_NE(magic, std::string::npos);
    ASSERT_EQ(whole[magic + 8], 1);
    whole[magic + 8] = 2;
    const Error error = error_for_content(whole);
    EXPECT_EQ(error.code, Errc::kUnsupported);
    EXPECT_THAT(error.message, HasSubstr("newer Lapwing"));
}

TEST(DamagedFile, TwoRecordingsInOneFileAreNotMixed) {
    const std::string whole = sample_file();
    const Error error = error_for_content(whole + whole);
    EXPECT_EQ(error.code, Errc::kUnsupported);
    EXPECT_THAT(error.message, HasSubstr("second recording"));
}

TEST(DamagedFile, SinkErrorStopsTheReadAndIsReturned) {
    const TemporaryFile file;
    file.write(sample_file());
    CaptureSink sink;
    sink.answer = Error{Errc::kExhausted, 0, "enough"};
    const auto summary = read_perfetto(file.path(), sink);
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.error().message, "enough");
}

// One to four random changes a file; the sanitizers watch. What is still read is sane.
TEST(DamagedFile, RandomDamageIsReadOrRefusedNeverMisread) {
    RandomShape shape;
    shape.spans = 120;
    shape.sites = 6;
    const TemporaryFile file;
    CaptureSink whole;
    round_trip(random_recording(shape), file.path(), whole);
    const std::string good = file.content();
    std::mt19937_64 random(99);
    const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
    int read = 0;
    int refused = 0;
    for (int round = 0; round < 2000; ++round) {
        std::string bad = good;
        for (std::size_t change = 1 + below(4); change > 0; --change) {
            const std::size_t at = below(bad.size());
            switch (below(4)) {
                case 0:
                    bad[at] = static_cast<char>(bad[at] ^ (1 << below(8)));
                    break;
                case 1:
                    bad[at] = static_cast<char>(below(256));
                    break;
                case 2:
                    bad.erase(at, 1 + below(8));
                    break;
                default:
                    bad.insert(at, bad.substr(below(bad.size()), 1 + below(16)));
            }
        }
        file.write(bad);
        CaptureSink sink;
        const auto summary = read_perfetto(file.path(), sink);
        if (!summary.ok()) {
            ++refused;
            EXPECT_THAT(summary.error().message, HasSubstr(file.path()));
            continue;
        }
        ++read;
        EXPECT_EQ(summary->spans, sink.all.size());
    }
    EXPECT_GT(read, 0);
    EXPECT_GT(refused, 0);
}

}    // namespace
}    // namespace lapwing::test
