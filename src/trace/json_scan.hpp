// JSON in a buffer, without a tree: where strings, values and members end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace lapwing::trace::json {

/// Bytes behind the end of a scanned text that may be read; they are 0.
inline constexpr std::size_t kPadding = 64;
/// Objects and arrays that may stand inside each other within one event.
inline constexpr int kMaxDepth = 512;

/// A value as it stands in the buffer; of a string, what is between its quotes.
struct Text {
    const char* begin = nullptr;    // null: there was none, or null
    const char* end = nullptr;
    bool quoted = false;
    bool escaped = false;    // a string that holds escapes

    [[nodiscard]] bool there() const noexcept { return begin != nullptr; }
    [[nodiscard]] std::string_view view() const noexcept {
        return begin == nullptr ? std::string_view() : std::string_view(begin, static_cast<std::size_t>(end - begin));
    }
};

/// Steps through a text whose end is `end`, followed by kPadding zeros.
/// Shape:   each function takes a place in the text and returns the place behind what it read, or null: the text ends
///          before it does, or `bad` says where it is no JSON and `expected` what should be there.
struct Scan {
    const char* end = nullptr;
    const char* bad = nullptr;
    const char* expected = nullptr;

    const char* fail(const char* at, const char* what) noexcept {
        if (at < end) {
            bad = at;
            expected = what;
        }
        return nullptr;
    }

    static const char* blanks(const char* at) noexcept {
        while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t') ++at;
        return at;
    }

    /// From behind an opening quote to the closing one.
    const char* string_end(const char* at, bool& escaped) const noexcept;
    /// From an opening bracket to behind the closing one. What is inside is looked at no further than its nesting.
    const char* nested(const char* at);
    /// A value of any kind.
    const char* value(const char* at, Text& out);
    /// A member of an object from its key on: `"key": value`, and the comma behind it or not the closing bracket.
    const char* member(const char* at, Text& key, Text& out);
};

/// Calls `use(key, value)` for each member of the object in `text` that a Scan went over before.
template <class Use>
void for_each_member(Text text, Use use) {
    if (!text.there() || text.begin == text.end || *text.begin != '{') return;
    Scan scan{.end = text.end};
    for (const char* at = Scan::blanks(text.begin + 1); at != nullptr && at < text.end && *at == '"';) {
        Text key;
        Text value;
        at = scan.member(at, key, value);
        if (at == nullptr) return;
        use(key, value);
        at = Scan::blanks(at);
        if (*at == ',') at = Scan::blanks(at + 1);
    }
}

/// The same for the elements of an array.
template <class Use>
void for_each_element(Text text, Use use) {
    if (!text.there() || text.begin == text.end || *text.begin != '[') return;
    Scan scan{.end = text.end};
    for (const char* at = Scan::blanks(text.begin + 1); at != nullptr && at < text.end && *at != ']';) {
        Text value;
        at = scan.value(at, value);
        if (at == nullptr) return;
        use(value);
        at = Scan::blanks(at);
        if (*at == ',') at = Scan::blanks(at + 1);
    }
}

/// The characters that a string stands for. Bytes that are not UTF-8 stay as they are; half a surrogate pair becomes
/// U+FFFD, an escape that JSON does not know the character behind it.
[[nodiscard]] std::string unescape(std::string_view text);
[[nodiscard]] std::string text_of(const Text& text);

inline const char* Scan::string_end(const char* at, bool& escaped) const noexcept {
    escaped = false;
    for (;;) {
#if defined(__SSE2__)
        const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i hit =
            _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')), _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
        const auto mask = static_cast<uint32_t>(_mm_movemask_epi8(hit));
        if (mask == 0) {
            at += 16;
            if (at >= end) return nullptr;
            continue;
        }
        at += std::countr_zero(mask);
#else
        while (at < end && *at != '"' && *at != '\\') ++at;
#endif
        if (at >= end) return nullptr;
        if (*at == '"') return at;
        escaped = true;
        at += 2;
        if (at >= end) return nullptr;
    }
}

}    // namespace lapwing::trace::json
