#include "lapwing/page_faults.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string>

namespace lapwing {

Result<PageFaults> parse_page_faults(std::string_view stat_line) {
    const Error bad{Errc::kBadFormat, 0, "/proc/self/stat has no field 10 and 12: this is no Linux that we know"};
    const std::size_t name_end = stat_line.rfind(')');
    if (name_end == std::string_view::npos) return bad;
    std::string_view rest = stat_line.substr(name_end + 1);
    PageFaults out;
    for (int field = 3; field <= 12; ++field) {
        const std::size_t begin = rest.find_first_not_of(' ');
        if (begin == std::string_view::npos) return bad;
        rest.remove_prefix(begin);
        const std::string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(word.size());
        if (field != 10 && field != 12) continue;
        uint64_t& value = field == 10 ? out.minor : out.major;
        const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
        if (parsed.ec != std::errc{} || parsed.ptr != word.data() + word.size()) return bad;
    }
    return out;
}

Result<PageFaults> page_faults() {
    const int file = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return Error{Errc::kUnreadable, errno, "cannot open /proc/self/stat: mount /proc"};
    char text[1024];
    const ssize_t read = ::read(file, text, sizeof text);
    const int code = errno;
    ::close(file);
    if (read <= 0) return Error{Errc::kUnreadable, code, "cannot read /proc/self/stat"};
    return parse_page_faults({text, static_cast<std::size_t>(read)});
}

}    // namespace lapwing
