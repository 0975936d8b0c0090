#include "trace/json_text.hpp"

#include <algorithm>
#include <cstdint>

#include "trace/utf8.hpp"

namespace lapwing::trace {

namespace {

void append_escaped(std::string& out, char character) {
    constexpr char kDigits[] = "0123456789abcdef";
    switch (character) {
        case '"':
        case '\\':
            (out += '\\') += character;
            return;
        case '\n':
            out += "\\n";
            return;
        case '\r':
            out += "\\r";
            return;
        case '\t':
            out += "\\t";
            return;
        default:
            out += "\\u00";
            out += kDigits[static_cast<uint8_t>(character) >> 4];
            out += kDigits[static_cast<uint8_t>(character) & 15];
    }
}

bool needs_escape(char character) {
    return character == '"' || character == '\\' || static_cast<uint8_t>(character) < 0x20;
}

void append_valid(std::string& out, std::string_view text) {
    out += '"';
    for (auto from = text.begin(); from != text.end();) {
        const auto stop = std::find_if(from, text.end(), needs_escape);
        out.append(from, stop);
        from = stop;
        if (from != text.end()) append_escaped(out, *from++);
    }
    out += '"';
}

}    // namespace

void append_json_string(std::string& out, std::string_view text) {
    const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; });
    if (ascii)
        append_valid(out, text);
    else
        append_valid(out, to_valid_utf8(text));
}

}    // namespace lapwing::trace
