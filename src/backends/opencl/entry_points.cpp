#include "backends/opencl/entry_points.hpp"

#include <dlfcn.h>

#include <string>

namespace lapwing::opencl {
namespace {

template <class Find>
Result<EntryPoints> load_by(Find find) {
    EntryPoints table;
    const char* missing = nullptr;
#define LAPWING_CL_LOAD(name)                                              \
    table.name = reinterpret_cast<decltype(table.name)>(find("cl" #name)); \
    if (table.name == nullptr && missing == nullptr) missing = "cl" #name;
    LAPWING_CL_ENTRY_POINTS(LAPWING_CL_LOAD)
#undef LAPWING_CL_LOAD
#define LAPWING_CL_LOAD(name) table.name = reinterpret_cast<decltype(table.name)>(find("cl" #name));
    LAPWING_CL_OPTIONAL_ENTRY_POINTS(LAPWING_CL_LOAD)
#undef LAPWING_CL_LOAD
    if (missing != nullptr)
        return Error{Errc::kUnsupported, 0,
                     std::string("the OpenCL library has no ") + missing + ": OpenCL 1.2 is needed"};
    return table;
}

}    // namespace

Result<EntryPoints> EntryPoints::load(FindFunction find) {
    return load_by(find);
}

Result<EntryPoints> EntryPoints::open(const char* loader) {
    void* const library = dlopen(loader, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return Error{Errc::kNotFound, 0,
                     std::string("the OpenCL loader ") + loader + " could not be opened: install ocl-icd-libopencl1"};
    return load_by([library](const char* name) { return dlsym(library, name); });
}

}    // namespace lapwing::opencl
