// The atomics of the rings by names of our own, so that a model checker can take their place.
#pragma once

#ifdef LAPWING_DETAIL_ATOMIC_HEADER
// tests/model: the same names, with every operation a step of a scheduler that tries them all.
#include LAPWING_DETAIL_ATOMIC_HEADER
#else

#include <atomic>

namespace lapwing::detail {

template <class T>
using Atomic = std::atomic<T>;
template <class T>
using AtomicRef = std::atomic_ref<T>;
using AtomicFlag = std::atomic_flag;

/// A field that is no atomic because its owner changes by atomics: the model looks for races on it.
template <class T>
using Plain = T;

}    // namespace lapwing::detail

#endif
