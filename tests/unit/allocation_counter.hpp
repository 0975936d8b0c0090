// Counts every use of operator new in the program that links allocation_counter.cpp.
#pragma once

#include <cstdint>

namespace lapwing::test {

/// Allocations so far, by all threads.
[[nodiscard]] uint64_t allocations() noexcept;

}    // namespace lapwing::test
