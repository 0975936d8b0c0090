// The audit of kernel lookups.
#include <gtest/gtest.h>

#include "lapwing/kernel_audit.hpp"

namespace lapwing {
namespace {

TEST(KernelAudit, EachLookupIsKeptWithItsPlace) {
    KernelAudit audit;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(audit.lookup("norm.ptx", "rms_norm", true).ok());
    const uint32_t line = __LINE__ - 1;
    EXPECT_TRUE(audit.lookup("norm.ptx", "rms_norm", true).ok());
    const std::vector<KernelLookup> lookups = audit.lookups();
    ASSERT_EQ(lookups.size(), 2u) << "two places";
    EXPECT_EQ(lookups[0].kernel, "norm.ptx:rms_norm");
    EXPECT_NE(lookups[0].place.find("telemetry_kernel_audit_test.cpp:" + std::to_string(line)), std::string::npos)
        << lookups[0].place;
    EXPECT_EQ(lookups[0].found, 3u);
    EXPECT_FALSE(lookups[0].after_seal);
    EXPECT_TRUE(audit.missing().empty());
}

TEST(KernelAudit, WhatIsMissingAtBootIsListedAndNoError) {
    KernelAudit audit;
    EXPECT_TRUE(audit.lookup("", "gemm_sm90", false, {"loader.cpp", 7}).ok());
    EXPECT_TRUE(audit.lookup("", "gemm_sm80", true, {"loader.cpp", 8}).ok());
    ASSERT_EQ(audit.missing().size(), 1u);
    EXPECT_EQ(audit.missing()[0].kernel, "gemm_sm90");
    EXPECT_EQ(audit.missing()[0].place, "loader.cpp:7");
}

TEST(KernelAudit, AFailedLookupAfterTheSealIsAnErrorThatNamesKernelAndPlace) {
    KernelAudit audit;
    EXPECT_FALSE(audit.sealed());
    audit.seal();
    EXPECT_TRUE(audit.sealed());
    EXPECT_TRUE(audit.lookup("m", "found", true, {"a.cpp", 1}).ok()) << "late and found is fine";
    for (int i = 0; i < 2; ++i) {
        const Status late = audit.lookup("m", "k", false, {"moe.cpp", 42});
        EXPECT_EQ(late.error().code, Errc::kNotFound);
        EXPECT_NE(late.error().message.find("'m:k'"), std::string::npos);
        EXPECT_NE(late.error().message.find("moe.cpp:42"), std::string::npos);
    }
    EXPECT_TRUE(audit.warnings().empty());
    ASSERT_EQ(audit.missing().size(), 1u);
    EXPECT_EQ(audit.missing()[0].missing, 2u);
    EXPECT_TRUE(audit.missing()[0].after_seal);
}

TEST(KernelAudit, ThePolicyMayBeAWarningOnceAKernelAndPlace) {
    KernelAudit audit(LateLookup::kWarnOnce);
    EXPECT_TRUE(audit.lookup("m", "known", true, {"moe.cpp", 42}).ok());
    audit.seal();
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(audit.lookup("m", "k", false, {"moe.cpp", 42}).ok());
        EXPECT_TRUE(audit.lookup("m", "k", false, {"moe.cpp", 43}).ok());
        EXPECT_TRUE(audit.lookup("m", "known", false, {"moe.cpp", 42}).ok()) << "unloaded since";
    }
    EXPECT_EQ(audit.warnings().size(), 3u);
}

TEST(KernelAudit, IsBoundedAndRefusesKernelsWithoutAName) {
    KernelAudit audit(LateLookup::kError, 10);
    for (uint32_t i = 0; i < 25; ++i)
        EXPECT_TRUE(audit.lookup("", std::string("k").append(std::to_string(i)), false, {"a.cpp", i}).ok());
    EXPECT_EQ(audit.lookups().size(), 10u);
    EXPECT_EQ(audit.beyond(), 15u);
    EXPECT_EQ(audit.lookup("m", "", true).error().code, Errc::kInvalidArgument);
    audit.seal();
    EXPECT_FALSE(audit.lookup("", "another", false).ok()) << "not kept, and an error all the same";
}

}    // namespace
}    // namespace lapwing
