// Whatever is written comes back: every ns, name, step, site and track.
#include <gtest/gtest.h>

#include "unit/trace/random_recording.hpp"

namespace lapwing::test {
namespace {

struct Case {
    const char* name;
    RandomShape shape;
    PerfettoWriterOptions options;
    std::size_t batch;
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << c.name;
}

class RoundTripProperty : public testing::TestWithParam<Case> {};

TEST_P(RoundTripProperty, NoSpanIsLostOrChanged) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(seed);
        RandomShape shape = GetParam().shape;
        shape.seed = seed;
        const Recording written = random_recording(shape);
        const TemporaryFile file;
        CaptureSink read;
        auto writer = open_perfetto_writer(file.path(), GetParam().options);
        ASSERT_TRUE(writer.ok());
        ASSERT_TRUE(feed(written, **writer, GetParam().batch).ok());
        const auto summary = read_perfetto(file.path(), read);
        ASSERT_TRUE(summary.ok()) << summary.error().message;

        EXPECT_EQ(summary->spans, written.spans.size());
        EXPECT_EQ(summary->unclosed, 0u);
        EXPECT_EQ(read.used_before_announced, 0);
        EXPECT_EQ(keys(read.all), keys(written.spans));
        ASSERT_EQ(read.sites.size(), written.sites.size());
        for (const auto& [id, site] : written.sites) EXPECT_EQ(read.sites[id], site);
        EXPECT_EQ(read.steps.size(), written.steps.size());
        EXPECT_EQ(read.fingerprints, written.fingerprints);
    }
}

PerfettoWriterOptions tight() {
    return {.buffer_bytes = 4096, .max_lanes = 2};
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, RoundTripProperty,
    testing::Values(Case{"plain", {.overlaps = false, .late = false, .hostile_names = false}, {}, 4096},
                    Case{"overlaps", {}, {}, 64}, Case{"one_by_one", {.spans = 800}, {}, 1},
                    Case{"small_buffers_two_lanes", {}, tight(), 64},
                    Case{"one_lane", {}, {.buffer_bytes = 4096, .max_lanes = 1}, 300},
                    Case{"compressed", {}, {.compress = true}, 200},
                    Case{"compressed_small", {}, {.buffer_bytes = 4096, .compress = true}, 64},
                    Case{"many_sites", {.sites = 20'000, .spans = 6000, .hostile_names = false}, {}, 1000},
                    Case{"many_tracks", {.device_tracks = 300, .host_tracks = 40, .spans = 6000}, {}, 500}),
    [](const auto& shape) { return shape.param.name; });

}    // namespace
}    // namespace lapwing::test
