// Identity of GPU programs: a hash of their text or binary, and what is known of the program behind one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/fnv1a.hpp"

namespace lapwing {

[[nodiscard]] uint64_t fnv1a_64(std::string_view text) noexcept;

/// What kind of code a program is.
enum class KernelCode : uint8_t {
    kPtx = 0,    ///< NVIDIA's assembly, as text
    kCubin,      ///< NVIDIA's binary
    kSpirv,      ///< SPIR-V words
};
[[nodiscard]] const char* to_text(KernelCode code) noexcept;

struct RegisteredKernel {
    uint64_t hash = 0;
    KernelCode code = KernelCode::kPtx;
    std::string name;
    std::string text;         ///< of PTX; empty for binaries, which are known by size and hash
    std::size_t bytes = 0;    ///< size of the code
    std::optional<std::string> path{};
};

/// Programs by their hash.
/// Shape:   the same code registered again replaces name and path. Texts are copied; at most `max_bytes` of them are
///          kept, later ones are known without their text and counted.
/// Threads: one at a time.
class KernelRegistry {
public:
    explicit KernelRegistry(std::size_t max_bytes = std::size_t{64} << 20) noexcept : bytes_left_(max_bytes) {}

    /// Returns the hash, by which the program is found.
    uint64_t add_ptx(std::string_view name, std::string_view text, std::optional<std::string> path = std::nullopt);
    uint64_t add_binary(KernelCode code, std::string_view name, std::span<const std::byte> bytes,
                        std::optional<std::string> path = std::nullopt);

    /// Null for a hash that was never given. Valid until the next add.
    [[nodiscard]] const RegisteredKernel* find(uint64_t hash) const noexcept;

    /// In ascending order.
    [[nodiscard]] std::vector<uint64_t> hashes() const;
    [[nodiscard]] std::size_t size() const noexcept { return kernels_.size(); }
    [[nodiscard]] uint64_t texts_dropped() const noexcept { return texts_dropped_; }

private:
    RegisteredKernel& put(uint64_t hash, KernelCode code, std::string_view name, std::size_t bytes,
                          std::optional<std::string> path);
    std::map<uint64_t, RegisteredKernel> kernels_;
    std::size_t bytes_left_;
    uint64_t texts_dropped_ = 0;
};

}    // namespace lapwing
