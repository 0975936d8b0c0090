#include "lapwing/kernel_registry.hpp"

#include <utility>

namespace lapwing {

uint64_t fnv1a_64(std::string_view text) noexcept {
    return fnv1a_64(std::as_bytes(std::span(text.data(), text.size())));
}

const char* to_text(KernelCode code) noexcept {
    switch (code) {
        case KernelCode::kPtx:
            return "PTX";
        case KernelCode::kCubin:
            return "cubin";
        case KernelCode::kSpirv:
            return "SPIR-V";
    }
    return "unknown";
}

RegisteredKernel& KernelRegistry::put(uint64_t hash, KernelCode code, std::string_view name, std::size_t bytes,
                                      std::optional<std::string> path) {
    RegisteredKernel& kernel = kernels_[hash];
    kernel.hash = hash;
    kernel.code = code;
    kernel.name = name;
    kernel.bytes = bytes;
    kernel.path = std::move(path);
    return kernel;
}

uint64_t KernelRegistry::add_ptx(std::string_view name, std::string_view text, std::optional<std::string> path) {
    const uint64_t hash = fnv1a_64(text);
    RegisteredKernel& kernel = put(hash, KernelCode::kPtx, name, text.size(), std::move(path));
    if (kernel.text.size() == text.size()) return hash;
    if (text.size() > bytes_left_) {
        ++texts_dropped_;
        return hash;
    }
    bytes_left_ -= text.size();
    kernel.text = text;
    return hash;
}

uint64_t KernelRegistry::add_binary(KernelCode code, std::string_view name, std::span<const std::byte> bytes,
                                    std::optional<std::string> path) {
    const uint64_t hash = fnv1a_64(bytes);
    put(hash, code, name, bytes.size(), std::move(path));
    return hash;
}

const RegisteredKernel* KernelRegistry::find(uint64_t hash) const noexcept {
    const auto found = kernels_.find(hash);
    return found == kernels_.end() ? nullptr : &found->second;
}

std::vector<uint64_t> KernelRegistry::hashes() const {
    std::vector<uint64_t> out;
    out.reserve(kernels_.size());
    for (const auto& entry : kernels_) out.push_back(entry.first);
    return out;
}

}    // namespace lapwing
