// The schedule of an execution graph of a million nodes: graph/critical_path_1M, with the building and the rows apart.
#include <benchmark/benchmark.h>

#include <random>

#include "lapwing/execution_graph.hpp"
#include "lapwing/graph_analysis.hpp"

namespace {

using namespace lapwing;

// Layers of 64 bricks that launch a kernel each, every brick after the one before it, and now and then a dependency
// from far back.
ExecutionGraph make_graph(uint32_t nodes) {
    ExecutionGraph graph({.max_nodes = nodes, .max_edges = std::size_t{3} * nodes});
    std::mt19937 random(1);
    NodeId before = 0;
    while (graph.nodes().size() + 3 <= nodes) {
        const auto count = static_cast<uint32_t>(graph.nodes().size());
        if (count % 129 == 0) {
            (void)graph.pop_scope();
            (void)graph.push_scope(LayerNode{count / 129});
        }
        const NodeId brick =
            graph.push_scope(BrickNode{"MUL_MAT", static_cast<int64_t>(random() % 100'000), 1}).value();
        KernelNode kernel;
        kernel.name = "mul_mat_vec";
        kernel.timing_ns = static_cast<int64_t>(random() % 100'000);
        (void)graph.record_kernel_launch(kernel);
        (void)graph.pop_scope();
        if (before != 0) (void)graph.add_edge({before, brick, EdgeKind::kSequence});
        before = brick;
    }
    return graph;
}

void critical_path_1m(benchmark::State& state) {
    const ExecutionGraph graph = make_graph(1'000'000);
    for (auto _ : state) {
        const GraphSchedule times = schedule(graph);
        benchmark::DoNotOptimize(times.total_ns);
    }
    state.counters["nodes"] = static_cast<double>(graph.nodes().size());
    state.counters["edges"] = static_cast<double>(graph.edges().size());
}
BENCHMARK(critical_path_1m)->Name("graph/critical_path_1M")->Unit(benchmark::kMillisecond);

void build_1m(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(make_graph(1'000'000).edges().size());
}
BENCHMARK(build_1m)->Name("graph/build_1M")->Unit(benchmark::kMillisecond);

void csr_1m(benchmark::State& state) {
    const ExecutionGraph graph = make_graph(1'000'000);
    for (auto _ : state) benchmark::DoNotOptimize(to_csr(graph).forward.offsets.size());
}
BENCHMARK(csr_1m)->Name("graph/csr_1M")->Unit(benchmark::kMillisecond);

}    // namespace

BENCHMARK_MAIN();
