// The execution graph: what a step consists of (layers, bricks, kernels, transfers, ...) and how it hangs together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "lapwing/result.hpp"

namespace lapwing {

/// A transformer layer.
struct LayerNode {
    uint32_t index = 0;
};
/// A named operation of a step.
struct BrickNode {
    std::string name;
    int64_t timing_ns = 0;
    uint64_t elements = 0;    ///< 0 = not known
};
/// One launch of a GPU program.
struct KernelNode {
    std::string name;
    uint64_t hash = 0;                  ///< see kernel_registry.hpp; 0 = not known
    std::array<uint32_t, 3> grid{};     ///< workgroups (blocks); zeros = not known
    std::array<uint32_t, 3> block{};    ///< threads of one; zeros = not known
    uint64_t shared_mem_bytes = 0;
    std::optional<int64_t> timing_ns{};
    std::optional<double> arithmetic_intensity{};    ///< FLOP a byte
    std::optional<double> achieved_tflops{};
};
enum class TransferDirection : uint8_t {
    kHostToDevice = 0,    ///< "H2D"
    kDeviceToHost,        ///< "D2H"
    kDeviceToDevice,      ///< "D2D"
};
[[nodiscard]] const char* to_text(TransferDirection direction) noexcept;
/// A copy between two places.
struct TransferNode {
    std::string source;
    std::string destination;
    uint64_t bytes = 0;
    TransferDirection direction = TransferDirection::kHostToDevice;
    std::optional<int64_t> timing_ns{};
};
/// A function of the host program.
struct FunctionNode {
    std::string name;
    std::optional<std::string> file{};
    std::optional<uint32_t> line{};
};
/// An asynchronous task: how often it was polled and how often it gave way.
struct AsyncTaskNode {
    std::string name;
    uint64_t poll_count = 0;
    uint64_t yield_count = 0;
    int64_t total_poll_ns = 0;
};
using GraphNode = std::variant<LayerNode, BrickNode, KernelNode, TransferNode, FunctionNode, AsyncTaskNode>;

/// The name by which a node is found: its own; "Layer0"; "H2D:host->gpu0".
[[nodiscard]] std::string name_of(const GraphNode& node);

/// Its own time; 0 where it has none: layers, functions, and what was not timed.
[[nodiscard]] int64_t timing_of(const GraphNode& node) noexcept;

/// Number of a node, from 0 in the order in which they were added.
using NodeId = uint32_t;

/// How two nodes hang together.
enum class EdgeKind : uint8_t {
    kCalls = 0,    ///< "Calls": the caller's time holds the callee's
    kContains,     ///< "Contains": the outer one's time holds the inner one's
    kLaunches,     ///< "Launches": a brick's time holds its kernel's
    kSequence,     ///< "Sequence": one after the other on a queue
    kDependsOn,    ///< "DependsOn": the second needs the first
    kTransfer,     ///< "Transfer": data goes from the first to the second
};
[[nodiscard]] const char* to_text(EdgeKind kind) noexcept;

/// Whether the first node's time holds the second one's, so that the two never add up.
[[nodiscard]] constexpr bool is_containment(EdgeKind kind) noexcept {
    return kind == EdgeKind::kCalls || kind == EdgeKind::kContains || kind == EdgeKind::kLaunches;
}

struct GraphEdge {
    NodeId from = 0;
    NodeId to = 0;
    EdgeKind kind = EdgeKind::kSequence;
    float weight = 1.0F;
    uint64_t bytes = 0;                                                ///< of kTransfer
    TransferDirection direction = TransferDirection::kHostToDevice;    ///< of kTransfer
};

struct ExecutionGraphOptions {
    std::size_t max_nodes = std::size_t{1} << 20;    ///< nodes beyond it are refused and counted; at most 2^31
    std::size_t max_edges = std::size_t{1} << 22;    ///< edges beyond it likewise
};

/// A graph that is built by hand or from spans.
/// Errors:  kExhausted at the budget, counted; kInvalidArgument for a node that is not there, or edges to itself.
/// Cost:    cold: amortised constant time a node and an edge.
/// Threads: one at a time.
class ExecutionGraph {
public:
    explicit ExecutionGraph(const ExecutionGraphOptions& options = {}) noexcept : options_(options) {}

    Result<NodeId> add_node(GraphNode node);
    Status add_edge(const GraphEdge& edge);

    /// Adds a node inside the current scope (Contains), and makes it the current scope.
    Result<NodeId> push_scope(GraphNode node);
    /// Ends the current scope. Returns it; nothing where there is none.
    std::optional<NodeId> pop_scope() noexcept;
    /// Adds a node inside the current scope (Contains); outside every scope it stands alone.
    Result<NodeId> add_node_in_scope(GraphNode node);
    /// Adds a kernel that the current scope launches (Launches).
    Result<NodeId> record_kernel_launch(KernelNode kernel);
    /// Adds a transfer inside the current scope (Contains).
    Result<NodeId> record_transfer(TransferNode transfer) { return add_node_in_scope(std::move(transfer)); }
    /// `to` needs `from` (DependsOn).
    Status add_dependency(NodeId from, NodeId to) { return add_edge({from, to, EdgeKind::kDependsOn}); }

    [[nodiscard]] bool is_scope_balanced() const noexcept { return scopes_.empty(); }
    /// Empties everything, the counts of what was refused too.
    void clear() noexcept;

    [[nodiscard]] const std::vector<GraphNode>& nodes() const noexcept { return nodes_; }
    [[nodiscard]] const std::vector<GraphEdge>& edges() const noexcept { return edges_; }    ///< as they were added

    /// The node that was added last with this name.
    [[nodiscard]] std::optional<NodeId> find(std::string_view name) const;

    [[nodiscard]] uint64_t refused_nodes() const noexcept { return refused_nodes_; }
    [[nodiscard]] uint64_t refused_edges() const noexcept { return refused_edges_; }

private:
    Result<NodeId> add_under_scope(GraphNode node, EdgeKind kind);

    ExecutionGraphOptions options_;
    std::vector<GraphNode> nodes_;
    std::vector<GraphEdge> edges_;
    std::vector<NodeId> scopes_;
    std::unordered_map<std::string, NodeId> by_name_;
    uint64_t refused_nodes_ = 0;
    uint64_t refused_edges_ = 0;
};

/// The edges of a graph by node: compressed sparse rows, forward and backward.
/// Shape:   offsets.size() = nodes + 1; node n's edges are targets[offsets[n] .. offsets[n + 1]), in the order in which
///          they were added. Nodes without edges have an empty row.
struct CsrRows {
    std::vector<uint32_t> offsets;
    std::vector<NodeId> targets;
    std::vector<float> weights;
    std::vector<EdgeKind> kinds;
};
struct CsrGraph {
    CsrRows forward;     ///< from a node to what follows it
    CsrRows backward;    ///< from a node to what precedes it
};
[[nodiscard]] CsrGraph to_csr(const ExecutionGraph& graph);

}    // namespace lapwing
