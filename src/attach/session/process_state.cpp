#include "attach/session/process_state.hpp"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

namespace lapwing::attach {

std::atomic<bool> detail::g_live{false};

namespace {
constexpr int64_t kCloseDeadlineNs = 2'000'000'000;

// Never destroyed: hooks run on threads that outlive exit(), and static destructors would run under their feet.
std::mutex& state_mutex() noexcept {
    static auto* const mutex = new std::mutex;
    return *mutex;
}
Session* g_session = nullptr;
constinit std::atomic<const LayerIdentity*> g_layer{nullptr};

const LayerIdentity& this_layer() noexcept {
    static constexpr auto nothing = []() noexcept {};
    static constexpr LayerIdentity kNobody{"layer", "LAPWING_LAYER_DISABLE", nothing, nothing, nothing, nothing};
    const LayerIdentity* const identity = g_layer.load(std::memory_order_acquire);
    return identity == nullptr ? kNobody : *identity;
}
bool g_tried = false;
std::atomic<bool> g_forked{false};

void say(const std::string& problem) noexcept {
    std::fprintf(stderr, "lapwing: %s off: %s\n", this_layer().title, problem.c_str());
}

// Registered when the first device was created, so it runs before whatever the program and its driver registered
// earlier.
void at_exit() noexcept {
    if (g_forked.load(std::memory_order_relaxed)) return;
    if (!detail::g_live.exchange(false, std::memory_order_acq_rel)) return;
    this_layer().settle_at_exit();
    g_session->publish_stats(true);
    g_session->close(kCloseDeadlineNs);
}

// A child owns none of the parent's device handles, its writer thread or its file.
void before_fork() noexcept {
    this_layer().lock_for_fork();
}
void after_fork_in_parent() noexcept {
    this_layer().unlock_in_parent();
}
void after_fork_in_child() noexcept {
    g_forked.store(true, std::memory_order_relaxed);
    detail::g_live.store(false, std::memory_order_relaxed);
    this_layer().renew_locks_in_child();
}

Session* open_session() {
    const LayerConfig& config = process_config();
    if (!config.active()) return nullptr;
    Result<std::unique_ptr<Session>> session = Session::open(config);
    if (!session.ok()) {
        say(session.error().message);
        return nullptr;
    }
    // `lapwing run` expects other names and joins the files; where nobody does, whoever looks for the file must know.
    if (const std::string& path = session.value()->path(); path != config.out && config.file.run_id == 0)
        std::fprintf(stderr, "lapwing: %s is there already: recording to %s\n", config.out.c_str(), path.c_str());
    if (std::atexit(at_exit) != 0 || pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0) {
        say("the process has no room for exit handlers");
        session.value()->close(kCloseDeadlineNs);
        return nullptr;
    }
    return std::move(session).value().release();
}
}    // namespace

void identify_layer(const LayerIdentity& identity) noexcept {
    g_layer.store(&identity, std::memory_order_release);
}

const LayerConfig& process_config() {
    static const LayerConfig& config = *[] {
        auto* const read = new LayerConfig(
            read_config([](const char* name) -> const char* { return getenv(name); }, this_layer().disable_variable));
        if (!read->problem.empty()) say(read->problem);
        return read;
    }();
    return config;
}

Session* process_session() noexcept {
    if (g_forked.load(std::memory_order_relaxed)) return nullptr;
    const std::lock_guard lock(state_mutex());
    if (!g_tried) {
        g_tried = true;
        try {
            g_session = open_session();
        } catch (...) {
            g_session = nullptr;
        }
        if (g_session != nullptr) detail::g_live.store(true, std::memory_order_release);
    }
    return process_live() ? g_session : nullptr;
}

}    // namespace lapwing::attach
