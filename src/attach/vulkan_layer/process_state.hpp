// Whether this process is one that Lapwing records, and the moments at which that ends: exit and fork.
#pragma once

#include <atomic>

#include "attach/vulkan_layer/config.hpp"
#include "attach/vulkan_layer/session.hpp"

namespace lapwing::vulkan_layer {

namespace detail {
extern std::atomic<bool> g_live;    // constant-initialised: hooks may run before and after everything else
}    // namespace detail

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

}    // namespace lapwing::vulkan_layer
