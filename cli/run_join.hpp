// What several processes or parts recorded, made one recording at the end of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/result.hpp"

namespace lapwing::cli {

/// Makes `main`, its parts and the recordings of child processes one file at `main`'s path, and removes the others
/// then. Shape:   `last_ns`: only what ended in the last so many ns stays. Devices, tracks, sites and steps keep apart.
/// A child
///          that was killed in the middle of a write is taken to its last whole packet.
/// Errors:  those of reading and writing; all files are then as they were.
[[nodiscard]] Status join_recordings(const std::string& main, const std::vector<std::string>& children,
                                     std::optional<int64_t> last_ns, bool compress);

}    // namespace lapwing::cli
