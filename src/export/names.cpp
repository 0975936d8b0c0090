#include "export/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace lapwing::detail {
namespace {

bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 where there is none (Unicode 15, table 3-7).
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
        return byte(i) >= low && byte(i) <= high;
    };
    if (lead >= 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
    if (lead >= 0xe0 && lead <= 0xef) {
        const unsigned low = lead == 0xe0 ? 0xa0 : 0x80;
        const unsigned high = lead == 0xed ? 0x9f : 0xbf;
        return follows(1, low, high) && follows(2) ? 3 : 0;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        const unsigned low = lead == 0xf0 ? 0x90 : 0x80;
        const unsigned high = lead == 0xf4 ? 0x8f : 0xbf;
        return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

// Controls of ASCII and of Latin-1 (C1, which some terminals obey), and the marks that turn the writing direction.
bool is_obeyed(std::string_view sequence) {
    const auto lead = static_cast<unsigned char>(sequence[0]);
    if (sequence.size() == 1) return lead < 0x20 || lead == 0x7f;
    if (sequence.size() == 2) return lead == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0;
    if (sequence.size() != 3 || lead != 0xe2) return false;
    const auto second = static_cast<unsigned char>(sequence[1]);
    const auto third = static_cast<unsigned char>(sequence[2]);
    return (second == 0x80 && third >= 0xa8 && third <= 0xae) || (second == 0x81 && third >= 0xa6 && third <= 0xa9);
}

// The first or last `count` code points.
std::string_view head(std::string_view text, std::size_t count) {
    std::size_t at = 0;
    while (at < text.size() && (count != 0 || is_continuation(text[at]))) {
        if (!is_continuation(text[at])) --count;
        ++at;
    }
    return text.substr(0, at);
}

std::string_view tail(std::string_view text, std::size_t count) {
    std::size_t at = text.size();
    while (at != 0 && count != 0) {
        --at;
        if (!is_continuation(text[at])) --count;
    }
    return text.substr(at);
}

std::string cut(std::string_view name, std::size_t width, std::size_t head_columns, std::string_view mark) {
    std::string out{head(name, head_columns)};
    out += mark;
    out += tail(name, width - head_columns - mark.size());
    return out;
}

// Finds short forms for names that became alike. `taken` holds all names printed so far.
void tell_apart(const std::vector<std::string>& full, const std::vector<std::size_t>& alike, std::size_t width,
                std::set<std::string>& taken, std::vector<std::string>& out) {
    for (std::size_t head_columns = width - 3; head_columns >= 1; --head_columns) {
        std::set<std::string> tried;
        for (const std::size_t i : alike) {
            std::string name = cut(full[i], width, head_columns, "..");
            if (taken.count(name) == 0) tried.insert(std::move(name));
        }
        if (tried.size() != alike.size()) continue;
        for (const std::size_t i : alike) taken.insert(out[i] = cut(full[i], width, head_columns, ".."));
        return;
    }
    std::size_t number = 0;
    for (const std::size_t i : alike) {
        do {
            const std::string mark = fmt::format("~{}~", ++number);
            out[i] = cut(full[i], width, (width - mark.size() + 1) / 2, mark);
        } while (!taken.insert(out[i]).second);
    }
}

}    // namespace

std::string printable(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
        if (length != 0 && !is_obeyed(sequence)) {
            out += sequence;
        } else {
            for (const char c : sequence) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
        text.remove_prefix(sequence.size());
    }
    return out;
}

std::size_t columns_of(std::string_view text) noexcept {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::vector<std::string> fit_names(const std::vector<std::string>& names, std::size_t width) {
    std::vector<std::string> full;
    full.reserve(names.size());
    for (const std::string& name : names) full.push_back(printable(name));

    std::vector<std::string> out(full.size());
    std::set<std::string> taken;
    std::map<std::string, std::vector<std::size_t>> by_short_form;
    for (std::size_t i = 0; i < full.size(); ++i) {
        if (columns_of(full[i]) <= width) {
            taken.insert(out[i] = full[i]);
        } else {
            by_short_form[cut(full[i], width, (width - 1) / 2, "..")].push_back(i);
        }
    }
    // Forms without a rival are settled first, so that those which must be told apart avoid them.
    for (const auto& [name, users] : by_short_form) {
        if (users.size() == 1 && taken.count(name) == 0) taken.insert(out[users.front()] = name);
    }
    for (const auto& [name, users] : by_short_form) {
        if (out[users.front()].empty()) tell_apart(full, users, width, taken, out);
    }
    return out;
}

}    // namespace lapwing::detail
