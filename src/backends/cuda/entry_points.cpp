#include "backends/cuda/entry_points.hpp"

#include <dlfcn.h>

#include <string>

#include "backends/cuda/driver_errors.hpp"
#include "backends/cuda/driver_names.hpp"

namespace lapwing::cuda {
namespace {

template <class Find>
Result<EntryPoints> load_by(Find find) {
    EntryPoints table;
    const char* missing = nullptr;
#define LAPWING_GPU_LOAD(name, symbol, ...)                            \
    table.name = reinterpret_cast<decltype(table.name)>(find(symbol)); \
    if (table.name == nullptr && missing == nullptr) missing = symbol;
    LAPWING_GPU_ENTRY_POINTS(LAPWING_GPU_LOAD)
#undef LAPWING_GPU_LOAD
#define LAPWING_GPU_LOAD(name, symbol, ...) table.name = reinterpret_cast<decltype(table.name)>(find(symbol));
    LAPWING_GPU_OPTIONAL_ENTRY_POINTS(LAPWING_GPU_LOAD)
#undef LAPWING_GPU_LOAD
    if (missing != nullptr) {
        std::string text = "the ";
        text += kApi;
        text += " driver has no ";
        text += missing;
        text += ": it is too old, install one of ";
        text += kOldestDriverText;
        text += " or newer";
        return Error{Errc::kUnsupported, 0, std::move(text)};
    }
    if (table.EventElapsedTime2 != nullptr) table.EventElapsedTime = table.EventElapsedTime2;
    return table;
}

}    // namespace

Result<EntryPoints> EntryPoints::load(FindFunction find) {
    if (find != nullptr) return load_by(find);
    void* library = nullptr;
    for (const char* name : kLibraries)
        if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);    // never closed: drivers start threads
    if (library == nullptr) {
        std::string text = "no ";
        text += kApi;
        text += " driver here (";
        text += kLibraries[0];
        text += " could not be opened): ";
        text += kInstall;
        return Error{Errc::kNotFound, 0, std::move(text)};
    }
    return load_by([library](const char* symbol) { return dlsym(library, symbol); });
}

Result<EntryPoints> EntryPoints::start(FindFunction find) {
    Result<EntryPoints> table = load(find);
    if (!table.ok()) return table;
    if (const Code code = table->Init(0); code != kSuccess) return describe_start(code);
    int version = 0;
    if (const Code code = table->DriverGetVersion(&version); code != kSuccess) return describe_start(code);
    if (version < kOldestDriver) {
        std::string text = "the ";
        text += kApi;
        text += " driver is of version ";
        text += std::to_string(version / kVersionMajor);
        text += ": ";
        text += kOldestDriverText;
        text += " or newer is needed";
        return Error{Errc::kUnsupported, version, std::move(text)};
    }
    return table;
}

}    // namespace lapwing::cuda
