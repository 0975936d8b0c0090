// Render passes: one span each, however many command buffers they go through.
#include <gtest/gtest.h>

#include <string>

#include "unit/vulkan_layer/scripted_device.hpp"

namespace lapwing::attach::vulkan_layer {
namespace {

using testing::fence;
using testing::ScriptedDevice;

constexpr bool kResumes = true;
constexpr bool kSuspends = true;

// The kinds of the measured spans, a letter each: d for a dispatch, r for a render pass.
std::string kinds(ScriptedDevice& scripted) {
    std::string out;
    for (const SpanRecord& span : scripted.stream.device_spans())
        out += scripted.stream.site_of(span).kind == SpanKind::kRender ? 'r' : 'd';
    return out;
}

TEST(LayerPasses, APassIsASpanBetweenItsNeighbours) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1);
    buffer->begin_render_pass(false, false);
    buffer->end_render_pass();
    scripted.command(*buffer);
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));
    EXPECT_EQ(kinds(scripted), "drd");
    EXPECT_EQ(scripted.driver.calls["CmdWriteTimestamp"], 4u) << "neighbours share their stamp";
    EXPECT_EQ(Counters::read(scripted.session().counters().executed_dispatches), 2u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerPasses, NothingIsStampedInside) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    const auto content = scripted.command_buffer();
    scripted.begin(*content, VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT);
    scripted.begin(*buffer);
    buffer->begin_render_pass(false, false);
    const uint64_t stamps = scripted.driver.calls["CmdWriteTimestamp"];
    scripted.command(*buffer);     // no program can do this: it must not be believed
    scripted.command(*content);    // nor this
    buffer->execute(*content);
    EXPECT_EQ(scripted.driver.calls["CmdWriteTimestamp"], stamps);
    EXPECT_EQ(scripted.driver.calls["CmdResetQueryPool"], 1u);
    buffer->end_render_pass();
    EXPECT_EQ(scripted.driver.calls["CmdWriteTimestamp"], stamps + 1);
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));
    EXPECT_EQ(kinds(scripted), "r");
    EXPECT_EQ(scripted.lost()[LossReason::kUnsupported], 2u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerPasses, APassSuspendedAndResumedInOneBufferIsOneSpan) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.begin(*buffer);
    buffer->begin_render_pass(false, kSuspends);
    buffer->end_render_pass();
    buffer->begin_render_pass(kResumes, false);
    buffer->end_render_pass();
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));
    EXPECT_EQ(kinds(scripted), "r");
    EXPECT_EQ(scripted.driver.calls["CmdWriteTimestamp"], 2u);
    EXPECT_TRUE(scripted.balanced());
}

// Three parts of one pass, in buffers that are submitted again and again: copied out, and nothing stands between them.
class LayerSuspendedPass : public ::testing::TestWithParam<VkCommandBufferUsageFlags> {};

TEST_P(LayerSuspendedPass, IsOneSpanThroughAllItsBuffers) {
    ScriptedDevice scripted;
    const auto first = scripted.command_buffer();
    const auto middle = scripted.command_buffer();
    const auto last = scripted.command_buffer();
    scripted.begin(*first, GetParam());
    scripted.command(*first);
    first->begin_render_pass(false, kSuspends);
    first->end_render_pass();
    scripted.begin(*middle, GetParam());
    middle->begin_render_pass(kResumes, kSuspends);
    middle->end_render_pass();
    scripted.begin(*last, GetParam());
    last->begin_render_pass(kResumes, false);
    last->end_render_pass();
    scripted.command(*last);
    const int rounds = GetParam() == 0 ? 3 : 1;
    for (int i = 0; i < rounds; ++i) scripted.submit({first.get(), middle.get(), last.get()}, fence(i));
    scripted.see(fence(rounds - 1));

    EXPECT_EQ(kinds(scripted), rounds == 3 ? "drddrddrd" : "drd");
    const std::vector<SpanRecord> spans = scripted.stream.device_spans();
    for (std::size_t i = 1; i < spans.size(); ++i)
        EXPECT_GE(spans[i].begin_ns, spans[i - 1].begin_ns + spans[i - 1].duration_ns) << i;
    EXPECT_TRUE(scripted.balanced());
    for (const std::size_t position : scripted.copies_behind()) EXPECT_EQ(position, 2u) << "inside the pass";
    EXPECT_EQ(scripted.copies_behind().size(), GetParam() == 0 ? 2u : 0u) << "the middle part has no stamps";
}

INSTANTIATE_TEST_SUITE_P(Usage, LayerSuspendedPass,
                         ::testing::Values(VkCommandBufferUsageFlags{0}, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT));

TEST(LayerPasses, APassWhoseEndWasNeverSubmittedIsAbandoned) {
    ScriptedDevice scripted;
    const auto first = scripted.command_buffer();
    scripted.begin(*first);
    first->begin_render_pass(false, kSuspends);
    first->end_render_pass();
    scripted.submit({first.get()}, fence(1));
    scripted.see(fence(1));
    EXPECT_EQ(scripted.recorded(), 0u);
    EXPECT_EQ(scripted.lost()[LossReason::kAbandoned], 1u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerPasses, AnEndWithoutItsBeginningIsNoSpan) {
    ScriptedDevice scripted;
    const auto last = scripted.command_buffer();
    scripted.begin(*last);
    last->begin_render_pass(kResumes, false);
    last->end_render_pass();
    scripted.submit({last.get()}, fence(1));
    scripted.see(fence(1));
    EXPECT_EQ(scripted.begun(), 0u);
    EXPECT_EQ(scripted.recorded(), 0u);
}

TEST(LayerPasses, APassInAnUntimedStepGetsNoStamps) {
    ScriptedDevice scripted(2);    // steps 0, 2, 4, ... are timed
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1);
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));
    const uint64_t stamps = scripted.driver.calls["CmdWriteTimestamp"];
    scripted.begin(*buffer);
    buffer->begin_render_pass(false, false);
    buffer->end_render_pass();
    EXPECT_EQ(scripted.driver.calls["CmdWriteTimestamp"], stamps);
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
