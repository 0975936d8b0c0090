#include "threads.hpp"

#include <time.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "loops.hpp"

namespace lapwing::bench {

namespace {

constexpr int kThreads[] = {1, 2, 4};
constexpr int kMostThreads = 4;
constexpr int kOps = 100'000;    // less than a thread's ring holds

double thread_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Threads that live as long as the measurement, so that rings and shards are theirs and warm.
class Crew {
public:
    Crew() {
        for (int i = 0; i < kMostThreads; ++i) threads_.emplace_back([this, i] { work(i); });
    }
    ~Crew() {
        loop_ = nullptr;
        begin_.arrive_and_wait();
        for (std::thread& thread : threads_) thread.join();
    }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    // ns of processor time an operation, of the median thread.
    double run(Loop loop, int threads) {
        loop_ = loop;
        active_ = threads;
        begin_.arrive_and_wait();
        end_.arrive_and_wait();
        return median({ns_, ns_ + threads});
    }

private:
    void work(int number) {
        for (;;) {
            begin_.arrive_and_wait();
            if (loop_ == nullptr) return;
            if (number < active_) {
                const double from = thread_ns();
                loop_(kOps);
                ns_[number] = (thread_ns() - from) / kOps;
            }
            end_.arrive_and_wait();
        }
    }

    Loop loop_ = nullptr;
    int active_ = 0;
    double ns_[kMostThreads] = {};
    std::barrier<> begin_{kMostThreads + 1};
    std::barrier<> end_{kMostThreads + 1};
    std::vector<std::thread> threads_;
};

}    // namespace

void print_threads(int rounds) {
    const char* const names[] = {"span/enabled", "brick/start_stop"};
    std::vector<double> own[2][std::size(kThreads)];
    std::vector<double> ratios[2][std::size(kThreads)];
    uint64_t dropped = 0;
    uint64_t bricks = 0;
    const uint64_t kept_before = bricks_kept();
    Crew crew;
    for (int round = -1; round < rounds; ++round) {    // the first is for first touches
        for (std::size_t i = 0; i < std::size(kThreads); ++i) {
            const double floor = crew.run(loop_two_ticks, kThreads[i]);
            for (std::size_t row = 0; row < std::size(names); ++row) {
                set_level_for(*find_row(names[row]));
                const double ns = crew.run(find_row(names[row])->loop, kThreads[i]);
                dropped += discard_spans();
                if (row == 1) bricks += static_cast<uint64_t>(kThreads[i]) * kOps;
                if (round < 0) continue;
                own[row][i].push_back(ns);
                ratios[row][i].push_back(ns / floor);
            }
        }
    }
    std::printf("\n%-22s %9s %9s %16s %16s\n", "on threads", "threads", "ns", "x two ticks", "x one thread's");
    for (std::size_t row = 0; row < std::size(names); ++row)
        for (std::size_t i = 0; i < std::size(kThreads); ++i)
            std::printf("%-22s %9d %9.2f %16.3f %16.3f\n", names[row], kThreads[i], median(own[row][i]),
                        median(ratios[row][i]), median(ratios[row][i]) / median(ratios[row][0]));
    std::printf("%d rounds of %d operations a thread; host spans dropped: %llu; bricks kept: %llu of %llu\n", rounds,
                kOps, static_cast<unsigned long long>(dropped),
                static_cast<unsigned long long>(bricks_kept() - kept_before), static_cast<unsigned long long>(bricks));
}

}    // namespace lapwing::bench
