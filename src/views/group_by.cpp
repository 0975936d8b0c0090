#include <array>

#include "lapwing/report.hpp"

namespace lapwing {
namespace {

struct Named {
    GroupBy by;
    const char* name;
};
constexpr std::array kNames{
    Named{GroupBy::kOp, "op"},       Named{GroupBy::kKernel, "kernel"},     Named{GroupBy::kLayer, "layer"},
    Named{GroupBy::kStep, "step"},   Named{GroupBy::kQueue, "queue"},       Named{GroupBy::kName, "name"},
    Named{GroupBy::kBrick, "brick"}, Named{GroupBy::kCategory, "category"}, Named{GroupBy::kFamily, "family"},
    Named{GroupBy::kPhase, "phase"}, Named{GroupBy::kLane, "lane"}};

}    // namespace

Result<GroupBy> parse_group_by(std::string_view text) {
    std::string accepted;
    for (const Named& entry : kNames) {
        if (text == entry.name) return entry.by;
        accepted += accepted.empty() ? "" : ", ";
        accepted += entry.name;
    }
    return Error{Errc::kInvalidArgument, 0, "cannot group by \"" + std::string{text} + "\": use one of " + accepted};
}

const char* to_text(GroupBy by) noexcept {
    for (const Named& entry : kNames) {
        if (by == entry.by) return entry.name;
    }
    return "op";
}

bool is_by_mark(GroupBy by) noexcept {
    return by == GroupBy::kBrick || by == GroupBy::kCategory || by == GroupBy::kFamily || by == GroupBy::kPhase ||
           by == GroupBy::kLane;
}

}    // namespace lapwing
