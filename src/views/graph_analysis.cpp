#include "lapwing/graph_analysis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "views/arithmetic.hpp"

namespace lapwing {
namespace {

using detail::saturating_add;

// Each node is two events, its begin (2 n) and its end (2 n + 1), so that containment can be said: an inner node begins
// after the outer one has begun, and ends before that ends.
using Event = uint32_t;
constexpr Event begin_of(NodeId node) {
    return 2 * node;
}
constexpr Event end_of(NodeId node) {
    return 2 * node + 1;
}
constexpr Event kNoEvent = std::numeric_limits<Event>::max();

class Events {
public:
    explicit Events(const ExecutionGraph& graph) : graph_(graph), count_(2 * graph.nodes().size()) {
        offsets_.assign(count_ + 1, 0);
        for_each_arc([&](Event from, Event) { ++offsets_[from + std::size_t{1}]; });
        for (std::size_t i = 0; i < count_; ++i) offsets_[i + 1] += offsets_[i];
        targets_.resize(offsets_.back());
        std::vector<uint32_t> next(offsets_.begin(), offsets_.end() - 1);
        for_each_arc([&](Event from, Event to) { targets_[next[from]++] = to; });
    }

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    // Only the step from a node's begin to its own end takes time.
    [[nodiscard]] int64_t length(Event from, Event to) const {
        return from / 2 == to / 2 ? timing_of(graph_.nodes()[from / 2]) : 0;
    }
    template <class Visit>
    void for_each_next(Event from, Visit&& visit) const {
        for (uint32_t i = offsets_[from]; i < offsets_[from + std::size_t{1}]; ++i) visit(targets_[i]);
    }

    // An order in which every arc leads forward; what is missing from it is on a cycle or behind one.
    [[nodiscard]] std::vector<Event> order() const {
        std::vector<uint32_t> waiting(count_, 0);
        for (const Event to : targets_) ++waiting[to];
        std::vector<Event> out;
        out.reserve(count_);
        for (Event event = 0; event < count_; ++event)
            if (waiting[event] == 0) out.push_back(event);
        for (std::size_t i = 0; i < out.size(); ++i)
            for_each_next(out[i], [&](Event to) {
                if (--waiting[to] == 0) out.push_back(to);
            });
        return out;
    }

private:
    template <class Visit>
    void for_each_arc(Visit&& visit) const {
        for (NodeId node = 0; node < graph_.nodes().size(); ++node) visit(begin_of(node), end_of(node));
        for (const GraphEdge& edge : graph_.edges()) {
            if (is_containment(edge.kind)) {
                visit(begin_of(edge.from), begin_of(edge.to));
                visit(end_of(edge.to), end_of(edge.from));
            } else {
                visit(end_of(edge.from), begin_of(edge.to));
            }
        }
    }

