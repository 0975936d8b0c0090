// Builds the execution graph of a layer by hand and asks what makes it slow.
#include <cstdio>

#include "lapwing/execution_graph.hpp"
#include "lapwing/graph_analysis.hpp"
#include "lapwing/graph_export.hpp"

int main() {
    using namespace lapwing;
    ExecutionGraph graph;
    // [readme]
    (void)graph.push_scope(LayerNode{0});
    NodeId before = 0;
    for (const auto& [name, ns] :
         {std::pair{"RmsNorm", 25'000}, {"QkvProjection", 595'000}, {"AttentionScore", 90'000}}) {
        const Result<NodeId> brick = graph.push_scope(BrickNode{name, ns, 4096});
        if (!brick.ok()) return 1;
        KernelNode kernel;
        kernel.name = "gemv";
        kernel.grid = {32, 1, 1};
        kernel.block = {256, 1, 1};
        kernel.timing_ns = ns - 1000;
        (void)graph.record_kernel_launch(kernel);
        (void)graph.pop_scope();
        if (before != 0) (void)graph.add_dependency(before, brick.value());
        before = brick.value();
    }
    (void)graph.pop_scope();
    std::printf("%s\n\n%s", to_ascii_tree(graph).c_str(), critical_path_summary(graph).c_str());
    // [/readme]
    return graph.is_scope_balanced() ? 0 : 1;
}
