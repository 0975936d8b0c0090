#include "lapwing/graph_builder.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lapwing {
namespace {

constexpr std::size_t kStepsKept = 4;

struct StepSpans {
    std::vector<SpanRecord> spans;
    bool finished = false;
    bool overflowed = false;
};

// Spans in the order of time; what contains others comes before them.
class Assembly {
public:
    Assembly(const std::unordered_map<SiteId, Site>& sites, const std::unordered_map<TrackId, TrackInfo>& tracks)
        : sites_(sites), tracks_(tracks) {}

    Result<ExecutionGraph> graph_of(std::vector<SpanRecord> spans) {
        std::sort(spans.begin(), spans.end(), [&](const SpanRecord& a, const SpanRecord& b) {
            if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
            if (a.duration_ns != b.duration_ns) return a.duration_ns > b.duration_ns;
            return site_of(a).container && !site_of(b).container;
        });
        for (const SpanRecord& span : spans) {
            const Status added = add(span);
            if (!added.ok()) return added.error();
        }
        return std::move(graph_);
    }

private:
    struct Open {
        NodeId node;
        int64_t end_ns;
    };

    const Site& site_of(const SpanRecord& span) const {
        static const Site unknown;
        const auto found = sites_.find(span.site);
        return found == sites_.end() ? unknown : found->second;
    }
    uint32_t device_of(const SpanRecord& span) const {
        const auto found = tracks_.find(span.track);
        return found == tracks_.end() ? 0 : found->second.device;
    }

    Status add(const SpanRecord& span) {
        const Site& site = site_of(span);
        Result<NodeId> node = add_node(span, site);
        if (!node.ok()) return node.error();
        std::vector<Open>& open = containers_[device_of(span)];
        const int64_t end_ns = span.begin_ns + span.duration_ns;
        std::erase_if(open, [&](const Open& one) { return one.end_ns <= span.begin_ns; });
        const auto around =
            std::find_if(open.rbegin(), open.rend(), [&](const Open& one) { return one.end_ns >= end_ns; });
        if (around != open.rend()) {
            link(around->node, node.value(), EdgeKind::kContains);
        } else if (site.layer >= 0) {
            const Result<NodeId> layer = layer_node(static_cast<uint32_t>(site.layer));
            if (!layer.ok()) return layer.error();
            link(layer.value(), node.value(), EdgeKind::kContains);
        }
        if (site.container) {
            open.push_back({node.value(), end_ns});
            return status_;
        }
        const auto [last, first_of_track] = last_.try_emplace(span.track, node.value());
        if (!first_of_track) link(last->second, node.value(), EdgeKind::kSequence);
        last->second = node.value();
        return status_;
    }

    Result<NodeId> add_node(const SpanRecord& span, const Site& site) {
        if (site.container) return graph_.add_node(BrickNode{name_of_container(site), span.duration_ns, 0});
        KernelNode kernel;
        kernel.name = !site.kernel.empty() ? site.kernel : to_text(site.kind);
        kernel.grid = site.grid;
        kernel.timing_ns = span.duration_ns;
        if (site.op.empty()) return graph_.add_node(std::move(kernel));
        Result<NodeId> brick = graph_.add_node(BrickNode{site.op, span.duration_ns, 0});
        if (!brick.ok() || site.kernel.empty()) return brick;
        const Result<NodeId> launched = graph_.add_node(std::move(kernel));
        if (!launched.ok()) return launched.error();
        link(brick.value(), launched.value(), EdgeKind::kLaunches);
        return brick;
    }

    static std::string name_of_container(const Site& site) {
        for (const std::string* text : {&site.lane, &site.family, &site.op, &site.label})
            if (!text->empty()) return *text;
        return "container";
    }

    Result<NodeId> layer_node(uint32_t index) {
        const auto known = layers_.find(index);
        if (known != layers_.end()) return known->second;
        Result<NodeId> node = graph_.add_node(LayerNode{index});
        if (node.ok()) layers_[index] = node.value();
        return node;
    }

    void link(NodeId from, NodeId to, EdgeKind kind) {
        Status added = graph_.add_edge({from, to, kind});
        if (status_.ok()) status_ = std::move(added);
    }

