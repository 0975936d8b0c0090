#include "unit/allocation_counter.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<uint64_t> g_allocations{0};

void* counted(std::size_t bytes) {
    g_allocations.fetch_add(1, std::memory_order_relaxed);
    void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) std::abort();
    return memory;
}
}    // namespace

void* operator new(std::size_t bytes) {
    return counted(bytes);
}
void* operator new[](std::size_t bytes) {
    return counted(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return counted(bytes);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
    std::free(memory);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace lapwing::test {

uint64_t allocations() noexcept {
    return g_allocations.load(std::memory_order_relaxed);
}

}    // namespace lapwing::test
