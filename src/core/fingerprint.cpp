#include "lapwing/fingerprint.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/float_formats.hpp"
#include "lapwing/fnv1a.hpp"

namespace lapwing {
namespace {

template <class T>
T load(const void* data, uint64_t index) noexcept {
    T value;
    std::memcpy(&value, static_cast<const std::byte*>(data) + index * sizeof(T), sizeof(T));
    return value;
}

void add(Fingerprint& out, uint32_t index, double value) noexcept {
    if (!std::isfinite(value)) {
        ++(std::isnan(value) ? out.nans : out.infs);
        return;
    }
    out.sum += value;
    out.sum_squares += value * value;
    out.sum_abs += std::abs(value);
    out.min = std::min(out.min, value);
    out.max = std::max(out.max, value);
    const uint32_t signs = projection_signs(out.seed, index);
    for (std::size_t k = 0; k < kProjections; ++k)
        out.projections[k] += value * (1.0 - 2.0 * static_cast<double>(signs >> k & 1));
}

// The first values as f32, and their hash.
uint64_t checksum_of(const TensorView& tensor) {
    static_assert(std::endian::native == std::endian::little, "the hash is over little-endian bytes");
    std::array<uint32_t, 64> bits{};
    const std::size_t count = std::min<uint64_t>(tensor.count, bits.size());
    for (std::size_t i = 0; i < count; ++i) {
        switch (tensor.type) {
            case DType::kF32:
                bits[i] = load<uint32_t>(tensor.data, i);
                break;
            case DType::kF16:
                bits[i] = detail::f32_bits_of_f16(load<uint16_t>(tensor.data, i));
                break;
            case DType::kBf16:
                bits[i] = static_cast<uint32_t>(load<uint16_t>(tensor.data, i)) << 16;
                break;
            case DType::kI8:
                bits[i] = std::bit_cast<uint32_t>(static_cast<float>(load<int8_t>(tensor.data, i)));
                break;
        }
    }
    return fnv1a_64(std::as_bytes(std::span(bits.data(), count)));
}

template <class Read>
void add_all(Fingerprint& out, uint64_t count, Read&& read) {
    for (uint64_t i = 0; i < count; ++i) add(out, static_cast<uint32_t>(i), read(i));
}

}    // namespace

const char* to_text(DType type) noexcept {
    switch (type) {
        case DType::kF32:
            return "f32";
        case DType::kF16:
            return "f16";
        case DType::kBf16:
            return "bf16";
        case DType::kI8:
            return "i8";
    }
    return "unknown";
}

std::size_t size_of(DType type) noexcept {
    switch (type) {
        case DType::kF32:
            return 4;
        case DType::kF16:
        case DType::kBf16:
            return 2;
        case DType::kI8:
            return 1;
    }
    return 1;
}

double nmse_bound(DType type) noexcept {
    switch (type) {
        case DType::kF32:
            return 1e-7;
        case DType::kF16:
            return 1e-6;
        case DType::kBf16:
            return 1e-4;
        case DType::kI8:
            return 1e-3;
    }
    return 1e-7;
}

Result<Fingerprint> fingerprint_of(const TensorView& tensor, uint32_t seed) {
    if (tensor.count != 0 && tensor.data == nullptr)
        return Error{Errc::kInvalidArgument, 0,
                     "a tensor of " + std::to_string(tensor.count) + " elements has no data"};
    if (tensor.count > std::numeric_limits<uint32_t>::max())
        return Error{Errc::kInvalidArgument, 0,
                     "a tensor has more than 2^32 - 1 elements: take the fingerprints of its parts"};
    Fingerprint out;
    out.type = tensor.type;
    out.count = tensor.count;
    out.seed = seed;
    out.min = std::numeric_limits<double>::infinity();
    out.max = -out.min;
    const void* const data = tensor.data;
    switch (tensor.type) {
        case DType::kF32:
            add_all(out, tensor.count, [&](uint64_t i) { return static_cast<double>(load<float>(data, i)); });
            break;
        case DType::kF16:
            add_all(out, tensor.count, [&](uint64_t i) { return detail::from_f16(load<uint16_t>(data, i)); });
            break;
        case DType::kBf16:
            add_all(out, tensor.count, [&](uint64_t i) { return detail::from_bf16(load<uint16_t>(data, i)); });
            break;
        case DType::kI8:
            add_all(out, tensor.count, [&](uint64_t i) { return static_cast<double>(load<int8_t>(data, i)); });
            break;
    }
    if (out.min > out.max) out.min = out.max = 0;
    out.checksum = checksum_of(tensor);
    return out;
}

}    // namespace lapwing
