#include "attach/opencl_layer/identity.hpp"

#include "attach/opencl_layer/kernels.hpp"
#include "attach/opencl_layer/queue_table.hpp"

namespace lapwing::attach::opencl_layer {

namespace {
void settle_at_exit() noexcept {
    queues().drain_at_exit();
}
void lock_for_fork() noexcept {
    queues().lock_for_fork();
    kernels().lock_for_fork();
}
void unlock_in_parent() noexcept {
    kernels().unlock_in_parent();
    queues().unlock_in_parent();
}
void renew_locks_in_child() noexcept {
    kernels().renew_lock_in_child();
    queues().renew_lock_in_child();
}
}    // namespace

const LayerIdentity kIdentity{"OpenCL layer",   "LAPWING_OPENCL_LAYER_DISABLE",
                              settle_at_exit,   lock_for_fork,
                              unlock_in_parent, renew_locks_in_child};

}    // namespace lapwing::attach::opencl_layer
