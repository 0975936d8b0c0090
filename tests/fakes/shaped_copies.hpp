// Shapes what vkCmdCopyQueryPoolResults writes.
#pragma once

#include <vulkan/vulkan.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "shaped_clock.hpp"

namespace fakes {

/// The driver copies raw results into a shadow buffer of this layer, never into the program's. When the submission is
/// done, the host writes the shaped results to where the program asked for them. So the program's memory only ever
/// holds shaped values, and writing twice cannot shape twice.
///
/// A submission that contains such copies is made synchronous (vkQueueWaitIdle inside the submit), so that the values
/// are there however the program learns of its end: fence, semaphore, or by watching the memory. Two things follow, and
/// no test may need them: commands behind the copy in the *same* submission see the old contents, and such a submission
/// must not wait for something that the program signals later.
/// Threads: any.
class ShapedCopies {
public:
    void open(VkDevice device, PFN_vkGetDeviceProcAddr next, const VkPhysicalDeviceMemoryProperties& memory);
    void close();

    void memory_allocated(VkDeviceMemory memory, uint32_t type);
    void memory_freed(VkDeviceMemory memory);
    /// Where the host sees `memory`: mapped whole when it was allocated; null where the host cannot.
    void* address_of(VkDeviceMemory memory);

    void buffer_bound(VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset);
    void buffer_destroyed(VkBuffer buffer);

    /// Records the copy into a shadow; false where the program's buffer cannot be reached, and nothing was recorded.
    bool record(VkCommandBuffer commands, VkQueryPool pool, uint32_t first, uint32_t count, VkBuffer destination,
                VkDeviceSize offset, VkDeviceSize stride, VkQueryResultFlags flags);
    /// The buffer begins anew: its copies are gone.
    void recording_dropped(VkCommandBuffer commands);
    void secondary_executed(VkCommandBuffer primary, VkCommandBuffer secondary);

    /// After a successful submit: waits for the queue if `commands` contain copies, and writes the shaped results.
    void finish(VkQueue queue, const std::vector<VkCommandBuffer>& commands, const ShapedClock& clock, ResultLog& log);

private:
    struct Copy {
        VkBuffer shadow = VK_NULL_HANDLE;
        VkDeviceMemory shadow_memory = VK_NULL_HANDLE;
        const RawResult* raw = nullptr;
        uint32_t count = 0;
        char* out = nullptr;
        VkDeviceSize stride = 0;
        VkQueryResultFlags flags = 0;
    };
    struct Binding {
        VkDeviceMemory memory = VK_NULL_HANDLE;
        VkDeviceSize offset = 0;
    };
    bool make_shadow(Copy& copy);
    void destroy(const Copy& copy);
    std::shared_ptr<Copy> new_copy();

    VkDevice device_ = VK_NULL_HANDLE;
    VkPhysicalDeviceMemoryProperties memory_types_{};
    PFN_vkCreateBuffer create_buffer_ = nullptr;
    PFN_vkDestroyBuffer destroy_buffer_ = nullptr;
    PFN_vkGetBufferMemoryRequirements requirements_ = nullptr;
    PFN_vkAllocateMemory allocate_ = nullptr;
    PFN_vkFreeMemory free_ = nullptr;
    PFN_vkBindBufferMemory bind_ = nullptr;
    PFN_vkMapMemory map_ = nullptr;
    PFN_vkCmdCopyQueryPoolResults copy_results_ = nullptr;
    PFN_vkQueueWaitIdle wait_idle_ = nullptr;

    std::mutex mutex_;
    std::map<VkDeviceMemory, void*> mapped_;
    std::map<VkBuffer, Binding> bindings_;
    std::map<VkCommandBuffer, std::vector<std::shared_ptr<Copy>>> copies_;
};

}    // namespace fakes
