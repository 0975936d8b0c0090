#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "export/names.hpp"
#include "lapwing/graph_export.hpp"

namespace lapwing {
namespace {

using detail::printable;

double micros(int64_t ns) {
    return static_cast<double>(ns) / 1000.0;
}

bool is_known(const std::array<uint32_t, 3>& extent) {
    return extent != std::array<uint32_t, 3>{};
}

// A launch as CUDA writes it; of other APIs a recording knows the grid alone.
std::string launch_text(const KernelNode& kernel) {
    if (!is_known(kernel.grid)) return {};
    if (!is_known(kernel.block)) return fmt::format("grid {}", fmt::join(kernel.grid, "x"));
    return fmt::format("<<<{},{},{}>>>", kernel.grid[0], kernel.block[0], kernel.block[1]);
}

// Percent of polls that ended the task.
double efficiency(const AsyncTaskNode& task) {
    return task.poll_count == 0 ? 0.0 : 100.0 / static_cast<double>(task.poll_count);
}

std::string location(const FunctionNode& function, std::string_view format) {
    if (!function.file || !function.line) return {};
    return fmt::format(fmt::runtime(format), *function.file, *function.line);
}

// Inside a quoted string of the DOT language.
std::string quoted(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

struct DotLabel {
    std::string operator()(const LayerNode& layer) const {
        return filled(fmt::format("Layer {}", layer.index), "blue");
    }
    std::string operator()(const BrickNode& brick) const {
        return filled(fmt::format("{}\\n{:.1f}µs", quoted(brick.name), micros(brick.timing_ns)), "green");
    }
    std::string operator()(const KernelNode& kernel) const {
        const std::string launch = launch_text(kernel);
        std::string out = filled(quoted(kernel.name) + (launch.empty() ? "" : "\\n" + launch), "yellow");
        if (is_known(kernel.grid) && is_known(kernel.block))
            out += fmt::format(",tooltip=\"grid ({}) block ({}) shared {} B\"", fmt::join(kernel.grid, ","),
                               fmt::join(kernel.block, ","), kernel.shared_mem_bytes);
        return out;
    }
    std::string operator()(const FunctionNode& function) const {
        return filled(quoted(function.name) + place(function), "gray");
    }
    std::string operator()(const TransferNode& transfer) const {
        return filled(fmt::format("{}\\n{}->{}\\n{:.1f}MB", to_text(transfer.direction), quoted(transfer.source),
                                  quoted(transfer.destination), static_cast<double>(transfer.bytes) / 1e6),
                      "salmon");
    }
    std::string operator()(const AsyncTaskNode& task) const {
        return filled(fmt::format("{}\\npolls:{} yields:{}\\n{:.1f}µs ({:.0f}%)", quoted(task.name), task.poll_count,
                                  task.yield_count, micros(task.total_poll_ns), efficiency(task)),
                      "cyan");
    }

private:
    static std::string place(const FunctionNode& function) {
        return function.file && function.line ? fmt::format("\\n{}:{}", quoted(*function.file), *function.line) : "";
    }
    static std::string filled(const std::string& label, std::string_view colour) {
        return fmt::format("label=\"{}\",style=filled,fillcolor=light{}", label, colour);
    }
};

const char* dot_style(EdgeKind kind) {
    switch (kind) {
        case EdgeKind::kCalls:
            return "style=solid";
        case EdgeKind::kContains:
            return "style=dashed";
        case EdgeKind::kLaunches:
            return "style=bold,color=red";
        case EdgeKind::kSequence:
            return "style=dotted";
        case EdgeKind::kDependsOn:
            return "style=solid,color=blue";
        case EdgeKind::kTransfer:
            return "style=bold,color=orange";
    }
    return "style=solid";
}

struct TreeLabel {
    std::string operator()(const LayerNode& layer) const { return fmt::format("Layer {}", layer.index); }
    std::string operator()(const BrickNode& brick) const {
        return fmt::format("{}  {:.1f}µs{}", printable(brick.name), micros(brick.timing_ns),
                           brick.elements == 0 ? "" : fmt::format(" ({} elem)", brick.elements));
    }
    std::string operator()(const KernelNode& kernel) const {
        std::string out = printable(kernel.name);
        if (const std::string launch = launch_text(kernel); !launch.empty()) out += "  " + launch;
        if (is_known(kernel.block)) out += fmt::format(" smem={}B", kernel.shared_mem_bytes);
        if (kernel.timing_ns) out += fmt::format("  {:.1f}µs", micros(*kernel.timing_ns));
        return out;
    }
    std::string operator()(const FunctionNode& function) const {
        return printable(function.name) + printable(location(function, " ({}:{})"));
    }
    std::string operator()(const TransferNode& transfer) const {
        return fmt::format("{}: {} → {}  {}B{}", to_text(transfer.direction), printable(transfer.source),
                           printable(transfer.destination), transfer.bytes,
                           transfer.timing_ns ? fmt::format(" {:.1f}µs", micros(*transfer.timing_ns)) : "");
    }
    std::string operator()(const AsyncTaskNode& task) const {
        return fmt::format("{}  polls:{} yields:{} {:.1f}µs ({:.0f}% eff)", printable(task.name), task.poll_count,
                           task.yield_count, micros(task.total_poll_ns), efficiency(task));
    }
};

// Without recursion: a graph may be a chain of a million.
class TreeWriter {
public:
    explicit TreeWriter(const ExecutionGraph& graph) : graph_(graph), csr_(to_csr(graph).forward) {
        inside_.assign(graph.nodes().size(), false);
        contained_.assign(graph.nodes().size(), false);
        for (const GraphEdge& edge : graph.edges())
            if (is_parent(edge.kind)) contained_[edge.to] = true;
    }

    std::string write() {
        std::vector<NodeId> roots;
        for (NodeId node = 0; node < graph_.nodes().size(); ++node)
            if (!contained_[node]) roots.push_back(node);
        // Nothing but cycles has no root: begin anywhere.
        if (roots.empty()) roots.push_back(0);
        if (roots.size() == 1) {
            descend(roots.front(), {}, {}, {});
        } else {
            out_ = "Execution Graph\n";
            for (const NodeId root : roots) {
                const bool last = root == roots.back();
                descend(root, "", last ? "└── " : "├── ", last ? "    " : "│   ");
            }
        }
        out_.pop_back();
        return std::move(out_);
    }

private:
    struct Open {
        NodeId node;
        std::string prefix;    // of its children
        std::vector<NodeId> children;
        std::size_t next = 0;
    };

    static bool is_parent(EdgeKind kind) { return kind == EdgeKind::kContains || kind == EdgeKind::kLaunches; }

    std::vector<NodeId> children_of(NodeId node) const {
        std::vector<NodeId> out;
        for (uint32_t i = csr_.offsets[node]; i < csr_.offsets[node + std::size_t{1}]; ++i)
            if (is_parent(csr_.kinds[i])) out.push_back(csr_.targets[i]);
        return out;
    }

    void line(const std::string& prefix, std::string_view connector, NodeId node, bool cycle) {
        out_ += prefix;
        out_ += connector;
        out_ += std::visit(TreeLabel{}, graph_.nodes()[node]);
        out_ += cycle ? " (cycle)\n" : "\n";
    }

    void descend(NodeId root, const std::string& prefix, std::string_view connector, std::string_view indent) {
        line(prefix, connector, root, false);
        std::vector<Open> stack;
        stack.push_back({root, prefix + std::string(indent), children_of(root)});
        inside_[root] = true;
        while (!stack.empty()) {
            Open& top = stack.back();
            if (top.next == top.children.size()) {
                inside_[top.node] = false;
                stack.pop_back();
                continue;
            }
            const NodeId child = top.children[top.next++];
            const bool last = top.next == top.children.size();
            const std::string child_prefix = top.prefix;
            line(child_prefix, last ? "└── " : "├── ", child, inside_[child]);
            if (inside_[child]) continue;
            inside_[child] = true;
            stack.push_back({child, child_prefix + (last ? "    " : "│   "), children_of(child)});
        }
    }

    const ExecutionGraph& graph_;
    CsrRows csr_;
    std::vector<bool> inside_;       // on the way from the root to here
    std::vector<bool> contained_;    // by another node
    std::string out_;
};

}    // namespace

std::string to_dot(const ExecutionGraph& graph) {
    std::string out = "digraph ExecutionGraph {\n  rankdir=TB;\n  node [shape=box];\n\n";
    for (std::size_t node = 0; node < graph.nodes().size(); ++node)
        out += fmt::format("  n{} [{}];\n", node, std::visit(DotLabel{}, graph.nodes()[node]));
    out += "\n";
    for (const GraphEdge& edge : graph.edges())
        out += fmt::format("  n{} -> n{} [{}];\n", edge.from, edge.to, dot_style(edge.kind));
    return out + "}\n";
}

std::string to_ascii_tree(const ExecutionGraph& graph) {
    return graph.nodes().empty() ? "(empty graph)" : TreeWriter(graph).write();
}

std::string critical_path_summary(const ExecutionGraph& graph) {
    constexpr std::size_t kRule = 50;
    constexpr std::size_t kMostSlack = 5;
    const GraphSchedule times = schedule(graph);
    std::string out = fmt::format("Critical Path: {:.2f}ms ({} nodes)\n", static_cast<double>(times.total_ns) / 1e6,
                                  times.critical_path.size());
    for (std::size_t i = 0; i < kRule; ++i) out += "─";
    out += "\n";
    for (std::size_t i = 0; i < times.critical_path.size(); ++i) {
        const GraphNode& node = graph.nodes()[times.critical_path[i]];
        out += fmt::format("{} {}  {:.1f}µs\n", i + 1 == times.critical_path.size() ? "└─" : "├─",
                           printable(name_of(node)), micros(timing_of(node)));
    }
    // What lies inside something with a time of its own is late or early with it.
    std::vector<bool> inside(graph.nodes().size(), false);
    for (const GraphEdge& edge : graph.edges())
        if (is_containment(edge.kind) && timing_of(graph.nodes()[edge.from]) > 0) inside[edge.to] = true;
    std::vector<NodeId> slack;
    for (NodeId node = 0; node < times.slack_ns.size(); ++node)
        if (times.slack_ns[node].value_or(0) > 0 && timing_of(graph.nodes()[node]) > 0 && !inside[node])
            slack.push_back(node);
    std::stable_sort(slack.begin(), slack.end(),
                     [&](NodeId a, NodeId b) { return *times.slack_ns[a] > *times.slack_ns[b]; });
    if (!slack.empty()) out += "\nParallelization Opportunities\n";
    for (std::size_t i = 0; i < std::min(slack.size(), kMostSlack); ++i)
        out += fmt::format("  {}  slack {:.1f}µs\n", printable(name_of(graph.nodes()[slack[i]])),
                           micros(*times.slack_ns[slack[i]]));
    if (!times.cyclic.empty())
        out += fmt::format("\n{} nodes are on a cycle or behind one, and left out: the first is {}\n",
                           times.cyclic.size(), printable(name_of(graph.nodes()[times.cyclic.front()])));
    return out;
}

}    // namespace lapwing
