// Runs of packets as one compressed packet, and back: Perfetto's `compressed_packets`, zlib's format.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "lapwing/result.hpp"

struct libdeflate_compressor;
struct libdeflate_decompressor;

namespace lapwing::trace {

/// Packs whole packets into one.
/// Cost:    about 60 ns a span; 100 KiB, and a buffer of the largest run.
/// Threads: one at a time.
class Compressor {
public:
    Compressor();

    /// Shape:   one packet that holds `packets` compressed, or `packets` themselves where that would be no smaller;
    ///          valid until the next call.
    [[nodiscard]] std::span<const uint8_t> pack(std::span<const uint8_t> packets);

private:
    struct Free {
        void operator()(libdeflate_compressor* compressor) const noexcept;
    };
    std::unique_ptr<libdeflate_compressor, Free> compressor_;
    std::unique_ptr<uint8_t[]> out_;
    std::size_t capacity_ = 0;
};

/// The other way round.
/// Cost:    memory: the largest run of packets, at most 64 MiB.
/// Threads: one at a time.
class Decompressor {
public:
    /// Shape:   a run of packets, valid until the next call.
    /// Errors:  kBadFormat saying what was expected.
    [[nodiscard]] Result<std::string_view> unpack(std::string_view compressed);

private:
    struct Free {
        void operator()(libdeflate_decompressor* decompressor) const noexcept;
    };
    std::unique_ptr<libdeflate_decompressor, Free> decompressor_;
    std::unique_ptr<char[]> out_;
    std::size_t capacity_ = 0;
};

}    // namespace lapwing::trace
