#include "attach/vulkan_layer/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lapwing::vulkan_layer {

namespace {
constexpr mode_t kMode = 0644;

// 0 or errno.
int create(const std::string& path, int how) noexcept {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, kMode);
    if (file < 0) return errno;
    close(file);
    return 0;
}
}    // namespace

Result<std::string> claim_output_file(const std::string& path, pid_t pid) {
    // O_EXCL decides the race between processes that start together: exactly one of them creates the file.
    int error = create(path, O_EXCL);
    if (error == 0) return path;
    std::string own = path;
    if (error == EEXIST) {
        // A file of this name is left from an older process with our pid, which cannot be writing any more.
        own += '.' + std::to_string(pid);
        error = create(own, O_TRUNC);
        if (error == 0) return own;
    }
    return Error{Errc::kUnwritable, error,
                 "cannot write '" + own + "' (" + std::strerror(error) + "): choose another file with -o"};
}

}    // namespace lapwing::vulkan_layer
