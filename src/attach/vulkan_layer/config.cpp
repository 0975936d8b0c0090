#include "attach/vulkan_layer/config.hpp"

#include <charconv>
#include <string_view>

#include "attach/vulkan_layer/output_file.hpp"

namespace lapwing::vulkan_layer {

namespace {
constexpr uint32_t kMaxEvery = 1'000'000;

std::string_view text_of(const char* value) noexcept {
    return value == nullptr ? std::string_view{} : std::string_view{value};
}
}    // namespace

LayerConfig read_config(const char* (*get)(const char* name)) {
    LayerConfig config;
    config.out = text_of(get("LAPWING_OUT"));
    if (config.out.empty()) return config;

    if (const std::string_view text = text_of(get("LAPWING_LEVEL")); !text.empty()) {
        const Result<Level> level = parse_level(text);
        if (!level.ok()) {
            config.problem = "LAPWING_LEVEL: " + level.error().message;
            return config;
        }
        config.level = level.value();
        if (config.level == Level::kLane) {
            config.problem = "LAPWING_LEVEL: the Vulkan layer has no level 'lane'; use off, basic or kernel";
            return config;
        }
    }
    if (const std::string_view text = text_of(get("LAPWING_EVERY")); !text.empty()) {
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, config.every);
        if (error != std::errc{} || stop != end || config.every < 1 || config.every > kMaxEvery)
            config.problem = "LAPWING_EVERY: '" + std::string(text) + "' is not a whole number from 1 to 1000000";
    }
    if (config.problem.empty()) config.problem = read_file_options(get, config.file);
    return config;
}

}    // namespace lapwing::vulkan_layer
