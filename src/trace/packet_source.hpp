// A trace file as a stream of packets, read through one reused buffer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/result.hpp"

namespace lapwing::trace {

/// Hands out the packets of a file one after another.
/// Shape:   a view is valid until the next call. Memory: 256 KiB, or the largest packet.
class PacketSource {
public:
    /// What next() came to.
    enum class Step : uint8_t {
        kPacket = 0,    ///< a whole packet
        kEnd,           ///< the file ended between two packets
        kTorn,          ///< the file ends inside a packet, or in zeros that a crash left behind
        kFailed,        ///< error() says what is wrong
    };

    /// Errors:  kNotFound, kUnreadable naming the path and the remedy.
    [[nodiscard]] static Result<PacketSource> open(const std::string& path);
    /// Goes on with an open file or pipe of which `head` was read already; the descriptor is closed at the end.
    [[nodiscard]] static PacketSource adopt(std::string name, int fd, std::string_view head);

    PacketSource(PacketSource&& other) noexcept;
    PacketSource& operator=(PacketSource&& other) noexcept;
    PacketSource(const PacketSource&) = delete;
    PacketSource& operator=(const PacketSource&) = delete;
    ~PacketSource();

    [[nodiscard]] Step next(std::string_view& packet);

    /// Where the packet that next() just looked at begins in the file.
    [[nodiscard]] uint64_t packet_offset() const noexcept { return packet_offset_; }
    /// Bytes read so far.
    [[nodiscard]] uint64_t bytes() const noexcept { return buffer_offset_ + end_; }
    /// The first bytes of the file, as many as are there and fit the buffer. Shape: before the first next().
    [[nodiscard]] std::string_view peek();

    [[nodiscard]] const Error& error() const noexcept { return error_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    PacketSource(std::string path, int fd, std::size_t buffer_bytes);
    [[nodiscard]] Step next_slow(std::string_view& packet);
    [[nodiscard]] bool fill(std::size_t wanted);
    [[nodiscard]] Step judge_bad_tag();

    std::string path_;
    int fd_ = -1;
    std::vector<char> buffer_;
    std::size_t begin_ = 0;         // next unread byte in the buffer
    std::size_t end_ = 0;           // bytes in the buffer
    uint64_t buffer_offset_ = 0;    // file offset of the buffer's first byte
    uint64_t packet_offset_ = 0;
    bool at_end_ = false;    // the file has no more bytes than the buffer
    Error error_;
};

}    // namespace lapwing::trace
