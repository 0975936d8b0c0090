#include "lapwing/level.hpp"

#include <array>

namespace lapwing {

namespace {
constexpr std::array<const char*, 4> kLevelNames{"off", "basic", "lane", "kernel"};
}    // namespace

namespace detail {
constinit Atomic<uint8_t> g_level{0};
}    // namespace detail

Result<Level> parse_level(std::string_view text) {
    for (std::size_t i = 0; i < kLevelNames.size(); ++i)
        if (text == kLevelNames[i]) return static_cast<Level>(i);
    return Error{Errc::kInvalidArgument, 0,
                 "level \"" + std::string(text) + "\" is not known: use off, basic, lane or kernel"};
}

const char* to_text(Level level) noexcept {
    const auto index = static_cast<std::size_t>(level);
    return index < kLevelNames.size() ? kLevelNames[index] : "unknown";
}

// Relaxed: the level orders nothing. A thread that sees the new value a little later records a little longer.
void set_level(Level level) noexcept {
    detail::g_level.store(static_cast<uint8_t>(level), std::memory_order_relaxed);
}

Level level() noexcept {
    return static_cast<Level>(detail::g_level.load(std::memory_order_relaxed));
}

}    // namespace lapwing
