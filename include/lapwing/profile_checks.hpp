// Whether a decode profile can be right: what it must add up to, whatever the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lapwing {

/// What is known of a profile; what is absent is not checked.
struct ProfileFacts {
    std::optional<int64_t> profiled_ns;    ///< sum of what was timed, containers left out
    std::optional<int64_t> wall_ns;        ///< of the same steps
    std::optional<double> lm_head_mean_ns, norm_mean_ns;
    bool device_times = false;    ///< bricks have their own ends (device stamps, or a wait after each)
    std::optional<uint64_t> lm_head_count, tokens;
    std::optional<double> gemm_share;    ///< of profiled_ns, 0..1
};

struct ProfileFinding {
    const char* check;    ///< "coverage", "lm_head_ratio", "lm_head_count", "gemm_share"; static
    std::string text;     ///< what was found, what was expected and what it may mean; one line
};

/// The findings, none where nothing is wrong.
/// Shape:   coverage: profiled over wall in 85 % .. 100 % (above: overlap, or a window that differs); lm_head_ratio:
/// with
///          device times the LM head takes at least 10 times a norm; lm_head_count: once a token; gemm_share: at least
///          half of the time.
/// Source:  the runtime checks that realizar adds to its profiler. Rules of thumb for a dense decoder: a finding is a
///          question, not a proof.
/// Cost:    cold: allocates for findings.
[[nodiscard]] std::vector<ProfileFinding> check_profile(const ProfileFacts& facts);

}    // namespace lapwing
