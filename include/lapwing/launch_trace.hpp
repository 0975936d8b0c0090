// What a stretch of a program launches, op by op, compared with the time before: does a decode step do the same twice?
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lapwing/result.hpp"

namespace lapwing {

/// One argument of a launch.
struct LaunchWord {
    uint64_t value = 0;
    bool is_buffer = false;    ///< `value` is a device address: compared by which buffer it is, not by its number
};
[[nodiscard]] constexpr LaunchWord launch_word(uint64_t value) noexcept {
    return {value, false};
}
[[nodiscard]] constexpr LaunchWord launch_buffer(uint64_t address) noexcept {
    return {address, true};
}

/// What a kernel was launched with.
struct LaunchShape {
    std::array<uint32_t, 3> grid{};
    std::array<uint32_t, 3> block{};
    uint32_t shared_bytes = 0;
    friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

/// One op that is not what it was.
struct LaunchDifference {
    std::size_t index = 0;    ///< from 0
    std::string before;       ///< the op as text; empty where there was none
    std::string now;          ///< the same; empty where there is none any more
};

/// How a trace differs from the one before.
struct LaunchDiff {
    std::size_t ops_before = 0;
    std::size_t ops_now = 0;
    std::size_t differing = 0;                    ///< ops that differ, those that only one side has included
    std::vector<LaunchDifference> differences;    ///< the first of them, as many as asked for
    uint64_t beyond_before = 0;                   ///< ops that found their trace full: not compared
    uint64_t beyond_now = 0;
    [[nodiscard]] bool same() const noexcept {
        return differing == 0 && ops_before == ops_now && beyond_before == beyond_now;
    }
};

/// "3 of 120 ops differ" and one line a difference.
[[nodiscard]] std::string to_text(const LaunchDiff& diff);

/// Records the ops between begin() and end() and compares them with those of the time before.
///
/// Kernels are told apart by name, and buffers by the order in which they first appear in their trace ("buffer 3"), so
/// that addresses that an allocator gives out anew are no difference, and swapped ones are.
///
/// Shape:   at most `max_ops` ops a trace; further ones are counted and not compared.
/// Cost:    outside begin/end a branch; inside a copy of the op, which allocates: for finding out, not for serving.
/// Threads: one at a time.
class LaunchTrace {
public:
    explicit LaunchTrace(std::size_t max_ops = 65536) : max_ops_(max_ops) {}

    /// Errors:  kInvalidArgument where a trace is being recorded: end() it first.
    Status begin();
    [[nodiscard]] bool recording() const noexcept { return recording_; }

    void kernel(std::string_view name, const LaunchShape& shape, std::span<const LaunchWord> arguments = {});
    /// Units:   bytes; `value` is the pattern.
    void memset(uint64_t address, uint64_t value, uint64_t bytes);
    void copy_d2d(uint64_t to, uint64_t from, uint64_t bytes);

    /// Ends the trace and compares it with the previous one, which it replaces.
    /// Returns: nothing for the first trace.
    /// Errors:  kInvalidArgument where no trace is being recorded: begin() one first.
    [[nodiscard]] Result<std::optional<LaunchDiff>> end(std::size_t max_differences = 20);

private:
    enum class Kind : uint8_t { kKernel, kMemset, kCopy };
    struct Op {
        Kind kind = Kind::kKernel;
        std::string name;
        LaunchShape shape;
        std::vector<LaunchWord> words;    // buffers by their number
    };
    struct Trace {
        std::vector<Op> ops;
        uint64_t beyond = 0;
    };

    void add(Op op);
    [[nodiscard]] static bool same(const Op& a, const Op& b) noexcept;
    [[nodiscard]] static std::string text_of(const Op& op);

    std::size_t max_ops_;
    bool recording_ = false;
    Trace now_;
    std::optional<Trace> before_;
    std::unordered_map<uint64_t, uint64_t> buffers_;    // address -> number in this trace
};

}    // namespace lapwing