    const std::unordered_map<SiteId, Site>& sites_;
    const std::unordered_map<TrackId, TrackInfo>& tracks_;
    ExecutionGraph graph_;
    std::unordered_map<uint32_t, NodeId> layers_;
    std::unordered_map<uint32_t, std::vector<Open>> containers_;    // by device: open at the moment
    std::unordered_map<TrackId, NodeId> last_;
    Status status_;
};

class Builder final : public GraphBuilder {
public:
    explicit Builder(const GraphBuilderOptions& options) : options_(options) {}

    Status process(const ProcessInfo&) override { return {}; }
    Status device(const DeviceInfo&) override { return {}; }
    Status track(const TrackInfo& track) override {
        tracks_[track.id] = track;
        return {};
    }
    Status site(SiteId id, const Site& site) override {
        sites_[id] = site;
        return {};
    }
    Status spans(std::span<const SpanRecord> spans) override {
        for (const SpanRecord& span : spans) {
            const auto track = tracks_.find(span.track);
            const auto site = sites_.find(span.site);
            if (track != tracks_.end() && track->second.kind == TrackKind::kHostThread) continue;
            if (site != sites_.end() && site->second.kind == SpanKind::kHost) continue;
            if (span.duration_ns >= 0) keep(span);
        }
        return {};
    }
    Status step(const StepRecord& step) override {
        if (is_wanted(step.index)) entry(step.index).finished = true;
        return {};
    }
    Status stats(const RecordingStats&) override { return {}; }
    Status close() override { return {}; }

    Result<StepGraph> build() const override {
        const auto found = choose();
        if (found == steps_.end()) {
            if (options_.step)
                return Error{Errc::kNotFound, 0,
                             "step " + std::to_string(*options_.step) + " has no device spans" + what_is_there()};
            return Error{Errc::kNotFound, 0,
                         "there are no device spans, and so no graph: record with lapwing run --level kernel"};
        }
        if (found->second.overflowed)
            return Error{Errc::kExhausted, 0,
                         "the step has more than " + std::to_string(options_.max_spans) +
                             " device spans: mark steps (--step), or choose another"};
        Assembly assembly(sites_, tracks_);
        Result<ExecutionGraph> graph = assembly.graph_of(found->second.spans);
        if (!graph.ok()) return graph.error();
        StepGraph out{std::move(graph).value(), std::nullopt};
        if (found->first != kNoStep) out.step = found->first;
        return out;
    }

private:
    using Steps = std::map<uint32_t, StepSpans>;

    [[nodiscard]] bool is_wanted(uint32_t step) const { return !options_.step || *options_.step == step; }

    StepSpans& entry(uint32_t step) {
        StepSpans& out = steps_[step];
        // The newest are kept: which of them is the last that finished is known at the end only.
        if (steps_.size() > kStepsKept + 1 && steps_.begin()->first != step) steps_.erase(steps_.begin());
        return out;
    }

    void keep(const SpanRecord& span) {
        if (span.step != kNoStep && (!newest_ || span.step > *newest_)) newest_ = span.step;
        if (!is_wanted(span.step)) return;
        StepSpans& step = entry(span.step);
        if (step.spans.size() < options_.max_spans)
            step.spans.push_back(span);
        else
            step.overflowed = true;
    }

    [[nodiscard]] Steps::const_iterator choose() const {
        auto chosen = steps_.end();
        for (auto step = steps_.begin(); step != steps_.end(); ++step) {
            if (step->second.spans.empty()) continue;
            // Spans outside every step (kNoStep is the largest number) count where there is nothing else.
            if (chosen == steps_.end() || (step->first != kNoStep && step->second.finished >= chosen->second.finished))
                chosen = step;
        }
        return chosen;
    }

    [[nodiscard]] std::string what_is_there() const {
        return newest_ ? ": the newest that has some is " + std::to_string(*newest_) : ": no step has any";
    }

    GraphBuilderOptions options_;
    std::unordered_map<SiteId, Site> sites_;
    std::unordered_map<TrackId, TrackInfo> tracks_;
    Steps steps_;
    std::optional<uint32_t> newest_;
};

}    // namespace

std::unique_ptr<GraphBuilder> make_graph_builder(const GraphBuilderOptions& options) {
    return std::make_unique<Builder>(options);
}

}    // namespace lapwing
