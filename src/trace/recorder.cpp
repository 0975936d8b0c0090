#include "lapwing/recorder.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "trace/span_queue.hpp"

namespace lapwing {

namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// So many spans are worth waking the writer before its interval is over: with a lane's buffer of 256 KiB they make the
// 320 KiB that a kill may take.
constexpr std::size_t kWakeSpans = 1536;
constexpr nanoseconds kDestructorDeadline = std::chrono::seconds(5);
constexpr nanoseconds kForever = std::chrono::hours(24 * 365);

// Shared by the producers and the writer thread: outlives whichever gives up first.
struct State {
    explicit State(std::unique_ptr<SpanSink> to, const RecorderOptions& with) : sink(std::move(to)), options(with) {}

    std::mutex mutex;
    std::condition_variable work;           // the writer waits for spans, or for close
    std::condition_variable done;           // close waits for the writer
    trace::SpanQueue pending;               // guarded by mutex, like all below
    std::size_t in_flight = 0;              // spans that the writer took and has not written yet
    trace::SpanQueue::Counts waiting;       // steps and fingerprints, pending or in flight
    std::optional<RecordingStats> stats;    // not handed to the sink yet
    bool closing = false;
    bool finished = false;
    Status status;    // the sink's first error

    std::atomic<bool> abandoned{false};    // set when close gave up: the writer stops at the next block
    std::atomic<uint64_t> dropped{0};
    std::atomic<uint64_t> unwritten{0};
    std::atomic<uint64_t> dropped_steps{0};
    std::atomic<uint64_t> dropped_fingerprints{0};
    std::unique_ptr<SpanSink> sink;    // the writer thread's alone
    const RecorderOptions options;
};

class Writer {
public:
    explicit Writer(std::shared_ptr<State> state) : state_(std::move(state)) {}

    void run() {
        next_flush_ = steady_clock::now() + interval();
        for (bool closing = false; !closing;) {
            closing = take();
            feed();
            const bool due = closing || steady_clock::now() >= next_flush_;
            if (!due) continue;
            next_flush_ = steady_clock::now() + interval();
            flush(closing);
        }
        Status closed = state_->abandoned ? Status() : state_->sink->close();
        const std::lock_guard lock(state_->mutex);
        keep(std::move(closed));
        state_->finished = true;
        state_->done.notify_all();
    }

private:
    [[nodiscard]] nanoseconds interval() const { return nanoseconds(state_->options.flush_interval_ns); }

    // Waits until there is enough to do, or time to do it, and takes it. True when it is the last time.
    bool take() {
        std::unique_lock lock(state_->mutex);
        State& state = *state_;
        // What the sink holds back is due at the next flush, whether or not more comes.
        if (!unflushed_) state.work.wait(lock, [&] { return state.closing || !state.pending.empty() || state.stats; });
        state.work.wait_until(lock, next_flush_, [&] { return state.closing || state.pending.spans() >= kWakeSpans; });
        std::swap(batch_, state.pending);
        state.in_flight = batch_.spans();
        return state.closing;
    }

    void feed() {
        const std::size_t taken = batch_.spans();
        const trace::SpanQueue::Counts counted = batch_.counts();
        std::size_t fed = 0;
        Status status;
        if (ok_) status = batch_.feed(*state_->sink, fed, [&] { return state_->abandoned.load(); });
        unflushed_ = unflushed_ || !batch_.empty();
        batch_.clear();
        state_->unwritten += taken - fed;
        const std::lock_guard lock(state_->mutex);
        state_->in_flight = 0;
        state_->waiting.steps -= counted.steps;
        state_->waiting.fingerprints -= counted.fingerprints;
        keep(std::move(status));
    }

    void flush(bool closing) {
        std::optional<RecordingStats> stats;
        {
            const std::lock_guard lock(state_->mutex);
            stats.swap(state_->stats);
        }
        const bool unflushed = std::exchange(unflushed_, false);
        Status status;
        // The last ones reach a failed sink too: it may still have a place to say what became of the rest.
        if ((ok_ || closing) && stats && !state_->abandoned) status = state_->sink->stats(*stats);
        if (ok_ && status.ok() && unflushed && !state_->abandoned) status = state_->sink->flush();
        const std::lock_guard lock(state_->mutex);
        keep(std::move(status));
    }

    // Shape: with the mutex held.
    void keep(Status status) {
        if (status.ok()) return;
        ok_ = false;
        if (state_->status.ok()) state_->status = std::move(status);
    }

