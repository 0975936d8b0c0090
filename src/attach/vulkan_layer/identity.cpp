// What the Vulkan layer is to what all layers share.
#include "attach/vulkan_layer/identity.hpp"

#include "attach/vulkan_layer/registry.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
// The device may be gone in all but name: no Vulkan call is made from here.
void settle_at_exit() noexcept {
    registry().each_device([](Device& device) { device.queues().abandon_at_exit(); });
}
void lock_for_fork() noexcept {
    registry().lock_for_fork();
}
void unlock_in_parent() noexcept {
    registry().unlock_in_parent();
}
void renew_locks_in_child() noexcept {
    registry().renew_lock_in_child();
}
}    // namespace

const LayerIdentity kIdentity{"Vulkan layer",   "LAPWING_VULKAN_LAYER_DISABLE",
                              settle_at_exit,   lock_for_fork,
                              unlock_in_parent, renew_locks_in_child};

}    // namespace lapwing::attach::vulkan_layer
