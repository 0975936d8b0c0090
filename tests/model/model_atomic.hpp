// lapwing::detail's atomics as steps of the explorer: what the product's own code is compiled with in tests/model.
#pragma once

#include <atomic>    // std::memory_order
#include <cstdint>

#include "model/explorer.hpp"

namespace lapwing::detail {

// Values live where the product keeps them, and the explorer keeps what other threads may still see of older ones.
template <class T>
class AtomicRef {
public:
    explicit AtomicRef(T& value) noexcept : value_(value) {}
    T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
        return static_cast<T>(model::load(&value_, static_cast<uint64_t>(value_), order));
    }
    void store(T desired, std::memory_order order = std::memory_order_seq_cst) const noexcept {
        model::store(&value_, static_cast<uint64_t>(value_), static_cast<uint64_t>(desired), order);
        value_ = desired;
    }
    template <class Change>
    T update(Change change, std::memory_order order) const noexcept {
        // Read, modify and write is one step: the last value, whoever wrote it.
        const T before = static_cast<T>(model::exchange_begin(&value_, static_cast<uint64_t>(value_), order));
        const T after = change(before);
        model::exchange_end(&value_, static_cast<uint64_t>(after), order);
        value_ = after;
        return before;
    }

private:
    T& value_;
};

template <class T>
class Atomic {
public:
    constexpr Atomic() noexcept = default;
    constexpr Atomic(T value) noexcept : value_(value) {}    // NOLINT(google-explicit-constructor)
    Atomic(const Atomic&) = delete;
    Atomic& operator=(const Atomic&) = delete;
    void operator=(T desired) noexcept { store(desired); }
    T load(std::memory_order order = std::memory_order_seq_cst) const noexcept { return ref().load(order); }
    void store(T desired, std::memory_order order = std::memory_order_seq_cst) noexcept { ref().store(desired, order); }
    T fetch_or(T bits, std::memory_order order = std::memory_order_seq_cst) noexcept {
        return ref().update([bits](T before) { return static_cast<T>(before | bits); }, order);
    }
    T fetch_and(T bits, std::memory_order order = std::memory_order_seq_cst) noexcept {
        return ref().update([bits](T before) { return static_cast<T>(before & bits); }, order);
    }

private:
    [[nodiscard]] AtomicRef<T> ref() const noexcept { return AtomicRef<T>(value_); }
    mutable T value_{};
};

class AtomicFlag {
public:
    constexpr AtomicFlag() noexcept = default;
    constexpr AtomicFlag(bool set) noexcept : set_(set ? 1 : 0) {}    // NOLINT: ATOMIC_FLAG_INIT is {0}
    bool test_and_set(std::memory_order order) noexcept {
        return AtomicRef<uint32_t>(set_).update([](uint32_t) { return 1u; }, order) != 0;
    }
    void clear(std::memory_order order) noexcept { AtomicRef<uint32_t>(set_).store(0, order); }

private:
    uint32_t set_ = 0;
};

template <class T>
struct Plain {
    T value;
    operator T() const noexcept {    // NOLINT(google-explicit-constructor)
        model::plain_read(this);
        return value;
    }
    Plain& operator=(T desired) noexcept {
        model::plain_write(this);
        value = desired;
        return *this;
    }
    Plain& operator++() noexcept { return *this = static_cast<T>(static_cast<T>(*this) + 1); }
};

}    // namespace lapwing::detail
