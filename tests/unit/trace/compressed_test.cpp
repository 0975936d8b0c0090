// Spans as compressed packets: ours, those of other tools, and damaged ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libdeflate.h>

#include "trace/fields.hpp"
#include "trace/metadata.hpp"
#include "trace/wire_writer.hpp"
#include "unit/trace/random_recording.hpp"

namespace lapwing::test {
namespace {

using testing::HasSubstr;

std::string file_of(const Recording& recording, bool compress) {
    const TemporaryFile file;
    CaptureSink sink;
    round_trip(recording, file.path(), sink, {.compress = compress});
    return file.content();
}

std::string zlib(std::string_view bytes, int level) {
    libdeflate_compressor* compressor = ::libdeflate_alloc_compressor(level);
    std::string out(::libdeflate_zlib_compress_bound(compressor, bytes.size()), '\0');
    out.resize(::libdeflate_zlib_compress(compressor, bytes.data(), bytes.size(), out.data(), out.size()));
    ::libdeflate_free_compressor(compressor);
    return out;
}

// A packet that holds `bytes` as compressed packets.
std::string packed(std::string_view bytes) {
    const std::string field = trace::MessageWriter().bytes(trace::packet::kCompressedPackets, bytes).str();
    return trace::MessageWriter().bytes(1, field).str();
}

// Splits a plain recording after its first packet, which is never compressed.
std::pair<std::string, std::string> head_and_rest(const std::string& plain) {
    const std::size_t head = 2 + static_cast<uint8_t>(plain[1]);
    return {plain.substr(0, head), plain.substr(head)};
}

Result<ReadSummary> read(std::string_view content, CaptureSink& sink) {
    const TemporaryFile file;
    file.write(content);
    return read_perfetto(file.path(), sink);
}

TEST(Compressed, ReadsBackAsThePlainRecordingDoes) {
    const Recording recording = random_recording({.spans = 60'000});
    const TemporaryFile file;
    CaptureSink sink;
    const ReadSummary summary = round_trip(recording, file.path(), sink, {.compress = true});
    EXPECT_FALSE(summary.torn);
    EXPECT_EQ(keys(sink.all), keys(recording.spans));
    EXPECT_LT(file.content().size(), file_of(recording, false).size() * 2 / 3);
}

TEST(Compressed, FewSpansThatWouldNotShrinkArePlain) {
    CaptureSink sink;
    const Recording recording = sample_recording();
    EXPECT_LE(file_of(recording, true).size(), file_of(recording, false).size());
    ASSERT_TRUE(read(file_of(recording, true), sink).ok());
    EXPECT_EQ(keys(sink.all), keys(recording.spans));
}

// Perfetto compresses whatever comes, at zlib's levels, tracks and descriptions among it.
TEST(Compressed, AnyPacketsCompressedAtAnyLevelAreRead) {
    const Recording recording = random_recording({.spans = 20'000});
    const auto [head, rest] = head_and_rest(file_of(recording, false));
    for (const int level : {0, 1, 6, 12}) {
        CaptureSink sink;
        const auto summary = read(head + packed(zlib(rest, level)), sink);
        ASSERT_TRUE(summary.ok()) << summary.error().message;
        EXPECT_EQ(keys(sink.all), keys(recording.spans)) << level;
        EXPECT_EQ(sink.used_before_announced, 0);
    }
}

TEST(Compressed, EveryByteMissingAtTheEndIsATornTail) {
    const Recording recording = random_recording({.spans = 3000});
    const auto [head, rest] = head_and_rest(file_of(recording, false));
    const std::string whole = head + packed(zlib(rest, 1));
    for (std::size_t size = head.size() + 1; size < whole.size(); size += 997) {
        CaptureSink sink;
        const auto summary = read(std::string_view(whole).substr(0, size), sink);
        ASSERT_TRUE(summary.ok()) << summary.error().message;
        EXPECT_TRUE(summary->torn);
        EXPECT_EQ(summary->torn_at, head.size());
    }
}

TEST(Compressed, DamageIsNamedWithFileAndByte) {
    const auto [head, rest] = head_and_rest(file_of(random_recording({.spans = 3000}), false));
    const std::string good = zlib(rest, 1);
    const std::string place = "packet at byte " + std::to_string(head.size());
    std::string flipped = good;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x55);
    const std::pair<std::string, const char*> bad[] = {
        {flipped, "expected packets compressed by zlib"},
        {"", "expected packets compressed by zlib"},
        {good.substr(0, good.size() - 5), "expected packets compressed by zlib"},
        {zlib(std::string_view(rest).substr(0, rest.size() - 3), 1), "expected a whole packet at byte"},
        {zlib("\x0a\x03\x50\xff\xff", 1), "(byte 0 of its compressed packets)"},
        {zlib(packed(zlib(rest, 1)), 1), "expected a well-formed trace packet"},
    };
    for (const auto& [bytes, text] : bad) {
        CaptureSink sink;
        const auto summary = read(head + packed(bytes), sink);
        ASSERT_FALSE(summary.ok()) << text;
        EXPECT_EQ(summary.error().code, Errc::kBadFormat);
        EXPECT_THAT(summary.error().message, HasSubstr(place));
        EXPECT_THAT(summary.error().message, HasSubstr(text));
        EXPECT_THAT(summary.error().message, HasSubstr("lapwing-trace-"));
    }
}

// A few kB that unpack to more than any writer makes must not take the machine's memory.
TEST(Compressed, PacketsThatUnpackToMoreThan64MiBAreRefused) {
    const std::string head = head_and_rest(file_of(sample_recording(), false)).first;
    CaptureSink sink;
    const auto summary = read(head + packed(zlib(std::string((64u << 20) + 1, '\0'), 6)), sink);
    ASSERT_FALSE(summary.ok());
    EXPECT_THAT(summary.error().message, HasSubstr("at most 64 MiB"));
}

}    // namespace
}    // namespace lapwing::test
