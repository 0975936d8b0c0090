#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "export/headline.hpp"
#include "export/known.hpp"
#include "export/names.hpp"
#include "export/report_table.hpp"
#include "lapwing/report.hpp"

namespace lapwing {
namespace {

// A name as a code span, so that "*" and "_" stay themselves. Inside a table a bar must be escaped even in code
// (GitHub Flavored Markdown, 4.10), and a span is fenced with more backticks than it holds.
std::string code(const std::string& name) {
    std::string body;
    std::size_t longest = 0;
    std::size_t run = 0;
    for (const char c : detail::printable(name)) {
        run = c == '`' ? run + 1 : 0;
        longest = std::max(longest, run);
        if (c == '|') body += '\\';
        body += c;
    }
    const std::string fence(longest + 1, '`');
    const char* pad = longest != 0 || body.empty() ? " " : "";
    return fence + pad + body + pad + fence;
}

// Characters that Markdown would take as its own in running text.
std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (std::string_view{"\\`*_[]<>|#"}.find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

std::string sentence(const detail::LabelledLine& line) {
    if (line.label.empty()) return fmt::format("- {}\n", escaped(line.text));
    return fmt::format("- {} {}\n", line.label.back() == ':' ? line.label : line.label + ":", escaped(line.text));
}

}    // namespace

std::string to_markdown(const Report& report, std::size_t top) {
    std::string out;
    for (const detail::LabelledLine& line : detail::headline(report)) out += sentence(line);
    out += "\n";

    const detail::TextTable table = detail::report_table(report, detail::select_rows(report, top));
    if (!table.names.empty()) {
        out += "| " + table.header;
        std::string rule = "|---";
        for (const detail::TextColumn& column : table.columns) {
            out += " | " + column.header;
            rule += column.header == "kind" ? "|---" : "|---:";
        }
        out += " |\n" + rule + "|\n";
        for (std::size_t row = 0; row < table.names.size(); ++row) {
            const bool sum = row + table.sums >= table.names.size();
            out += "| " + (sum ? table.names[row] : code(table.names[row]));
            for (const detail::TextColumn& column : table.columns) out += " | " + escaped(column.cells[row]);
            out += " |\n";
        }
        out += "\n";
    }

    for (const detail::LabelledLine& line : detail::particulars(report)) out += sentence(line);
    for (const ReportNote& note : notes_of(report))
        out += fmt::format("- **{}:** {}\n", note.warning ? "warning" : "note", escaped(detail::printable(note.text)));
    return out;
}

}    // namespace lapwing
