// Families on a Vulkan command stream: what they record, and that they record nothing when they are off.
#include <gtest/gtest.h>

#include "lapwing/device_ring.hpp"
#include "lapwing/families.hpp"
#include "lapwing/level.hpp"
#include "unit/vulkan_backend_fixture.hpp"

namespace lapwing::testing {
namespace {

struct VulkanFamilies : VulkanBackendTest {
    void SetUp() override {
        open();
        ring = std::make_unique<DeviceRing<VulkanBackend>>(*backend);
        ASSERT_TRUE(ring->add_queue(queue, 1).ok());
        families = std::make_unique<FamilySpans<VulkanBackend>>(*ring);
        set_level(Level::kKernel);
    }
    void TearDown() override { set_level(Level::kOff); }

    // A token's passes as an engine records them; the engine's own command is a barrier of its making.
    std::vector<FakeCommand> record_passes() {
        driver.commands[kCommands].clear();
        const bool timed = families->enabled();
        if (timed) (void)backend->begin_commands(queue, kCommands, 16);
        const FamilyToken block = families->begin(0, Family::kFusedBlock, Passes::kSeveral);
        for (int pass = 0; pass < 2; ++pass) {
            const FamilyToken one = families->begin_pass(block);
            own_commands();
            families->end_pass(one);
        }
        families->end(block);
        {
            const FamilyScope scope(*families, 0, Family::kOutputTopk);
            own_commands();
        }
        if (timed) backend->end_commands(queue);
        return driver.commands[kCommands];
    }
    void own_commands() { driver.commands[kCommands].push_back({FakeCommand::Kind::kCopy, {}, 7, 7, {}, 77, 0}); }
    static std::vector<std::tuple<int, uint32_t, uint32_t, uint64_t>> bytes_of(
        const std::vector<FakeCommand>& commands) {
        std::vector<std::tuple<int, uint32_t, uint32_t, uint64_t>> out;
        for (const FakeCommand& command : commands)
            out.emplace_back(static_cast<int>(command.kind), command.first, command.count, command.offset);
        return out;
    }

    std::unique_ptr<DeviceRing<VulkanBackend>> ring;
    std::unique_ptr<FamilySpans<VulkanBackend>> families;
};

TEST_F(VulkanFamilies, OffTheCommandsAreThoseOfTheProgramAlone) {
    driver.commands[kCommands].clear();
    for (int pass = 0; pass < 3; ++pass) own_commands();
    const auto alone = bytes_of(driver.commands[kCommands]);
    const uint64_t calls = driver.total_calls();

    families->set_enabled(false);
    EXPECT_EQ(bytes_of(record_passes()), alone);
    families->set_enabled(true);
    for (const Level level : {Level::kOff, Level::kBasic, Level::kLane}) {
        set_level(level);
        EXPECT_EQ(bytes_of(record_passes()), alone) << to_text(level);
    }
    EXPECT_EQ(driver.total_calls(), calls) << "no call to the driver at all";
}

TEST_F(VulkanFamilies, OnEachSpanTakesTwoStampsAroundItsPasses) {
    const std::vector<FakeCommand> commands = record_passes();
    std::string order;
    for (const FakeCommand& command : commands) {
        if (command.kind == FakeCommand::Kind::kStamp) order += 's';
        if (command.kind == FakeCommand::Kind::kCopy && command.offset == 77) order += 'P';
    }
    EXPECT_EQ(order, "ssPssPsssPs") << "whole, pass, pass, end of whole; the scope's own pair";
}

}    // namespace
}    // namespace lapwing::testing
