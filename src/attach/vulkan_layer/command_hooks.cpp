// Commands that are work, render passes, and the secondaries a command buffer executes.
#include "attach/session/cost_meter.hpp"
#include "attach/vulkan_layer/hooks.hpp"
#include "attach/vulkan_layer/registry.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
using vulkan::DeviceTable;
using Grid = std::array<uint32_t, 3>;

// The command buffer that is followed behind a handle; null where hooks do nothing.
CommandBuffer* followed(VkCommandBuffer handle) noexcept {
    return process_live() ? registry().find_command_buffer(handle) : nullptr;
}

template <class Call>
[[gnu::noinline]] void time_armed_command(CommandBuffer& buffer, SpanKind kind, const Grid& grid, bool measure_cost,
                                          Call& call) noexcept {
    std::optional<CostMeter> cost;
    if (measure_cost) cost.emplace(buffer.device().counters(), CostMeter::Sampled{});
    const bool timed = buffer.before_command(kind, grid);
    if (cost) cost->pause();
    call(buffer.device().vk);
    if (cost) cost->resume();
    if (timed) buffer.after_command();
}

// Most commands of a sampled run are counted and nothing else: that path alone is inlined.
template <class Call>
void time_command(VkCommandBuffer handle, SpanKind kind, const Grid& grid, Call&& call) noexcept {
    CommandBuffer* const buffer = followed(handle);
    if (buffer == nullptr) return call(registry().device_of(handle).vk);
    const bool measure_cost = CostMeter::is_due();
    if (!measure_cost && buffer->count_untimed(kind)) return call(buffer->device().vk);
    time_armed_command(*buffer, kind, grid, measure_cost, call);
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

// Work that has no span: it is counted, and nothing behind it is charged for it.
template <auto Entry>
struct UntimedHook;

template <class... Arguments, void (VKAPI_PTR* DeviceTable::*Entry)(VkCommandBuffer, Arguments...)>
struct UntimedHook<Entry> {
    static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer handle, Arguments... arguments) {
        if (CommandBuffer* const buffer = followed(handle); buffer != nullptr) buffer->pass_over();
        (registry().device_of(handle).vk.*Entry)(handle, arguments...);
    }
};

// A render pass is one span: stamps stand outside of it.
VKAPI_ATTR void VKAPI_CALL CmdBeginRendering(VkCommandBuffer handle, const VkRenderingInfo* info) {
    if (CommandBuffer* const buffer = followed(handle); buffer != nullptr)
        buffer->begin_render_pass((info->flags & VK_RENDERING_RESUMING_BIT) != 0,
                                  (info->flags & VK_RENDERING_SUSPENDING_BIT) != 0);
    registry().device_of(handle).vk.CmdBeginRendering(handle, info);
}

template <auto Entry>
struct BeginPassHook;
template <class... Arguments, void (VKAPI_PTR* DeviceTable::*Entry)(VkCommandBuffer, Arguments...)>
struct BeginPassHook<Entry> {
    static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer handle, Arguments... arguments) {
        if (CommandBuffer* const buffer = followed(handle); buffer != nullptr) buffer->begin_render_pass(false, false);
        (registry().device_of(handle).vk.*Entry)(handle, arguments...);
    }
};

template <auto Entry>
struct EndPassHook;
template <class... Arguments, void (VKAPI_PTR* DeviceTable::*Entry)(VkCommandBuffer, Arguments...)>
struct EndPassHook<Entry> {
    static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer handle, Arguments... arguments) {
        (registry().device_of(handle).vk.*Entry)(handle, arguments...);
        if (CommandBuffer* const buffer = followed(handle); buffer != nullptr) buffer->end_render_pass();
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

// {name, hook} of a copy, fill, pass or untimed command.
#define LAPWING_WORK(name, kind) \
    { "vk" #name, as_hook(WorkHook<&DeviceTable::name, SpanKind::kind>::call) }
#define LAPWING_UNTIMED(name) \
    { "vk" #name, as_hook(UntimedHook<&DeviceTable::name>::call) }
#define LAPWING_PASS(hook, name) \
    { "vk" #name, as_hook(hook<&DeviceTable::name>::call) }

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
    LAPWING_WORK(CmdCopyQueryPoolResults, kCopy),
    LAPWING_WORK(CmdFillBuffer, kFill),
    LAPWING_WORK(CmdClearColorImage, kFill),
    LAPWING_WORK(CmdClearDepthStencilImage, kFill),
    LAPWING_UNTIMED(CmdTraceRaysKHR),
    LAPWING_UNTIMED(CmdTraceRaysIndirectKHR),
    LAPWING_UNTIMED(CmdTraceRaysIndirect2KHR),
    LAPWING_UNTIMED(CmdBuildAccelerationStructuresKHR),
    LAPWING_UNTIMED(CmdBuildAccelerationStructuresIndirectKHR),
    LAPWING_UNTIMED(CmdCopyAccelerationStructureKHR),
    LAPWING_UNTIMED(CmdCopyAccelerationStructureToMemoryKHR),
    LAPWING_UNTIMED(CmdCopyMemoryToAccelerationStructureKHR),
    LAPWING_UNTIMED(CmdTraceRaysNV),
    LAPWING_UNTIMED(CmdBuildAccelerationStructureNV),
    LAPWING_UNTIMED(CmdCopyAccelerationStructureNV),
    {"vkCmdBeginRendering", as_hook(CmdBeginRendering)},
    LAPWING_PASS(BeginPassHook, CmdBeginRenderPass),
    LAPWING_PASS(BeginPassHook, CmdBeginRenderPass2),
    LAPWING_PASS(EndPassHook, CmdEndRenderPass),
    LAPWING_PASS(EndPassHook, CmdEndRenderPass2),
    LAPWING_PASS(EndPassHook, CmdEndRendering),
    {"vkCmdExecuteCommands", as_hook(CmdExecuteCommands)},
};
#undef LAPWING_WORK
#undef LAPWING_UNTIMED
#undef LAPWING_PASS
}    // namespace

std::span<const NamedHook> command_hooks() noexcept {
    return kHooks;
}

}    // namespace lapwing::attach::vulkan_layer
