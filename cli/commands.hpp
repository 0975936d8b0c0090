// What main and the subcommands share. Each subcommand is one file with one add_..._command().
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace lapwing::cli {

/// Exit codes (docs: `lapwing --help`): 0 fine, 1 a gate or lint finding, 2 bad use or bad input.
/// `run` returns the program's own code instead, and these where there is none.
inline constexpr int kOk = 0;
inline constexpr int kFinding = 1;
inline constexpr int kBadUse = 2;
inline constexpr int kOwnFailure = 125;       ///< Lapwing itself failed before it started the program
inline constexpr int kNotExecutable = 126;    ///< the program is there and cannot be executed
inline constexpr int kNoProgram = 127;        ///< there is no such program
inline constexpr int kSignalBase = 128;       ///< plus the number of the signal that ended the program

/// Prints "lapwing: <message>" as one line on stderr; control characters, which names may hold, as "\xNN".
void say(const std::string& message);

/// The same for an error.
/// Shape:   returns `code`, so that a caller can say `return fail(kBadUse, ...)`.
int fail(int code, const std::string& message);

/// Writes `text` to standard output.
/// Shape:   `what` it is, for the error: "the report". Returns the exit code.
int print(const std::string& text, const char* what);

/// Adds one subcommand to `app`. When the command line names it, its callback does the work and sets `exit_code`.
/// Shape:   `exit_code` outlives the parse.
void add_report_command(CLI::App& app, int& exit_code);
void add_graph_command(CLI::App& app, int& exit_code);
void add_divergence_command(CLI::App& app, int& exit_code);
void add_devices_command(CLI::App& app, int& exit_code);
void add_tune_command(CLI::App& app, int& exit_code);
void add_bench_command(CLI::App& app, int& exit_code);

/// As above. `program` is what follows "--" on the command line; without a "--" it is empty, and the program is taken
/// from the first argument that is no option.
void add_run_command(CLI::App& app, const std::vector<std::string>& program, int& exit_code);

}    // namespace lapwing::cli
