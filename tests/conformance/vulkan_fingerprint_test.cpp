// Fingerprints computed on a real driver, against those that the host computes of the same bytes.
#include "lapwing/vulkan_fingerprint.hpp"

#include <gtest/gtest.h>
#include <vulkan/vulkan.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "conformance/vulkan_harness.hpp"
#include "lapwing/divergence.hpp"
#include "lapwing/fingerprint_run.hpp"

namespace lapwing::testing {
namespace {

// A storage buffer that the host fills.
class Buffer {
public:
    Buffer(const VulkanHarness& vk, std::span<const std::byte> bytes, std::size_t offset) : device_(vk.device()) {
        VkBufferCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
        info.size = (offset + bytes.size() + 3) / 4 * 4;
        info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        EXPECT_EQ(vkCreateBuffer(device_, &info, nullptr, &buffer), VK_SUCCESS);
        VkMemoryRequirements needs{};
        vkGetBufferMemoryRequirements(device_, buffer, &needs);
        VkPhysicalDeviceMemoryProperties memory{};
        vkGetPhysicalDeviceMemoryProperties(vk.physical(), &memory);
        VkMemoryAllocateInfo allocation{};
        allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
        allocation.allocationSize = needs.size;
        constexpr VkMemoryPropertyFlags kHost =
            VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        for (uint32_t i = memory.memoryTypeCount; i-- > 0;)
            if ((needs.memoryTypeBits >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & kHost) == kHost)
                allocation.memoryTypeIndex = i;
        EXPECT_EQ(vkAllocateMemory(device_, &allocation, nullptr, &memory_), VK_SUCCESS);
        EXPECT_EQ(vkBindBufferMemory(device_, buffer, memory_, 0), VK_SUCCESS);
        void* mapped = nullptr;
        EXPECT_EQ(vkMapMemory(device_, memory_, 0, VK_WHOLE_SIZE, 0, &mapped), VK_SUCCESS);
        std::memset(mapped, 0xff, info.size);    // what lies around the tensor is no part of it
        std::memcpy(static_cast<std::byte*>(mapped) + offset, bytes.data(), bytes.size());
        vkUnmapMemory(device_, memory_);
    }
    ~Buffer() {
        vkDestroyBuffer(device_, buffer, nullptr);
        vkFreeMemory(device_, memory_, nullptr);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    VkBuffer buffer = VK_NULL_HANDLE;

private:
    VkDevice device_;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
};

struct VulkanFingerprint : ::testing::Test {
    bool start(const VulkanHarness::Options& options, uint32_t slots = 64) {
        std::string why_not;
        vk = VulkanHarness::make(options, why_not);
        if (vk == nullptr) {
            skip = why_not;
            return false;
        }
        auto made = VulkanFingerprints::create({.instance = vk->instance(),
                                                .physical_device = vk->physical(),
                                                .device = vk->device(),
                                                .get_instance_proc_addr = counting_instance_entry,
                                                .shader_float64 = vk->float64_enabled(),
                                                .slots = slots});
        EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
        if (made.ok()) prints = std::move(made).value();
        return made.ok();
    }
    void stop() {
        if (prints != nullptr) {
            EXPECT_TRUE(prints->shutdown().ok());
        }
        prints.reset();
        vk.reset();
    }
    void TearDown() override { stop(); }

    // The device's and the host's fingerprint of the same bytes, which begin `offset` bytes into a buffer.
    std::pair<Fingerprint, Fingerprint> both(const void* data, uint64_t count, DType type, std::size_t offset = 0) {
        const Buffer buffer(*vk, {static_cast<const std::byte*>(data), count * size_of(type)}, offset);
        const VkCommandBuffer commands = vk->begin_commands();
        const Status recorded =
            prints->record(commands, {buffer.buffer, offset, count, type}, {.name = "tensor", .layer = 2});
        EXPECT_TRUE(recorded.ok()) << (recorded.ok() ? "" : recorded.error().message);
        vk->end_commands(commands);
        const VkFence fence = vk->make_fence();
        vk->submit(commands, fence);
        prints->submitted({.fence = fence});
        vk->wait(fence);
        FingerprintRun run;
        EXPECT_TRUE(prints->harvest(run).ok());
        EXPECT_EQ(run.records().size(), 1u);
        if (run.records().size() != 1) return {};
        EXPECT_EQ(run.records()[0].name, "tensor");
        EXPECT_EQ(run.records()[0].layer, 2);
        return {run.records()[0].fingerprint, fingerprint_of({data, count, type}).value()};
    }

