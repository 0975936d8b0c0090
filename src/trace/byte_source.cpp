#include "trace/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "trace/open_error.hpp"

namespace lapwing::trace {

namespace {
constexpr std::size_t kRawBytes = 64 * 1024;
constexpr int kGzipOnly = 15 + 16;    // zlib's window bits: the largest window, and a gzip head is asked for
}    // namespace

// libdeflate unpacks whole buffers only; zlib unpacks a stream of any size in a window of 32 KiB.
struct ByteSource::Inflater {
    z_stream stream{};
    bool ready = false;
    bool member_ended = false;
    uint64_t members = 0;    // that ended
    Inflater() { ready = ::inflateInit2(&stream, kGzipOnly) == Z_OK; }
    ~Inflater() {
        if (ready) ::inflateEnd(&stream);
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
};

ByteSource::ByteSource(std::string name, int fd) : name_(std::move(name)), fd_(fd), raw_(new char[kRawBytes]) {}

ByteSource::ByteSource(ByteSource&& other) noexcept {
    *this = std::move(other);
}

ByteSource& ByteSource::operator=(ByteSource&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(fd_, other.fd_);
    std::swap(raw_, other.raw_);
    std::swap(begin_, other.begin_);
    std::swap(end_, other.end_);
    std::swap(inflater_, other.inflater_);
    std::swap(cut_off_, other.cut_off_);
    std::swap(error_, other.error_);
    return *this;
}

ByteSource::~ByteSource() {
    if (fd_ >= 0) ::close(fd_);
}

Result<ByteSource> ByteSource::open(const std::string& path) {
    const bool input = path == "-";
    const int fd =
        input ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return open_error(input ? "standard input" : path, errno);
    ByteSource source(input ? "standard input" : path, fd);
    struct stat info {};
    if (::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) return open_error(source.name_, EISDIR);
    // A pipe gives what it has: two bytes are needed to know gzip, some more to know the rest.
    while (source.end_ < 512) {
        const std::size_t got = source.fill();
        if (source.error_.code != Errc::kOk) return source.error_;
        if (got == 0) break;
    }
    if (source.head().starts_with("\x1f\x8b")) {
        source.inflater_ = std::make_unique<Inflater>();
        if (!source.inflater_->ready) return Error{Errc::kExhausted, 0, "no memory to unpack '" + source.name_ + "'"};
    }
    return source;
}

std::string_view ByteSource::head() const noexcept {
    return {raw_.get() + begin_, end_ - begin_};
}

int ByteSource::release() noexcept {
    return std::exchange(fd_, -1);
}

// Appends to what `raw_` holds. 0 at the end of the file and on failure.
std::size_t ByteSource::fill() {
    if (begin_ == end_) begin_ = end_ = 0;
    for (;;) {
        const ssize_t got = ::read(fd_, raw_.get() + end_, kRawBytes - end_);
        if (got >= 0) {
            end_ += static_cast<std::size_t>(got);
            return static_cast<std::size_t>(got);
        }
        if (errno == EINTR) continue;
        error_ = open_error(name_, errno);
        return 0;
    }
}

std::size_t ByteSource::read(char* out, std::size_t size) {
    if (error_.code != Errc::kOk || size == 0) return 0;
    if (inflater_ != nullptr) return inflate(out, size);
    if (begin_ < end_) {
        const std::size_t held = std::min(size, end_ - begin_);
        std::memcpy(out, raw_.get() + begin_, held);
        begin_ += held;
        return held;
    }
    for (;;) {
        const ssize_t got = ::read(fd_, out, size);
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno == EINTR) continue;
        error_ = open_error(name_, errno);
        return 0;
    }
}

std::size_t ByteSource::inflate(char* out, std::size_t size) {
    z_stream& stream = inflater_->stream;
    stream.next_out = reinterpret_cast<Bytef*>(out);
    stream.avail_out = static_cast<uInt>(std::min<std::size_t>(size, 1u << 30));
    const uInt asked = stream.avail_out;
    while (stream.avail_out == asked) {
        if (begin_ == end_ && fill() == 0) {
            if (error_.code == Errc::kOk && !inflater_->member_ended) cut_off_ = true;
            return 0;
        }
        if (inflater_->member_ended) {
            if (raw_[begin_] == '\0') {    // padding that tapes and disk images leave behind
                ++begin_;
                continue;
            }
            ::inflateReset(&stream);
            inflater_->member_ended = false;
        }
        stream.next_in = reinterpret_cast<Bytef*>(raw_.get() + begin_);
        stream.avail_in = static_cast<uInt>(end_ - begin_);
        const int result = ::inflate(&stream, Z_NO_FLUSH);
        begin_ = end_ - stream.avail_in;
        if (result == Z_STREAM_END) {
            inflater_->member_ended = true;
            ++inflater_->members;
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            std::string text = "'" + name_ + "' is damaged: its gzip stream cannot be unpacked";
            if (stream.msg != nullptr) (text += ": ") += stream.msg;
            text += inflater_->members == 0 ? "; get it again from where it came from"
                                            : "; something that is no gzip follows its end";
            error_ = {Errc::kBadFormat, result, std::move(text)};
            break;
        }
    }
    return asked - stream.avail_out;
}

}    // namespace lapwing::trace
