#include "lapwing/statistics_json.hpp"

#include <nlohmann/json.hpp>

namespace lapwing {

std::string to_json(const SampleStatistics& statistics) {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    if (statistics.mean) out["mean"] = *statistics.mean;
    if (statistics.stddev) out["stddev"] = *statistics.stddev;
    if (statistics.ci95_half_width) out["ci95_hw"] = *statistics.ci95_half_width;
    return out.dump();
}

}    // namespace lapwing