    static void expect_alike(const Fingerprint& device, const Fingerprint& host) {
        EXPECT_EQ(device.type, host.type);
        EXPECT_EQ(device.count, host.count);
        EXPECT_EQ(device.nans, host.nans);
        EXPECT_EQ(device.infs, host.infs);
        EXPECT_EQ(device.min, host.min);
        EXPECT_EQ(device.max, host.max);
        EXPECT_EQ(device.seed, host.seed);
        EXPECT_EQ(device.checksum, host.checksum);
        const double unit = std::ldexp(1, -40);    // as the header promises
        EXPECT_NEAR(device.sum, host.sum, unit * host.sum_abs);
        EXPECT_NEAR(device.sum_abs, host.sum_abs, unit * host.sum_abs);
        EXPECT_NEAR(device.sum_squares, host.sum_squares, unit * host.sum_squares);
        for (std::size_t k = 0; k < kProjections; ++k)
            EXPECT_NEAR(device.projections[k], host.projections[k], unit * host.sum_abs) << k;
    }

    std::unique_ptr<VulkanHarness> vk;
    std::unique_ptr<VulkanFingerprints> prints;
    std::string skip;
};

#define LAPWING_START(...) \
    if (!start(__VA_ARGS__)) GTEST_SKIP() << skip

std::vector<float> normal(std::size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> draw;
    std::vector<float> out(count);
    for (float& value : out) value = draw(random);
    return out;
}

TEST_F(VulkanFingerprint, AgreesWithTheHostForEveryTypeSizeAndOffset) {
    for (const bool doubles : {false, true}) {
        LAPWING_START({.shader_float64 = doubles});
        if (doubles && !vk->float64_enabled()) break;    // SwiftShader has none
        SCOPED_TRACE(doubles);
        std::mt19937 random(7);
        for (const uint64_t count : {1u, 63u, 65u, 8193u, 70'001u}) {
            for (const DType type : {DType::kF32, DType::kF16, DType::kBf16, DType::kI8}) {
                SCOPED_TRACE(std::string(to_text(type)) + " x " + std::to_string(count));
                // All bit patterns of the small types, NaN and infinite ones among them; of f32 what can be squared.
                std::vector<uint8_t> bytes(count * size_of(type));
                for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
                if (type == DType::kF32) {
                    std::vector<float> values = normal(count, static_cast<uint32_t>(count));
                    if (count > 60) {
                        values[50] = std::numeric_limits<float>::quiet_NaN();
                        values[60] = -std::numeric_limits<float>::infinity();
                    }
                    std::memcpy(bytes.data(), values.data(), bytes.size());
                }
                if (type == DType::kBf16) {
                    for (uint64_t i = 0; i < count; ++i) {
                        const float value = std::ldexp(static_cast<float>(random() % 4096) - 2048.0F, -6);
                        uint32_t bits = 0;
                        std::memcpy(&bits, &value, 4);
                        bytes[2 * i] = static_cast<uint8_t>(bits >> 16);
                        bytes[2 * i + 1] = static_cast<uint8_t>(bits >> 24);
                    }
                }
                const auto [device, host] = both(bytes.data(), count, type, 5 * size_of(type));
                expect_alike(device, host);
            }
        }
        stop();
    }
}

TEST_F(VulkanFingerprint, OneWrongElementOfAMillionIsFoundAndTheSameValuesAreNot) {
    LAPWING_START({.shader_float64 = false});
    std::vector<float> values = normal(1'000'000, 3);
    const auto [good, host] = both(values.data(), values.size(), DType::kF32);
    expect_alike(good, host);
    const auto [again, unused] = both(values.data(), values.size(), DType::kF32);
    EXPECT_EQ(again, good) << "the order of additions is fixed";
    values[654'321] += static_cast<float>(std::sqrt(4 * nmse_bound(DType::kF32) * host.sum_squares));
    const auto [bad, bad_host] = both(values.data(), values.size(), DType::kF32);
    const auto record = [](const Fingerprint& print) {
        FingerprintRecord out{.name = "x"};
        out.fingerprint = print;
        return std::vector<FingerprintRecord>{out};
    };
    EXPECT_FALSE(compare_runs(record(host), record(good)).value().diverges());
    const DivergenceReport report = compare_runs(record(host), record(bad)).value();
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_NEAR(report.findings[0].nmse, 4 * nmse_bound(DType::kF32), 1e-10);
}

// A copy writes the tensor, the fingerprint reads it, another copy overwrites it: all in one command buffer.
TEST_F(VulkanFingerprint, SeesWhatWasWrittenBeforeItAndNothingThatComesAfter) {
    LAPWING_START({.validate = true});
    const std::vector<float> zeros(4096, 0.0F);
    const Buffer buffer(*vk, std::as_bytes(std::span(zeros)), 0);
    const VkCommandBuffer commands = vk->begin_commands();
    constexpr int kRounds = 5;
    for (int round = 1; round <= kRounds; ++round) {
        const float value = static_cast<float>(round);
        uint32_t bits = 0;
        std::memcpy(&bits, &value, 4);
        vkCmdFillBuffer(commands, buffer.buffer, 0, VK_WHOLE_SIZE, bits);
        ASSERT_TRUE(prints->record(commands, {buffer.buffer, 0, 4096, DType::kF32}, {.name = "x"}).ok());
    }
    vk->end_commands(commands);
    reset_forbidden_calls();
    const VkFence fence = vk->make_fence();
    vk->submit(commands, fence);
    prints->submitted({.fence = fence});
    FingerprintRun run;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(prints->harvest(run).ok());    // whether or not it is complete
    EXPECT_EQ(forbidden_calls().waits, 0u);
    vk->wait(fence);
    ASSERT_TRUE(prints->harvest(run).ok());
    EXPECT_EQ(forbidden_calls().waits, 0u) << "the wait was the program's own";
    ASSERT_EQ(run.records().size(), static_cast<std::size_t>(kRounds));
    for (int round = 1; round <= kRounds; ++round)
        EXPECT_EQ(run.records()[static_cast<std::size_t>(round - 1)].fingerprint.sum, 4096.0 * round);
    prints->release_fence(fence);
    EXPECT_EQ(vk->validation_messages(), 0u) << vk->first_validation_message();
}

TEST_F(VulkanFingerprint, WhatThePoolCannotHoldIsRefusedAndCounted) {
    LAPWING_START({}, 2);
    const std::vector<float> values = normal(100, 1);
    const Buffer buffer(*vk, std::as_bytes(std::span(values)), 0);
    const VulkanTensor tensor{buffer.buffer, 0, values.size(), DType::kF32};
    const VulkanTimeline gate{vk->make_timeline(), 1};
    const VulkanTimeline done{vk->make_timeline(), 1};
    const VkCommandBuffer commands = vk->begin_commands();
    EXPECT_TRUE(prints->record(commands, tensor, {.name = "a"}).ok());
    EXPECT_TRUE(prints->record(commands, tensor, {.name = "b"}).ok());
    const Status refused = prints->record(commands, tensor, {.name = "c"});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Errc::kExhausted);
    vk->end_commands(commands);
    vk->submit(commands, VK_NULL_HANDLE, done, gate);
    prints->submitted({.timeline = done.semaphore, .value = done.value});
    FingerprintRun run;
    ASSERT_TRUE(prints->harvest(run).ok());
    EXPECT_TRUE(run.records().empty()) << "the device has not begun";
    EXPECT_FALSE(prints->shutdown().ok());
    vk->open_gate(gate);
    vk->wait_idle();
    ASSERT_TRUE(prints->harvest(run).ok());
    EXPECT_EQ(run.records().size(), 2u);
    const VkCommandBuffer never = vk->begin_commands();
    EXPECT_TRUE(prints->record(never, tensor, {.name = "d"}).ok()) << "the slots are free again";
    vk->end_commands(never);
    prints->discarded();
    const VulkanFingerprints::Stats stats = prints->stats();
    EXPECT_EQ(stats.recorded, 3u);
    EXPECT_EQ(stats.harvested, 2u);
    EXPECT_EQ(stats.dropped, 2u);
}

TEST_F(VulkanFingerprint, BadTensorsAndOptionsAreRefused) {
    LAPWING_START({});
    const std::vector<float> values = normal(100, 1);
    const Buffer buffer(*vk, std::as_bytes(std::span(values)), 0);
    const VkCommandBuffer commands = vk->begin_commands();
    EXPECT_FALSE(prints->record(commands, {VK_NULL_HANDLE, 0, 10, DType::kF32}, {}).ok());
    EXPECT_FALSE(prints->record(commands, {buffer.buffer, 0, 0, DType::kF32}, {}).ok());
    EXPECT_FALSE(prints->record(commands, {buffer.buffer, 2, 10, DType::kF32}, {}).ok());
    const Status large = prints->record(commands, {buffer.buffer, 0, uint64_t{1} << 40, DType::kF32}, {});
    ASSERT_FALSE(large.ok());
    EXPECT_EQ(large.error().code, Errc::kUnsupported);
    vk->end_commands(commands);
    EXPECT_EQ(prints->stats().dropped, 0u);
    EXPECT_FALSE(VulkanFingerprints::create({}).ok());
    EXPECT_FALSE(VulkanFingerprints::create({.instance = vk->instance(),
                                             .physical_device = vk->physical(),
                                             .device = vk->device(),
                                             .get_instance_proc_addr = counting_instance_entry,
                                             .slots = 0})
                     .ok());
}

}    // namespace
}    // namespace lapwing::testing
