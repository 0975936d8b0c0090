// Graphs of recorded steps.
#include "lapwing/graph_builder.hpp"

#include <gtest/gtest.h>

#include "lapwing/graph_analysis.hpp"
#include "lapwing/graph_export.hpp"
#include "report_streams.hpp"

namespace lapwing {
namespace {

using testing::StreamWriter;

Site site_of(const std::string& op, const std::string& kernel, int32_t layer = -1, bool container = false) {
    Site site;
    site.op = op;
    site.kernel = kernel;
    site.layer = layer;
    site.container = container;
    return site;
}

TEST(GraphBuilder, LayersHoldOpsThatLaunchKernelsInTheirOrder) {
    const auto builder = make_graph_builder();
    StreamWriter stream{*builder};
    const TrackId queue = stream.queue(1, "queue 0");
    Site normed = site_of("RMS_NORM", "rms_norm_f32", 0);
    normed.grid = {8, 1, 1};
    const SiteId norm = stream.site(normed);
    const SiteId product = stream.site(site_of("MUL_MAT", "mul_mat_vec", 1));
    Site copied = site_of("", "");
    copied.kind = SpanKind::kCopy;
    const SiteId copy = stream.site(copied);
    const TrackId thread = stream.thread("thread 1");
    Site waits;
    waits.kind = SpanKind::kHost;
    stream.span(thread, stream.site(waits), 0, 500, 4);
    stream.span(queue, norm, 0, 5, 3);
    stream.step(3, 0, 90, 1);
    stream.span(queue, norm, 100, 30'000, 4);
    stream.span(queue, product, 30'100, 50'000, 4);
    stream.span(queue, copy, 90'000, 20'000, 4);
    stream.step(4, 100, 120'000, 2);
    stream.span(queue, norm, 130'000, 7, 5);    // a step that never finished

    const Result<StepGraph> graph = builder->build();
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    EXPECT_EQ(graph->step, 4u) << "the last one that finished";
    EXPECT_EQ(to_ascii_tree(graph->graph),
              "Execution Graph\n"
              "├── Layer 0\n"
              "│   └── RMS_NORM  30.0µs\n"
              "│       └── rms_norm_f32  grid 8x1x1  30.0µs\n"
              "├── Layer 1\n"
              "│   └── MUL_MAT  50.0µs\n"
              "│       └── mul_mat_vec  50.0µs\n"
              "└── copy  20.0µs");
    const GraphSchedule times = schedule(graph->graph);
    EXPECT_EQ(times.total_ns, 100'000) << "an op's time is not added to its kernel's";
    EXPECT_TRUE(times.cyclic.empty());
    EXPECT_EQ(std::get<KernelNode>(graph->graph.nodes()[*slowest_kernel(graph->graph)]).name, "mul_mat_vec");
}

TEST(GraphBuilder, ContainersHoldWhatRanInsideTheirTime) {
    const auto builder = make_graph_builder();
    StreamWriter stream{*builder};
    const TrackId queue = stream.queue(1, "queue 0");
    const TrackId lanes = stream.queue(1, "lanes");
    Site lane = site_of("", "", -1, true);
    lane.lane = "decode";
    const SiteId inner = stream.site(site_of("MUL_MAT", "", 7));
    const SiteId block = stream.site(site_of("block", "", -1, true));
    stream.span(queue, inner, 10, 20, 0);
    stream.span(queue, block, 10, 50, 0);
    stream.span(lanes, stream.site(lane), 0, 100, 0);
    stream.span(queue, inner, 70, 20, 0);
    stream.span(queue, inner, 150, 5, 0);
    const Result<StepGraph> graph = builder->build();
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(to_ascii_tree(graph->graph),
              "Execution Graph\n"
              "├── decode  0.1µs\n"
              "│   ├── block  0.1µs\n"
              "│   │   └── MUL_MAT  0.0µs\n"
              "│   └── MUL_MAT  0.0µs\n"
              "└── Layer 7\n"
              "    └── MUL_MAT  0.0µs");
}

TEST(GraphBuilder, AStepIsChosenAndSaidWhereItHasNothing) {
    const auto feed = [](SpanSink& sink) {
        StreamWriter stream{sink};
        const TrackId queue = stream.queue(1, "queue 0");
        const SiteId site = stream.site(site_of("MUL_MAT", ""));
        for (uint32_t step = 0; step < 20; ++step) {
            stream.span(queue, site, 1000 * step, 10 + step, step);
            stream.step(step, 1000 * step, 1000 * step + 500, 1);
        }
    };
    const auto early = make_graph_builder({.step = 2});
    feed(*early);
    EXPECT_EQ(schedule(early->build()->graph).total_ns, 12);
    const auto last = make_graph_builder();
    feed(*last);
    EXPECT_EQ(last->build()->step, 19u);
    const auto none = make_graph_builder({.step = 77});
    feed(*none);
    EXPECT_EQ(none->build().error().message, "step 77 has no device spans: the newest that has some is 19");
    EXPECT_EQ(make_graph_builder()->build().error().code, Errc::kNotFound);
    const auto small = make_graph_builder({.step = std::nullopt, .max_spans = 1});
    StreamWriter stream{*small};
    const TrackId queue = stream.queue(1, "queue 0");
    stream.span(queue, 1, 0, 1);
    stream.span(queue, 1, 5, 1);
    EXPECT_EQ(small->build().error().code, Errc::kExhausted);
}

TEST(GraphBuilder, WithoutStepsItIsAllOfTheStream) {
    const auto builder = make_graph_builder();
    StreamWriter stream{*builder};
    const TrackId queue = stream.queue(1, "queue 0");
    stream.span(queue, stream.site(site_of("a", "")), 0, 10);
    stream.span(queue, stream.site(site_of("b", "")), 20, 10);
    const Result<StepGraph> graph = builder->build();
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(graph->step, std::nullopt);
    EXPECT_EQ(schedule(graph->graph).total_ns, 20);
}

}    // namespace
}    // namespace lapwing
