#include "attach/vulkan_layer/registry.hpp"

#include <mutex>
#include <type_traits>

#include "lapwing/result.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
// What this thread found last. Good while the registry's generation is the one it was found in.
struct ThreadCache {
    uint64_t generation = 0;
    const void* device_key = nullptr;
    DeviceEntry* device = nullptr;
    VkCommandBuffer buffer_handle = VK_NULL_HANDLE;
    CommandBuffer* buffer = nullptr;

    void renew(uint64_t now) noexcept {
        if (generation == now) return;
        *this = {};
        generation = now;
    }
};
// Read in each hook: initial-exec spares a call of the dynamic linker's.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadCache t_cache;
}    // namespace

Registry& registry() noexcept {
    static auto* const only = new Registry;
    return *only;
}

void Registry::add_instance(const Instance& instance) {
    const std::unique_lock lock(mutex_);
    instances_[dispatch_key(instance.handle)] = instance;
}

Instance Registry::instance_of(const void* instance_or_physical_device) const {
    const std::shared_lock lock(mutex_);
    const auto found = instances_.find(dispatch_key(instance_or_physical_device));
    return found == instances_.end() ? Instance{} : found->second;
}

void Registry::remove_instance(VkInstance instance) noexcept {
    const std::unique_lock lock(mutex_);
    instances_.erase(dispatch_key(instance));
}

DebugMarkerTable DebugMarkerTable::load(VkDevice device, PFN_vkGetDeviceProcAddr get) {
    DebugMarkerTable table;
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(get(device, name));
    };
    find(table.DebugMarkerSetObjectNameEXT, "vkDebugMarkerSetObjectNameEXT");
    find(table.CmdDebugMarkerBeginEXT, "vkCmdDebugMarkerBeginEXT");
    find(table.CmdDebugMarkerEndEXT, "vkCmdDebugMarkerEndEXT");
    return table;
}

void Registry::add_device(VkDevice handle, std::unique_ptr<DeviceEntry> entry) {
    const std::unique_lock lock(mutex_);
    devices_[dispatch_key(handle)] = std::move(entry);
    generation_.fetch_add(1, std::memory_order_release);
}

DeviceEntry& Registry::device_of(const void* dispatchable) const noexcept {
    const void* const key = dispatch_key(dispatchable);
    ThreadCache& cache = t_cache;
    // Acquire pairs with the release in those who take handles away: having seen the new generation, this thread also
    // sees the maps without them.
    cache.renew(generation_.load(std::memory_order_acquire));
    if (cache.device_key == key) return *cache.device;
    const std::shared_lock lock(mutex_);
    const auto found = devices_.find(key);
    LAPWING_ASSERT(found != devices_.end());
    cache.device_key = key;
    cache.device = found->second.get();
    return *cache.device;
}

std::unique_ptr<DeviceEntry> Registry::remove_device(VkDevice handle) noexcept {
    std::unique_ptr<DeviceEntry> entry;
    {
        const std::unique_lock lock(mutex_);
        const auto found = devices_.find(dispatch_key(handle));
        if (found == devices_.end()) return entry;
        entry = std::move(found->second);
        devices_.erase(found);
    }
    const Device* const device = entry->followed.get();
    remove_command_buffers_if([&](const CommandBuffer& buffer) { return &buffer.device() == device; });
    return entry;
}

void Registry::add_command_buffer(VkCommandBuffer handle, std::unique_ptr<CommandBuffer> buffer) {
    const std::unique_lock lock(mutex_);
    command_buffers_[handle] = std::move(buffer);
    generation_.fetch_add(1, std::memory_order_release);
}

CommandBuffer* Registry::find_command_buffer(VkCommandBuffer handle) const noexcept {
    ThreadCache& cache = t_cache;
    cache.renew(generation_.load(std::memory_order_acquire));
    if (cache.buffer_handle == handle) return cache.buffer;
    const std::shared_lock lock(mutex_);
    const auto found = command_buffers_.find(handle);
    if (found == command_buffers_.end()) return nullptr;
    cache.buffer_handle = handle;
    cache.buffer = found->second.get();
    return cache.buffer;
}

void Registry::remove_command_buffer(VkCommandBuffer handle) noexcept {
    std::unique_ptr<CommandBuffer> dying;    // destroyed outside the lock
    const std::unique_lock lock(mutex_);
    const auto found = command_buffers_.find(handle);
    if (found == command_buffers_.end()) return;
    dying = std::move(found->second);
    command_buffers_.erase(found);
    generation_.fetch_add(1, std::memory_order_release);
}

template <class Predicate>
void Registry::remove_command_buffers_if(Predicate predicate) noexcept {
    const std::unique_lock lock(mutex_);
    std::erase_if(command_buffers_, [&](const auto& entry) { return predicate(*entry.second); });
    generation_.fetch_add(1, std::memory_order_release);
}

void Registry::remove_command_buffers_of(VkCommandPool pool, const Device& device) noexcept {
    remove_command_buffers_if(
        [&](const CommandBuffer& buffer) { return buffer.pool() == pool && &buffer.device() == &device; });
}

void Registry::drop_recordings_of(VkCommandPool pool, const Device& device) noexcept {
    const std::shared_lock lock(mutex_);
    // The program synchronises a pool with all its buffers, so a shared lock is enough to walk over the others.
    for (const auto& [handle, buffer] : command_buffers_)
        if (buffer->pool() == pool && &buffer->device() == &device) buffer->drop_recording();
}

void Registry::each_device(const std::function<void(Device&)>& visit) {
    const std::shared_lock lock(mutex_);
    for (const auto& [key, entry] : devices_)
        if (entry->followed != nullptr) visit(*entry->followed);
}

}    // namespace lapwing::attach::vulkan_layer
