// One recording a process: who owns the file that `lapwing run` named.
#pragma once

#include <sys/types.h>

#include <string>

#include "lapwing/perfetto.hpp"
#include "lapwing/result.hpp"

namespace lapwing::attach {

/// Creates the file this process may write: `path` where no other process of the run has created it, else
/// `path`.`pid`, or `path`.`pid`-2 and so on where an older process had that number. Two writers of one file would
/// destroy each other's recording (TRT-LLM#13536, opencl-intercept#374). Shape:   the file exists and is empty
/// afterwards; the path is returned. Errors:  kUnwritable naming the path.
[[nodiscard]] Result<std::string> claim_output_file(const std::string& path, pid_t pid);

/// Reads from the environment how the recording is to be written, as `lapwing run` sets it:
/// LAPWING_RUN        number of the run; tells its recordings from others
/// LAPWING_COMPRESS   1 = compressed packets
/// LAPWING_MAX_BYTES  of one file; 0 = no limit, else >= 1048576
/// LAPWING_KEEP       files that are kept; 0 = all
/// LAPWING_LAST_NS    of time that is kept; 0 = all, else >= 1000000000
/// Shape:   returns one line for the user about a value that was refused, else nothing.
[[nodiscard]] std::string read_file_options(const char* (*get)(const char* name), PerfettoWriterOptions& options);

}    // namespace lapwing::attach
