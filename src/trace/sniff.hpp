// What a file that is not a recording looks like.
#pragma once

#include <string>
#include <string_view>

namespace lapwing::trace {

/// Whether a file with these first bytes begins as our writer begins every recording.
[[nodiscard]] bool begins_like_recording(std::string_view head);

/// A sentence for the user about a file that is no recording, from its first bytes: what it looks like and what to do.
[[nodiscard]] std::string describe_foreign(std::string_view head);

}    // namespace lapwing::trace
