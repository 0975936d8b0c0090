// Execution graphs as text: Graphviz, a tree for terminals and logs, the critical path, JSON.
#pragma once

#include <string>

#include "lapwing/execution_graph.hpp"
#include "lapwing/graph_analysis.hpp"

namespace lapwing {

/// The graph for Graphviz: `digraph ExecutionGraph`, nodes n0, n1, ... as boxes coloured by what they are, edges styled
/// by their kind. Names are escaped; a kernel's whole launch stands in its tooltip. Shape:   ends with a line break.
/// Bytes that are not UTF-8, or that a terminal could obey, come as \xNN, here and below.
[[nodiscard]] std::string to_dot(const ExecutionGraph& graph);

/// A tree by what contains or launches what, for terminals, logs and snapshots.
/// Shape:   no line break at the end; "(empty graph)" for none. Several roots stand under a line "Execution Graph". A
/// node
///          that several contain appears under each; a node that is inside itself is cut with "(cycle)".
[[nodiscard]] std::string to_ascii_tree(const ExecutionGraph& graph);

/// The critical path, node by node, and up to five nodes with the most slack.
[[nodiscard]] std::string critical_path_summary(const ExecutionGraph& graph);

/// Nodes, edges, schedule and slowest kernel; schema "lapwing.graph/1" (docs/graph.schema.json). Unknown is null,
/// integers are exact ns, the same graph gives the same text.
[[nodiscard]] std::string to_json(const ExecutionGraph& graph);

}    // namespace lapwing
