#include "trace/utf8.hpp"

#include <cstddef>
#include <cstdint>

namespace lapwing::trace {

namespace {

struct Scan {
    std::size_t length = 1;    // bytes of the sequence, or of its longest valid beginning
    bool valid = false;
};

// Table 3-7 of the Unicode standard: the range of the second byte depends on the first.
Scan scan(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<uint8_t>(text[i]); };
    const uint8_t first = byte(at);
    if (first < 0x80) return {1, true};
    if (first < 0xc2 || first > 0xf4) return {1, false};
    const std::size_t need = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint8_t low = 0x80;
    uint8_t high = 0xbf;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;    // surrogates
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;    // above U+10FFFF
    for (std::size_t i = 1; i < need; ++i) {
        if (at + i == text.size() || byte(at + i) < low || byte(at + i) > high) return {i, false};
        low = 0x80;
        high = 0xbf;
    }
    return {need, true};
}

}    // namespace

std::string to_valid_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const Scan found = scan(text, at);
        if (found.valid)
            out += text.substr(at, found.length);
        else
            out += "\xef\xbf\xbd";
        at += found.length;
    }
    return out;
}

}    // namespace lapwing::trace
