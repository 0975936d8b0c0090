// How well an asynchronous task was polled.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "lapwing/clock.hpp"

namespace lapwing {

/// Counts the polls of one task: how often it was asked, and how often it was not ready.
/// Units:   ns of the host clock. Ratios are 0 before the first poll.
/// Threads: one at a time.
class AsyncTaskProfiler {
public:
    explicit AsyncTaskProfiler(std::string name) : name_(std::move(name)) {}

    /// Around each poll. An end without a begin is ignored.
    void poll_begin() noexcept {
        begin_ = tick();
        polling_ = true;
    }
    /// `ready`: the task gave its result; else it yielded.
    void poll_end(bool ready) noexcept {
        if (!polling_) return;
        polling_ = false;
        const int64_t ns = host_scale().to_ns(static_cast<int64_t>(tick().value - begin_.value));
        add_poll(ns > 0 ? static_cast<uint64_t>(ns) : 0, ready);
    }
    /// A poll that the caller timed.
    void add_poll(uint64_t ns, bool ready) noexcept {
        ++polls_;
        yields_ += ready ? 0 : 1;
        total_poll_ns_ += ns;
    }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] uint64_t poll_count() const noexcept { return polls_; }
    [[nodiscard]] uint64_t yield_count() const noexcept { return yields_; }
    [[nodiscard]] uint64_t total_poll_ns() const noexcept { return total_poll_ns_; }
    /// 1 / polls: 1 for a task that was ready when it was first asked.
    [[nodiscard]] double efficiency() const noexcept { return polls_ == 0 ? 0 : 1 / static_cast<double>(polls_); }
    /// Yields / polls.
    [[nodiscard]] double yield_ratio() const noexcept {
        return polls_ == 0 ? 0 : static_cast<double>(yields_) / static_cast<double>(polls_);
    }
    [[nodiscard]] double avg_poll_us() const noexcept {
        return polls_ == 0 ? 0 : static_cast<double>(total_poll_ns_) / static_cast<double>(polls_) / 1000;
    }

private:
    std::string name_;
    HostTicks begin_;
    bool polling_ = false;
    uint64_t polls_ = 0;
    uint64_t yields_ = 0;
    uint64_t total_poll_ns_ = 0;
};

}    // namespace lapwing
