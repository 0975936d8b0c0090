// What the Vulkan layer is to what all layers share.
#pragma once

#include "attach/session/process_state.hpp"

namespace lapwing::attach::vulkan_layer {

extern const LayerIdentity kIdentity;

}    // namespace lapwing::attach::vulkan_layer
