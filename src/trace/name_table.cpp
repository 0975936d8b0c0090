#include "trace/name_table.hpp"

#include <cstring>

namespace lapwing::trace {

namespace {

// Eight bytes at a time, mixed by the multipliers of MurmurHash3's end: names differ in their last letters.
uint64_t hash_of(std::string_view text) noexcept {
    constexpr uint64_t kSpread = 0xff51afd7ed558ccdull;
    uint64_t hash = text.size() * 0x9e3779b97f4a7c15ull;
    const char* at = text.data();
    std::size_t left = text.size();
    uint64_t word = 0;
    for (; left >= 8; left -= 8, at += 8) {
        std::memcpy(&word, at, 8);
        hash = (hash ^ word) * kSpread;
        hash ^= hash >> 32;
    }
    word = 0;
    if (left != 0) std::memcpy(&word, at, left);
    hash = (hash ^ word) * kSpread;
    return hash ^ hash >> 29;
}

}    // namespace

uint32_t NameTable::find(std::string_view text) const noexcept {
    const uint64_t hash = hash_of(text);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask; slots_[i].number != kNone; i = (i + 1) & mask)
        if (slots_[i].hash == hash && texts_[slots_[i].number] == text) return slots_[i].number;
    return kNone;
}

uint32_t NameTable::add(std::string_view text) {
    if (2 * (texts_.size() + 1) > slots_.size()) grow();
    const uint64_t hash = hash_of(text);
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    while (slots_[i].number != kNone) i = (i + 1) & mask;
    slots_[i] = {hash, static_cast<uint32_t>(texts_.size())};
    texts_.emplace_back(text);
    bytes_ += text.size();
    return slots_[i].number;
}

void NameTable::grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    const std::size_t mask = larger.size() - 1;
    for (const Slot& slot : slots_) {
        if (slot.number == kNone) continue;
        std::size_t i = slot.hash & mask;
        while (larger[i].number != kNone) i = (i + 1) & mask;
        larger[i] = slot;
    }
    slots_.swap(larger);
}

}    // namespace lapwing::trace
