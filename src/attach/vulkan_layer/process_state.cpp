#include "attach/vulkan_layer/process_state.hpp"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "attach/vulkan_layer/registry.hpp"

namespace lapwing::vulkan_layer {

std::atomic<bool> detail::g_live{false};

namespace {
constexpr int64_t kCloseDeadlineNs = 2'000'000'000;

// Never destroyed: hooks run on threads that outlive exit(), and static destructors would run under their feet.
std::mutex& state_mutex() noexcept {
    static auto* const mutex = new std::mutex;
    return *mutex;
}
Session* g_session = nullptr;
bool g_tried = false;
std::atomic<bool> g_forked{false};

void say(const std::string& problem) noexcept {
    std::fprintf(stderr, "lapwing: Vulkan layer off: %s\n", problem.c_str());
}

// Registered when the first device was created, so it runs before whatever the program and its driver registered
// earlier. The device may be gone in all but name: no Vulkan call is made from here.
void at_exit() noexcept {
    if (g_forked.load(std::memory_order_relaxed)) return;
    if (!detail::g_live.exchange(false, std::memory_order_acq_rel)) return;
    registry().each_device([](Device& device) { device.queues().abandon_at_exit(); });
    g_session->publish_stats(true);
    g_session->close(kCloseDeadlineNs);
}

// A child owns none of the parent's device handles, its writer thread or its file. Locks that a hook needs before it
// sees that it is off are taken across the fork, so that the child finds them free.
void before_fork() noexcept {
    registry().lock_for_fork();
}
void after_fork_in_parent() noexcept {
    registry().unlock_in_parent();
}
void after_fork_in_child() noexcept {
    g_forked.store(true, std::memory_order_relaxed);
    detail::g_live.store(false, std::memory_order_relaxed);
    registry().renew_lock_in_child();
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
    static_cast<void>(registry());
    if (std::atexit(at_exit) != 0 || pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0) {
        say("the process has no room for exit handlers");
        session.value()->close(kCloseDeadlineNs);
        return nullptr;
    }
    return std::move(session).value().release();
}
}    // namespace

const LayerConfig& process_config() {
    static const LayerConfig& config = *[] {
        auto* const read = new LayerConfig(read_config([](const char* name) -> const char* { return getenv(name); }));
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

}    // namespace lapwing::vulkan_layer
