// A Vulkan backend on a scripted driver.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "lapwing/vulkan_backend.hpp"
#include "unit/vulkan_fake_driver.hpp"

namespace lapwing::testing {

inline const auto kCommands = FakeDriver::handle<VkCommandBuffer>(0x100);
inline const auto kOtherCommands = FakeDriver::handle<VkCommandBuffer>(0x110);
inline const auto kFence = FakeDriver::handle<VkFence>(0x200);
inline const auto kOtherFence = FakeDriver::handle<VkFence>(0x210);

struct VulkanBackendTest : ::testing::Test {
    FakeDriver driver;
    std::unique_ptr<VulkanBackend> backend;
    VulkanBackend::Queue queue;

    void open(VulkanBackendOptions options = {}, uint32_t family = 0) {
        options.instance = FakeDriver::instance();
        options.physical_device = FakeDriver::physical_device();
        options.device = FakeDriver::device();
        options.get_instance_proc_addr = FakeDriver::instance_entry;
        options.instance_api_version = VK_API_VERSION_1_3;
        auto made = VulkanBackend::create(options);
        ASSERT_TRUE(made.ok()) << made.error().message;
        backend = std::move(made).value();
        queue = backend->open_queue(family).value();
        ASSERT_TRUE(backend->reserve(0, 1024));
    }
    // Records marks of these slots; the caller submits.
    void record(VkCommandBuffer commands, const std::vector<uint32_t>& slots) {
        driver.commands[commands].clear();
        ASSERT_TRUE(backend->begin_commands(queue, commands, static_cast<uint32_t>(slots.size())).ok());
        for (const uint32_t slot : slots) ASSERT_TRUE(backend->mark(queue, slot));
        backend->end_commands(queue);
    }
    Stamp poll(uint32_t slot) {
        std::array<Stamp, 1> out;
        backend->poll(std::array{slot}, out);
        return out[0];
    }
    uint64_t count(VkCommandBuffer commands, FakeCommand::Kind kind) {
        uint64_t n = 0;
        for (const FakeCommand& command : driver.commands[commands]) n += command.kind == kind ? 1 : 0;
        return n;
    }
};

}    // namespace lapwing::testing
