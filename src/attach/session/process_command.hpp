// The command line of this process as a recording may show it.
#pragma once

#include <string>
#include <vector>

namespace lapwing::attach {

/// The words joined by spaces; the values of options and variables whose name looks like a secret's (token, key,
/// password, secret, auth) are replaced by "***": `--api-key VALUE`, `--api-key=VALUE`, `TOKEN=VALUE`.
/// Shape:   words with spaces are put in single quotes; at most 4096 bytes, cut with "...".
[[nodiscard]] std::string masked_command(const std::vector<std::string>& words);

/// The words of this process's own command line; empty where the kernel does not say.
[[nodiscard]] std::vector<std::string> own_command_words();

}    // namespace lapwing::attach
