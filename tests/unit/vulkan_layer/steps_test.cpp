// Steps found by labels and by counting submits, and which command buffers get stamps for them.
#include <gtest/gtest.h>

#include <string>

#include "attach/session/step_clock.hpp"
#include "unit/vulkan_layer/scripted_device.hpp"

namespace lapwing::attach::vulkan_layer {
namespace {

using testing::fence;
using testing::ScriptedDevice;

StepRule rule(const char* text) {
    return parse_step_rule(text).value();
}

class LayerSteps : public ::testing::Test {
protected:
    /// Records a buffer whose commands stand inside a label.
    void record(const char* label, uint32_t dispatches = 2) {
        scripted.begin(buffer(), 0);    // may be submitted again
        if (label != nullptr) buffer().push_label(label);
        for (uint32_t i = 0; i < dispatches; ++i) scripted.command(buffer());
        if (label != nullptr) buffer().pop_label();
    }
    void submit() {
        scripted.submit({&buffer()}, fence(1));
        scripted.see(fence(1));
    }
    void finish() { scripted.session().publish_stats(true); }
    CommandBuffer& buffer() {
        if (buffer_ == nullptr) buffer_ = scripted.command_buffer();
        return *buffer_;
    }
    const std::vector<StepRecord>& steps() { return scripted.stream.steps; }

