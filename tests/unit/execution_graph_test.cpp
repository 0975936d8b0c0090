// The execution graph: building it, its exports, and what is computed from it.
#include "lapwing/execution_graph.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "lapwing/graph_analysis.hpp"
#include "lapwing/graph_export.hpp"
#include "lapwing/kernel_registry.hpp"

namespace lapwing {
namespace {

using Path = std::vector<NodeId>;

NodeId add(ExecutionGraph& graph, GraphNode node) {
    return graph.add_node(std::move(node)).value();
}
NodeId brick(ExecutionGraph& graph, int64_t timing_ns, const std::string& name = "brick") {
    return add(graph, BrickNode{name, timing_ns, 1});
}
void link(ExecutionGraph& graph, NodeId from, NodeId to, EdgeKind kind = EdgeKind::kDependsOn) {
    ASSERT_TRUE(graph.add_edge({from, to, kind}).ok());
}
KernelNode kernel(const std::string& name, std::optional<int64_t> timing_ns = std::nullopt) {
    KernelNode node;
    node.name = name;
    node.timing_ns = timing_ns;
    return node;
}

TEST(ExecutionGraph, ScopesContainAndKernelsAreLaunched) {
    ExecutionGraph graph;
    const NodeId layer = graph.push_scope(LayerNode{3}).value();
    const NodeId norm = graph.push_scope(BrickNode{"RmsNorm", 100, 64}).value();
    const NodeId run = graph.record_kernel_launch(kernel("rms_norm_f32")).value();
    EXPECT_FALSE(graph.is_scope_balanced());
    EXPECT_EQ(graph.pop_scope(), norm);
    const NodeId copy = graph.record_transfer({"host", "gpu0", 8}).value();
    EXPECT_EQ(graph.pop_scope(), layer);
    EXPECT_EQ(graph.pop_scope(), std::nullopt);
    EXPECT_TRUE(graph.is_scope_balanced());
    const NodeId alone = graph.add_node_in_scope(LayerNode{4}).value();

    ASSERT_EQ(graph.edges().size(), 3u);
    const std::vector<std::tuple<NodeId, NodeId, EdgeKind>> expected{
        {layer, norm, EdgeKind::kContains}, {norm, run, EdgeKind::kLaunches}, {layer, copy, EdgeKind::kContains}};
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(std::tuple(graph.edges()[i].from, graph.edges()[i].to, graph.edges()[i].kind), expected[i]);
    EXPECT_EQ(graph.edges().front().weight, 1.0F);
    EXPECT_EQ(graph.find("Layer3"), layer);
    EXPECT_EQ(graph.find("Layer4"), alone);
    EXPECT_EQ(graph.find("H2D:host->gpu0"), copy);
    EXPECT_EQ(graph.find("nobody"), std::nullopt);
    const NodeId again = add(graph, BrickNode{"RmsNorm", 200, 64});
    EXPECT_EQ(graph.find("RmsNorm"), again) << "the one added last";
    graph.clear();
    EXPECT_TRUE(graph.nodes().empty() && graph.edges().empty() && !graph.find("Layer3"));
}

TEST(ExecutionGraph, BadNodesAndEdgesAreRefusedAndTheBudgetIsCounted) {
    ExecutionGraph graph({.max_nodes = 2, .max_edges = 1});
    EXPECT_EQ(graph.add_node(BrickNode{"b", -1, 1}).error().code, Errc::kInvalidArgument);
    const NodeId a = brick(graph, 1);
    const NodeId b = brick(graph, 2);
    EXPECT_EQ(graph.add_node(LayerNode{}).error().code, Errc::kExhausted);
    EXPECT_EQ(graph.refused_nodes(), 1u);
    EXPECT_EQ(graph.add_edge({a, 7}).error().code, Errc::kInvalidArgument);
    EXPECT_EQ(graph.add_edge({a, a}).error().code, Errc::kInvalidArgument);
    link(graph, a, b);
    EXPECT_EQ(graph.add_edge({a, b}).error().code, Errc::kExhausted);
    EXPECT_EQ(graph.refused_edges(), 1u);
}

// The known answers of the four systems' behaviour, section 7.
TEST(CriticalPath, KnownAnswers) {
    ExecutionGraph chain;
    for (const int64_t ns : {100'000, 200'000, 300'000}) brick(chain, ns);
    link(chain, 0, 1);
    link(chain, 1, 2);
    EXPECT_EQ(schedule(chain).total_ns, 600'000);
    EXPECT_EQ(schedule(chain).critical_path, (Path{0, 1, 2}));

    const auto diamond = [](int64_t first, int64_t left, int64_t right, int64_t last) {
        ExecutionGraph graph;
        for (const int64_t ns : {first, left, right, last}) brick(graph, ns);
        for (const auto& [from, to] : std::vector<std::pair<NodeId, NodeId>>{{0, 1}, {0, 2}, {1, 3}, {2, 3}})
            EXPECT_TRUE(graph.add_dependency(from, to).ok());
        return schedule(graph);
    };
    EXPECT_EQ(diamond(50'000, 200'000, 100'000, 50'000).total_ns, 300'000);
    EXPECT_EQ(diamond(50'000, 200'000, 100'000, 50'000).slack_ns[2], 100'000);
    EXPECT_EQ(diamond(100, 1000, 10'000, 200).total_ns, 10'300);
    EXPECT_EQ(diamond(100, 1000, 10'000, 200).slack_ns[1], 9000);
    for (const NodeId node : diamond(50, 200, 100, 50).critical_path)
        EXPECT_EQ(diamond(50, 200, 100, 50).slack_ns[node], 0);

    ExecutionGraph two_ways;    // five of 3 ms one after the other, against one of 10 ms
    const NodeId root = add(two_ways, LayerNode{0});
    NodeId before = root;
    for (int i = 0; i < 5; ++i) {
        const NodeId next = brick(two_ways, 3'000'000);
        link(two_ways, before, next, before == root ? EdgeKind::kContains : EdgeKind::kSequence);
        before = next;
    }
    link(two_ways, root, brick(two_ways, 10'000'000), EdgeKind::kContains);
    EXPECT_EQ(schedule(two_ways).total_ns, 15'000'000);
    EXPECT_EQ(schedule(two_ways).critical_path.size(), 6u) << "the root included";

    ExecutionGraph joined;    // A and B lead to C, and C to D
    for (const int64_t ns : {100'000, 50'000, 200'000, 500'000}) brick(joined, ns);
    link(joined, 0, 2);
    link(joined, 1, 2);
    link(joined, 2, 3);
    EXPECT_EQ(schedule(joined).total_ns, 800'000);

    ExecutionGraph untimed;
    add(untimed, LayerNode{0});
    add(untimed, LayerNode{1});
    EXPECT_EQ(schedule(untimed).total_ns, 0);
    EXPECT_EQ(schedule(untimed).critical_path, (Path{1}));
    EXPECT_TRUE(schedule(ExecutionGraph{}).critical_path.empty());
}

// The seed adds the two up: 4500.
TEST(CriticalPath, WhatIsContainedIsNotAddedToWhatContainsIt) {
    ExecutionGraph graph;
    (void)graph.push_scope(BrickNode{"QkvProjection", 3000, 1});
    (void)graph.record_kernel_launch(kernel("gemv", 1500));
    EXPECT_EQ(schedule(graph).total_ns, 3000);
    ExecutionGraph longer;    // kernels that run on after their brick has returned
    const NodeId first = longer.push_scope(BrickNode{"QkvProjection", 3000, 1}).value();
    (void)longer.record_kernel_launch(kernel("gemv", 5000));
    (void)longer.pop_scope();
    const NodeId next = brick(longer, 10);
    link(longer, first, next, EdgeKind::kSequence);
    EXPECT_EQ(schedule(longer).total_ns, 5010) << "the next brick waits for the kernels inside the first";
    ExecutionGraph unknown;
    (void)unknown.push_scope(BrickNode{"Gate", 1000, 1});
    (void)unknown.record_kernel_launch(kernel("gemv"));
    EXPECT_EQ(schedule(unknown).total_ns, 1000) << "a kernel without a time counts 0";
}

TEST(CriticalPath, CyclesAreReportedAndLeftOut) {
    ExecutionGraph graph;
    for (int i = 0; i < 5; ++i) brick(graph, 100);
    link(graph, 0, 1);
    link(graph, 1, 2);
    link(graph, 2, 1);
    link(graph, 2, 3);
    const GraphSchedule times = schedule(graph);
    EXPECT_EQ(times.cyclic, (Path{1, 2, 3}));
    EXPECT_EQ(times.total_ns, 100);
    EXPECT_EQ(times.slack_ns[2], std::nullopt);
    EXPECT_EQ(times.slack_ns[4], 0);
    ExecutionGraph all;
    brick(all, 1);
    brick(all, 1);
    link(all, 0, 1);
    link(all, 1, 0);
    EXPECT_EQ(schedule(all).cyclic.size(), 2u);
    EXPECT_TRUE(schedule(all).critical_path.empty());
    EXPECT_NE(critical_path_summary(all).find("2 nodes are on a cycle"), std::string::npos);
}

// Against a model that tries every node until nothing changes any more.
TEST(CriticalPath, AgreesWithBruteForceOnRandomGraphs) {
    std::mt19937 random(11);
    int compared = 0;
    for (int round = 0; round < 400; ++round) {
        ExecutionGraph graph;
        const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
        const NodeId nodes = 1 + below(12);
        for (NodeId i = 0; i < nodes; ++i) brick(graph, below(50));
        // Numbers are shuffled, so that the order in which nodes were added is no topological one.
        std::vector<NodeId> rank(nodes);
        for (NodeId i = 0; i < nodes; ++i) rank[i] = i;
        std::shuffle(rank.begin(), rank.end(), random);
        for (uint32_t i = 0; i < nodes * 2; ++i) {
            const NodeId a = below(nodes);
            const NodeId b = below(nodes);
            if (a == b) continue;
            const auto kind = below(3) == 0 ? EdgeKind::kContains : EdgeKind::kDependsOn;
            link(graph, rank[std::min(a, b)], rank[std::max(a, b)], kind);
        }
        std::vector<int64_t> begin(nodes, 0), end(nodes, 0);
        bool endless = false;    // containment and order may disagree
        for (bool changed = true; changed && !endless;) {
            changed = false;
            const auto raise = [&](int64_t& value, int64_t to) {
                if (to > value) changed = true, value = to;
            };
            for (NodeId i = 0; i < nodes; ++i) raise(end[i], begin[i] + timing_of(graph.nodes()[i]));
            for (const GraphEdge& edge : graph.edges()) {
                if (edge.kind == EdgeKind::kContains) {
                    raise(begin[edge.to], begin[edge.from]);
                    raise(end[edge.from], end[edge.to]);
                } else {
                    raise(begin[edge.to], end[edge.from]);
                }
            }
            endless = *std::max_element(end.begin(), end.end()) > 5000;
        }
        const GraphSchedule times = schedule(graph);
        if (endless) {
            ASSERT_FALSE(times.cyclic.empty());
        }
        if (!times.cyclic.empty()) continue;
        ++compared;
        ASSERT_EQ(times.total_ns, *std::max_element(end.begin(), end.end()));
        for (const NodeId node : times.critical_path) ASSERT_EQ(times.slack_ns[node], 0);
    }
    EXPECT_GT(compared, 100);
}

TEST(SlowestKernel, IsAKernelAndTheFirstOfEqualOnes) {
    ExecutionGraph graph;
    brick(graph, 1'000'000);
    EXPECT_EQ(slowest_kernel(graph), std::nullopt) << "the seed answers with a brick";
    add(graph, kernel("untimed"));
    EXPECT_EQ(slowest_kernel(graph), std::nullopt);
    add(graph, kernel("none", 0));
    EXPECT_EQ(slowest_kernel(graph), 2u) << "0 is a time";
    const NodeId first = add(graph, kernel("a", 50));
    add(graph, kernel("b", 50));
    EXPECT_EQ(slowest_kernel(graph), first);
}

TEST(PingPong, OnlyAdjacentCopiesThatGoStraightBack) {
    ExecutionGraph graph;
    const auto copy = [&](const char* from, const char* to, uint64_t bytes) {
        const bool down = std::string(from) == "host";
        return add(graph, TransferNode{from, to, bytes,
                                       down ? TransferDirection::kHostToDevice : TransferDirection::kDeviceToHost});
    };
    const NodeId up = copy("host", "gpu0", 1024);
    copy("gpu0", "host", 512);
    copy("gpu1", "host", 1024);
    const NodeId back = copy("gpu0", "host", 1024);
    copy("gpu0", "host", 1024);
    using Pairs = std::vector<std::pair<NodeId, NodeId>>;
    EXPECT_EQ(ping_pong(graph), (Pairs{{up, back}}));
    ExecutionGraph hundred;
    for (uint64_t i = 0; i < 100; ++i) {
        add(hundred, TransferNode{"host", "gpu0", 1000 + i, TransferDirection::kHostToDevice});
        add(hundred, TransferNode{"gpu0", "host", 1000 + i, TransferDirection::kDeviceToHost});
    }
    EXPECT_EQ(ping_pong(hundred).size(), 100u);
}

// G9: AMD llama.cpp#50 and TileOPs#629 showed more than 100 % of peak.
TEST(Roofline, KnownAnswersAndAboveTheRoofIsAModelError) {
    ExecutionGraph graph;
    const auto run = [&](std::optional<double> intensity, std::optional<double> tflops) {
        KernelNode node = kernel("k");
        node.arithmetic_intensity = intensity;
        node.achieved_tflops = tflops;
        return add(graph, node);
    };
    run(100, 10);
    run(100, 1);
    run(4, 2);
    run(std::nullopt, 5);
    run(5, std::nullopt);
    run(0, 1);
    run(4, 8);
    run(4, std::numeric_limits<double>::quiet_NaN());
    const auto found = roofline_distance(graph, 10, 1000).value();
    ASSERT_EQ(found.size(), 4u) << "what is unknown stays unknown";
    EXPECT_DOUBLE_EQ(found[0].distance, 0);
    EXPECT_DOUBLE_EQ(found[1].distance, 0.9);
    EXPECT_DOUBLE_EQ(found[2].distance, 0.5);
    EXPECT_TRUE(found[2].memory_bound && !found[0].memory_bound);
    EXPECT_FALSE(found[0].model_error);
    EXPECT_EQ(found[3].kernel, 6u);
    EXPECT_DOUBLE_EQ(found[3].share, 2) << "not clamped";
    EXPECT_TRUE(found[3].model_error);
    for (const double bad :
         {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
        EXPECT_FALSE(roofline_distance(graph, bad, 1000).ok());
}

TEST(GraphText, TreeIsTheKnownSnapshot) {
    ExecutionGraph graph;
    EXPECT_EQ(to_ascii_tree(graph), "(empty graph)");
    (void)graph.push_scope(LayerNode{0});
    (void)graph.push_scope(BrickNode{"QkvProjection", 200'000, 4096});
    KernelNode gemv = kernel("batched_q4k_gemv");
    gemv.grid = {32, 1, 1};
    gemv.block = {256, 1, 1};
    gemv.shared_mem_bytes = 4096;
    (void)graph.record_kernel_launch(gemv);
    EXPECT_EQ(to_ascii_tree(graph),
              "Layer 0\n"
              "└── QkvProjection  200.0µs (4096 elem)\n"
              "    └── batched_q4k_gemv  <<<32,256,1>>> smem=4096B");
}

TEST(GraphText, TreeOfEveryKindUnderSeveralRoots) {
    ExecutionGraph graph;
    (void)graph.push_scope(LayerNode{0});
    (void)graph.add_node_in_scope(FunctionNode{"compute", "ops.cpp", 100});
    (void)graph.add_node_in_scope(FunctionNode{"half", "ops.cpp", std::nullopt});
    (void)graph.record_transfer({"cpu", "gpu", 8192, TransferDirection::kHostToDevice, 250});
    (void)graph.record_transfer({"gpu", "cpu", 4096, TransferDirection::kDeviceToHost});
    (void)graph.add_node_in_scope(AsyncTaskNode{"prefetch", 3, 1, 5000});
    (void)graph.pop_scope();
    add(graph, AsyncTaskNode{"idle", 0, 0, 0});
    EXPECT_EQ(to_ascii_tree(graph),
              "Execution Graph\n"
              "├── Layer 0\n"
              "│   ├── compute (ops.cpp:100)\n"
              "│   ├── half\n"
              "│   ├── H2D: cpu → gpu  8192B 0.2µs\n"
              "│   ├── D2H: gpu → cpu  4096B\n"
              "│   └── prefetch  polls:3 yields:1 5.0µs (33% eff)\n"
              "└── idle  polls:0 yields:0 0.0µs (0% eff)");
}

TEST(GraphText, ANodeInsideItselfIsCutAndALongChainIsNoDanger) {
    ExecutionGraph loop;
    brick(loop, 1000, "a");
    brick(loop, 1000, "b");
    link(loop, 0, 1, EdgeKind::kContains);
    link(loop, 1, 0, EdgeKind::kContains);
    EXPECT_EQ(to_ascii_tree(loop), "a  1.0µs (1 elem)\n└── b  1.0µs (1 elem)\n    └── a  1.0µs (1 elem) (cycle)");
    ExecutionGraph deep;
    for (int i = 0; i < 3000; ++i) {
        brick(deep, 1);
        if (i != 0) link(deep, static_cast<NodeId>(i - 1), static_cast<NodeId>(i), EdgeKind::kContains);
    }
    EXPECT_GT(to_ascii_tree(deep).size(), 3000u);
    EXPECT_EQ(schedule(deep).critical_path.size(), 3000u);
}

TEST(GraphText, DotNamesColoursAndEscapes) {
    ExecutionGraph graph;
    EXPECT_EQ(to_dot(graph), "digraph ExecutionGraph {\n  rankdir=TB;\n  node [shape=box];\n\n\n}\n");
    add(graph, LayerNode{0});
    brick(graph, 5000, "Rms\"Norm\\");
    KernelNode run = kernel("gemv\nline two");
    run.grid = {32, 7, 9};
    run.block = {256, 2, 1};
    run.shared_mem_bytes = 4096;
    add(graph, run);
    add(graph, FunctionNode{"forward", "model.cpp", 42});
    add(graph, TransferNode{"host", "gpu0", 1'000'000});
    add(graph, AsyncTaskNode{"prefetch", 5, 3, 10'000});
    link(graph, 0, 1, EdgeKind::kContains);
    link(graph, 1, 2, EdgeKind::kLaunches);
    link(graph, 0, 3, EdgeKind::kCalls);
    link(graph, 3, 4, EdgeKind::kSequence);
    link(graph, 4, 5, EdgeKind::kDependsOn);
    link(graph, 0, 5, EdgeKind::kTransfer);
    EXPECT_EQ(to_dot(graph),
              "digraph ExecutionGraph {\n"
              "  rankdir=TB;\n"
              "  node [shape=box];\n"
              "\n"
              "  n0 [label=\"Layer 0\",style=filled,fillcolor=lightblue];\n"
              "  n1 [label=\"Rms\\\"Norm\\\\\\n5.0µs\",style=filled,fillcolor=lightgreen];\n"
              "  n2 [label=\"gemv\\\\x0aline two\\n<<<32,256,2>>>\",style=filled,fillcolor=lightyellow,"
              "tooltip=\"grid (32,7,9) block (256,2,1) shared 4096 B\"];\n"
              "  n3 [label=\"forward\\nmodel.cpp:42\",style=filled,fillcolor=lightgray];\n"
              "  n4 [label=\"H2D\\nhost->gpu0\\n1.0MB\",style=filled,fillcolor=lightsalmon];\n"
              "  n5 [label=\"prefetch\\npolls:5 yields:3\\n10.0µs (20%)\",style=filled,fillcolor=lightcyan];\n"
              "\n"
              "  n0 -> n1 [style=dashed];\n"
              "  n1 -> n2 [style=bold,color=red];\n"
              "  n0 -> n3 [style=solid];\n"
              "  n3 -> n4 [style=dotted];\n"
              "  n4 -> n5 [style=solid,color=blue];\n"
              "  n0 -> n5 [style=bold,color=orange];\n"
              "}\n");
}

TEST(GraphText, CriticalPathSummaryNamesThePathAndTheSlack) {
    ExecutionGraph graph;
    brick(graph, 50'000, "a");
    brick(graph, 2'000'000, "b");
    brick(graph, 100'000, "c");
    link(graph, 0, 1);
    link(graph, 0, 2);
    std::string rule;
    for (int i = 0; i < 50; ++i) rule += "─";
    EXPECT_EQ(critical_path_summary(graph), "Critical Path: 2.05ms (2 nodes)\n" + rule +
                                                "\n├─ a  50.0µs\n└─ b  2000.0µs\n\nParallelization Opportunities\n"
                                                "  c  slack 1900.0µs\n");
}

TEST(GraphCsr, KeepsKindsIsolatedNodesAndTheOrderOfEdges) {
    ExecutionGraph graph;
    EXPECT_EQ(to_csr(graph).forward.offsets, (std::vector<uint32_t>{0}));
    for (int i = 0; i < 4; ++i) brick(graph, 1);
    link(graph, 0, 2, EdgeKind::kContains);
    link(graph, 1, 2, EdgeKind::kDependsOn);
    link(graph, 0, 1, EdgeKind::kSequence);
    const CsrGraph csr = to_csr(graph);
    EXPECT_EQ(csr.forward.offsets, (std::vector<uint32_t>{0, 2, 3, 3, 3}))
        << "the last node stands alone, and is there";
    EXPECT_EQ(csr.forward.targets, (std::vector<NodeId>{2, 1, 2}));
    EXPECT_EQ(csr.forward.kinds,
              (std::vector<EdgeKind>{EdgeKind::kContains, EdgeKind::kSequence, EdgeKind::kDependsOn}));
    EXPECT_EQ(csr.backward.offsets, (std::vector<uint32_t>{0, 0, 1, 3, 3}));
    EXPECT_EQ(csr.backward.targets, (std::vector<NodeId>{0, 0, 1}));
}

TEST(KernelRegistry, HashesAreKnownAnswers) {
    EXPECT_EQ(fnv1a_64(std::string_view{}), 0xcbf29ce484222325u);
    EXPECT_EQ(fnv1a_64("a"), 0xaf63dc4c8601ec8cu);
    EXPECT_EQ(fnv1a_64("foobar"), 0x85944171f73967e8u);
    EXPECT_EQ(fnv1a_64("kernel_a"), 0x291024c46cc1680cu);
}

TEST(KernelRegistry, KnowsProgramsByTheirHash) {
    KernelRegistry registry(20);
    const uint64_t ptx = registry.add_ptx("gemv", ".version 8.0", "gemv.ptx");
    EXPECT_EQ(registry.find(ptx)->text, ".version 8.0");
    EXPECT_EQ(registry.find(ptx)->path, "gemv.ptx");
    EXPECT_EQ(registry.add_ptx("gemv2", ".version 8.0"), ptx);
    EXPECT_EQ(registry.size(), 1u);
    EXPECT_EQ(registry.find(ptx)->name, "gemv2");
    EXPECT_EQ(registry.find(ptx)->path, std::nullopt);
    const uint32_t words[] = {0x07230203, 1};
    const uint64_t spirv = registry.add_binary(KernelCode::kSpirv, "axpy", std::as_bytes(std::span(words)));
    EXPECT_EQ(registry.find(spirv)->bytes, 8u);
    EXPECT_EQ(registry.find(spirv)->code, KernelCode::kSpirv);
    EXPECT_EQ(registry.find(12345), nullptr);
    const uint64_t large = registry.add_ptx("large", std::string(100, 'x'));
    EXPECT_TRUE(registry.find(large)->text.empty());
    EXPECT_EQ(registry.find(large)->bytes, 100u);
    EXPECT_EQ(registry.texts_dropped(), 1u);
    std::vector<uint64_t> all{ptx, spirv, large};
    std::sort(all.begin(), all.end());
    EXPECT_EQ(registry.hashes(), all);
}

}    // namespace
}    // namespace lapwing
