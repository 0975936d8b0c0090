// Names as viewers want them: valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace lapwing::trace {

/// `text` with each maximal invalid subpart replaced by U+FFFD; valid text is untouched.
/// Source:  Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts".
[[nodiscard]] std::string to_valid_utf8(std::string_view text);

}    // namespace lapwing::trace
