#include "lapwing/report.hpp"

namespace lapwing {

std::vector<ReportNote> notes_of(const Report& report) {
    std::vector<ReportNote> notes;
    if (report.source.torn) notes.push_back({true, "the file ends inside a packet; everything before it was read"});
    return notes;
}

}    // namespace lapwing
