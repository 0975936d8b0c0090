// A stand-in driver, a context, and a backend on it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fakes/cuda/fake_cuda.hpp"
#include "lapwing/cuda_backend.hpp"

namespace lapwing::testing {

struct CudaRig {
    explicit CudaRig(const FakeCuda::Options& options = {}) : fake(options) {
        context = fake.make_context();
        fake.make_current(context);
        auto made = CudaBackend::create(backend_options());
        EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
        if (made.ok()) backend = std::move(made).value();
    }
    [[nodiscard]] CudaBackendOptions backend_options() {
        return {.find_function = FakeCuda::find, .now = FakeCuda::host_clock, .now_context = &fake};
    }
    [[nodiscard]] CudaBackend::Queue queue_on(CUstream_st* stream) { return backend->open_queue(stream).value(); }

    [[nodiscard]] Stamp poll(uint32_t slot) {
        Stamp out;
        backend->poll({&slot, 1}, {&out, 1});
        return out;
    }
    /// Shuts down; nothing may be left, and nothing forbidden may have been called.
    void expect_clean_end() {
        backend->shutdown();
        EXPECT_EQ(fake.live_events(), 0u) << "events leak";
        EXPECT_EQ(fake.live_own_streams(), 0u) << "streams leak";
        EXPECT_EQ(backend->stats().events_held, 0u);
        EXPECT_EQ(fake.misuses(), std::vector<std::string>{});
        EXPECT_EQ(fake.waiting_calls(), 0u);
        EXPECT_EQ(fake.context_depth(), 1u);
        EXPECT_EQ(fake.capture_mode(), cuda::kCaptureModeGlobal);
    }

    FakeCuda fake;
    CUctx_st* context = nullptr;
    std::unique_ptr<CudaBackend> backend;
};

}    // namespace lapwing::testing
