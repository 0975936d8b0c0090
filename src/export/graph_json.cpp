#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lapwing/graph_export.hpp"

namespace lapwing {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

// As text: a JSON number holds no 64 bits in most readers.
std::string hex(uint64_t hash) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out(16, '0');
    for (std::size_t i = 0; i < 16; ++i) out[15 - i] = kDigits[hash >> (4 * i) & 15];
    return out;
}

struct NodeJson {
    Json operator()(const LayerNode& layer) const { return {{"kind", "layer"}, {"index", layer.index}}; }
    Json operator()(const BrickNode& brick) const {
        return {{"kind", "brick"}, {"timing_ns", brick.timing_ns}, {"elements", brick.elements}};
    }
    Json operator()(const KernelNode& kernel) const {
        return {{"kind", "kernel"},
                {"hash", kernel.hash == 0 ? Json(nullptr) : Json(hex(kernel.hash))},
                {"grid", kernel.grid},
                {"block", kernel.block},
                {"shared_mem_bytes", kernel.shared_mem_bytes},
                {"timing_ns", or_null(kernel.timing_ns)},
                {"arithmetic_intensity", or_null(kernel.arithmetic_intensity)},
                {"achieved_tflops", or_null(kernel.achieved_tflops)}};
    }
    Json operator()(const TransferNode& transfer) const {
        return {{"kind", "transfer"},
                {"source", transfer.source},
                {"destination", transfer.destination},
                {"bytes", transfer.bytes},
                {"direction", to_text(transfer.direction)},
                {"timing_ns", or_null(transfer.timing_ns)}};
    }
    Json operator()(const FunctionNode& function) const {
        return {{"kind", "function"}, {"file", or_null(function.file)}, {"line", or_null(function.line)}};
    }
    Json operator()(const AsyncTaskNode& task) const {
        return {{"kind", "async_task"},
                {"poll_count", task.poll_count},
                {"yield_count", task.yield_count},
                {"total_poll_ns", task.total_poll_ns}};
    }
};

Json edge_json(const GraphEdge& edge) {
    Json out{{"from", edge.from}, {"to", edge.to}, {"kind", to_text(edge.kind)}, {"weight", edge.weight}};
    if (edge.kind == EdgeKind::kTransfer) {
        out["bytes"] = edge.bytes;
        out["direction"] = to_text(edge.direction);
    }
    return out;
}

}    // namespace

std::string to_json(const ExecutionGraph& graph) {
    const GraphSchedule times = schedule(graph);
    Json out{{"schema", "lapwing.graph/1"},
             {"refused", {{"nodes", graph.refused_nodes()}, {"edges", graph.refused_edges()}}},
             {"total_ns", times.total_ns},
             {"critical_path", times.critical_path},
             {"cyclic", times.cyclic},
             {"slowest_kernel", or_null(slowest_kernel(graph))}};
    out["nodes"] = Json::array();
    for (std::size_t node = 0; node < graph.nodes().size(); ++node) {
        Json entry{{"id", node}, {"name", name_of(graph.nodes()[node])}};
        entry.update(std::visit(NodeJson{}, graph.nodes()[node]));
        entry["slack_ns"] = or_null(times.slack_ns[node]);
        out["nodes"].push_back(std::move(entry));
    }
    out["edges"] = Json::array();
    for (const GraphEdge& edge : graph.edges()) out["edges"].push_back(edge_json(edge));
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}    // namespace lapwing
