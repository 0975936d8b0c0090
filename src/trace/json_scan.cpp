#include "trace/json_scan.hpp"

#include <array>

namespace lapwing::trace::json {

namespace {

// The next quote or bracket at or behind `at`; may lie behind `end`.
const char* next_mark(const char* at, const char* end) {
#if defined(__SSE2__)
    for (; at < end; at += 16) {
        const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i curly = _mm_or_si128(block, _mm_set1_epi8(0x20));    // [ and ] become { and }
        const __m128i hit = _mm_or_si128(
            _mm_cmpeq_epi8(block, _mm_set1_epi8('"')),
            _mm_or_si128(_mm_cmpeq_epi8(curly, _mm_set1_epi8('{')), _mm_cmpeq_epi8(curly, _mm_set1_epi8('}'))));
        const auto mask = static_cast<uint32_t>(_mm_movemask_epi8(hit));
        if (mask != 0) return at + std::countr_zero(mask);
    }
    return at;
#else
    while (at < end && *at != '"' && (*at | 0x20) != '{' && (*at | 0x20) != '}') ++at;
    return at;
#endif
}

int hex(char character) {
    if (character >= '0' && character <= '9') return character - '0';
    const char lower = static_cast<char>(character | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The number of `\uXXXX` at `at`, -1 where it is none.
int32_t unit_at(std::string_view text, std::size_t at) {
    if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return -1;
    int32_t value = 0;
    for (std::size_t i = at + 2; i < at + 6; ++i) {
        const int next = hex(text[i]);
        if (next < 0) return -1;
        value = value * 16 + next;
    }
    return value;
}

void append_utf8(std::string& out, uint32_t point) {
    const auto low = [](uint32_t bits) { return static_cast<char>(0x80 | (bits & 0x3f)); };
    if (point < 0x80) {
        out += static_cast<char>(point);
    } else if (point < 0x800) {
        out += static_cast<char>(0xc0 | point >> 6);
        out += low(point);
    } else if (point < 0x10000) {
        out += static_cast<char>(0xe0 | point >> 12);
        out += low(point >> 6);
        out += low(point);
    } else {
        out += static_cast<char>(0xf0 | point >> 18);
        out += low(point >> 12);
        out += low(point >> 6);
        out += low(point);
    }
}

}    // namespace

const char* Scan::nested(const char* at) {
    std::array<uint64_t, kMaxDepth / 64> arrays{};    // by depth: whether it is an array
    int depth = 0;
    for (;;) {
        at = next_mark(at, end);
        if (at >= end) return nullptr;
        const char mark = *at;
        if (mark == '"') {
            bool escaped = false;
            at = string_end(at + 1, escaped);
            if (at == nullptr) return nullptr;
            ++at;
            continue;
        }
        const bool array = mark == '[' || mark == ']';
        if (mark == '{' || mark == '[') {
            if (depth == kMaxDepth) return fail(at, "at most 512 objects and arrays inside each other");
            uint64_t& bits = arrays[static_cast<std::size_t>(depth) / 64];
            const uint64_t bit = uint64_t{1} << (depth % 64);
            bits = array ? bits | bit : bits & ~bit;
            ++depth;
        } else {
            --depth;
            const bool opened = (arrays[static_cast<std::size_t>(depth) / 64] >> (depth % 64) & 1) != 0;
            if (opened != array) return fail(at, opened ? "']'" : "'}'");
        }
        ++at;
        if (depth == 0) return at;
    }
}

const char* Scan::value(const char* at, Text& out) {
    out = {};
    if (*at == '"') {
        out.begin = at + 1;
        out.quoted = true;
        out.end = string_end(out.begin, out.escaped);
        return out.end == nullptr ? nullptr : out.end + 1;
    }
    if (*at == '{' || *at == '[') {
        out.begin = at;
        out.end = nested(at);
        return out.end;
    }
    const char* const from = at;
    while (static_cast<unsigned char>(*at) > ' ' && *at != ',' && *at != '}' && *at != ']' && *at != '"' &&
           *at != '{' && *at != '[' && *at != ':')
        ++at;
    if (at >= end) return nullptr;
    if (at == from) return fail(at, "a value");
    if (std::string_view(from, static_cast<std::size_t>(at - from)) == "null") return at;
    out.begin = from;
    out.end = at;
    return at;
}

const char* Scan::member(const char* at, Text& key, Text& out) {
    if (*at != '"') return fail(at, "a key in quotes");
    key = {at + 1, nullptr, true, false};
    key.end = string_end(key.begin, key.escaped);
    if (key.end == nullptr) return nullptr;
    at = blanks(key.end + 1);
    if (*at != ':') return fail(at, "':'");
    return value(blanks(at + 1), out);
}

std::string unescape(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        const int32_t unit = unit_at(text, i);
        ++i;
        switch (text[i]) {
            case 'n':
                out += '\n';
                break;
            case 't':
                out += '\t';
                break;
            case 'r':
                out += '\r';
                break;
            case 'b':
                out += '\b';
                break;
            case 'f':
                out += '\f';
                break;
            case 'u': {
                if (unit < 0) {
                    out += 'u';
                    break;
                }
                i += 4;
                auto point = static_cast<uint32_t>(unit);
                const int32_t low = point >= 0xd800 && point < 0xdc00 ? unit_at(text, i + 1) : -1;
                if (low >= 0xdc00 && low < 0xe000) {
                    point = 0x10000 + ((point - 0xd800) << 10) + (static_cast<uint32_t>(low) - 0xdc00);
                    i += 6;
                }
                append_utf8(out, point >= 0xd800 && point < 0xe000 ? 0xfffd : point);
                break;
            }
            default:
                out += text[i];
        }
    }
    return out;
}

std::string text_of(const Text& text) {
    return text.escaped ? unescape(text.view()) : std::string(text.view());
}

}    // namespace lapwing::trace::json