    std::shared_ptr<State> state_;
    trace::SpanQueue batch_;
    steady_clock::time_point next_flush_;
    bool unflushed_ = false;    // the sink took something after its last flush
    bool ok_ = true;
};

void* writer_main(void* argument) {
    const std::unique_ptr<std::shared_ptr<State>> state(static_cast<std::shared_ptr<State>*>(argument));
    ::pthread_setname_np(::pthread_self(), "lapwing-writer");
    Writer(*state).run();
    return nullptr;
}

class QueueRecorder final : public Recorder {
public:
    QueueRecorder(std::unique_ptr<SpanSink> sink, const RecorderOptions& options)
        : state_(std::make_shared<State>(std::move(sink), options)), owner_(::getpid()) {
        // The program's signal handlers must not run on our thread, and its own signals (SIGXFSZ, SIGPIPE) must not
        // end the program.
        sigset_t all;
        sigset_t before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        auto argument = std::make_unique<std::shared_ptr<State>>(state_);
        if (::pthread_create(&thread_, nullptr, writer_main, argument.get()) == 0) {
            static_cast<void>(argument.release());
            joinable_ = true;
        } else {
            state_->status =
                Error{Errc::kExhausted, 0,
                      "no thread could be started to write the recording: raise the limit of threads (ulimit -u)"};
            state_->finished = true;
        }
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    ~QueueRecorder() override {
        if (!forked()) {
            static_cast<void>(close_within(kDestructorDeadline.count()));
            return;
        }
        // The child has no writer thread, and the mutex may be held by a thread that is not there: leaked on purpose.
        static_cast<void>(new std::shared_ptr<State>(std::move(state_)));
    }

    QueueRecorder(const QueueRecorder&) = delete;
    QueueRecorder& operator=(const QueueRecorder&) = delete;

    Status process(const ProcessInfo& process) override { return add(process); }
    Status device(const DeviceInfo& device) override { return add(device); }
    Status track(const TrackInfo& track) override { return add(track); }
    Status site(SiteId id, const Site& site) override { return add(trace::SpanQueue::NamedSite{id, site}); }
    Status step(const StepRecord& step) override { return add(step, &Counts::steps, &State::dropped_steps); }
    Status fingerprint(const FingerprintRecord& record) override {
        return add(record, &Counts::fingerprints, &State::dropped_fingerprints);
    }

    Status spans(std::span<const SpanRecord> spans) override {
        if (forked()) return child_error();
        State& state = *state_;
        const std::lock_guard lock(state.mutex);
        if (Status status = refusal(); !status.ok()) {
            state.unwritten += spans.size();
            return status;
        }
        const std::size_t waiting = state.pending.spans() + state.in_flight;
        const std::size_t room = state.options.max_pending_spans - std::min(waiting, state.options.max_pending_spans);
        const std::size_t kept = std::min(room, spans.size());
        state.dropped += spans.size() - kept;
        const bool idle = state.pending.empty();
        const bool below = state.pending.spans() < kWakeSpans;
        state.pending.add(spans.first(kept));
        if (idle || (below && state.pending.spans() >= kWakeSpans)) state.work.notify_one();
        return {};
    }

    Status stats(const RecordingStats& stats) override {
        if (forked()) return child_error();
        const std::lock_guard lock(state_->mutex);
        if (state_->closing) return refusal();
        if (!state_->stats) state_->work.notify_one();
        state_->stats = stats;
        return state_->status;
    }

    Status close() override { return close_within(kForever.count()); }

    Status close_within(int64_t deadline_ns) override {
        if (forked()) return child_error();
        State& state = *state_;
        std::unique_lock lock(state.mutex);
        if (!std::exchange(state.closing, true)) state.work.notify_one();
        const auto patience = std::clamp(nanoseconds(deadline_ns), nanoseconds(0), kForever);
        // Given up once, given up for good: the destructor does not wait a second time.
        const bool finished = state.done.wait_until(lock, steady_clock::now() + patience, [&] {
            return state.finished || state.abandoned;
        }) && state.finished;
        if (!finished) {
            state.abandoned = true;
            state.done.notify_all();
            if (state.status.ok())
                state.status = Error{Errc::kUnwritable, 0,
                                     "the recording could not be finished in time: its disk is too slow or stuck; "
                                     "what is in the file can be read"};
        }
        Status status = state.status;
        const bool mine = std::exchange(joinable_, false);
        lock.unlock();
        if (mine && finished) ::pthread_join(thread_, nullptr);
        if (mine && !finished) ::pthread_detach(thread_);
        return status;
    }

    [[nodiscard]] uint64_t dropped() const noexcept override { return state_->dropped.load(std::memory_order_relaxed); }
    [[nodiscard]] uint64_t unwritten() const noexcept override {
        return state_->unwritten.load(std::memory_order_relaxed);
    }
    [[nodiscard]] uint64_t dropped_steps() const noexcept override {
        return state_->dropped_steps.load(std::memory_order_relaxed);
    }
    [[nodiscard]] uint64_t dropped_fingerprints() const noexcept override {
        return state_->dropped_fingerprints.load(std::memory_order_relaxed);
    }

private:
    using Counts = trace::SpanQueue::Counts;

    [[nodiscard]] bool forked() const noexcept { return ::getpid() != owner_; }

    [[nodiscard]] static Status child_error() {
        return Error{Errc::kUnsupported, 0, "a forked child does not record to its parent's file"};
    }

    // Shape: with the mutex held.
    [[nodiscard]] Status refusal() const {
        if (!state_->status.ok()) return state_->status;
        if (state_->closing) return Error{Errc::kUnwritable, 0, "the recording is closed"};
        return {};
    }

    // The tables that most of it comes from bound it. Steps and fingerprints go on as long as the program does: beyond
    // the limit of those of their kind they are dropped and counted.
    Status add(trace::SpanQueue::Event event, std::size_t Counts::*of_kind = nullptr,
               std::atomic<uint64_t> State::*dropped_of_kind = nullptr) {
        if (forked()) return child_error();
        State& state = *state_;
        const std::lock_guard lock(state.mutex);
        if (Status status = refusal(); !status.ok()) return status;
        if (of_kind != nullptr) {
            if (state.waiting.*of_kind >= state.options.max_pending_spans) {
                ++(state.*dropped_of_kind);
                return {};
            }
            ++(state.waiting.*of_kind);
        }
        const bool idle = state.pending.empty();
        state.pending.add(std::move(event));
        if (idle) state.work.notify_one();
        return {};
    }

    std::shared_ptr<State> state_;
    pid_t owner_;
    pthread_t thread_{};
    bool joinable_ = false;    // guarded by the state's mutex
};

}    // namespace

std::unique_ptr<Recorder> make_recorder(std::unique_ptr<SpanSink> sink, const RecorderOptions& options) {
    return std::make_unique<QueueRecorder>(std::move(sink), options);
}

}    // namespace lapwing
