// Protocol buffer messages written into a growing string: the cold side of the trace writer.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/fields.hpp"

namespace lapwing::trace {

/// Appends `value` as a minimal varint.
inline void append_varint(std::string& out, uint64_t value) {
    for (; value > 0x7f; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
}

/// Appends the eight bytes of a double, lowest first.
inline void append_double(std::string& out, double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8) out += static_cast<char>(bits >> shift);
}

/// One message under construction. Fields appear in the order of the calls.
/// Cost:    cold: may allocate. protozero's writer is not used because its headers need exceptions.
class MessageWriter {
public:
    MessageWriter& varint(uint32_t field, uint64_t value) {
        append_varint(bytes_, tag(field, Wire::kVarint));
        append_varint(bytes_, value);
        return *this;
    }
    MessageWriter& fixed_double(uint32_t field, double value) {
        append_varint(bytes_, tag(field, Wire::kFixed64));
        append_double(bytes_, value);
        return *this;
    }
    MessageWriter& bytes(uint32_t field, std::string_view value) {
        append_varint(bytes_, tag(field, Wire::kBytes));
        append_varint(bytes_, value.size());
        bytes_ += value;
        return *this;
    }
    [[nodiscard]] const std::string& str() const noexcept { return bytes_; }

private:
    std::string bytes_;
};

}    // namespace lapwing::trace
