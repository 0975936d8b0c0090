// lapwing graph: the execution graph of a step, its critical path.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "commands.hpp"
#include "lapwing/graph_builder.hpp"
#include "lapwing/graph_export.hpp"
#include "lapwing/perfetto.hpp"

namespace lapwing::cli {
namespace {

struct GraphOptions {
    std::string file;
    std::optional<int64_t> step;
    bool dot = false;
    bool tree = false;
    bool critical_path = false;
    bool json = false;
};

std::string render(const StepGraph& graph, const GraphOptions& options) {
    if (options.dot) return to_dot(graph.graph);
    if (options.json) return to_json(graph.graph);
    if (options.tree) return to_ascii_tree(graph.graph) + "\n";
    return critical_path_summary(graph.graph);
}

int run_graph(const GraphOptions& options) {
    GraphBuilderOptions wanted;
    if (options.step) wanted.step = static_cast<uint32_t>(*options.step);
    const std::unique_ptr<GraphBuilder> builder = make_graph_builder(wanted);
    const Result<ReadSummary> read = read_recording(options.file, *builder);
    if (!read) return fail(kBadUse, read.error().message);
    const Result<StepGraph> graph = builder->build();
    if (!graph) return fail(kBadUse, options.file + ": " + graph.error().message);
    if (!options.step)
        say(graph->step ? "step " + std::to_string(*graph->step) + ", the last one; others: --step N"
                        : std::string("the recording has no steps: this is all of it"));
    return print(render(graph.value(), options), "the graph");
}

}    // namespace

void add_graph_command(CLI::App& app, int& exit_code) {
    auto options = std::make_shared<GraphOptions>();
    CLI::App* command = app.add_subcommand("graph", "Show the execution graph of a step, or its critical path");
    command->add_option("file", options->file, "The recording, as written by lapwing run")
        ->required()
        ->type_name("FILE");
    command->add_option("--step", options->step, "The step (default: the last one that finished)")
        ->check(CLI::Range(int64_t{0}, int64_t{4'294'967'294}).description(""))
        ->type_name("N");
    CLI::Option_group* form = command->add_option_group("form");
    form->add_flag("--critical-path", options->critical_path, "The chain that makes the step so long (default)");
    form->add_flag("--tree", options->tree, "Layers, ops and kernels as a tree");
    form->add_flag("--dot", options->dot, "For Graphviz: lapwing graph FILE --dot | dot -Tsvg -o graph.svg");
    form->add_flag("--json", options->json, "Nodes, edges and schedule (docs/graph.schema.json)");
    form->require_option(0, 1);
    command->callback([options, &exit_code] { exit_code = run_graph(*options); });
}

}    // namespace lapwing::cli
