#include "lapwing/launch_trace.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace lapwing {
namespace {

std::string text_of_dimensions(const std::array<uint32_t, 3>& size) {
    return std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
}

std::string text_of_word(const LaunchWord& word) {
    if (word.is_buffer) return "buffer " + std::to_string(word.value);
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(word.value));
    return text;
}

}    // namespace

Status LaunchTrace::begin() {
    if (recording_) return Error{Errc::kInvalidArgument, 0, "a launch trace is being recorded: end() it first"};
    recording_ = true;
    now_ = {};
    buffers_.clear();
    return {};
}

void LaunchTrace::kernel(std::string_view name, const LaunchShape& shape, std::span<const LaunchWord> arguments) {
    if (!recording_) return;
    add({Kind::kKernel, std::string(name), shape, {arguments.begin(), arguments.end()}});
}

void LaunchTrace::memset(uint64_t address, uint64_t value, uint64_t bytes) {
    if (!recording_) return;
    add({Kind::kMemset, "memset", {}, {launch_buffer(address), launch_word(value), launch_word(bytes)}});
}

void LaunchTrace::copy_d2d(uint64_t to, uint64_t from, uint64_t bytes) {
    if (!recording_) return;
    add({Kind::kCopy, "copy", {}, {launch_buffer(to), launch_buffer(from), launch_word(bytes)}});
}

void LaunchTrace::add(Op op) {
    if (now_.ops.size() >= max_ops_) {
        ++now_.beyond;
        return;
    }
    for (LaunchWord& word : op.words)
        if (word.is_buffer) word.value = buffers_.try_emplace(word.value, buffers_.size()).first->second;
    now_.ops.push_back(std::move(op));
}

bool LaunchTrace::same(const Op& a, const Op& b) noexcept {
    return a.kind == b.kind && a.name == b.name && a.shape == b.shape &&
           std::equal(a.words.begin(), a.words.end(), b.words.begin(), b.words.end(),
                      [](const LaunchWord& x, const LaunchWord& y) {
                          return x.value == y.value && x.is_buffer == y.is_buffer;
                      });
}

std::string LaunchTrace::text_of(const Op& op) {
    std::string out = op.name;
    if (op.kind == Kind::kKernel) {
        out += "<<<" + text_of_dimensions(op.shape.grid) + ", " + text_of_dimensions(op.shape.block) + ", " +
               std::to_string(op.shape.shared_bytes) + ">>>";
    }
    out += "(";
    for (std::size_t i = 0; i < op.words.size(); ++i) out += (i == 0 ? "" : ", ") + text_of_word(op.words[i]);
    return out + ")";
}

Result<std::optional<LaunchDiff>> LaunchTrace::end(std::size_t max_differences) {
    if (!recording_) return Error{Errc::kInvalidArgument, 0, "no launch trace is being recorded: begin() one first"};
    recording_ = false;
    std::optional<Trace> before = std::exchange(before_, std::exchange(now_, Trace{}));
    if (!before) return std::optional<LaunchDiff>();
    const Trace& now = *before_;
    LaunchDiff diff;
    diff.ops_before = before->ops.size();
    diff.ops_now = now.ops.size();
    diff.beyond_before = before->beyond;
    diff.beyond_now = now.beyond;
    for (std::size_t i = 0; i < std::max(diff.ops_before, diff.ops_now); ++i) {
        const bool was = i < diff.ops_before;
        const bool is = i < diff.ops_now;
        if (was && is && same(before->ops[i], now.ops[i])) continue;
        ++diff.differing;
        if (diff.differences.size() < max_differences)
            diff.differences.push_back({i, was ? text_of(before->ops[i]) : "", is ? text_of(now.ops[i]) : ""});
    }
    return std::optional(std::move(diff));
}

std::string to_text(const LaunchDiff& diff) {
    std::string out = diff.same() ? "the same " + std::to_string(diff.ops_now) + " ops"
                                  : std::to_string(diff.differing) + " of " +
                                        std::to_string(std::max(diff.ops_before, diff.ops_now)) + " ops differ";
    if (diff.ops_before != diff.ops_now)
        out += "; " + std::to_string(diff.ops_before) + " ops before, " + std::to_string(diff.ops_now) + " now";
    if (diff.beyond_before + diff.beyond_now != 0)
        out += "; not compared, beyond the trace's capacity: " + std::to_string(diff.beyond_before) + " before, " +
               std::to_string(diff.beyond_now) + " now";
    out += '\n';
    for (const LaunchDifference& one : diff.differences) {
        out += "op " + std::to_string(one.index) + ": " + (one.before.empty() ? "none" : one.before) + " -> " +
               (one.now.empty() ? "none" : one.now) + '\n';
    }
    if (diff.differing > diff.differences.size())
        out += "and " + std::to_string(diff.differing - diff.differences.size()) + " more\n";
    return out;
}

}    // namespace lapwing
