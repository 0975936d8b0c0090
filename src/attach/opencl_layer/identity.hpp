// What the OpenCL layer is to what all layers share.
#pragma once

#include "attach/session/process_state.hpp"

namespace lapwing::attach::opencl_layer {

extern const LayerIdentity kIdentity;

}    // namespace lapwing::attach::opencl_layer
