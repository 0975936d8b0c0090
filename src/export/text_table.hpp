// A table of text columns that fits a width.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lapwing::detail {

struct TextColumn {
    std::string header;
    int drop = 0;                      ///< 0 = always shown; else columns with the larger number give way first
    std::vector<std::string> cells;    ///< as many as there are names; ASCII
};

struct TextTable {
    std::string header;    ///< of the names
    std::vector<std::string> names;
    std::vector<TextColumn> columns;    ///< right-aligned
    std::size_t sums = 0;               ///< how many of the last rows are sums, set apart by a rule
};

/// The table's lines, each with a line feed and without trailing blanks, none wider than `width`.
/// Shape:   columns give way until a readable part of the names fits; then names are shortened (fit_names()).
///          width >= 60. `bold` and `plain` surround the header line.
[[nodiscard]] std::string render(const TextTable& table, std::size_t width, const char* bold, const char* plain);

/// `text` in lines of at most `width` columns, broken at blanks; all but the first are indented.
[[nodiscard]] std::string wrap(const std::string& text, std::size_t width, std::size_t indent);

}    // namespace lapwing::detail
