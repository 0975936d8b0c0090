// Named ranges in somebody else's profiler, around what Lapwing times: NVTX, or whatever the program has.
#pragma once

#include "lapwing/result.hpp"

namespace lapwing {

/// Where named ranges of the calling thread begin and end. Ranges nest by thread.
/// Shape:   both are set; they outlive their use. `name` is valid during the call.
struct RangeHooks {
    void (*push)(const char* name) noexcept = nullptr;
    void (*pop)() noexcept = nullptr;
};

/// The NVTX ranges of a tool: what NVIDIA's profilers call an injection library (they name it in the environment
/// variable NVTX_INJECTION64_PATH; Lapwing reads no environment by itself).
/// Shape:   the library stays loaded; the hooks are static. Loaded once a process: a second call answers the first's.
/// Errors:  kNotFound where it cannot be opened or is no injection library; kUnsupported where it refuses, or takes no
///          ranges.
/// Cost:    cold: opens a library, which starts the tool.
/// Threads: any; one at a time gets on.
/// Source:  NVTX 3, nvtxDetail/nvtxTypes.h and nvtxInit.h (checked with CUDA 13.0): InitializeInjectionNvtx2,
///          NvtxExportTableCallbacks, NVTX_CB_MODULE_CORE.
[[nodiscard]] Result<const RangeHooks*> load_nvtx(const char* injection_library);

}    // namespace lapwing
