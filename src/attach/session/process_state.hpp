// Whether this process is one that Lapwing records, and the moments at which that ends: exit and fork.
#pragma once

#include <atomic>

#include "attach/session/config.hpp"
#include "attach/session/session.hpp"

namespace lapwing::attach {

namespace detail {
extern std::atomic<bool> g_live;    // constant-initialised: hooks may run before and after everything else
}    // namespace detail

/// What one layer is, to what all layers share. Each is a library with a process state of its own.
struct LayerIdentity {
    const char* title;               ///< "Vulkan layer"
    const char* disable_variable;    ///< see read_config()
    /// The process exits: what can still be had of the spans in flight is handed to the session, within a bounded time.
    void (*settle_at_exit)() noexcept;
    /// Locks that a hook needs before it sees that the layer is off, taken across a fork so that the child finds them
    /// free.
    void (*lock_for_fork)() noexcept;
    void (*unlock_in_parent)() noexcept;
    void (*renew_locks_in_child)() noexcept;
};

/// Says which layer this is: before process_config() and process_session() are first asked.
/// Shape:   `identity` lives as long as the process.
void identify_layer(const LayerIdentity& identity) noexcept;

/// Whether hooks do anything. Hot: one relaxed load. False before the first device, in fork children, after exit().
[[nodiscard]] inline bool process_live() noexcept {
    return detail::g_live.load(std::memory_order_relaxed);
}

/// The configuration of this process, read from the environment once. A problem is printed on stderr, once.
[[nodiscard]] const LayerConfig& process_config();

/// The process's session, opened by the first call: creates the file, starts the writer thread, registers the handlers
/// of exit and fork.
/// Shape:   null where the layer is not active, where the file cannot be written (one line on stderr), in fork
///          children and after exit().
[[nodiscard]] Session* process_session() noexcept;

}    // namespace lapwing::attach
