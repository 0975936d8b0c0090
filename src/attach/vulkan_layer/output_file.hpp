// One recording a process: who owns the file that `lapwing run` named.
#pragma once

#include <sys/types.h>

#include <string>

#include "lapwing/result.hpp"

namespace lapwing::vulkan_layer {

/// Creates the file this process may write: `path` where no other process of the run has created it, else
/// `path`.`pid`. Two writers of one file would destroy each other's recording (TRT-LLM#13536, opencl-intercept#374).
/// Shape:   the file exists and is empty afterwards; the path is returned.
/// Errors:  kUnwritable naming the path.
[[nodiscard]] Result<std::string> claim_output_file(const std::string& path, pid_t pid);

}    // namespace lapwing::vulkan_layer
