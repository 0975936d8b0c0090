// What a user is told about a command line that CLI11 does not take.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace lapwing::cli {

/// One sentence that says what is wrong with the command line and what to do.
/// Shape:   `arguments` as they were given, without the program's own name.
[[nodiscard]] std::string explain(CLI::App& app, const CLI::ParseError& error,
                                  const std::vector<std::string>& arguments);

}    // namespace lapwing::cli
