#include "trace/packet_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "trace/fields.hpp"
#include "trace/open_error.hpp"

namespace lapwing::trace {

namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;
constexpr std::size_t kLeastBufferBytes = 512;
constexpr uint64_t kMaxPacketBytes = 64u << 20;    // our packets are smaller than a buffer; a larger length is damage

}    // namespace

PacketSource::PacketSource(std::string path, int fd, std::size_t buffer_bytes)
    : path_(std::move(path)), fd_(fd), buffer_(buffer_bytes) {}

PacketSource::PacketSource(PacketSource&& other) noexcept {
    *this = std::move(other);
}

PacketSource& PacketSource::operator=(PacketSource&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    std::swap(buffer_, other.buffer_);
    std::swap(begin_, other.begin_);
    std::swap(end_, other.end_);
    std::swap(buffer_offset_, other.buffer_offset_);
    std::swap(packet_offset_, other.packet_offset_);
    std::swap(at_end_, other.at_end_);
    std::swap(error_, other.error_);
    return *this;
}

PacketSource::~PacketSource() {
    if (fd_ >= 0) ::close(fd_);
}

Result<PacketSource> PacketSource::open(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return open_error(path, errno);
    struct stat info {};
    const bool known = ::fstat(fd, &info) == 0;
    const bool small = known && S_ISREG(info.st_mode) && info.st_size < static_cast<off_t>(kBufferBytes);
    PacketSource source(path, fd,
                        small ? std::max(kLeastBufferBytes, static_cast<std::size_t>(info.st_size)) : kBufferBytes);
    if (known && S_ISDIR(info.st_mode))
        return Error{Errc::kUnreadable, EISDIR, "'" + path + "' is a folder: give the recording (.pftrace) in it"};
    return source;
}

PacketSource PacketSource::adopt(std::string name, int fd, std::string_view head) {
    PacketSource source(std::move(name), fd, std::max(kBufferBytes, head.size()));
    std::copy(head.begin(), head.end(), source.buffer_.begin());
    source.end_ = head.size();
    return source;
}

std::string_view PacketSource::peek() {
    static_cast<void>(fill(buffer_.size()));
    return {buffer_.data(), end_};
}

PacketSource::Step PacketSource::next(std::string_view& packet) {
    const std::size_t held = end_ - begin_;
    if (held >= 2) [[likely]] {
        const char* const at = buffer_.data() + begin_;
        const auto length = static_cast<uint8_t>(at[1]);
        if (static_cast<uint8_t>(at[0]) == kPacketTag && length < 0x80 && held >= length + std::size_t{2}) {
            packet_offset_ = buffer_offset_ + begin_;
            packet = {at + 2, length};
            begin_ += length + std::size_t{2};
            return Step::kPacket;
        }
    }
    return next_slow(packet);
}

PacketSource::Step PacketSource::next_slow(std::string_view& packet) {
    packet_offset_ = buffer_offset_ + begin_;
    const bool has_head = fill(12);    // a tag and the longest length
    if (error_.code != Errc::kOk) return Step::kFailed;
    const std::size_t held = end_ - begin_;
    if (!has_head && held == 0) return Step::kEnd;
    if (static_cast<uint8_t>(buffer_[begin_]) != kPacketTag) return judge_bad_tag();
    uint64_t length = 0;
    std::size_t head = 1;
    for (unsigned shift = 0;; shift += 7) {
        if (head == held) return Step::kTorn;
        const auto byte = static_cast<uint8_t>(buffer_[begin_ + head++]);
        length |= static_cast<uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) break;
        if (shift == 63 || length > kMaxPacketBytes) {
            length = ~uint64_t{0};
            break;
        }
    }
    if (length > kMaxPacketBytes) {
        error_ = {Errc::kBadFormat, 0,
                  "'" + path_ + "' is damaged at byte " + std::to_string(packet_offset_) +
                      ": expected a packet of at most 64 MiB, found a longer one; record again"};
        return Step::kFailed;
    }
    if (!fill(head + length)) return error_.code == Errc::kOk ? Step::kTorn : Step::kFailed;
    packet = {buffer_.data() + begin_ + head, static_cast<std::size_t>(length)};
    begin_ += head + length;
    return Step::kPacket;
}

// Brings at least `wanted` bytes into the buffer, from `begin_` on. False where the file has not got them.
bool PacketSource::fill(std::size_t wanted) {
    if (end_ - begin_ >= wanted) return true;
    if (begin_ != 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        buffer_offset_ += begin_;
        end_ -= begin_;
        begin_ = 0;
    }
    while (end_ < wanted && !at_end_) {
        // Grown by what has really arrived, so that a wrong length at the end of a short file takes no memory.
        if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
        const ssize_t got = ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
        if (got > 0) {
            end_ += static_cast<std::size_t>(got);
        } else if (got == 0) {
            at_end_ = true;
        } else if (errno != EINTR) {
            error_ = open_error(path_, errno);
            return false;
        }
    }
    return end_ >= wanted;
}

// A crash of the whole machine can leave zeros where blocks were never written: that is a torn tail, not damage.
PacketSource::Step PacketSource::judge_bad_tag() {
    const uint64_t at = packet_offset_;
    const auto found = static_cast<uint8_t>(buffer_[begin_]);
    if (found == 0) {
        do {
            while (begin_ < end_ && buffer_[begin_] == 0) ++begin_;
        } while (begin_ == end_ && fill(1));
        if (error_.code != Errc::kOk) return Step::kFailed;
        if (begin_ == end_) return Step::kTorn;
    }
    char text[8];
    std::snprintf(text, sizeof text, "0x%02x", found);
    error_ = {Errc::kBadFormat, 0,
              "'" + path_ + "' is damaged at byte " + std::to_string(at) +
                  ": expected a trace packet (byte 0x0a), found " + text +
                  (at == 0 ? "; it is not a recording"
                           : "; record again, or cut the file off there to read what comes before")};
    return Step::kFailed;
}

}    // namespace lapwing::trace
