#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "attach/session/label_table.hpp"
#include "attach/vulkan_layer/label_stack.hpp"

namespace lapwing::attach::vulkan_layer {
namespace {

std::string text(const std::string* label) {
    return label == nullptr ? "(none)" : *label;
}

struct Named {
    std::string op;
    std::string kernel;
};

Named name_under(const std::vector<const char*>& labels, const char* pipeline) {
    LabelTable table;
    LabelStack stack;
    for (const char* label : labels) stack.push(label);
    const CommandLabels names = stack.name_command(pipeline, table);
    return {text(names.op), text(names.kernel)};
}

TEST(LabelStack, OfGgmlsThreeLabelsTheMiddleOneIsTheOp) {
    const Named named = name_under({"submit 3", "RMS_NORM+MUL norm-0", "rms_norm_mul_f32 (1,1,1)"}, "rms_norm_mul_f32");
    EXPECT_EQ(named.op, "RMS_NORM+MUL norm-0");
    EXPECT_EQ(named.kernel, "(none)") << "the pipeline has a name of its own";
}

TEST(LabelStack, WithoutAPipelineNameTheLabelWithAGridIsTheKernel) {
    const Named named = name_under({"submit 3", "MUL_MAT Qcur-0", "mul_mat_vec_f16 (32,1,1)"}, "");
    EXPECT_EQ(named.op, "MUL_MAT Qcur-0");
    EXPECT_EQ(named.kernel, "mul_mat_vec_f16");
}

TEST(LabelStack, ALabelThatIsNotThePipelinesNameIsTheOp) {
    EXPECT_EQ(name_under({"axpy"}, "").op, "axpy");
    EXPECT_EQ(name_under({"frame", "axpy"}, "").op, "axpy");
    EXPECT_EQ(name_under({"frame", "axpy (1,1,1)"}, "other_kernel").op, "axpy (1,1,1)");
}

TEST(LabelStack, ThePipelinesOwnNameIsNoOp) {
    EXPECT_EQ(name_under({"axpy"}, "axpy").op, "(none)");
    EXPECT_EQ(name_under({"scale", "axpy"}, "axpy").op, "scale");
}

TEST(LabelStack, NumberedSubmitsAreNoOp) {
    EXPECT_EQ(name_under({"submit 0"}, "").op, "(none)");
    EXPECT_EQ(name_under({"submit 0", "axpy (8,1,1)"}, "axpy").op, "(none)");
}

TEST(LabelStack, LabelsThatNameNothingStayOutOfTheTable) {
    LabelTable table;
    LabelStack stack;
    for (int i = 0; i < 1000; ++i) {
        stack.push(("submit " + std::to_string(i)).c_str());
        stack.push("MUL_MAT Qcur-0");
        stack.push(("kernel (" + std::to_string(i) + ",1,1)").c_str());
        static_cast<void>(stack.name_command("kernel", table));
        stack.clear();
    }
    EXPECT_EQ(table.size(), 1u);
}

TEST(LabelStack, UnbalancedEndsAreTolerated) {
    LabelTable table;
    LabelStack stack;
    stack.pop();
    stack.push("a");
    stack.push("b");
    stack.pop();
    EXPECT_EQ(text(stack.name_command("", table).op), "a");
    stack.pop();
    stack.pop();
    EXPECT_EQ(stack.depth(), 0u);
    EXPECT_EQ(text(stack.name_command("", table).op), "(none)");
}

TEST(LabelStack, RunawayNestingIsCountedAndNotKept) {
    LabelTable table;
    LabelStack stack;
    stack.push("outermost");
    for (int i = 0; i < 100'000; ++i) stack.push("deeper");
    for (int i = 0; i < 100'000; ++i) stack.pop();
    EXPECT_EQ(stack.depth(), 1u);
    EXPECT_EQ(text(stack.name_command("", table).op), "outermost");
}

TEST(LabelStack, NullLabelsHoldAPlaceAndNameNothing) {
    LabelTable table;
    LabelStack stack;
    stack.push(nullptr);
    EXPECT_EQ(text(stack.name_command("", table).op), "(none)");
}

TEST(LabelStack, AReusedPlaceForgetsItsOldText) {
    LabelTable table;
    LabelStack stack;
    stack.push("first");
    EXPECT_EQ(text(stack.name_command("", table).op), "first");
    stack.pop();
    stack.push("second");
    EXPECT_EQ(text(stack.name_command("", table).op), "second");
}

TEST(LabelTable, EqualTextsAreOnePointer) {
    LabelTable table;
    const std::string a = "norm-0";
    EXPECT_EQ(table.intern(a), table.intern("norm-0"));
    EXPECT_NE(table.intern("norm-0"), table.intern("norm-1"));
}

// OBI#1230: names without a bound.
TEST(LabelTable, BeyondItsBoundEveryNewTextIsOther) {
    LabelTable table(4);
    for (int i = 0; i < 1'000'000; ++i) static_cast<void>(table.intern(std::to_string(i)));
    EXPECT_EQ(table.size(), 4u);
    EXPECT_EQ(table.intern("another"), table.other());
    EXPECT_EQ(*table.intern("3"), "3");
}

TEST(LabelTable, LongTextsCountByTheirBytes) {
    LabelTable table(1000, 100);
    EXPECT_EQ(table.intern(std::string(101, 'x')), table.other());
    EXPECT_NE(table.intern(std::string(100, 'x')), table.other());
    EXPECT_EQ(table.intern("y"), table.other());
}

TEST(LabelTable, ThreadsAgreeOnPointers) {
    LabelTable table;
    constexpr int kTexts = 200;
    std::vector<std::vector<const std::string*>> seen(4, std::vector<const std::string*>(kTexts));
    std::vector<std::thread> threads;
    for (auto& mine : seen)
        threads.emplace_back([&table, &mine] {
            for (int i = 0; i < kTexts; ++i) mine[i] = table.intern("text " + std::to_string(i));
        });
    for (std::thread& thread : threads) thread.join();
    for (const auto& mine : seen) EXPECT_EQ(mine, seen[0]);
    EXPECT_EQ(table.size(), static_cast<std::size_t>(kTexts));
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
