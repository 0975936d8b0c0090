// Chunks of timestamp queries and their batched reads, on a scripted driver.
#include <gtest/gtest.h>

#include <vector>

#include "backends/vulkan/query_chunks.hpp"
#include "unit/vulkan_fake_driver.hpp"

namespace lapwing::vulkan {
namespace {

using testing::FakeDriver;

struct QueryChunksTest : ::testing::Test {
    FakeDriver driver;
    DeviceTable table = FakeDriver::device_table();
    QueryChunks chunks{table, FakeDriver::device(), {.queries_per_chunk = 4, .max_pools = 2}};
    QueryReader reader;

    QueryChunk take(uint32_t used = 0) {
        auto chunk = chunks.take();
        EXPECT_TRUE(chunk.has_value());
        chunk->used = used;
        return *chunk;
    }
    // Makes the first `count` queries of a chunk available, with ticks 10 * index.
    void finish(const QueryChunk& chunk, uint32_t count) {
        for (uint32_t i = chunk.first; i < chunk.first + count; ++i)
            driver.pools[chunk.pool][i] = {uint64_t{10} * i, true, true};
    }
    QueryReader::Outcome read(std::vector<QueryReader::Request>& requests) {
        return reader.read(table, FakeDriver::device(), chunks.queries_per_chunk(), requests);
    }
};

TEST_F(QueryChunksTest, CreatesNothingBeforeTheFirstTake) {
    EXPECT_EQ(driver.total_calls(), 0u);
    take();
    EXPECT_EQ(driver.calls["CreateQueryPool"], 1u);
    EXPECT_EQ(driver.pools.begin()->second.size(), 256u);
}

TEST_F(QueryChunksTest, LowestFreeChunkIsTakenFirst) {
    const QueryChunk a = take();
    const QueryChunk b = take();
    const QueryChunk c = take();
    EXPECT_EQ(a.first, 0u);
    EXPECT_EQ(b.first, 4u);
    EXPECT_EQ(c.first, 8u);
    chunks.give_back(b);
    chunks.give_back(a);
    EXPECT_EQ(take().first, 0u);
    EXPECT_EQ(take().first, 4u);
    EXPECT_EQ(take().first, 12u);
}

TEST_F(QueryChunksTest, GrowsByOnePoolAndStopsAtTheCap) {
    std::vector<QueryChunk> out;
    for (int i = 0; i < 128; ++i) out.push_back(take());
    EXPECT_EQ(chunks.pools(), 2u);
    EXPECT_EQ(out[63].pool_index, 0u);
    EXPECT_EQ(out[64].pool_index, 1u);
    EXPECT_FALSE(chunks.take().has_value());
    EXPECT_EQ(chunks.refused(), 1u);
    EXPECT_EQ(chunks.last_error(), VK_SUCCESS) << "a cap is not a driver's error";
    chunks.give_back(out[10]);
    EXPECT_EQ(take().first, out[10].first);
    EXPECT_EQ(chunks.taken(), 128u);
}

TEST_F(QueryChunksTest, RefusedPoolIsReportedAndNotFatal) {
    driver.create_query_pool_result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    EXPECT_FALSE(chunks.take().has_value());
    EXPECT_EQ(chunks.last_error(), VK_ERROR_OUT_OF_DEVICE_MEMORY);
    EXPECT_EQ(chunks.refused(), 1u);
    driver.create_query_pool_result = VK_SUCCESS;
    EXPECT_TRUE(chunks.take().has_value());
}

TEST_F(QueryChunksTest, DestroyLeavesNothingBehindAndGiveBackAfterItIsHarmless) {
    const QueryChunk chunk = take();
    EXPECT_EQ(driver.live_objects, 1u);
    chunks.destroy();
    EXPECT_EQ(driver.live_objects, 0u);
    chunks.give_back(chunk);
    EXPECT_EQ(chunks.taken(), 0u);
}

TEST_F(QueryChunksTest, AdjacentChunksAreReadInOneCallAndAGapSplitsIt) {
    std::vector<QueryReader::Request> requests;
    for (int i = 0; i < 5; ++i) requests.push_back({take(2), 0});
    requests.erase(requests.begin() + 2);            // chunks 0, 1, 3, 4
    std::swap(requests.front(), requests.back());    // the order of asking does not matter
    for (const auto& request : requests) finish(request.chunk, 2);
    const QueryReader::Outcome outcome = read(requests);
    EXPECT_EQ(outcome.calls, 2u);
    ASSERT_EQ(driver.reads.size(), 2u);
    EXPECT_EQ(driver.reads[0], std::pair(0u, 6u)) << "over the unused tail of chunk 0, up to the last used of chunk 1";
    EXPECT_EQ(driver.reads[1], std::pair(12u, 6u));
    for (const auto& request : requests) {
        for (uint32_t i = 0; i < 2; ++i) {
            EXPECT_TRUE(reader.ready(request.offset + i));
            EXPECT_EQ(reader.ticks(request.offset + i), 10u * (request.chunk.first + i));
        }
    }
}

TEST_F(QueryChunksTest, ChunksOfTwoPoolsAreNeverReadTogether) {
    std::vector<QueryReader::Request> requests;
    for (int i = 0; i < 66; ++i) requests.push_back({take(4), 0});
    for (const auto& request : requests) finish(request.chunk, 4);
    EXPECT_EQ(read(requests).calls, 2u);
    EXPECT_TRUE(reader.ready(requests[64].offset));
    EXPECT_EQ(reader.ticks(requests[65].offset + 3), 70u);
}

// field-cases B6: gapid#3661, dive#329.
TEST_F(QueryChunksTest, ReadsAre64BitWithAvailabilityAndNeverWait) {
    std::vector<QueryReader::Request> requests{{take(4), 0}};
    read(requests);
    ASSERT_EQ(driver.read_flags.size(), 1u);
    EXPECT_EQ(driver.read_flags[0], VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
}

TEST_F(QueryChunksTest, PartialResultsStayPendingQueryByQuery) {
    std::vector<QueryReader::Request> requests{{take(4), 0}};
    finish(requests[0].chunk, 2);
    const QueryReader::Outcome outcome = read(requests);
    EXPECT_EQ(outcome.error, VK_SUCCESS) << "VK_NOT_READY is no error";
    EXPECT_TRUE(reader.ready(0) && reader.ready(1));
    EXPECT_FALSE(reader.ready(2) || reader.ready(3));
}

TEST_F(QueryChunksTest, AnyNonZeroAvailabilityIsReady) {
    driver.availability = 2;    // SwiftShader
    std::vector<QueryReader::Request> requests{{take(1), 0}};
    finish(requests[0].chunk, 1);
    read(requests);
    EXPECT_TRUE(reader.ready(0));
}

TEST_F(QueryChunksTest, SuccessWithoutWrittenResultsIsNotReady) {
    std::vector<QueryReader::Request> requests{{take(3), 0}};
    finish(requests[0].chunk, 3);
    read(requests);
    EXPECT_TRUE(reader.ready(2));
    driver.writes_results = false;    // the Vulkan mock ICD: VK_SUCCESS, and the buffer as it was
    read(requests);
    EXPECT_FALSE(reader.ready(0) || reader.ready(1) || reader.ready(2));
}

TEST_F(QueryChunksTest, LostDeviceIsNotReadAgain) {
    std::vector<QueryReader::Request> requests{{take(1), 0}};
    take();
    requests.push_back({take(1), 0});
    for (const auto& request : requests) finish(request.chunk, 1);
    driver.read_result = VK_ERROR_DEVICE_LOST;
    const QueryReader::Outcome outcome = read(requests);
    EXPECT_TRUE(outcome.device_lost);
    EXPECT_EQ(outcome.error, VK_ERROR_DEVICE_LOST);
    EXPECT_EQ(outcome.calls, 1u);
    EXPECT_FALSE(reader.ready(requests[0].offset) || reader.ready(requests[1].offset));
}

}    // namespace
}    // namespace lapwing::vulkan
