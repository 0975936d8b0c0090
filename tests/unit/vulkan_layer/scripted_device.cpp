#include "unit/vulkan_layer/scripted_device.hpp"

#include <gtest/gtest.h>

namespace lapwing::testing {

using attach::Counters;
using attach::vulkan_layer::CommandBuffer;
using attach::vulkan_layer::SubmitTicket;

namespace {
VkCommandPool pool(uint32_t family) {
    return FakeDriver::handle<VkCommandPool>(0x6000 + family);
}
}    // namespace

ScriptedDevice::ScriptedDevice(uint32_t every) {
    config.arming.every = every;
}

ScriptedDevice::~ScriptedDevice() = default;

attach::vulkan_layer::Device& ScriptedDevice::device() {
    if (device_ != nullptr) return *device_;
    config.out = "unused";
    std::unique_ptr<Recorder> recorder = make_stream_recorder(stream);
    EXPECT_TRUE(recorder->process(attach::Session::describe_process(config)).ok());
    session_ = std::make_unique<attach::Session>(config, std::move(recorder));
    table_ = FakeDriver::device_table();
    const vulkan::DeviceTraits traits =
        vulkan::describe_device(FakeDriver::instance_table(), FakeDriver::physical_device(), VK_API_VERSION_1_3, {});
    attach::vulkan_layer::CopyStore::Setup setup;
    FakeDriver::instance_table().GetPhysicalDeviceMemoryProperties(FakeDriver::physical_device(), &setup.memory);
    device_ = std::make_unique<attach::vulkan_layer::Device>(FakeDriver::device(), table_, traits, setup, *session_);
    while (!empty_pairs && device_->queues().wants_empty_pair(true)) {
    }
    for (uint32_t family = 0; family < driver.families.size(); ++family) {
        device_->queues().add_queue(queue(family), family, 0);
        device_->add_command_pool(pool(family), family);
    }
    return *device_;
}

std::unique_ptr<CommandBuffer> ScriptedDevice::command_buffer(uint32_t family) {
    const auto handle = FakeDriver::handle<VkCommandBuffer>(next_buffer_ += 0x10);
    auto buffer = std::make_unique<CommandBuffer>(device(), handle, pool(family), device().family_of(pool(family)));
    handles_[buffer.get()] = handle;
    return buffer;
}

void ScriptedDevice::begin(CommandBuffer& buffer, VkCommandBufferUsageFlags flags) {
    driver.commands[handles_.at(&buffer)].clear();
    VkCommandBufferBeginInfo info{};
    info.flags = flags;
    buffer.begin(info);
}

void ScriptedDevice::record(CommandBuffer& buffer, uint32_t dispatches, VkCommandBufferUsageFlags flags) {
    begin(buffer, flags);
    for (uint32_t i = 0; i < dispatches; ++i) command(buffer);
}

void ScriptedDevice::command(CommandBuffer& buffer, SpanKind kind) {
    if (buffer.before_command(kind, {1, 2, 3})) buffer.after_command();
}

VkResult ScriptedDevice::submit(std::initializer_list<CommandBuffer*> buffers, VkFence fence, VkResult answer,
                                bool run) {
    return submit_to(queue(), buffers, fence, answer, run);
}

VkResult ScriptedDevice::submit_to(VkQueue queue, std::initializer_list<CommandBuffer*> buffers, VkFence fence,
                                   VkResult answer, bool run) {
    attach::vulkan_layer::SubmitContents contents;
    contents.batches.push_back({static_cast<uint32_t>(buffers.size()), takes_copies});
    contents.signals = signals;
    for (const CommandBuffer* buffer : buffers) contents.recordings.push_back(buffer->recording());
    const SubmitTicket ticket = device().queues().begin_submit(queue, fence, contents, tick());
    last_submit_.clear();
    copies_behind_.clear();
    for (const attach::vulkan_layer::SubmitContents::Insert& inserted : contents.inserts)
        if (!inserted.in_front) copies_behind_.push_back(inserted.at);
    auto insert = contents.inserts.begin();
    uint32_t position = 0;
    const auto add_ours = [&](bool in_front) {
        for (; insert != contents.inserts.end() && insert->at == position && insert->in_front == in_front; ++insert)
            last_submit_.push_back(insert->commands);
    };
    for (const CommandBuffer* buffer : buffers) {
        add_ours(true);
        last_submit_.push_back(handles_.at(buffer));
        add_ours(false);
        ++position;
    }
    if (answer == VK_SUCCESS && run) run_last_submit();
    device().queues().end_submit(ticket, answer);
    return answer;
}

void ScriptedDevice::run_last_submit() {
    for (const VkCommandBuffer commands : last_submit_) driver.execute(commands);
}

void ScriptedDevice::see(VkFence fence) {
    device().queues().fences_signalled({&fence, 1}, tick());
}

uint64_t ScriptedDevice::begun() {
    return Counters::read(session().counters().begun);
}

uint64_t ScriptedDevice::recorded() {
    return Counters::read(session().counters().recorded);
}

LossCounts ScriptedDevice::lost() {
    return session().counters().lost.snapshot();
}

}    // namespace lapwing::testing
