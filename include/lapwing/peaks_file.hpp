// The peaks of a machine as a file: what `lapwing bench --peaks` measures and `report` and `tune` take.
#pragma once

#include <string>
#include <string_view>

#include "lapwing/result.hpp"
#include "lapwing/roofline.hpp"

namespace lapwing {

/// JSON, schema "lapwing.peaks/1" (docs/peaks.schema.json): unknown is null; equal peaks give equal text.
[[nodiscard]] std::string to_json(const MachinePeaks& peaks);

/// Writes to_json() to `path`: whole, or not at all. Errors: kUnwritable naming the file.
[[nodiscard]] Status write_peaks(const MachinePeaks& peaks, const std::string& path);

/// Reads what write_peaks() or a person wrote; keys that it does not know are passed over.
/// Errors:  kBadFormat or kInvalidArgument naming the key at fault and what it must be.
[[nodiscard]] Result<MachinePeaks> parse_peaks(std::string_view text);
/// Errors:  also kNotFound and kUnreadable; all name the file and say how to make one.
[[nodiscard]] Result<MachinePeaks> read_peaks(const std::string& path);

}    // namespace lapwing
