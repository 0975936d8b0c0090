// The execution graph of one step of a stream of spans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "lapwing/execution_graph.hpp"
#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"

namespace lapwing {

struct GraphBuilderOptions {
    std::optional<uint32_t> step{};    ///< StepRecord::index; absent = the last one that finished and has device spans
    std::size_t max_spans = std::size_t{1} << 20;    ///< device spans of one step; more are refused
};

/// A graph, and what it is of.
struct StepGraph {
    ExecutionGraph graph;
    std::optional<uint32_t> step{};    ///< absent: the stream has no steps, and this is all of it
};

/// A sink that turns the device spans of one step into a graph.
/// Shape:   a layer contains what ran in it, a container (or a brick) what ran inside its time, an op launches its
///          kernel; what ran on one queue follows what ran before it (Sequence). Spans with an op are bricks of that
///          name, others kernels; a copy is a kernel named "copy", since a recording knows neither places nor bytes.
/// Cost:    cold: 32 bytes for each span of the four newest steps; build() is linear but for sorting.
/// Threads: one at a time.
class GraphBuilder : public SpanSink {
public:
    /// Errors:  kNotFound: no device span in the step, or in the stream; it says what is there. kExhausted: the step
    /// has
    ///          more than max_spans.
    [[nodiscard]] virtual Result<StepGraph> build() const = 0;
};
[[nodiscard]] std::unique_ptr<GraphBuilder> make_graph_builder(const GraphBuilderOptions& options = {});

}    // namespace lapwing
