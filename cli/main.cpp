// The lapwing command: reads argv, lets one subcommand work, exits with its code.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "export/names.hpp"
#include "parse_error.hpp"

namespace lapwing::cli {

void say(const std::string& message) {
    std::fprintf(stderr, "lapwing: %s\n", detail::printable(message).c_str());
}

int fail(int code, const std::string& message) {
    say(message);
    return code;
}

int print(const std::string& text, const char* what) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return kOk;
    return fail(kBadUse, std::string("cannot write ") + what + " to standard output: " + std::strerror(errno) +
                             "; send it to another place (> FILE)");
}

namespace {

constexpr const char* kFooter = R"(Examples:
  lapwing run -o decode.pftrace -- llama-bench -m model.gguf -n 32 -ngl 99
  lapwing report decode.pftrace --by op
  lapwing devices

Exit codes: 0 fine, 1 a gate or lint finding, 2 bad use or bad input. 'run' exits with the program's own code
(128+n where signal n ended it), 127 or 126 where it cannot be started, 125 where Lapwing itself cannot start it.)";

/// Shows where the program to start goes; CLI11's own usage line ends at the options.
class HelpFormatter : public CLI::Formatter {
public:
    std::string make_usage(const CLI::App* app, std::string name) const override {
        std::string usage = CLI::Formatter::make_usage(app, name);
        if (!app->get_prefix_command()) return usage;
        while (!usage.empty() && usage.back() == '\n') usage.pop_back();
        return usage + " -- CMD ...\n";
    }
};

int main(int argc, char** argv) {
    // Everything behind the first "--" belongs to the program that `run` starts, a further "--" included, so it is
    // taken away before CLI11 looks. To other subcommands it says that no option follows, which CLI11 knows.
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const bool runs = !arguments.empty() && arguments.front() == "run";
    const auto separator = runs ? std::find(arguments.begin(), arguments.end(), "--") : arguments.end();
    std::vector<std::string> own(arguments.begin(), separator);
    const std::vector<std::string> program(separator == arguments.end() ? separator : separator + 1, arguments.end());

    CLI::App app("Lapwing: GPU time of inference engines, from the device's own clock.", "lapwing");
    int exit_code = kOk;
    app.set_version_flag("--version", "lapwing " LAPWING_VERSION, "Print the version and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.formatter(std::make_shared<HelpFormatter>());
    app.get_formatter()->column_width(34);
    app.require_subcommand(1);
    add_run_command(app, program, exit_code);
    add_report_command(app, exit_code);
    add_graph_command(app, exit_code);
    add_divergence_command(app, exit_code);
    add_tune_command(app, exit_code);
    add_devices_command(app, exit_code);
    add_bench_command(app, exit_code);
    app.footer(kFooter);    // last: subcommands inherit what is there when they are added

    try {
        std::reverse(own.begin(), own.end());    // CLI11 takes the arguments from the back
        app.parse(std::move(own));
    } catch (const CLI::Success& success) {    // --help, --version
        return app.exit(success);
    } catch (const CLI::ParseError& error) {
        return fail(kBadUse, explain(app, error, std::vector<std::string>(arguments.begin(), separator)));
    }
    return exit_code;
}

}    // namespace
}    // namespace lapwing::cli

int main(int argc, char** argv) {
    return lapwing::cli::main(argc, argv);
}
