// Starting a program, passing signals on to it and waiting for it.
#pragma once

#include <string>
#include <vector>

#include "lapwing/result.hpp"

namespace lapwing::cli {

/// How a program came to its end.
struct ProgramEnd {
    bool signalled = false;
    int number = 0;    ///< exit code, or the signal
};

/// Starts `command` (searched in PATH) with `environment` and waits until it ends.
/// Shape:   standard streams, working folder and signal mask are the caller's. SIGINT, SIGTERM, SIGHUP, SIGQUIT,
///          SIGUSR1 and SIGUSR2 that another process sends to the caller are sent on; those of the terminal reach the
///          program without help. At return the caller's own signal mask holds again.
/// Errors:  kNotFound, kUnreadable (it is there and cannot be executed), kExhausted (no further process); `driver_code`
///          is the errno.
[[nodiscard]] Result<ProgramEnd> run_program(const std::vector<std::string>& command,
                                             const std::vector<std::string>& environment);

/// Processes other than this one whose environment was begun with `variable` ("NAME=value"). Those that may not be
/// looked at (other users') are not counted.
[[nodiscard]] std::size_t count_processes_with(const std::string& variable);

}    // namespace lapwing::cli
