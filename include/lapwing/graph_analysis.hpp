// What an execution graph says: the critical path, slack, the slowest kernel, needless copies, distance to the
// roofline.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lapwing/execution_graph.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

/// The schedule of a graph in which everything begins as soon as it may.
///
/// A contained node (Contains, Launches, Calls) begins no earlier than what contains it, and that ends no earlier than
/// the contained node: times of the two never add up. Along other edges the second begins when the first has ended.
struct GraphSchedule {
    int64_t total_ns = 0;    ///< when the last node ends; 0 for an empty graph
    /// The chain of nodes that makes it so long, in order; containers that it passes through are part of it. Where
    /// several chains are as long, the one to the node with the highest number.
    std::vector<NodeId> critical_path;
    /// By node: by how much it may be late without total_ns becoming longer; 0 on the critical path. Absent for nodes
    /// on or behind a cycle.
    std::vector<std::optional<int64_t>> slack_ns;
    /// Nodes that have no place in any order, because they are on a cycle or behind one. They are left out of the rest.
    std::vector<NodeId> cyclic;
};
/// Cost:    cold: linear in nodes and edges; about 100 bytes a node.
[[nodiscard]] GraphSchedule schedule(const ExecutionGraph& graph);

/// The kernel with the longest time; on equal times the first. Nothing where no kernel has a time.
[[nodiscard]] std::optional<NodeId> slowest_kernel(const ExecutionGraph& graph);

/// Copies of as many bytes in one direction and then straight back, with no other copy of that size between the two
/// places: the first was needless, or the second.
/// Shape:   in the order of the second copy; linear time.
[[nodiscard]] std::vector<std::pair<NodeId, NodeId>> ping_pong(const ExecutionGraph& graph);

/// How far a kernel is from what the machine could do at its arithmetic intensity.
struct RooflineDistance {
    NodeId kernel = 0;
    double bound_tflops = 0;      ///< min(peak, intensity x bandwidth)
    double share = 0;             ///< achieved over bound; above 1 a figure is wrong
    double distance = 0;          ///< 1 - share; negative above the roof
    bool model_error = false;     ///< above the roof: FLOPs, bytes, peak or time cannot all be right
    bool memory_bound = false;    ///< the bandwidth is the bound
};
/// The kernels whose intensity and throughput are known, in the order of their numbers.
/// Units:   TFLOP/s; GB/s with 1 GB = 1e9 bytes.
/// Errors:  kInvalidArgument where a peak is not finite and positive.
[[nodiscard]] Result<std::vector<RooflineDistance>> roofline_distance(const ExecutionGraph& graph, double peak_tflops,
                                                                      double peak_gb_s);

}    // namespace lapwing
