#include "lapwing/profile_checks.hpp"

#include <cmath>

namespace lapwing {
namespace {

constexpr double kLeastCoverage = 0.85;
constexpr double kLeastHeadRatio = 10;
constexpr double kLeastGemmShare = 0.5;

std::string percent(double share) {
    return std::to_string(std::lround(share * 100)) + " %";
}

}    // namespace

std::vector<ProfileFinding> check_profile(const ProfileFacts& facts) {
    std::vector<ProfileFinding> out;
    if (facts.profiled_ns && facts.wall_ns && *facts.wall_ns > 0) {
        const double coverage = static_cast<double>(*facts.profiled_ns) / static_cast<double>(*facts.wall_ns);
        if (coverage < kLeastCoverage)
            out.push_back({"coverage", "only " + percent(coverage) +
                                           " of wall time was timed (85 % expected): work without a mark, or waits"});
        if (coverage > 1)
            out.push_back({"coverage", percent(coverage) +
                                           " of wall time was timed: spans overlap, or the two were not taken over the "
                                           "same steps"});
    }
    if (facts.device_times && facts.lm_head_mean_ns && facts.norm_mean_ns && *facts.norm_mean_ns > 0 &&
        *facts.lm_head_mean_ns < kLeastHeadRatio * *facts.norm_mean_ns)
        out.push_back({"lm_head_ratio", "the LM head takes " +
                                            std::to_string(*facts.lm_head_mean_ns / *facts.norm_mean_ns) +
                                            " times a norm (10 expected): the times may be those of launches"});
    if (facts.lm_head_count && facts.tokens && *facts.lm_head_count != *facts.tokens)
        out.push_back({"lm_head_count", "the LM head ran " + std::to_string(*facts.lm_head_count) + " times for " +
                                            std::to_string(*facts.tokens) +
                                            " tokens: samples are missing, or counted twice"});
    if (facts.gemm_share && *facts.gemm_share < kLeastGemmShare)
        out.push_back({"gemm_share", "matrix products take " + percent(*facts.gemm_share) +
                                         " of the time (50 % expected): the times may be those of launches"});
    return out;
}

}    // namespace lapwing
