// The reader's short way for the common packet reads what its long way reads, or leaves the packet to it.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "trace/fields.hpp"
#include "trace/packet.hpp"
#include "trace/wire_reader.hpp"

namespace lapwing::trace {
namespace {

std::string begin_packet(uint8_t sequence, uint8_t name) {
    return {'\x50', static_cast<char>(sequence), '\x5a', 4,      '\x48', 1,
            '\x50', static_cast<char>(name),     '\x40', '\x85', '\x81', '\x03'};
}
std::string end_packet(uint8_t sequence) {
    return {'\x50', static_cast<char>(sequence), '\x5a', 2, '\x48', 2, '\x40', '\xff', '\xff', '\x7f'};
}

TEST(PlainSlice, BeginAndEndAsLanesWriteThemAreTaken) {
    PlainSlice slice;
    ASSERT_TRUE(take_plain(begin_packet(3, 127), slice));
    EXPECT_TRUE(slice.begins);
    EXPECT_EQ(slice.sequence, 3u);
    EXPECT_EQ(slice.name, 127u);
    EXPECT_EQ(slice.timestamp, 5u + (1u << 7) + (3u << 14));
    ASSERT_TRUE(take_plain(end_packet(127), slice));
    EXPECT_FALSE(slice.begins);
    EXPECT_EQ(slice.sequence, 127u);
    EXPECT_EQ(slice.timestamp, (1u << 21) - 1);
}

TEST(PlainSlice, WhateverIsTakenMeansTheSameToTheLongWay) {
    std::mt19937_64 random(4711);
    int taken = 0;
    for (int round = 0; round < 400'000; ++round) {
        std::string bytes =
            random() % 2 == 0 ? begin_packet(static_cast<uint8_t>(random() % 256), static_cast<uint8_t>(random() % 256))
                              : end_packet(static_cast<uint8_t>(random() % 256));
        for (auto changes = random() % 4; changes != 0; --changes)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        PlainSlice slice;
        if (!take_plain(bytes, slice)) continue;
        ++taken;
        Packet packet;
        ASSERT_TRUE(take_apart(bytes, packet));
        ASSERT_TRUE(packet.event && packet.has_timestamp);
        EXPECT_EQ(packet.clock, 0u);
        EXPECT_EQ(packet.sequence, slice.sequence);
        EXPECT_EQ(packet.timestamp, slice.timestamp);
        uint64_t type = 0;
        uint64_t name = 0;
        MessageReader in(*packet.event);
        while (in.next()) {
            if (in.tag_value() == varint_tag(event::kType))
                type = in.varint();
            else if (in.tag_value() == varint_tag(event::kNameIid))
                name = in.varint();
            else
                FAIL() << "a field that the short way passes over";
        }
        ASSERT_TRUE(in.ok());
        EXPECT_EQ(type, slice.begins ? event::kSliceBegin : event::kSliceEnd);
        if (slice.begins) {
            EXPECT_EQ(name, slice.name);
        }
    }
    EXPECT_GT(taken, 50'000);
}

TEST(PlainSlice, OtherShapesAreLeftToTheLongWay) {
    PlainSlice slice;
    EXPECT_FALSE(take_plain({}, slice));
    EXPECT_FALSE(take_plain(begin_packet(0x80, 1), slice)) << "a sequence of two bytes";
    EXPECT_FALSE(take_plain(begin_packet(1, 0x80), slice)) << "a name of two bytes";
    std::string two_bytes = end_packet(1);
    two_bytes[8] = 0x7f;
    EXPECT_FALSE(take_plain(two_bytes, slice)) << "a timestamp that ends before its third byte";
    std::string four_bytes = end_packet(1);
    four_bytes[9] = '\xff';
    EXPECT_FALSE(take_plain(four_bytes, slice)) << "a timestamp that goes on behind the packet";
}

}    // namespace
}    // namespace lapwing::trace
