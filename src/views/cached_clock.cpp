#include "lapwing/cached_clock.hpp"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

namespace lapwing {

struct CachedClock::Worker {
    std::atomic<int64_t>& nanos;
    std::chrono::nanoseconds period;
    std::mutex mutex;
    std::condition_variable wake;
    bool done = false;
    pthread_t thread{};

    Worker(std::atomic<int64_t>& nanos_in, int64_t period_ns) : nanos(nanos_in), period(period_ns) {}

    static void* run(void* self) {
        auto& worker = *static_cast<Worker*>(self);
        std::unique_lock lock(worker.mutex);
        while (!worker.done) {
            worker.nanos.store(host_now().value, std::memory_order_relaxed);
            worker.wake.wait_for(lock, worker.period);
        }
        return nullptr;
    }
};

CachedClock::CachedClock() = default;
CachedClock::~CachedClock() {
    stop();
}

Status CachedClock::start(int64_t period_ns) {
    if (period_ns < 10'000 || period_ns > 1'000'000'000)
        return Error{Errc::kInvalidArgument, 0,
                     "the period of a cached clock is " + std::to_string(period_ns) + " ns: use 10000 to 1000000000"};
    if (worker_ != nullptr) return {};
    auto worker = std::make_unique<Worker>(nanos_, period_ns);
    nanos_.store(host_now().value, std::memory_order_relaxed);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&worker->thread, nullptr, Worker::run, worker.get());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failed != 0) {
        nanos_.store(0, std::memory_order_relaxed);
        return Error{Errc::kExhausted, failed, "pthread_create refused a thread for the cached clock"};
    }
    pthread_setname_np(worker->thread, "lapwing-clock");
    worker_ = std::move(worker);
    return {};
}

void CachedClock::stop() noexcept {
    if (worker_ == nullptr) return;
    {
        const std::lock_guard lock(worker_->mutex);
        worker_->done = true;
    }
    worker_->wake.notify_all();
    pthread_join(worker_->thread, nullptr);
    worker_.reset();
    nanos_.store(0, std::memory_order_relaxed);
}

}    // namespace lapwing
