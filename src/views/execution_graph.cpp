#include "lapwing/execution_graph.hpp"

#include <utility>

namespace lapwing {

namespace {

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

CsrRows rows_of(std::size_t nodes, const std::vector<GraphEdge>& edges, bool backward) {
    CsrRows rows;
    rows.offsets.assign(nodes + 1, 0);
    rows.targets.resize(edges.size());
    rows.weights.resize(edges.size());
    rows.kinds.resize(edges.size());
    for (const GraphEdge& edge : edges) ++rows.offsets[(backward ? edge.to : edge.from) + std::size_t{1}];
    for (std::size_t node = 0; node < nodes; ++node) rows.offsets[node + 1] += rows.offsets[node];
    std::vector<uint32_t> next(rows.offsets.begin(), rows.offsets.end() - 1);
    for (const GraphEdge& edge : edges) {
        const uint32_t at = next[backward ? edge.to : edge.from]++;
        rows.targets[at] = backward ? edge.from : edge.to;
        rows.weights[at] = edge.weight;
        rows.kinds[at] = edge.kind;
    }
    return rows;
}

}    // namespace

const char* to_text(TransferDirection direction) noexcept {
    switch (direction) {
        case TransferDirection::kHostToDevice:
            return "H2D";
        case TransferDirection::kDeviceToHost:
            return "D2H";
        case TransferDirection::kDeviceToDevice:
            return "D2D";
    }
    return "unknown";
}

const char* to_text(EdgeKind kind) noexcept {
    switch (kind) {
        case EdgeKind::kCalls:
            return "Calls";
        case EdgeKind::kContains:
            return "Contains";
        case EdgeKind::kLaunches:
            return "Launches";
        case EdgeKind::kSequence:
            return "Sequence";
        case EdgeKind::kDependsOn:
            return "DependsOn";
        case EdgeKind::kTransfer:
            return "Transfer";
    }
    return "unknown";
}

std::string name_of(const GraphNode& node) {
    return std::visit(Overloaded{[](const LayerNode& layer) { return "Layer" + std::to_string(layer.index); },
                                 [](const TransferNode& transfer) {
                                     return std::string(to_text(transfer.direction)) + ":" + transfer.source + "->" +
                                            transfer.destination;
                                 },
                                 [](const auto& named) { return named.name; }},
                      node);
}

int64_t timing_of(const GraphNode& node) noexcept {
    return std::visit(Overloaded{[](const BrickNode& brick) { return brick.timing_ns; },
                                 [](const KernelNode& kernel) { return kernel.timing_ns.value_or(0); },
                                 [](const TransferNode& transfer) { return transfer.timing_ns.value_or(0); },
                                 [](const AsyncTaskNode& task) { return task.total_poll_ns; },
                                 [](const auto&) { return int64_t{0}; }},
                      node);
}

Result<NodeId> ExecutionGraph::add_node(GraphNode node) {
    if (timing_of(node) < 0)
        return Error{Errc::kInvalidArgument, 0,
                     "the time of \"" + name_of(node) + "\" is negative: leave it out where it is not known"};
    if (nodes_.size() >= options_.max_nodes) {
        ++refused_nodes_;
        return Error{Errc::kExhausted, 0, "the graph has all its nodes: clear() it, or raise max_nodes"};
    }
    const auto id = static_cast<NodeId>(nodes_.size());
    by_name_[name_of(node)] = id;
    nodes_.push_back(std::move(node));
    return id;
}

Status ExecutionGraph::add_edge(const GraphEdge& edge) {
    if (edge.from >= nodes_.size() || edge.to >= nodes_.size())
        return Error{Errc::kInvalidArgument, 0,
                     "an edge goes from " + std::to_string(edge.from) + " to " + std::to_string(edge.to) +
                         ", but there are " + std::to_string(nodes_.size()) + " nodes: add the nodes first"};
    if (edge.from == edge.to) return Error{Errc::kInvalidArgument, 0, "an edge leads from a node to itself"};
    if (edges_.size() >= options_.max_edges) {
        ++refused_edges_;
        return Error{Errc::kExhausted, 0, "the graph has all its edges: clear() it, or raise max_edges"};
    }
    edges_.push_back(edge);
    return {};
}

Result<NodeId> ExecutionGraph::add_under_scope(GraphNode node, EdgeKind kind) {
    Result<NodeId> id = add_node(std::move(node));
    if (!id.ok() || scopes_.empty()) return id;
    Status linked = add_edge({scopes_.back(), id.value(), kind});
    if (!linked.ok()) return linked.error();
    return id;
}

Result<NodeId> ExecutionGraph::push_scope(GraphNode node) {
    Result<NodeId> id = add_under_scope(std::move(node), EdgeKind::kContains);
    if (id.ok()) scopes_.push_back(id.value());
    return id;
}

std::optional<NodeId> ExecutionGraph::pop_scope() noexcept {
    if (scopes_.empty()) return std::nullopt;
    const NodeId ended = scopes_.back();
    scopes_.pop_back();
    return ended;
}

Result<NodeId> ExecutionGraph::add_node_in_scope(GraphNode node) {
    return add_under_scope(std::move(node), EdgeKind::kContains);
}

Result<NodeId> ExecutionGraph::record_kernel_launch(KernelNode kernel) {
    return add_under_scope(std::move(kernel), EdgeKind::kLaunches);
}

void ExecutionGraph::clear() noexcept {
    nodes_.clear();
    edges_.clear();
    scopes_.clear();
    by_name_.clear();
    refused_nodes_ = refused_edges_ = 0;
}

std::optional<NodeId> ExecutionGraph::find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
}

CsrGraph to_csr(const ExecutionGraph& graph) {
    return {rows_of(graph.nodes().size(), graph.edges(), false), rows_of(graph.nodes().size(), graph.edges(), true)};
}

}    // namespace lapwing
