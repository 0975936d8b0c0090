// The layer's device on top of a scripted driver: no loader, no hooks, host times chosen by the test.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "attach/vulkan_layer/command_buffer.hpp"
#include "attach/vulkan_layer/device.hpp"
#include "unit/vulkan_fake_driver.hpp"
#include "unit/vulkan_layer/recorded_stream.hpp"

namespace lapwing::testing {

/// A fence, told from others by its number.
[[nodiscard]] inline VkFence fence(uint64_t number) {
    return FakeDriver::handle<VkFence>(0x9000 + number);
}

/// A device with one queue and one command pool of each family.
/// Shape:   change the driver's script before the first use of `device()`.
class ScriptedDevice {
public:
    explicit ScriptedDevice(uint32_t every = 1);
    ~ScriptedDevice();

    FakeDriver driver;
    RecordedStream stream;
    attach::LayerConfig config;    ///< taken at the first use of `device()`
    bool empty_pairs = false;      ///< likewise: whether recordings may begin with one, as they do in programs

    [[nodiscard]] attach::vulkan_layer::Device& device();
    [[nodiscard]] attach::Session& session() { return device().session(); }

    [[nodiscard]] std::unique_ptr<attach::vulkan_layer::CommandBuffer> command_buffer(uint32_t family = 0);
    /// Begins a recording, one-time unless told otherwise.
    void begin(attach::vulkan_layer::CommandBuffer& buffer,
               VkCommandBufferUsageFlags flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
    /// Begins a recording and puts `dispatches` into it.
    void record(attach::vulkan_layer::CommandBuffer& buffer, uint32_t dispatches,
                VkCommandBufferUsageFlags flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
    void command(attach::vulkan_layer::CommandBuffer& buffer, SpanKind kind = SpanKind::kDispatch);

    /// Submits; the fake device runs it at once unless `run` is false.
    VkResult submit(std::initializer_list<attach::vulkan_layer::CommandBuffer*> buffers, VkFence fence = VK_NULL_HANDLE,
                    VkResult answer = VK_SUCCESS, bool run = true);
    VkResult submit_to(VkQueue queue, std::initializer_list<attach::vulkan_layer::CommandBuffer*> buffers,
                       VkFence fence, VkResult answer = VK_SUCCESS, bool run = true);
    bool takes_copies = true;                                             ///< of submits from now on
    std::vector<attach::vulkan_layer::SubmitContents::Signal> signals;    ///< of submits from now on
    /// Runs what the last submit carried, in order.
    void run_last_submit();
    /// The places of the last submit's command buffers that a copy was inserted behind.
    [[nodiscard]] const std::vector<std::size_t>& copies_behind() const { return copies_behind_; }
    /// The program sees a fence signalled.
    void see(VkFence fence);
    /// A millisecond passes.
    int64_t tick() { return now_ns_ += 1'000'000; }

    [[nodiscard]] static VkQueue queue(uint32_t family = 0) { return FakeDriver::handle<VkQueue>(0x5000 + family); }

    [[nodiscard]] uint64_t begun();
    [[nodiscard]] uint64_t recorded();
    [[nodiscard]] LossCounts lost();
    /// begun = recorded + lost.
    [[nodiscard]] bool balanced() { return begun() == recorded() + lost().total(); }

private:
    int64_t now_ns_ = 1'000'000'000'000;
    uint64_t next_buffer_ = 0x70000;
    vulkan::DeviceTable table_;
    std::unique_ptr<attach::Session> session_;
    std::unique_ptr<attach::vulkan_layer::Device> device_;
    std::map<const attach::vulkan_layer::CommandBuffer*, VkCommandBuffer> handles_;
    std::vector<std::size_t> copies_behind_;
    std::vector<VkCommandBuffer> last_submit_;    // with the layer's own among them
};

}    // namespace lapwing::testing
