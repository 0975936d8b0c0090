// The file behind a trace writer: one writer a file, whole packets only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lapwing/result.hpp"

namespace lapwing::trace {

/// An output file that only ever ends with a whole packet, as far as the file system lets it.
/// Threads: one at a time. A forked child shares the descriptor and is refused, so that it never writes into its
///          parent's file.
class TraceFile {
public:
    /// Creates or truncates. A second writer of the same file, in this or another process, is refused.
    /// Errors:  kUnwritable naming the path, the reason and the remedy.
    [[nodiscard]] static Result<TraceFile> create(const std::string& path);

    TraceFile(TraceFile&& other) noexcept;
    TraceFile& operator=(TraceFile&& other) noexcept;
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;
    ~TraceFile();

    /// Appends whole packets.
    /// Errors:  kUnwritable, with the system's errno; what was written of the last packet is cut off again where the
    ///          file can be cut, and so much more that a packet of kLastWordBytes has room on a full disk.
    static constexpr std::size_t kLastWordBytes = 512;
    Status append(std::span<const uint8_t> packets);

    /// Replaces everything from `at` on by `bytes`.
    /// Shape:   `at` <= size(); not after append(). A program killed meanwhile leaves a part of `bytes` there.
    /// Errors:  as append(); `restore` stands at `at` then, and the file ends with it.
    Status replace_from(uint64_t at, std::string_view bytes, std::string_view restore);

    /// Errors:  kUnwritable where the system reports a late write error.
    Status close();

    /// Bytes in the file.
    [[nodiscard]] uint64_t size() const noexcept { return size_; }

    /// Whether this process opened the file: false in a forked child.
    [[nodiscard]] bool owned() const noexcept;

private:
    TraceFile(std::string path, int fd) noexcept;
    Error failure(const char* what, int error) const;
    [[nodiscard]] Error foreign() const;

    std::string path_;
    int fd_ = -1;
    pid_t owner_ = 0;
    uint64_t size_ = 0;    // bytes of whole packets in the file
};

}    // namespace lapwing::trace