    ScriptedDevice scripted;
    std::unique_ptr<CommandBuffer> buffer_;
};

TEST_F(LayerSteps, ALabelInACommandBufferBeginsAStepAtItsSubmit) {
    scripted.config.step = rule("label:^decode");
    scripted.config.arming.every = 2;
    record("load");
    submit();
    for (int i = 0; i < 4; ++i) {
        record("decode");
        submit();
        record(nullptr, 1);
        submit();
    }
    finish();
    ASSERT_EQ(steps().size(), 4u);
    for (uint32_t i = 0; i < 4; ++i) {
        EXPECT_EQ(steps()[i].index, i);
        EXPECT_EQ(steps()[i].dispatches, 3u);
        EXPECT_EQ(steps()[i].armed, i % 2 == 0);
        EXPECT_EQ(steps()[i].untimed, i % 2 == 0 ? 0u : 3u);
        EXPECT_TRUE(i == 0 || steps()[i].begin_ns == steps()[i - 1].end_ns) << "a step lasts until the next one";
    }
    const std::vector<SpanRecord> spans = scripted.stream.device_spans();
    ASSERT_EQ(spans.size(), 6u);
    for (const SpanRecord& span : spans) EXPECT_EQ(span.step % 2, 0u);
    EXPECT_TRUE(scripted.balanced());
}

TEST_F(LayerSteps, WorkBeforeTheFirstLabelIsInNoStepAndNotTimed) {
    scripted.config.step = rule("label:decode");
    record("load");
    submit();
    finish();
    EXPECT_TRUE(steps().empty());
    EXPECT_EQ(scripted.begun(), 0u);
    EXPECT_EQ(Counters::read(scripted.session().counters().executed_dispatches), 2u) << "counted all the same";
}

TEST_F(LayerSteps, ALabelOnAQueueBeginsAStepAtTheNextSubmitWithWork) {
    scripted.config.step = rule("label:token [0-9]+");
    Session& session = scripted.session();
    for (int i = 0; i < 3; ++i) {
        session.scope_opened(("token " + std::to_string(i)).c_str(), scripted.tick());
        scripted.submit({}, fence(2));    // nothing but a fence
        record(nullptr);
        submit();
        record(nullptr);
        submit();
        session.scope_closed();
    }
    finish();
    ASSERT_EQ(steps().size(), 3u);
    for (const StepRecord& step : steps()) EXPECT_EQ(step.dispatches, 4u);
    EXPECT_EQ(scripted.recorded(), 12u);
    EXPECT_TRUE(scripted.balanced());
}

TEST_F(LayerSteps, StepsMayBeCountedInSubmits) {
    scripted.config.step = rule("submits:3");
    scripted.config.arming.every = 2;
    for (int i = 0; i < 9; ++i) {
        record(nullptr);
        submit();
        scripted.submit({}, fence(2));
        scripted.see(fence(2));
    }
    finish();
    ASSERT_EQ(steps().size(), 3u);
    for (uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(steps()[i].dispatches, 6u);
        EXPECT_EQ(steps()[i].armed, i != 1);
    }
    EXPECT_EQ(scripted.recorded(), 12u);
}

TEST_F(LayerSteps, ARefusedSubmitCountsForNoStep) {
    scripted.config.step = rule("submits:2");
    for (int i = 0; i < 4; ++i) {
        record(nullptr);
        scripted.submit({&buffer()}, fence(2), VK_ERROR_OUT_OF_HOST_MEMORY);
        record(nullptr);
        submit();
    }
    finish();
    ASSERT_EQ(steps().size(), 2u);
    for (const StepRecord& step : steps()) EXPECT_EQ(step.dispatches, 4u);
    EXPECT_TRUE(scripted.balanced());
}

TEST_F(LayerSteps, ABufferRecordedWhileTimingWasOffIsCountedInArmedSteps) {
    scripted.config.arming.every = 2;
    record(nullptr);
    submit();           // step 0, armed
    record(nullptr);    // recorded for step 1, not armed
    submit();
    submit();    // step 2 is armed, its buffer has no stamps
    ASSERT_EQ(steps().size(), 3u);
    EXPECT_TRUE(steps()[2].armed);
    EXPECT_EQ(steps()[2].untimed, 2u);
    EXPECT_EQ(scripted.recorded(), 2u);
    record(nullptr);
    submit();
    record(nullptr);    // recorded again, for step 4
    submit();
    EXPECT_EQ(steps()[4].untimed, 0u);
    EXPECT_EQ(scripted.recorded(), 4u);
}

TEST_F(LayerSteps, ABufferRecordedInAnArmedStepIsTimedInEveryStep) {
    scripted.config.arming.every = 8;
    record(nullptr);
    for (int i = 0; i < 4; ++i) submit();
    ASSERT_EQ(steps().size(), 4u);
    for (const StepRecord& step : steps()) EXPECT_TRUE(step.armed);
    EXPECT_EQ(scripted.recorded() + scripted.lost().total(), 8u);
}

TEST_F(LayerSteps, SkippedStepsAndThoseAfterTheDurationAreNotSampled) {
    scripted.config.arming.skip = 2;
    scripted.config.arming.duration_ns = 5'000'000;    // a step takes two milliseconds of the script's clock
    for (int i = 0; i < 8; ++i) {
        record(nullptr);
        submit();
    }
    std::string armed;
    for (const StepRecord& step : steps()) {
        EXPECT_EQ(step.armed, step.sampled);
        armed += step.armed ? 'x' : '.';
    }
    EXPECT_EQ(armed, "..xxx...");
    EXPECT_EQ(scripted.recorded(), 6u);
}

TEST_F(LayerSteps, AtLevelBasicNoStepIsArmed) {
    scripted.config.level = Level::kBasic;
    record(nullptr);
    submit();
    ASSERT_EQ(steps().size(), 1u);
    EXPECT_FALSE(steps()[0].armed);
    EXPECT_FALSE(steps()[0].sampled);
    EXPECT_EQ(steps()[0].dispatches, 2u);
}

TEST_F(LayerSteps, AnUnfinishedStepOfASyncRuleStaysUnfinished) {
    record(nullptr);
    scripted.submit({&buffer()}, fence(1));
    finish();
    EXPECT_TRUE(steps().empty()) << "nobody has seen it complete";
}

TEST_F(LayerSteps, ABudgetIsInTheStats) {
    scripted.config.arming.budget = 0.01;
    for (int i = 0; i < 100; ++i) {
        record(nullptr);
        submit();
    }
    finish();
    const RecordingStats& stats = scripted.stream.stats.back();
    EXPECT_EQ(stats.budget_ppm, 10'000u);
    EXPECT_TRUE(stats.budget_share_ppm.has_value());
    EXPECT_TRUE(stats.armed_step_ns.has_value());
    uint64_t armed = 0;
    for (const StepRecord& step : steps()) armed += step.armed ? 1 : 0;
    EXPECT_GE(armed, 16u);
    EXPECT_LT(armed, 100u) << "it keeps steps without stamps to compare with";
}

TEST_F(LayerSteps, TheRecordingSaysHowStepsWereFound) {
    scripted.config.step = rule("submits:3");
    scripted.config.step_text = "submits:3";
    scripted.config.arming = {.every = 4, .skip = 2, .duration_ns = 1'000'000'000};
    static_cast<void>(scripted.session());
    EXPECT_EQ(scripted.stream.process.step, "submits:3");
    EXPECT_EQ(scripted.stream.process.every, 4u);
    EXPECT_EQ(scripted.stream.process.skip, 2u);
    EXPECT_EQ(scripted.stream.process.duration_ns, 1'000'000'000);
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
