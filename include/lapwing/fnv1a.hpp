// FNV-1a, the hash by which programs and the beginnings of tensors are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing {

/// FNV-1a, 64 bits.
/// Source:  Fowler, Noll, Vo; offset basis 0xcbf29ce484222325, prime 0x100000001b3. Empty input gives the basis.
/// Cost:    one multiplication a byte.
[[nodiscard]] constexpr uint64_t fnv1a_64(std::span<const std::byte> bytes) noexcept {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
    return hash;
}

}    // namespace lapwing
