// The client side of NVTX 3 by declarations of our own: the tool asks for tables of function pointers and fills them.
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "lapwing/range_hooks.hpp"

namespace lapwing {
namespace {

using AnyFunction = void (*)();
using PushA = int (*)(const char* message);
using Pop = int (*)();

// Ids of NVTX that are used here.
constexpr uint32_t kTableCallbacks = 1;
constexpr uint32_t kTableVersion = 3;
constexpr uint32_t kModuleCore = 1;
constexpr uint32_t kRangePushA = 9;
constexpr uint32_t kRangePop = 11;

// Functions of each module, the invalid one at 0 included. Tools ask for all of them and expect to be answered.
constexpr std::array<unsigned, 7> kModuleSizes{0, 16, 9, 15, 7, 16, 7};
constexpr unsigned kLargestModule = 16;

struct Module {
    std::array<AnyFunction, kLargestModule> functions{};     // what the tool sets
    std::array<AnyFunction*, kLargestModule + 1> table{};    // where it may set it; null behind the last
};

struct ExportCallbacks {
    std::size_t struct_size;
    int (*get_module_function_table)(uint32_t module, AnyFunction*** table, unsigned* size);
};

struct ExportVersion {
    std::size_t struct_size;
    uint32_t version;
    uint32_t reserved;
    void (*set_injection_version)(uint32_t version);
};

constinit std::array<Module, kModuleSizes.size()> g_modules{};

int module_table(uint32_t module, AnyFunction*** table, unsigned* size) {
    if (module == 0 || module >= kModuleSizes.size()) return 0;
    Module& asked = g_modules[module];
    for (unsigned i = 1; i < kModuleSizes[module]; ++i) asked.table[i] = &asked.functions[i];
    if (table != nullptr) *table = asked.table.data();
    if (size != nullptr) *size = kModuleSizes[module];
    return 1;
}

void take_version(uint32_t /*version*/) {}

const void* export_table(uint32_t id) {
    static constexpr ExportCallbacks kCallbacks{sizeof(ExportCallbacks), module_table};
    static constexpr ExportVersion kVersion{sizeof(ExportVersion), 3, 0, take_version};
    if (id == kTableCallbacks) return &kCallbacks;
    if (id == kTableVersion) return &kVersion;
    return nullptr;
}

void push(const char* name) noexcept {
    (void)reinterpret_cast<PushA>(g_modules[kModuleCore].functions[kRangePushA])(name);
}

void pop() noexcept {
    (void)reinterpret_cast<Pop>(g_modules[kModuleCore].functions[kRangePop])();
}

constexpr RangeHooks kHooks{push, pop};

std::optional<Error> load(const char* injection_library) {
    void* const library = dlopen(injection_library, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr)
        return Error{Errc::kNotFound, 0, std::string("the NVTX injection library cannot be opened: ") + dlerror()};
    using Initialize = int (*)(const void* (*get_export_table)(uint32_t));
    const auto initialize = reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
    if (initialize == nullptr) {
        dlclose(library);
        return Error{
            Errc::kNotFound, 0,
            std::string(injection_library) + " is no NVTX injection library: it lacks InitializeInjectionNvtx2"};
    }
    // From here on the library stays: it may have threads, and its functions are in the tables.
    if (initialize(export_table) == 0)
        return Error{Errc::kUnsupported, 0, std::string(injection_library) + " refused to start"};
    const auto& core = g_modules[kModuleCore].functions;
    if (core[kRangePushA] == nullptr || core[kRangePop] == nullptr)
        return Error{Errc::kUnsupported, 0, std::string(injection_library) + " takes no ranges"};
    return std::nullopt;
}

}    // namespace

Result<const RangeHooks*> load_nvtx(const char* injection_library) {
    static std::mutex lock;
    static bool loaded = false;
    const std::lock_guard guard(lock);
    if (!loaded) {
        if (std::optional<Error> error = load(injection_library)) return std::move(*error);
        loaded = true;
    }
    return &kHooks;
}

}    // namespace lapwing
