#include "attach/opencl_layer/dispatch.hpp"

#include <algorithm>
#include <cstring>

#include "attach/opencl_layer/identity.hpp"
#include "attach/session/process_state.hpp"

namespace lapwing::attach::opencl_layer {

constinit cl_icd_dispatch detail::g_next{};

namespace {
constinit cl_icd_dispatch g_hooks{};
}

const cl_icd_dispatch* install(const cl_icd_dispatch* target, cl_uint entries) noexcept {
    try {
        identify_layer(kIdentity);
        if (!process_config().active()) return target;
    } catch (...) {
        return target;
    }
    // A loader of another version has fewer entries, or more: those that we do not know are left out of our table.
    const std::size_t bytes = std::min(entries * sizeof(void*), sizeof detail::g_next);
    std::memcpy(&detail::g_next, target, bytes);
    g_hooks = detail::g_next;
    hook_queues(g_hooks);
    hook_kernels(g_hooks);
    hook_commands(g_hooks);
    hook_events(g_hooks);
    return &g_hooks;
}

}    // namespace lapwing::attach::opencl_layer
