// A tool as NVTX programs load it: takes the core module's range functions and counts what comes.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

uint64_t g_pushes = 0;
uint64_t g_pops = 0;
int64_t g_depth = 0;
int64_t g_deepest = 0;
char g_last[64];

int push(const char* name) {
    ++g_pushes;
    if (++g_depth > g_deepest) g_deepest = g_depth;
    std::strncpy(g_last, name, sizeof g_last - 1);
    return static_cast<int>(g_depth - 1);
}

int pop() {
    ++g_pops;
    return static_cast<int>(--g_depth);
}

// As nvtxDetail/nvtxTypes.h has them.
using Function = void (*)();
struct Callbacks {
    std::size_t struct_size;
    int (*get_module_function_table)(int module, Function*** table, unsigned* size);
};

}    // namespace

#define LAPWING_EXPORTED extern "C" __attribute__((visibility("default")))

LAPWING_EXPORTED int InitializeInjectionNvtx2(const void* (*get_export_table)(uint32_t)) {
    const auto* callbacks = static_cast<const Callbacks*>(get_export_table(1));
    if (callbacks == nullptr || callbacks->struct_size < sizeof(Callbacks)) return 0;
    Function** table = nullptr;
    unsigned size = 0;
    if (callbacks->get_module_function_table(1, &table, &size) == 0 || size != 16 || table[size] != nullptr) return 0;
    for (unsigned i = 1; i < size; ++i)
        if (table[i] == nullptr) return 0;
    *table[9] = reinterpret_cast<Function>(push);
    *table[11] = reinterpret_cast<Function>(pop);
    // Tools ask for the other modules as well, and one of the future must be refused.
    if (callbacks->get_module_function_table(5, &table, &size) == 0 || size != 16) return 0;
    return callbacks->get_module_function_table(7, &table, &size) == 0 ? 1 : 0;
}

LAPWING_EXPORTED uint64_t fake_nvtx_pushes() {
    return g_pushes;
}
LAPWING_EXPORTED uint64_t fake_nvtx_pops() {
    return g_pops;
}
LAPWING_EXPORTED int64_t fake_nvtx_deepest() {
    return g_deepest;
}
LAPWING_EXPORTED const char* fake_nvtx_last() {
    return g_last;
}
