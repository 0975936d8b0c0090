#include "attach/vulkan_layer/hooks.hpp"

#include <cstring>
#include <string_view>

#include "backends/vulkan/entry_points.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
struct OtherName {
    const char* other;
    const char* name;
};
// The names under which extensions brought what later became core.
constexpr OtherName kOtherNames[] = {
#define LAPWING_VK_OTHER_NAME(name, other) {other, "vk" #name},
    LAPWING_VK_DEVICE_FALLBACKS(LAPWING_VK_OTHER_NAME)
#undef LAPWING_VK_OTHER_NAME
};

const char* first_name(const char* name) noexcept {
    for (const OtherName& row : kOtherNames)
        if (std::strcmp(row.other, name) == 0) return row.name;
    return name;
}
}    // namespace

PFN_vkVoidFunction device_hook(const char* name) noexcept {
    const char* const wanted = first_name(name);
    for (const auto& group :
         {command_hooks(), label_hooks(), command_buffer_hooks(), pipeline_hooks(), submit_hooks(), wait_hooks()})
        for (const NamedHook& hook : group)
            if (std::strcmp(hook.name, wanted) == 0) return hook.function;
    return nullptr;
}

bool hook_stands_alone(const char* name) noexcept {
    return std::string_view(name).find("DebugUtils") != std::string_view::npos;
}

}    // namespace lapwing::attach::vulkan_layer
