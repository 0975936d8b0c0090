// Families of real passes on a real driver.
#include <gtest/gtest.h>

#include "conformance/vulkan_harness.hpp"
#include "lapwing/device_spans.hpp"
#include "lapwing/families.hpp"
#include "lapwing/level.hpp"
#include "lapwing/round_trip.hpp"

namespace lapwing::testing {
namespace {

struct VulkanFamiliesOnDevice : ::testing::Test {
    void SetUp() override {
        std::string why_not;
        vk = VulkanHarness::make({}, why_not);
        if (vk == nullptr) GTEST_SKIP() << why_not;
        backend = vk->make_backend();
        ASSERT_NE(backend, nullptr);
        queue = backend->open_queue(vk->family()).value();
        ring = std::make_unique<DeviceRing<VulkanBackend>>(*backend);
        spans = std::make_unique<DeviceSpanCollector<VulkanBackend>>(
            *ring, view, DeviceInfo{.id = 1, .api = "vulkan", .name = vk->device_name()});
        ASSERT_TRUE(spans->add_queue(queue, "queue 0").ok());
        families = std::make_unique<FamilySpans<VulkanBackend>>(*ring);
        set_level(Level::kKernel);
    }
    void TearDown() override {
        set_level(Level::kOff);
        if (vk == nullptr) return;
        vk->wait_idle();
        const Status down = backend->shutdown();
        EXPECT_TRUE(down.ok()) << down.error().message;
    }

    std::unique_ptr<VulkanHarness> vk;
    std::unique_ptr<VulkanBackend> backend;
    VulkanBackend::Queue queue;
    std::unique_ptr<DeviceRing<VulkanBackend>> ring;
    FamilyView view;
    std::unique_ptr<DeviceSpanCollector<VulkanBackend>> spans;
    std::unique_ptr<FamilySpans<VulkanBackend>> families;
};

// One wrapped kernel is one call with a time, as Q's tests ask; here several submissions are in flight before the first
// is read.
TEST_F(VulkanFamiliesOnDevice, EveryCallLandsWithItsTimeWhileTheProgramGoesOn) {
    constexpr int kSubmits = 8;
    const uint32_t work = vk->iterations_for(2'000'000);
    std::vector<VkFence> fences;
    for (int i = 0; i < kSubmits; ++i) {
        const VkCommandBuffer commands = vk->begin_commands();
        ASSERT_TRUE(backend->begin_commands(queue, commands, 16).ok());
        {
            const FamilyScope gemm(*families, 0, Family::kGemm);
            vk->dispatch(commands, work);
        }
        const FamilyToken block = families->begin(0, Family::kFusedBlock, Passes::kSeveral);
        for (int pass = 0; pass < 2; ++pass) {
            const FamilyToken one = families->begin_pass(block);
            vk->dispatch(commands, work);
            families->end_pass(one);
        }
        families->end(block);
        backend->end_commands(queue);
        vk->end_commands(commands);
        fences.push_back(vk->make_fence());
        vk->submit(commands, fences.back());
        backend->submitted(queue, {.fence = fences.back()});
    }
    for (const VkFence fence : fences) vk->wait(fence);
    ASSERT_TRUE(spans->harvest().ok());

    const std::vector<FamilyTiming> seen = view.snapshot();
    const FamilyTiming& gemm = seen[static_cast<std::size_t>(Family::kGemm)];
    const FamilyTiming& block = seen[static_cast<std::size_t>(Family::kFusedBlock)];
    EXPECT_EQ(gemm.calls, static_cast<uint64_t>(kSubmits));
    EXPECT_EQ(block.calls, static_cast<uint64_t>(kSubmits));
    EXPECT_GT(gemm.min_ns, 0);
    ASSERT_TRUE(block.busy_ns.has_value());
    EXPECT_LE(*block.busy_ns, block.total_ns);
    EXPECT_GT(*block.busy_ns, block.total_ns / 2) << "two passes with little between them";
    EXPECT_GT(*block.busy_ns, gemm.total_ns) << "twice the work";
    EXPECT_EQ(gemm.invalid + block.invalid, 0u);
    for (const VkFence fence : fences) backend->release_fence(fence);
}

TEST_F(VulkanFamiliesOnDevice, AnEmptyRoundTripHasAPrice) {
    const Result<RoundTrip> trip = measure_round_trip(16, [&]() -> Status {
        const VkCommandBuffer commands = vk->begin_commands();
        vk->end_commands(commands);
        const VkFence fence = vk->make_fence();
        vk->submit(commands, fence);
        vk->wait(fence);
        return {};
    });
    ASSERT_TRUE(trip.ok());
    EXPECT_EQ(trip.value().count, 16u);
    EXPECT_GT(trip.value().min_ns, 0);
    EXPECT_GE(trip.value().mean_ns, trip.value().min_ns);
}

}    // namespace
}    // namespace lapwing::testing
