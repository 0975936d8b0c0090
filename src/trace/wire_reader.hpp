// A cursor over protocol buffer bytes that never reads past their end and never throws.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "trace/fields.hpp"

namespace lapwing::trace {

/// The double whose eight bytes begin at `at`, lowest first.
/// Shape:   at + 8 <= bytes.size().
[[nodiscard]] inline double double_at(std::string_view bytes, std::size_t at) noexcept {
    uint64_t bits = 0;
    for (std::size_t i = 8; i > 0; --i) bits = bits << 8 | static_cast<uint8_t>(bytes[at + i - 1]);
    return std::bit_cast<double>(bits);
}

/// Reads fields one after another. The first malformed byte makes every later call fail; `ok()` tells, once, at the
/// end.
/// Shape:   views returned by bytes() point into the message.
class MessageReader {
public:
    explicit MessageReader(std::string_view message) noexcept
        : next_(reinterpret_cast<const uint8_t*>(message.data())), end_(next_ + message.size()) {}

    /// Moves to the next field. False at the end of the message and after a malformed byte.
    [[nodiscard]] bool next() noexcept {
        if (next_ == end_ || failed_) return false;
        const uint64_t raw = varint();
        if (failed_ || raw > 0xffffffffu || raw >> 3 == 0) return fail();
        tag_ = static_cast<uint32_t>(raw);
        return true;
    }

    /// Field number and wire type of the current field, comparable with tag().
    [[nodiscard]] uint32_t tag_value() const noexcept { return tag_; }

    [[nodiscard]] uint64_t varint() noexcept {
        if (next_ != end_ && *next_ < 0x80) return *next_++;
        return long_varint();
    }
    [[nodiscard]] double fixed_double() noexcept {
        uint64_t bits = 0;
        if (!take(8)) return 0;
        for (int i = 8; i > 0; --i) bits = bits << 8 | next_[i - 9];
        return std::bit_cast<double>(bits);
    }
    [[nodiscard]] std::string_view bytes() noexcept {
        const uint64_t size = varint();
        if (!take(size)) return {};
        return {reinterpret_cast<const char*>(next_) - size, static_cast<std::size_t>(size)};
    }

    /// Passes over the value of the current field, whatever it is.
    void skip() noexcept {
        switch (static_cast<Wire>(tag_ & 7)) {
            case Wire::kVarint:
                static_cast<void>(varint());
                return;
            case Wire::kFixed64:
                take(8);
                return;
            case Wire::kBytes:
                static_cast<void>(bytes());
                return;
            case Wire::kFixed32:
                take(4);
                return;
        }
        fail();
    }

    [[nodiscard]] bool ok() const noexcept { return !failed_; }

private:
    bool fail() noexcept {
        failed_ = true;
        return false;
    }
    bool take(uint64_t size) noexcept {
        if (failed_ || size > static_cast<uint64_t>(end_ - next_)) return fail();
        next_ += size;
        return true;
    }
    // Up to ten bytes; bits beyond the 64th are refused, since two spellings of one number would hide damage.
    uint64_t long_varint() noexcept {
        uint64_t value = 0;
        for (unsigned shift = 0; shift < 64 && next_ != end_; shift += 7) {
            const uint64_t byte = *next_++;
            if (shift == 63 && byte > 1) break;
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
        fail();
        return 0;
    }

    const uint8_t* next_;
    const uint8_t* end_;
    uint32_t tag_ = 0;
    bool failed_ = false;
};

}    // namespace lapwing::trace
