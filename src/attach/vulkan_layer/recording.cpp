#include "attach/vulkan_layer/recording.hpp"

#include "attach/vulkan_layer/chunk_store.hpp"
#include "attach/vulkan_layer/copy_store.hpp"

namespace lapwing::attach::vulkan_layer {

Recording::~Recording() {
    copy_store.give_back(spare_copies);
    chunk_store.give_back(chunks);
}

}    // namespace lapwing::attach::vulkan_layer
