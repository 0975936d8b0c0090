#include "layer.hpp"

#include <string>

namespace fakes {

PFN_vkVoidFunction find_device_function(PFN_vkGetDeviceProcAddr next, VkDevice device, const char* name) {
    if (const auto found = next(device, name)) return found;
    if (const auto found = next(device, (std::string(name) + "KHR").c_str())) return found;
    return next(device, (std::string(name) + "EXT").c_str());
}

}    // namespace fakes
