#include "attach/vulkan_layer/recording.hpp"

#include "attach/vulkan_layer/chunk_store.hpp"

namespace lapwing::vulkan_layer {

Recording::~Recording() {
    chunk_store.give_back(chunks);
}

}    // namespace lapwing::vulkan_layer
