// A sample of several words that is read whole: a sequence lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace lapwing {

/// The latest sample of a kind, written by a recorder and read by a scrape. Readers never hold a writer up.
/// Shape:   T is plain data. Constant-initialised; no allocation.
/// Cost:    store: one read-modify-write and a store a word; load: a load a word, again while a store is under way.
/// Threads: any. Writers take turns: a second one spins while the first writes its words.
/// Source:  Boehm, Can Seqlocks Get Along With Programming Language Memory Models, MSPC 2012. The words are atomics,
///          stored with release and loaded with acquire instead of fences, which ThreadSanitizer does not know.
template <class T>
class SeqCell {
    static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>);
    static constexpr std::size_t kWords = (sizeof(T) + 7) / 8;

public:
    /// What a load found.
    struct Read {
        uint64_t stores = 0;    ///< how many stores came before; 0 = none yet, and `value` is T{}
        T value{};
    };

    void store(const T& value) noexcept {
        std::array<uint64_t, kWords> words{};
        std::memcpy(words.data(), &value, sizeof value);
        uint64_t sequence = sequence_.load(std::memory_order_relaxed);
        // Acquire: the words of the writer before are stored before ours.
        while ((sequence & 1) != 0 ||
               !sequence_.compare_exchange_weak(sequence, sequence + 1, std::memory_order_acquire,
                                                std::memory_order_relaxed)) {
            sequence = sequence_.load(std::memory_order_relaxed);
        }
        // Release: who reads one of these words sees that the sequence is odd, or later.
        for (std::size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_release);
        sequence_.store(sequence + 2, std::memory_order_release);
    }

    [[nodiscard]] Read load() const noexcept {
        std::array<uint64_t, kWords> words{};
        for (;;) {
            const uint64_t before = sequence_.load(std::memory_order_acquire);
            if ((before & 1) != 0) continue;
            for (std::size_t i = 0; i < kWords; ++i) words[i] = words_[i].load(std::memory_order_acquire);
            // Behind the acquires above: a word of a later store brings that store's odd sequence along.
            if (sequence_.load(std::memory_order_relaxed) != before) continue;
            Read out;
            out.stores = before / 2;
            if (before != 0) std::memcpy(static_cast<void*>(&out.value), words.data(), sizeof out.value);
            return out;
        }
    }

private:
    std::atomic<uint64_t> sequence_{0};    // odd = a store is under way
    std::array<std::atomic<uint64_t>, kWords> words_{};
};

}    // namespace lapwing
