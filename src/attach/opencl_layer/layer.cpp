// The two symbols that the shared library exports.
#include <CL/cl_layer.h>

#include <cstring>

#include "attach/opencl_layer/dispatch.hpp"

namespace {
constexpr char kName[] = "lapwing timing";
}

extern "C" __attribute__((visibility("default"))) CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what,
                                                                                                 size_t size, void* out,
                                                                                                 size_t* needed) {
    switch (what) {
        case CL_LAYER_API_VERSION: {
            const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
            if (out != nullptr && size < sizeof version) return CL_INVALID_VALUE;
            if (out != nullptr) std::memcpy(out, &version, sizeof version);
            if (needed != nullptr) *needed = sizeof version;
            return CL_SUCCESS;
        }
        case CL_LAYER_NAME:
            if (out != nullptr && size < sizeof kName) return CL_INVALID_VALUE;
            if (out != nullptr) std::memcpy(out, kName, sizeof kName);
            if (needed != nullptr) *needed = sizeof kName;
            return CL_SUCCESS;
        default:
            return CL_INVALID_VALUE;
    }
}

extern "C" __attribute__((visibility("default"))) CL_API_ENTRY cl_int CL_API_CALL
clInitLayer(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_out, const cl_icd_dispatch** table_out) {
    if (target == nullptr || entries_out == nullptr || table_out == nullptr) return CL_INVALID_VALUE;
    const cl_icd_dispatch* const table = lapwing::attach::opencl_layer::install(target, entries);
    *table_out = table;
    *entries_out = table == target ? entries : static_cast<cl_uint>(sizeof(cl_icd_dispatch) / sizeof(void*));
    return CL_SUCCESS;
}