    const ExecutionGraph& graph_;
    std::size_t count_;
    std::vector<uint32_t> offsets_;
    std::vector<Event> targets_;
};

// The nodes of the chain that ends at `last`; a container whose end is part of it as well is named once.
std::vector<NodeId> path_to(Event last, const std::vector<Event>& before) {
    std::vector<NodeId> path;
    std::vector<bool> taken(before.size() / 2, false);
    std::vector<Event> chain;
    for (Event event = last; event != kNoEvent; event = before[event]) chain.push_back(event);
    for (auto event = chain.rbegin(); event != chain.rend(); ++event) {
        const NodeId node = *event / 2;
        if (!taken[node]) path.push_back(node);
        taken[node] = true;
    }
    return path;
}

}    // namespace

GraphSchedule schedule(const ExecutionGraph& graph) {
    GraphSchedule out;
    const std::size_t nodes = graph.nodes().size();
    out.slack_ns.resize(nodes);
    if (nodes == 0) return out;

    const Events events(graph);
    const std::vector<Event> order = events.order();
    std::vector<int64_t> earliest(events.count(), -1);    // -1: nothing has reached it yet
    std::vector<Event> before(events.count(), kNoEvent);
    for (const Event event : order) {
        if (earliest[event] < 0) earliest[event] = 0;
        events.for_each_next(event, [&](Event to) {
            const int64_t at = saturating_add(earliest[event], events.length(event, to));
            if (at > earliest[to]) {
                earliest[to] = at;
                before[to] = event;
            }
        });
    }
    std::vector<bool> ordered(events.count(), false);
    for (const Event event : order) ordered[event] = true;

    Event last = kNoEvent;
    for (NodeId node = 0; node < nodes; ++node) {
        if (!ordered[begin_of(node)] || !ordered[end_of(node)]) {
            out.cyclic.push_back(node);
        } else if (last == kNoEvent || earliest[end_of(node)] >= earliest[last]) {
            last = end_of(node);
        }
    }
    if (last == kNoEvent) return out;
    out.total_ns = earliest[last];
    out.critical_path = path_to(last, before);

    std::vector<int64_t> latest(events.count(), out.total_ns);
    for (auto event = order.rbegin(); event != order.rend(); ++event)
        events.for_each_next(*event, [&](Event to) {
            if (ordered[to]) latest[*event] = std::min(latest[*event], latest[to] - events.length(*event, to));
        });
    for (NodeId node = 0; node < nodes; ++node)
        if (ordered[begin_of(node)] && ordered[end_of(node)])
            // A container may begin early and still hold all up by its end.
            out.slack_ns[node] = std::min(latest[begin_of(node)] - earliest[begin_of(node)],
                                          latest[end_of(node)] - earliest[end_of(node)]);
    return out;
}

std::optional<NodeId> slowest_kernel(const ExecutionGraph& graph) {
    std::optional<NodeId> slowest;
    int64_t longest_ns = -1;
    for (NodeId node = 0; node < graph.nodes().size(); ++node) {
        const auto* kernel = std::get_if<KernelNode>(&graph.nodes()[node]);
        if (kernel == nullptr || !kernel->timing_ns || *kernel->timing_ns <= longest_ns) continue;
        longest_ns = *kernel->timing_ns;
        slowest = node;
    }
    return slowest;
}

std::vector<std::pair<NodeId, NodeId>> ping_pong(const ExecutionGraph& graph) {
    std::vector<std::pair<NodeId, NodeId>> out;
    std::map<std::tuple<std::string, std::string, uint64_t>, NodeId> last;    // by the two places and the size
    for (NodeId node = 0; node < graph.nodes().size(); ++node) {
        const auto* copy = std::get_if<TransferNode>(&graph.nodes()[node]);
        if (copy == nullptr) continue;
        const auto& [low, high] = std::minmax(copy->source, copy->destination);
        const auto [found, fresh] = last.try_emplace({low, high, copy->bytes}, node);
        if (fresh) continue;
        const auto& earlier = std::get<TransferNode>(graph.nodes()[found->second]);
        if (earlier.source == copy->destination && earlier.destination == copy->source)
            out.emplace_back(found->second, node);
        found->second = node;
    }
    return out;
}

Result<std::vector<RooflineDistance>> roofline_distance(const ExecutionGraph& graph, double peak_tflops,
                                                        double peak_gb_s) {
    const auto usable = [](double peak) { return std::isfinite(peak) && peak > 0; };
    if (!usable(peak_tflops) || !usable(peak_gb_s))
        return Error{Errc::kInvalidArgument, 0,
                     "a roofline needs the machine's peaks, in TFLOP/s and GB/s, finite and above 0"};
    std::vector<RooflineDistance> out;
    for (NodeId node = 0; node < graph.nodes().size(); ++node) {
        const auto* kernel = std::get_if<KernelNode>(&graph.nodes()[node]);
        if (kernel == nullptr || !kernel->arithmetic_intensity || !kernel->achieved_tflops) continue;
        const double by_memory = *kernel->arithmetic_intensity * peak_gb_s / 1000;
        RooflineDistance entry;
        entry.kernel = node;
        entry.memory_bound = by_memory < peak_tflops;
        entry.bound_tflops = std::min(peak_tflops, by_memory);
        // Without a bound (no FLOP a byte) nothing can be said, and what is not a number is no figure.
        if (!usable(entry.bound_tflops) || !std::isfinite(*kernel->achieved_tflops)) continue;
        entry.share = *kernel->achieved_tflops / entry.bound_tflops;
        entry.distance = 1 - entry.share;
        entry.model_error = entry.share > 1 || entry.share < 0;
        out.push_back(entry);
    }
    return out;
}

}    // namespace lapwing
