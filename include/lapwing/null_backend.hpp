// The backend of a build or a machine without a GPU: every call is there and does nothing.
#pragma once

#include <cstdint>
#include <span>

#include "lapwing/backend.hpp"

namespace lapwing {

/// A device that is not there. Code written for a Backend compiles and runs with it; what it times is lost as
/// `unsupported`, with the reason.
///
///     #ifdef WITH_VULKAN
///     using Gpu = lapwing::VulkanBackend;
///     #else
///     using Gpu = lapwing::NullBackend;
///     #endif
class NullBackend {
public:
    struct Queue {};
    static constexpr const char* kReason = "there is no GPU backend in this build";

    [[nodiscard]] Caps caps(const Queue& /*queue*/) const {
        Caps none;
        none.reason = kReason;
        return none;
    }
    [[nodiscard]] bool mark(const Queue& /*queue*/, uint32_t /*slot*/) noexcept { return false; }
    void poll(std::span<const uint32_t> slots, std::span<Stamp> out) noexcept {
        for (std::size_t i = 0; i < slots.size(); ++i) out[i] = {{}, StampState::kFailed};
    }
    [[nodiscard]] Result<ClockAnchor> calibrate(const Queue& /*queue*/) {
        return Error{Errc::kUnsupported, 0, kReason};
    }
    [[nodiscard]] static constexpr bool is_capturing(const Queue& /*queue*/) noexcept { return false; }
};
static_assert(Backend<NullBackend>);

}    // namespace lapwing
