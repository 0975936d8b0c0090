// Commands that are work, render passes, and the secondaries a command buffer executes.
#include "attach/vulkan_layer/cost_meter.hpp"
#include "attach/vulkan_layer/hooks.hpp"
#include "attach/vulkan_layer/registry.hpp"

namespace lapwing::vulkan_layer {

namespace {
using vulkan::DeviceTable;
using Grid = std::array<uint32_t, 3>;

// The command buffer that is followed behind a handle; null where hooks do nothing.
CommandBuffer* followed(VkCommandBuffer handle) noexcept {
    return process_live() ? registry().find_command_buffer(handle) : nullptr;
}

template <class Call>
void time_command(VkCommandBuffer handle, SpanKind kind, const Grid& grid, Call&& call) noexcept {
    CommandBuffer* const buffer = followed(handle);
    if (buffer == nullptr) {
        call(registry().device_of(handle).vk);
        return;
    }
    CostMeter cost(buffer->device().counters(), CostMeter::Sampled{});
    const bool timed = buffer->before_command(kind, grid);
    cost.pause();
    call(buffer->device().vk);
    cost.resume();
    if (timed) buffer->after_command();
}

VKAPI_ATTR void VKAPI_CALL CmdDispatch(VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z) {
    time_command(buffer, SpanKind::kDispatch, {x, y, z},
                 [&](const DeviceTable& vk) { vk.CmdDispatch(buffer, x, y, z); });
}

VKAPI_ATTR void VKAPI_CALL CmdDispatchBase(VkCommandBuffer buffer, uint32_t base_x, uint32_t base_y, uint32_t base_z,
                                           uint32_t x, uint32_t y, uint32_t z) {
    time_command(buffer, SpanKind::kDispatch, {x, y, z},
                 [&](const DeviceTable& vk) { vk.CmdDispatchBase(buffer, base_x, base_y, base_z, x, y, z); });
}

VKAPI_ATTR void VKAPI_CALL CmdDispatchIndirect(VkCommandBuffer buffer, VkBuffer arguments, VkDeviceSize offset) {
    time_command(buffer, SpanKind::kDispatch, {},
                 [&](const DeviceTable& vk) { vk.CmdDispatchIndirect(buffer, arguments, offset); });
}

// Copies and fills differ in their arguments only: one hook for each row of the table below, made from the type of
// its entry point.
template <auto Entry, SpanKind Kind>
struct WorkHook;

template <class... Arguments, void (VKAPI_PTR* DeviceTable::*Entry)(VkCommandBuffer, Arguments...), SpanKind Kind>
struct WorkHook<Entry, Kind> {
    static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer buffer, Arguments... arguments) {
        time_command(buffer, Kind, {}, [&](const DeviceTable& vk) { (vk.*Entry)(buffer, arguments...); });
    }
};

// A pass hides its draws from us: commands behind it begin a new chain.
template <auto Entry, bool Begins>
struct PassHook;

template <class... Arguments, void (VKAPI_PTR* DeviceTable::*Entry)(VkCommandBuffer, Arguments...), bool Begins>
struct PassHook<Entry, Begins> {
    static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer handle, Arguments... arguments) {
        if (CommandBuffer* const buffer = followed(handle); buffer != nullptr) {
            if constexpr (Begins) {
                buffer->begin_render_pass();
            } else {
                buffer->end_render_pass();
            }
        }
        (registry().device_of(handle).vk.*Entry)(handle, arguments...);
    }
};

VKAPI_ATTR void VKAPI_CALL CmdExecuteCommands(VkCommandBuffer handle, uint32_t count,
                                              const VkCommandBuffer* secondaries) {
    if (CommandBuffer* const buffer = followed(handle); buffer != nullptr)
        for (uint32_t i = 0; i < count; ++i)
            if (const CommandBuffer* secondary = registry().find_command_buffer(secondaries[i]); secondary != nullptr)
                buffer->execute(*secondary);
    registry().device_of(handle).vk.CmdExecuteCommands(handle, count, secondaries);
}

// {name, hook} of a copy, fill or pass.
#define LAPWING_WORK(name, kind) \
    { "vk" #name, as_hook(WorkHook<&DeviceTable::name, SpanKind::kind>::call) }
#define LAPWING_PASS(name, begins) \
    { "vk" #name, as_hook(PassHook<&DeviceTable::name, begins>::call) }

const NamedHook kHooks[] = {
    {"vkCmdDispatch", as_hook(CmdDispatch)},
    {"vkCmdDispatchBase", as_hook(CmdDispatchBase)},
    {"vkCmdDispatchIndirect", as_hook(CmdDispatchIndirect)},
    LAPWING_WORK(CmdCopyBuffer, kCopy),
    LAPWING_WORK(CmdCopyBuffer2, kCopy),
    LAPWING_WORK(CmdCopyImage, kCopy),
    LAPWING_WORK(CmdCopyImage2, kCopy),
    LAPWING_WORK(CmdCopyBufferToImage, kCopy),
    LAPWING_WORK(CmdCopyBufferToImage2, kCopy),
    LAPWING_WORK(CmdCopyImageToBuffer, kCopy),
    LAPWING_WORK(CmdCopyImageToBuffer2, kCopy),
    LAPWING_WORK(CmdBlitImage, kCopy),
    LAPWING_WORK(CmdBlitImage2, kCopy),
    LAPWING_WORK(CmdResolveImage, kCopy),
    LAPWING_WORK(CmdResolveImage2, kCopy),
    LAPWING_WORK(CmdUpdateBuffer, kCopy),
    LAPWING_WORK(CmdFillBuffer, kFill),
    LAPWING_WORK(CmdClearColorImage, kFill),
    LAPWING_WORK(CmdClearDepthStencilImage, kFill),
    LAPWING_PASS(CmdBeginRenderPass, true),
    LAPWING_PASS(CmdBeginRenderPass2, true),
    LAPWING_PASS(CmdBeginRendering, true),
    LAPWING_PASS(CmdEndRenderPass, false),
    LAPWING_PASS(CmdEndRenderPass2, false),
    LAPWING_PASS(CmdEndRendering, false),
    {"vkCmdExecuteCommands", as_hook(CmdExecuteCommands)},
};
#undef LAPWING_WORK
#undef LAPWING_PASS
}    // namespace

std::span<const NamedHook> command_hooks() noexcept {
    return kHooks;
}

}    // namespace lapwing::vulkan_layer
