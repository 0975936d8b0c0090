#include "attach/vulkan_layer/names.hpp"

#include <gtest/gtest.h>

namespace lapwing::attach::vulkan_layer {
namespace {

struct LabelCase {
    const char* label;
    const char* op;
    int32_t layer;
};

// The first rows are what ggml v0.25.1 sends (ggml_vk_debug_label).
constexpr LabelCase kLabels[] = {
    {"RMS_NORM+MUL norm-0", "RMS_NORM+MUL", 0},
    {"MUL_MAT Qcur-11", "MUL_MAT", 11},
    {"ROPE+VIEW+SET_ROWS cache_k_l1 (view)", "ROPE+VIEW+SET_ROWS", 1},
    {"SET_ROWS cache_v_l0 (view)", "SET_ROWS", 0},
    {"MUL_MAT+ADD l_out-31", "MUL_MAT+ADD", 31},
    {"FLASH_ATTN_EXT node_24", "FLASH_ATTN_EXT", -1},
    {"MUL_MAT result_output", "MUL_MAT", -1},
    {"GET_ROWS inp_embd", "GET_ROWS", -1},
    {"CPY (copy of norm-3)", "CPY", -1},
    {"MUL_MAT_ID ffn_moe_gate-7 (reshaped)", "MUL_MAT_ID", 7},
    {"GLU ffn_swiglu-0", "GLU", 0},
    // What other engines might send.
    {"attn_out-3", "attn_out", 3},
    {"prefill", "prefill", -1},
    {"layer norm", "layer norm", -1},
    {"Conv2D", "Conv2D", -1},
    {"GPT-2", "GPT", 2},
    {"top-k", "top-k", -1},
    {"run-20251129", "run-20251129", -1},
    {"a_l", "a_l", -1},
    {"_l5", "_l5", -1},
    {"-5", "-5", -1},
    {"MUL_MAT", "MUL_MAT", -1},
    {" MUL_MAT  Qcur-2 ", "MUL_MAT", 2},
    {"", "", -1},
    {" ", " ", -1},
};

TEST(OpLabel, OperationWordsAndLayerAreTakenApart) {
    for (const LabelCase& row : kLabels) {
        const OpName name = parse_op_label(row.label);
        EXPECT_EQ(name.op, row.op) << row.label;
        EXPECT_EQ(name.layer, row.layer) << row.label;
    }
}

TEST(OpLabel, SeveralOperationWordsAreOneOp) {
    EXPECT_EQ(parse_op_label("MUL MAT Qcur-1").op, "MUL MAT");
    EXPECT_EQ(parse_op_label("MUL MAT Qcur-1").layer, 1);
}

TEST(ObjectName, OfDawnTheProgramsLabelIsKept) {
    EXPECT_EQ(given_name("DawnDbg=1;Dawn_ShaderModule_axpy module"), "axpy module");
    EXPECT_EQ(given_name("DawnDbg=1f;Dawn_ComputePipeline_mat_mul"), "mat_mul");
    EXPECT_EQ(given_name("DawnDbg=1;Dawn_ShaderModule"), "") << "an object without a label must not name its kernels";
    for (const char* kept : {"", "axpy", "Dawn_ShaderModule_axpy", "DawnDbg=1", "DawnDbg=1;axpy"})
        EXPECT_EQ(given_name(kept), kept);
}

TEST(KernelLabel, OnlyAGridOfThreeNumbersIsCutOff) {
    EXPECT_EQ(without_grid("rms_norm_mul_f32 (1,1,1)"), "rms_norm_mul_f32");
    EXPECT_EQ(without_grid("mul_mat_vec (4294967295,65535,1)"), "mul_mat_vec");
    for (const char* kept : {"axpy", "f (1,1)", "f (1,1,1,1)", "f (a,b,c)", "f (,1,1)", "f (1,,1)", "f (1,1,)", "f()",
                             " (1,1,1)", "f(1,1,1)", "f (1,1,1) x", "", ")"})
        EXPECT_EQ(without_grid(kept), kept);
}

TEST(RegionLabel, OnlyNumberedSubmitsAreRegions) {
    EXPECT_TRUE(is_region_label("submit 0"));
    EXPECT_TRUE(is_region_label("submit 1234"));
    for (const char* op : {"submit", "submit ", "submit x", "submit 1x", "resubmit 1", "MUL_MAT submit 1"})
        EXPECT_FALSE(is_region_label(op)) << op;
}

TEST(MakeSite, KernelIsThePipelineThenTheLabelThenTheFallback) {
    CommandNames names{"MUL_MAT Qcur-0", "label_kernel", "pipeline_name", "main@01234567"};
    EXPECT_EQ(make_site(SpanKind::kDispatch, names, {1, 2, 3}, false).kernel, "pipeline_name");
    names.pipeline = {};
    EXPECT_EQ(make_site(SpanKind::kDispatch, names, {1, 2, 3}, false).kernel, "label_kernel");
    names.kernel_label = {};
    EXPECT_EQ(make_site(SpanKind::kDispatch, names, {1, 2, 3}, false).kernel, "main@01234567");
}

TEST(MakeSite, KeepsTheFullLabelBesideItsParts) {
    const Site site = make_site(SpanKind::kDispatch, {"MUL_MAT Qcur-5 (view)", {}, "k", {}}, {4, 5, 6}, true);
    EXPECT_EQ(site.label, "MUL_MAT Qcur-5 (view)");
    EXPECT_EQ(site.op, "MUL_MAT");
    EXPECT_EQ(site.layer, 5);
    EXPECT_EQ(site.grid, (std::array<uint32_t, 3>{4, 5, 6}));
    EXPECT_TRUE(site.warmup);
}

TEST(MakeSite, CopiesHaveNoKernelAndOnlyTheNameTheyWereGiven) {
    const Site plain = make_site(SpanKind::kCopy, {{}, "a", "b", "c"}, {}, false);
    EXPECT_EQ(plain.kernel, "");
    EXPECT_EQ(plain.op, "");
    const Site labelled = make_site(SpanKind::kCopy, {"CPY cache_k_l2 (view)", {}, {}, {}}, {}, false);
    EXPECT_EQ(labelled.op, "CPY");
    EXPECT_EQ(labelled.layer, 2);
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
