#include "lapwing/loss.hpp"

namespace lapwing {

namespace {
constexpr std::array<const char*, kLossReasonCount> kReasonNames{
    "ring_full",   "capture",     "abandoned",         "zero_stamp",  "reversed",     "stale",    "implausible",
    "device_lost", "unsupported", "unreliable_driver", "overwritten", "driver_error", "unwritten"};
}    // namespace

const char* to_text(LossReason reason) noexcept {
    const auto index = static_cast<std::size_t>(reason);
    return index < kReasonNames.size() ? kReasonNames[index] : "unknown";
}

}    // namespace lapwing
