#include "trace/trace_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "trace/fields.hpp"

namespace lapwing::trace {

namespace {

const char* remedy(int error) {
    switch (error) {
        case ENOENT:
        case ENOTDIR:
            return "create the folder first, or give another path";
        case EISDIR:
            return "it is a folder: give the name of a file in it";
        case EACCES:
        case EPERM:
        case EROFS:
            return "give a path in a folder that you may write to";
        case ENOSPC:
        case EDQUOT:
            return "free some space, or give a path on another disk";
        case EFBIG:
            return "raise the file size limit (ulimit -f), or record less";
        case EWOULDBLOCK:
            return "another recording is being written to it: give each recording its own name";
        case ENXIO:
            return "nobody reads from this pipe: start its reader first";
        case ESPIPE:
            return "this kind of file is not written in order: give a regular file, not a pipe";
        case ENAMETOOLONG:
            return "give a shorter path";
        default:
            return "give another path";
    }
}

std::string describe_error(int error) {
    return error == EWOULDBLOCK ? "in use" : std::generic_category().message(error);
}

// Bytes of whole packets at the start of `packets`, of which `size` bytes reached the file.
std::size_t whole_packets(std::span<const uint8_t> packets, std::size_t size) {
    std::size_t whole = 0;
    for (std::size_t at = 0; at < size;) {
        ++at;    // the packet tag
        std::size_t length = 0;
        for (unsigned shift = 0; at < packets.size(); shift += 7) {
            const uint8_t byte = packets[at++];
            length |= static_cast<std::size_t>(byte & 0x7f) << shift;
            if (byte < 0x80) break;
        }
        at += length;
        if (at <= size) whole = at;
    }
    return whole;
}

}    // namespace

TraceFile::TraceFile(std::string path, int fd) noexcept : path_(std::move(path)), fd_(fd), owner_(::getpid()) {}

TraceFile::TraceFile(TraceFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), owner_(other.owner_), size_(other.size_) {}

TraceFile& TraceFile::operator=(TraceFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    std::swap(owner_, other.owner_);
    std::swap(size_, other.size_);
    return *this;
}

TraceFile::~TraceFile() {
    if (fd_ >= 0) ::close(fd_);
}

Error TraceFile::failure(const char* what, int error) const {
    return {Errc::kUnwritable, error,
            std::string(what) + " '" + path_ + "': " + describe_error(error) + "; " + remedy(error)};
}

Error TraceFile::foreign() const {
    return {Errc::kUnwritable, 0,
            "'" + path_ + "' belongs to the parent process: a forked child records to its own file"};
}

Result<TraceFile> TraceFile::create(const std::string& path) {
    // Non-blocking, or opening a pipe that nobody reads would hang the program.
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    const int open_error = errno;
    TraceFile file(path, fd);
    if (fd < 0) return file.failure("cannot write", open_error);
    struct stat info {};
    if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        // Locked before it is truncated, so that a running recording is not destroyed. File systems without locks pass.
        if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            return file.failure("cannot write", EWOULDBLOCK);
        if (::ftruncate(fd, 0) != 0) return file.failure("cannot write", errno);
    }
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags >= 0) static_cast<void>(::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK));
    return file;
}

bool TraceFile::owned() const noexcept {
    return owner_ == ::getpid();
}

Status TraceFile::append(std::span<const uint8_t> packets) {
    if (!owned()) return foreign();
    std::size_t written = 0;
    while (written < packets.size()) {
        const ssize_t result = ::write(fd_, packets.data() + written, packets.size() - written);
        if (result > 0) {
            written += static_cast<std::size_t>(result);
            continue;
        }
        const int error = result < 0 ? errno : ENOSPC;
        if (error == EINTR) continue;
        size_ += whole_packets(packets, written - std::min(written, kLastWordBytes));
        // A pipe or a device cannot be cut; readers tolerate the torn tail.
        if (::ftruncate(fd_, static_cast<off_t>(size_)) == 0) static_cast<void>(::lseek(fd_, 0, SEEK_END));
        return failure("cannot go on writing", error);
    }
    size_ += written;
    return {};
}

Status TraceFile::replace_from(uint64_t at, std::string_view bytes, std::string_view restore) {
    if (!owned()) return foreign();
    const auto write_all = [&](std::string_view text) {
        for (std::size_t written = 0; written < text.size();) {
            const ssize_t result =
                ::pwrite(fd_, text.data() + written, text.size() - written, static_cast<off_t>(at + written));
            if (result > 0)
                written += static_cast<std::size_t>(result);
            else if (result == 0 || errno != EINTR)
                return result == 0 ? ENOSPC : errno;
        }
        return 0;
    };
    const int error = write_all(bytes);
    // Its blocks are still there: written before the file is cut, it fits even on a full disk.
    const int restored = error == 0 ? 0 : write_all(restore);
    const uint64_t end = at + (error == 0 ? bytes : restored == 0 ? restore : std::string_view{}).size();
    if (error != 0 || end < size_) static_cast<void>(::ftruncate(fd_, static_cast<off_t>(end)));
    size_ = end;
    return error == 0 ? Status() : Status(failure("cannot go on writing", error));
}

Status TraceFile::close() {
    if (fd_ < 0) return {};
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) != 0 && errno != EINTR) return failure("cannot finish", errno);
    return {};
}

}    // namespace lapwing::trace
