#include "attach/session/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>

namespace lapwing::attach {

namespace {
constexpr mode_t kMode = 0644;
constexpr int kMaxNumber = 1000;    // processes with one number that left a recording beside this one

// 0 or errno.
int create(const std::string& path) noexcept {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
    if (file < 0) return errno;
    close(file);
    return 0;
}

// Why nothing is written beside what is there under that name; empty where it is a file.
std::string refuse(const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return {};
    if (S_ISDIR(info.st_mode)) return "'" + path + "' is a folder; name a file in it";
    return "'" + path + "' is no file; name another";
}
}    // namespace

Result<std::string> claim_output_file(const std::string& path, pid_t pid) {
    // O_EXCL decides the race between processes that start together: exactly one of them creates the file. A file of
    // our pid is left from an older process and may be anything: it is left alone.
    std::string own = path;
    int error = create(own);
    if (error == EEXIST)
        if (const std::string why = refuse(path); !why.empty())
            return Error{Errc::kUnwritable, 0, "cannot write: " + why};
    for (int number = 1; error == EEXIST && number <= kMaxNumber; ++number) {
        own = path + '.' + std::to_string(pid);
        if (number > 1) own += '-' + std::to_string(number);
        error = create(own);
    }
    if (error == 0) return own;
    return Error{Errc::kUnwritable, error,
                 "cannot write '" + own + "' (" + std::strerror(error) + "): name another file with -o or LAPWING_OUT"};
}

std::string read_file_options(const char* (*get)(const char* name), PerfettoWriterOptions& options) {
    uint64_t compress = 0;
    uint64_t keep = 0;
    uint64_t last_ns = 0;
    const struct {
        const char* name;
        uint64_t* value;
        uint64_t least;    // where it is not 0
        uint64_t most;
    } variables[] = {
        {"LAPWING_RUN", &options.run_id, 1, std::numeric_limits<uint64_t>::max()},
        {"LAPWING_COMPRESS", &compress, 1, 1},
        {"LAPWING_MAX_BYTES", &options.max_part_bytes, 1u << 20, std::numeric_limits<int64_t>::max()},
        {"LAPWING_KEEP", &keep, 1, 1'000'000},
        {"LAPWING_LAST_NS", &last_ns, 1'000'000'000, std::numeric_limits<int64_t>::max()},
    };
    for (const auto& variable : variables) {
        const char* const found = get(variable.name);
        const std::string_view text = found == nullptr ? std::string_view{} : std::string_view{found};
        if (text.empty()) continue;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, *variable.value);
        const uint64_t value = *variable.value;
        if (error == std::errc{} && stop == end && value <= variable.most && (value == 0 || value >= variable.least))
            continue;
        const std::string range = variable.most == 1 ? "1"
                                                     : "a whole number from " + std::to_string(variable.least) +
                                                           " to " + std::to_string(variable.most);
        return std::string(variable.name) + ": '" + std::string(text) + "' is not 0 or " + range;
    }
    if (keep != 0 && options.max_part_bytes == 0)
        return "LAPWING_KEEP bounds the number of files that LAPWING_MAX_BYTES makes: set both";
    options.compress = compress != 0;
    options.keep_parts = static_cast<uint32_t>(keep);
    options.keep_ns = static_cast<int64_t>(last_ns);
    return {};
}

}    // namespace lapwing::attach
