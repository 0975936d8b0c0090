// Events of the Chrome trace format as text, one a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lapwing/record.hpp"
#include "lapwing/sink.hpp"

namespace lapwing::trace::chrome {

/// Appends ns as microseconds with three decimals.
void append_us(std::string& out, int64_t ns);

/// Appends `{"name":NAME,"ph":"M","pid":PID,"tid":TID,"args":{"KEY":VALUE}}`; no tid where it is 0. `value` is JSON.
void append_metadata(std::string& out, std::string_view name, uint32_t pid, uint32_t tid, std::string_view key,
                     std::string_view value);

/// What all events of a site have in common.
struct SiteText {
    std::string head;    ///< `"name":...,"cat":...`
    std::string args;    ///< members of "args", without braces; empty = none
};
[[nodiscard]] SiteText site_text(const Site& site);

/// Appends a complete event at `at_ns` from the base. `last_args` come behind those of the site.
void append_complete(std::string& out, const SiteText& site, uint32_t pid, uint32_t tid, int64_t at_ns,
                     int64_t duration_ns, std::string_view last_args);

/// `value` as a JSON string.
[[nodiscard]] std::string json_string(std::string_view value);

}    // namespace lapwing::trace::chrome
