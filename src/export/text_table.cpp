#include "export/text_table.hpp"

#include <algorithm>
#include <string_view>

#include "export/names.hpp"

namespace lapwing::detail {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kReadableName = 24;    // names shorter than this are never shortened to keep a column

std::size_t width_of(const TextColumn& column) {
    std::size_t width = column.header.size();
    for (const std::string& cell : column.cells) width = std::max(width, cell.size());
    return width;
}

// The columns that are shown: the ones that matter least give way while the names have no room.
std::vector<const TextColumn*> choose(const TextTable& table, std::size_t width, std::size_t wanted_name) {
    std::vector<const TextColumn*> chosen;
    for (const TextColumn& column : table.columns) chosen.push_back(&column);
    for (;;) {
        std::size_t used = wanted_name;
        for (const TextColumn* column : chosen) used += kGap + width_of(*column);
        if (used <= width) return chosen;
        const auto victim = std::max_element(
            chosen.begin(), chosen.end(), [](const TextColumn* a, const TextColumn* b) { return a->drop < b->drop; });
        if (victim == chosen.end() || (*victim)->drop == 0) return chosen;
        chosen.erase(victim);
    }
}

std::string line(const std::string& name, std::size_t name_width, const std::vector<std::string>& cells,
                 const std::vector<std::size_t>& widths) {
    std::string out = name;
    out.append(name_width - std::min(name_width, columns_of(name)), ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
        out.append(kGap + widths[i] - cells[i].size(), ' ');
        out += cells[i];
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
}

// Whether a unit or a percent sign follows the blank at `at`: a line must not break between a number and its unit.
bool starts_with_unit(const std::string& text, std::size_t at) {
    if (at == 0 || at + 1 >= text.size() || text[at - 1] < '0' || text[at - 1] > '9') return false;
    const std::size_t end = std::min(text.find_first_of(" ,;:)", at + 1), text.size());
    const std::string_view word = std::string_view{text}.substr(at + 1, end - at - 1);
    return word == "%" || word == "ns" || word == "us" || word == "ms" || word == "s";
}

}    // namespace

std::string render(const TextTable& table, std::size_t width, const char* bold, const char* plain) {
    std::size_t longest = table.header.size();
    for (const std::string& name : table.names) longest = std::max(longest, columns_of(printable(name)));
    const std::vector<const TextColumn*> columns = choose(table, width, std::min(longest, kReadableName));

    std::vector<std::size_t> widths;
    std::vector<std::string> headers;
    std::size_t used = 0;
    for (const TextColumn* column : columns) {
        widths.push_back(width_of(*column));
        headers.push_back(column->header);
        used += kGap + widths.back();
    }
    const std::size_t room = used + 12 < width ? width - used : 12;
    const std::size_t name_width = std::min(longest, room);
    const std::vector<std::string> names = fit_names(table.names, name_width);

    std::string out = bold + line(table.header, name_width, headers, widths) + plain + "\n";
    for (std::size_t row = 0; row < names.size(); ++row) {
        if (table.sums != 0 && row + table.sums == names.size()) out.append(name_width + used, '-').append("\n");
        std::vector<std::string> cells;
        for (const TextColumn* column : columns) cells.push_back(column->cells[row]);
        out += line(names[row], name_width, cells, widths) + "\n";
    }
    return out;
}

std::string wrap(const std::string& text, std::size_t width, std::size_t indent) {
    std::string out;
    std::size_t column = 0;
    const auto break_line = [&] {
        out.erase(out.find_last_not_of(' ') + 1);
        out += '\n';
        out.append(indent, ' ');
        column = indent;
    };
    std::size_t at = 0;
    while (at < text.size()) {
        std::size_t end = std::min(text.find(' ', at), text.size());
        if (starts_with_unit(text, end)) end = std::min(text.find(' ', end + 1), text.size());
        // Blanks that align a label belong to the word before them.
        const std::size_t next = std::min(text.find_first_not_of(' ', end), text.size());
        const std::size_t word = columns_of(std::string_view{text}.substr(at, end - at));
        if (column > indent && column + word > width) break_line();
        for (std::size_t i = at; i < end; ++i) {
            const bool starts_character = columns_of(std::string_view{text}.substr(i, 1)) == 1;
            if (starts_character && column >= width) break_line();    // a word wider than a whole line
            column += starts_character ? 1 : 0;
            out += text[i];
        }
        out.append(text, end, next - end);
        column += next - end;
        at = next;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + "\n";
}

}    // namespace lapwing::detail
