// From Vulkan handles to what the layer keeps of them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <shared_mutex>
#include <unordered_map>

#include "attach/session/process_state.hpp"
#include "attach/vulkan_layer/command_buffer.hpp"
#include "attach/vulkan_layer/device.hpp"
#include "backends/vulkan/entry_points.hpp"

namespace lapwing::attach::vulkan_layer {

/// What the layer keeps of an instance.
struct Instance {
    VkInstance handle = VK_NULL_HANDLE;
    PFN_vkGetInstanceProcAddr next_proc_addr = nullptr;
    vulkan::InstanceTable vk;
    uint32_t api_version = VK_API_VERSION_1_0;
    bool physical_device_properties2 = false;    ///< core, or enabled as an extension
};

/// VK_EXT_debug_marker, the forerunner of debug-utils labels. A member is null where the driver has none.
struct DebugMarkerTable {
    PFN_vkDebugMarkerSetObjectNameEXT DebugMarkerSetObjectNameEXT = nullptr;
    PFN_vkCmdDebugMarkerBeginEXT CmdDebugMarkerBeginEXT = nullptr;
    PFN_vkCmdDebugMarkerEndEXT CmdDebugMarkerEndEXT = nullptr;

    [[nodiscard]] static DebugMarkerTable load(VkDevice device, PFN_vkGetDeviceProcAddr get);
};

/// A device's entry: the next layer's functions, always, and what follows the device, where it is followed.
struct DeviceEntry {
    DeviceEntry(VkDevice device, PFN_vkGetDeviceProcAddr next)
        : next_proc_addr(next),
          vk(vulkan::DeviceTable::load(device, next)),
          markers(DebugMarkerTable::load(device, next)) {}

    const PFN_vkGetDeviceProcAddr next_proc_addr;
    const vulkan::DeviceTable vk;
    const DebugMarkerTable markers;
    std::unique_ptr<Device> followed;

    /// The device where hooks do anything; null where it is not followed, in fork children and once the process exits.
    [[nodiscard]] Device* live() const noexcept { return process_live() ? followed.get() : nullptr; }
};

/// The first word of a dispatchable handle: the loader's table, shared by a device, its queues and command buffers, and
/// by an instance and its physical devices.
/// Source:  Vulkan-Loader, LoaderLayerInterface.md, "Creating New Dispatchable Objects".
[[nodiscard]] inline const void* dispatch_key(const void* dispatchable) noexcept {
    return *static_cast<const void* const*>(dispatchable);
}

/// Threads: any; a shared lock a look-up that the thread's own cache does not answer.
class Registry {
public:
    /// Throws std::bad_alloc.
    void add_instance(const Instance& instance);
    /// A copy; null members for an unknown one.
    [[nodiscard]] Instance instance_of(const void* instance_or_physical_device) const;
    void remove_instance(VkInstance instance) noexcept;

    /// Throws std::bad_alloc.
    void add_device(VkDevice handle, std::unique_ptr<DeviceEntry> entry);
    /// The entry of a device, or of the device of a queue or command buffer. Every device that was created through the
    /// layer has one.
    [[nodiscard]] DeviceEntry& device_of(const void* dispatchable) const noexcept;
    /// Takes a device out, with its command buffers, which are destroyed. Null for an unknown one.
    [[nodiscard]] std::unique_ptr<DeviceEntry> remove_device(VkDevice handle) noexcept;

    /// Throws std::bad_alloc.
    void add_command_buffer(VkCommandBuffer handle, std::unique_ptr<CommandBuffer> buffer);
    /// Null for a handle that is not followed.
    [[nodiscard]] CommandBuffer* find_command_buffer(VkCommandBuffer handle) const noexcept;
    void remove_command_buffer(VkCommandBuffer handle) noexcept;
    void remove_command_buffers_of(VkCommandPool pool, const Device& device) noexcept;
    /// vkResetCommandPool: the buffers stay, what was recorded goes.
    void drop_recordings_of(VkCommandPool pool, const Device& device) noexcept;

    void each_device(const std::function<void(Device&)>& visit);

    void lock_for_fork() noexcept { mutex_.lock(); }
    void unlock_in_parent() noexcept { mutex_.unlock(); }
    /// A new lock rather than an unlocked one: glibc knows a writer by its thread's id, which fork() has changed.
    void renew_lock_in_child() noexcept { new (&mutex_) std::shared_mutex; }

private:
    template <class Predicate>
    void remove_command_buffers_if(Predicate predicate) noexcept;

    mutable std::shared_mutex mutex_;
    // Rises when a handle goes away, since drivers hand out freed handles again at once: what threads remember of older
    // generations is void.
    std::atomic<uint64_t> generation_{1};
    std::unordered_map<const void*, Instance> instances_;
    std::unordered_map<const void*, std::unique_ptr<DeviceEntry>> devices_;
    std::unordered_map<VkCommandBuffer, std::unique_ptr<CommandBuffer>> command_buffers_;
};

/// The process's registry. Never destroyed.
[[nodiscard]] Registry& registry() noexcept;

}    // namespace lapwing::attach::vulkan_layer
