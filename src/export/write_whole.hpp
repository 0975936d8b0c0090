// Small files that are there as a whole or not at all.
#pragma once

#include <cstddef>
#include <string>

#include "lapwing/result.hpp"

namespace lapwing::detail {

/// Writes `text` beside `path` and renames it over it, so that there is always a whole file.
/// Errors:  kUnwritable naming the file; what was there before stays.
[[nodiscard]] Status write_whole(const std::string& path, const std::string& text);

/// The bytes of a file.
/// Errors:  kNotFound, kUnreadable; kBadFormat where it has more than `most_bytes`: it is something else.
[[nodiscard]] Result<std::string> read_whole(const std::string& path, std::size_t most_bytes);

}    // namespace lapwing::detail
