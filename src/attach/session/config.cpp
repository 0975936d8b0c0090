#include "attach/session/config.hpp"

#include <string_view>
#include <utility>

#include "attach/session/output_file.hpp"

namespace lapwing::attach {

namespace {
using Get = const char* (*)(const char* name);

std::string_view text_of(const char* value) noexcept {
    return value == nullptr ? std::string_view{} : std::string_view{value};
}

// Reads one variable by its parser; a bad value becomes the configuration's problem, the first one counts.
template <class Value, class Parse>
void read(LayerConfig& config, Get get, const char* name, Value& value, Parse&& parse) {
    const std::string_view text = text_of(get(name));
    if (text.empty() || !config.problem.empty()) return;
    auto parsed = parse(text);
    if (parsed.ok())
        value = std::move(parsed).value();
    else
        config.problem = std::string(name) + ": " + parsed.error().message;
}

}    // namespace

LayerConfig read_config(Get get, const char* disable) {
    LayerConfig config;
    config.out = text_of(get("LAPWING_OUT"));
    // The Vulkan loader knows this variable for the implicit layer only.
    if (config.out.empty() || !text_of(get(disable)).empty()) return {};
    read(config, get, "LAPWING_LEVEL", config.level, parse_level);
    read(config, get, "LAPWING_STEP", config.step, parse_step_rule);
    read(config, get, "LAPWING_EVERY", config.arming.every, parse_every);
    read(config, get, "LAPWING_SKIP", config.arming.skip, parse_skip);
    read(config, get, "LAPWING_DURATION", config.arming.duration_ns, parse_duration);
    read(config, get, "LAPWING_BUDGET", config.arming.budget, parse_budget);
    if (const std::string_view text = text_of(get("LAPWING_STEP")); !text.empty()) config.step_text = text;
    if (config.arming.budget > 0 && config.level == Level::kBasic && config.problem.empty())
        config.problem = "LAPWING_BUDGET: level basic times nothing that a budget could bound; use lane or kernel";
    if (config.problem.empty()) config.problem = read_file_options(get, config.file);
    return config;
}

}    // namespace lapwing::attach
