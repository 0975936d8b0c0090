#include <fmt/format.h>

#include <algorithm>

#include "export/figures.hpp"
#include "export/headline.hpp"
#include "export/known.hpp"
#include "export/names.hpp"
#include "export/report_table.hpp"
#include "export/text_table.hpp"
#include "lapwing/report.hpp"

namespace lapwing {
namespace {

constexpr std::size_t kMinWidth = 60;

struct Palette {
    const char* bold = "";
    const char* faint = "";
    const char* warning = "";
    const char* plain = "";
};
constexpr Palette kColours{"\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[0m"};

// Colour starts after the wrapping, so that it does not count as width, and ends before every line feed, so that a
// pager that shows a part of the text shows it rightly.
std::string painted(const std::string& lines, const char* colour, const char* plain) {
    if (*colour == '\0') return lines;
    std::string out = colour;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i] != '\n') {
            out += lines[i];
            continue;
        }
        out += plain;
        out += '\n';
        if (i + 1 < lines.size()) out += colour;
    }
    return out;
}

std::string source_line(const Report& report) {
    std::string out = detail::printable(report.file);
    const ProcessInfo& process = report.process;
    if (!process.command.empty()) out += (out.empty() ? "" : ": ") + detail::printable(process.command);
    std::string facts;
    if (process.pid != 0) facts += fmt::format("pid {}", process.pid);
    if (!process.level.empty())
        facts += fmt::format("{}level {}", facts.empty() ? "" : ", ", detail::printable(process.level));
    if (!report.other_processes.empty()) {
        facts += fmt::format("{}and {}: pid", facts.empty() ? "" : ", ",
                             detail::counted(report.other_processes.size(), "other process", "other processes"));
        const std::size_t shown = std::min<std::size_t>(report.other_processes.size(), 4);
        for (std::size_t i = 0; i < shown; ++i)
            facts += fmt::format("{} {}", i == 0 ? "" : ",", report.other_processes[i].pid);
        if (shown < report.other_processes.size()) facts += ", ...";
    }
    if (process.every > 1) facts += fmt::format("{}one step in {}", facts.empty() ? "" : ", ", process.every);
    if (!facts.empty()) out += fmt::format("{}({})", out.empty() ? "" : " ", facts);
    return out;
}

std::string labelled(const std::vector<detail::LabelledLine>& lines, std::size_t width, const char* first_colour,
                     const char* plain) {
    std::size_t label_width = 0;
    for (const detail::LabelledLine& line : lines) label_width = std::max(label_width, line.label.size());
    std::string out;
    for (const detail::LabelledLine& line : lines) {
        const std::string text = fmt::format("{:{}} {}", line.label, label_width, line.text);
        const std::string wrapped = detail::wrap(text, width, label_width + 1);
        out += out.empty() ? painted(wrapped, first_colour, plain) : wrapped;
    }
    return out;
}

}    // namespace

std::string to_text(const Report& report, const TextOptions& options) {
    const std::size_t width = std::max(options.width, kMinWidth);
    const Palette palette = options.colour ? kColours : Palette{};

    std::string out;
    if (const std::string source = source_line(report); !source.empty())
        out += painted(detail::wrap(source, width, 4), palette.faint, palette.plain) + "\n";
    out += labelled(detail::headline(report), width, palette.bold, palette.plain) + "\n";
    if (!report.rows.empty()) {
        const detail::TextTable table = detail::report_table(report, detail::select_rows(report, options.top));
        out += detail::render(table, width, palette.bold, palette.plain) + "\n";
    }
    out += labelled(detail::particulars(report), width, "", palette.plain);

    const std::vector<ReportNote> notes = notes_of(report);
    if (!notes.empty()) out += "\n";
    for (const ReportNote& note : notes) {
        const std::string text = (note.warning ? "warning: " : "note: ") + detail::printable(note.text);
        out += painted(detail::wrap(text, width, 4), note.warning ? palette.warning : "", palette.plain);
    }
    return out;
}

}    // namespace lapwing
