#include "export/write_whole.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace lapwing::detail {
namespace {

Error unwritable(const std::string& path) {
    const int code = errno;
    return {Errc::kUnwritable, code,
            "cannot write " + path + ": " + std::strerror(code) + "; name a file in a folder that may be written"};
}

}    // namespace

Status write_whole(const std::string& path, const std::string& text) {
    const std::string beside = path + ".tmp." + std::to_string(getpid());
    const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return unwritable(path);
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t wrote = ::write(file, text.data() + done, text.size() - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) break;
        done += static_cast<std::size_t>(wrote);
    }
    const bool kept = done == text.size() && ::fsync(file) == 0;
    Status status = kept ? Status{} : Status(unwritable(path));
    if (::close(file) != 0 && status.ok()) status = unwritable(path);
    if (status.ok() && std::rename(beside.c_str(), path.c_str()) != 0) status = unwritable(path);
    if (!status.ok()) ::unlink(beside.c_str());
    return status;
}

Result<std::string> read_whole(const std::string& path, std::size_t most_bytes) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
    const auto failed = [&path](Errc code) {
        const int why = errno;
        return Error{code, why, "cannot read " + path + ": " + std::strerror(why)};
    };
    if (file == nullptr) return failed(errno == ENOENT ? Errc::kNotFound : Errc::kUnreadable);
    std::string out;
    char buffer[65536];
    while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) {
        out.append(buffer, got);
        if (out.size() > most_bytes)
            return Error{Errc::kBadFormat, 0,
                         path + " is larger than " + std::to_string(most_bytes) + " bytes: it is no such file"};
    }
    if (std::ferror(file.get()) != 0) return failed(Errc::kUnreadable);
    return out;
}

}    // namespace lapwing::detail
