#include "trace/compression.hpp"

#include <libdeflate.h>

#include <algorithm>

#include "trace/fields.hpp"

namespace lapwing::trace {

namespace {

// libdeflate's fastest: 7.6 bytes a span. Level 6 saves 0.5 of them and takes four times as long.
constexpr int kLevel = 1;
// Tag and length of the packet, tag and length of the field.
constexpr std::size_t kMaxHead = 1 + 5 + 2 + 5;
constexpr std::size_t kMaxUnpackedBytes = 64u << 20;    // ours are a lane's buffer, Perfetto's below 1 MiB

uint8_t* put_varint(uint8_t* to, uint64_t value) noexcept {
    for (; value > 0x7f; value >>= 7) *to++ = static_cast<uint8_t>(value | 0x80);
    *to++ = static_cast<uint8_t>(value);
    return to;
}

}    // namespace

void Compressor::Free::operator()(libdeflate_compressor* compressor) const noexcept {
    ::libdeflate_free_compressor(compressor);
}

Compressor::Compressor() : compressor_(::libdeflate_alloc_compressor(kLevel)) {}

std::span<const uint8_t> Compressor::pack(std::span<const uint8_t> packets) {
    if (compressor_ == nullptr) return packets;    // no memory for it: plain is as good a recording
    if (capacity_ < packets.size()) {
        capacity_ = packets.size();
        out_ = std::make_unique_for_overwrite<uint8_t[]>(kMaxHead + capacity_);
    }
    uint8_t* const data = out_.get() + kMaxHead;
    const std::size_t size =
        ::libdeflate_zlib_compress(compressor_.get(), packets.data(), packets.size(), data, packets.size());
    if (size == 0 || size + kMaxHead > packets.size()) return packets;

    uint8_t field[kMaxHead];
    uint8_t* field_end = put_varint(field, tag(packet::kCompressedPackets, Wire::kBytes));
    field_end = put_varint(field_end, size);
    const auto field_size = static_cast<std::size_t>(field_end - field);
    uint8_t head[kMaxHead] = {kPacketTag};
    uint8_t* const head_end = std::copy(field, field_end, put_varint(head + 1, field_size + size));
    uint8_t* const start = data - (head_end - head);
    std::copy(head, head_end, start);
    return {start, data + size};
}

void Decompressor::Free::operator()(libdeflate_decompressor* decompressor) const noexcept {
    ::libdeflate_free_decompressor(decompressor);
}

Result<std::string_view> Decompressor::unpack(std::string_view compressed) {
    if (decompressor_ == nullptr) decompressor_.reset(::libdeflate_alloc_decompressor());
    if (decompressor_ == nullptr)
        return Error{Errc::kExhausted, 0,
                     "no memory to decompress packets: close other programs, or read it on a larger machine"};
    std::size_t wanted =
        std::max(capacity_, std::min(kMaxUnpackedBytes, std::max<std::size_t>(65536, compressed.size() * 4)));
    for (;; wanted = std::min(wanted * 2, kMaxUnpackedBytes)) {
        if (wanted > capacity_) {
            out_ = std::make_unique_for_overwrite<char[]>(wanted);
            capacity_ = wanted;
        }
        std::size_t size = 0;
        switch (::libdeflate_zlib_decompress(decompressor_.get(), compressed.data(), compressed.size(), out_.get(),
                                             capacity_, &size)) {
            case LIBDEFLATE_SUCCESS:
                return std::string_view(out_.get(), size);
            case LIBDEFLATE_INSUFFICIENT_SPACE:
                if (capacity_ < kMaxUnpackedBytes) continue;
                return Error{Errc::kBadFormat, 0, "expected compressed packets of at most 64 MiB"};
            default:
                return Error{Errc::kBadFormat, 0, "expected packets compressed by zlib"};
        }
    }
}

}    // namespace lapwing::trace
