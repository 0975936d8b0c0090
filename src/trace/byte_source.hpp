// A file or a pipe as a stream of bytes, gzip unpacked on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lapwing/result.hpp"

namespace lapwing::trace {

/// Reads a file, or standard input where the path is "-".
/// Shape:   several gzip members one after another are one stream. Memory: 64 KiB, and zlib's window where packed.
class ByteSource {
public:
    /// Errors:  kNotFound, kUnreadable naming the path and the remedy.
    [[nodiscard]] static Result<ByteSource> open(const std::string& path);

    ByteSource(ByteSource&& other) noexcept;
    ByteSource& operator=(ByteSource&& other) noexcept;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;
    ~ByteSource();

    /// The first bytes as they lie in the file, packed or not. Shape: before the first read().
    [[nodiscard]] std::string_view head() const noexcept;
    [[nodiscard]] bool packed() const noexcept { return inflater_ != nullptr; }

    /// Up to `size` unpacked bytes. 0: the end, a cut-off gzip stream (cut_off()), or a failure (error()).
    [[nodiscard]] std::size_t read(char* out, std::size_t size);

    /// A packed file ended inside its stream: what came before was handed out.
    [[nodiscard]] bool cut_off() const noexcept { return cut_off_; }
    [[nodiscard]] const Error& error() const noexcept { return error_; }
    /// As messages name it: the path, or "standard input".
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Hands the descriptor over; what head() shows was read from it already. Shape: before the first read().
    [[nodiscard]] int release() noexcept;

private:
    struct Inflater;
    ByteSource(std::string name, int fd);
    [[nodiscard]] std::size_t fill();
    [[nodiscard]] std::size_t inflate(char* out, std::size_t size);

    std::string name_;
    int fd_ = -1;
    std::unique_ptr<char[]> raw_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::unique_ptr<Inflater> inflater_;
    bool cut_off_ = false;
    Error error_;
};

}    // namespace lapwing::trace
