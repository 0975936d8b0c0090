// The files of one recording: FILE, the oldest, and the parts that were begun when it was full.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/metadata.hpp"

namespace lapwing::trace {

/// "FILE.part2" and so on.
[[nodiscard]] std::string part_path(const std::string& base, uint32_t number);

/// What the first packet of a file says of it; nothing where it is no recording or cannot be read.
[[nodiscard]] std::optional<RecordingInfo> identify(const std::string& path);

/// The parts that belong to the recording at `base`, by number; `base` itself is not among them.
/// Shape:   a file that only bears such a name, or was left by another recording, is passed over.
[[nodiscard]] std::vector<std::string> parts_behind(const std::string& base);

}    // namespace lapwing::trace
