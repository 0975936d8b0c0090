// Lanes in a tool that is loaded as NVTX loads tools.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "unit/telemetry_server.hpp"

namespace lapwing {
namespace {

template <class T>
T asked(const char* function) {
    void* const library = dlopen(LAPWING_FAKE_NVTX, RTLD_NOLOAD | RTLD_NOW);
    EXPECT_NE(library, nullptr);
    return reinterpret_cast<T (*)()>(dlsym(library, function))();
}

using Nvtx = test::TelemetryServer;

TEST_F(Nvtx, WhatIsNoInjectionLibraryIsNamedAndTheRightOneCountsBalancedRanges) {
    const auto absent = load_nvtx("/nonexistent/injection.so");
    ASSERT_FALSE(absent.ok());
    EXPECT_EQ(absent.error().code, Errc::kNotFound);
    EXPECT_NE(absent.error().message.find("/nonexistent/injection.so"), std::string::npos);
    const auto wrong = load_nvtx("libm.so.6");
    ASSERT_FALSE(wrong.ok());
    EXPECT_NE(wrong.error().message.find("InitializeInjectionNvtx2"), std::string::npos);

    const auto hooks = load_nvtx(LAPWING_FAKE_NVTX);
    ASSERT_TRUE(hooks.ok()) << hooks.error().message;
    EXPECT_EQ(load_nvtx(LAPWING_FAKE_NVTX).value(), hooks.value()) << "loaded once";
    hub.set_range_hooks(hooks.value());
    add_device();
    configure("lane");
    for (int step = 0; step < 5; ++step) {
        hub.step_begin();
        hub.lane_begin(kPrefill);
        hub.lane_begin(kDecode);
        if (step == 2) set_level(Level::kOff);    // mid-lane
        hub.lane_end(kDecode);
        hub.lane_end(kPrefill);
        set_level(Level::kLane);
    }
    EXPECT_EQ(asked<uint64_t>("fake_nvtx_pushes"), 10u);
    EXPECT_EQ(asked<uint64_t>("fake_nvtx_pops"), 10u);
    EXPECT_EQ(asked<int64_t>("fake_nvtx_deepest"), 2);
    EXPECT_STREQ(asked<const char*>("fake_nvtx_last"), "decode");
}

}    // namespace
}    // namespace lapwing
