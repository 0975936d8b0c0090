#include "attach/session/host_track.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

namespace lapwing::attach {

namespace {
constexpr int64_t kPollPauseNs = 100'000'000;
// Programs look at fences that were signalled long ago; a status that came at once is no wait.
constexpr int64_t kShortStatusNs = 10'000;

// Trivially destructible on purpose: thread-exit destructors of a layer would run in the program's teardown.
struct HostThread {
    const Session* session = nullptr;
    TrackId track = 0;
    HostCall polled = HostCall::kFenceStatus;
    int64_t polling_since_ns = 0;    // 0 = not polling
    int64_t last_poll_ns = 0;
};
thread_local HostThread t_thread;

std::string thread_name() {
    char name[16] = "";
    if (pthread_getname_np(pthread_self(), name, sizeof name) != 0) name[0] = '\0';
    const std::string tid = std::to_string(syscall(SYS_gettid));
    return name[0] == '\0' ? "thread " + tid : std::string(name) + " " + tid;
}

TrackId track_of_this_thread(Session& session) {
    if (t_thread.session != &session) {
        t_thread.track = session.add_track(TrackKind::kHostThread, 0, thread_name());
        t_thread.session = &session;
    }
    return t_thread.track;
}

void write(Session& session, HostCall call, bool polled, int64_t begin_ns, int64_t end_ns) noexcept {
    try {
        const TrackId track = track_of_this_thread(session);
        if (track != 0) session.host_span(track, call, polled, begin_ns, end_ns);
    } catch (...) {
        Counters::add(session.counters().faults);
    }
}

void end_polling(Session& session) noexcept {
    if (t_thread.polling_since_ns == 0) return;
    const int64_t since_ns = t_thread.polling_since_ns;
    t_thread.polling_since_ns = 0;
    write(session, t_thread.polled, true, since_ns, t_thread.last_poll_ns);
}

bool goes_on(HostCall call, int64_t begin_ns) noexcept {
    return t_thread.polling_since_ns != 0 && t_thread.polled == call &&
           begin_ns - t_thread.last_poll_ns <= kPollPauseNs;
}

bool is_status(HostCall call) noexcept {
    return call == HostCall::kFenceStatus || call == HostCall::kSemaphoreValue || call == HostCall::kEventStatus;
}
}    // namespace

void record_host_call(Session& session, HostCall call, int64_t begin_ns, int64_t end_ns) noexcept {
    if (goes_on(call, begin_ns)) {
        t_thread.last_poll_ns = end_ns;
        end_polling(session);
        return;
    }
    end_polling(session);
    if (is_status(call) && end_ns - begin_ns < kShortStatusNs) return;
    write(session, call, false, begin_ns, end_ns);
}

void note_poll(Session& session, HostCall call, int64_t begin_ns, int64_t end_ns) noexcept {
    if (!goes_on(call, begin_ns)) {
        end_polling(session);
        t_thread.polled = call;
        t_thread.polling_since_ns = begin_ns;
    }
    t_thread.last_poll_ns = end_ns;
}

}    // namespace lapwing::attach
