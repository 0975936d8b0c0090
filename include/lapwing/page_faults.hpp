// Page faults of the process: what makes a brick slow that looks as if it computed.
#pragma once

#include <cstdint>
#include <string_view>

#include "lapwing/result.hpp"

namespace lapwing {

/// Faults since the process began. Two readings are subtracted.
struct PageFaults {
    uint64_t minor = 0;    ///< served from memory: first touches, copy on write
    uint64_t major = 0;    ///< waited for a disk

    friend PageFaults operator-(const PageFaults& later, const PageFaults& earlier) noexcept {
        return {later.minor - earlier.minor, later.major - earlier.major};
    }
    friend bool operator==(const PageFaults&, const PageFaults&) = default;
};

/// The counters now, from /proc/self/stat.
/// Errors:  kUnreadable where /proc is not there; kBadFormat where it says something else.
/// Cost:    cold: a file is opened and read.
/// Threads: any.
/// Source:  proc(5), /proc/[pid]/stat, fields 10 (minflt) and 12 (majflt)
[[nodiscard]] Result<PageFaults> page_faults();

/// Reads them out of such a line. Shape: the program's name, in parentheses, may itself hold parentheses and blanks.
[[nodiscard]] Result<PageFaults> parse_page_faults(std::string_view stat_line);

}    // namespace lapwing
