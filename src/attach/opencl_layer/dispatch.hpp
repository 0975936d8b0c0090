// The functions below this layer, and what stands in for them.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#ifndef CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#endif
#include <CL/cl.h>
#include <CL/cl_icd.h>

namespace lapwing::attach::opencl_layer {

namespace detail {
extern cl_icd_dispatch g_next;
}    // namespace detail

/// The next layer's functions, or the loader's own, which go to the driver of the object they are called on. A member
/// is null where the loader has none.
[[nodiscard]] inline const cl_icd_dispatch& next() noexcept {
    return detail::g_next;
}

/// Takes over from the loader: keeps `target` and returns the table of hooks, or `target` itself where the layer is not
/// active, so that no call comes by here.
/// Shape:   called once, by the loader's initialisation.
[[nodiscard]] const cl_icd_dispatch* install(const cl_icd_dispatch* target, cl_uint entries) noexcept;

// Each file of hooks puts its own into the table, where the loader has the function.
void hook_queues(cl_icd_dispatch& table) noexcept;
void hook_kernels(cl_icd_dispatch& table) noexcept;
void hook_commands(cl_icd_dispatch& table) noexcept;
void hook_events(cl_icd_dispatch& table) noexcept;

template <class Function>
void hook(Function& entry, Function ours) noexcept {
    if (entry != nullptr) entry = ours;
}

}    // namespace lapwing::attach::opencl_layer
