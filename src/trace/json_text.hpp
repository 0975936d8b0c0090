// JSON strings: the one place where text from outside is escaped.
#pragma once

#include <string>
#include <string_view>

namespace lapwing::trace {

/// Appends `text` with its quotes: `"`, `\` and control characters escaped, each maximal invalid part of UTF-8 replaced
/// by U+FFFD, everything else as it is.
/// Source:  RFC 8259, section 7.
void append_json_string(std::string& out, std::string_view text);

}    // namespace lapwing::trace
