// The functions that stand in for the driver's, by name.
#pragma once

#include <vulkan/vulkan_core.h>

#include <span>

namespace lapwing::attach::vulkan_layer {

/// One row of a group's table.
struct NamedHook {
    const char* name;
    PFN_vkVoidFunction function;
};

template <class Function>
[[nodiscard]] PFN_vkVoidFunction as_hook(Function* function) noexcept {
    return reinterpret_cast<PFN_vkVoidFunction>(function);
}

/// The groups: work commands and passes; labels and object names; command pools and buffers; pipelines; submits; waits
/// and synchronisation objects.
[[nodiscard]] std::span<const NamedHook> command_hooks() noexcept;
[[nodiscard]] std::span<const NamedHook> label_hooks() noexcept;
[[nodiscard]] std::span<const NamedHook> command_buffer_hooks() noexcept;
[[nodiscard]] std::span<const NamedHook> pipeline_hooks() noexcept;
[[nodiscard]] std::span<const NamedHook> submit_hooks() noexcept;
[[nodiscard]] std::span<const NamedHook> wait_hooks() noexcept;

/// The layer's function of a device-level name, core and extension names alike; null where it does not stand in.
[[nodiscard]] PFN_vkVoidFunction device_hook(const char* name) noexcept;

/// Whether a hook is handed out even where the driver has no such function. Programs fetch the debug-utils functions
/// through the instance, and what they then call is the device's table, which the layers fill.
[[nodiscard]] bool hook_stands_alone(const char* name) noexcept;

}    // namespace lapwing::attach::vulkan_layer
