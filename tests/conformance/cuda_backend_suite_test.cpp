// The CUDA backend in the suite that every backend passes, on the stand-in driver: a plain stream, the default stream,
// a device long up whose driver is slow to say so, and a coarse clock.
#include <gtest/gtest.h>

#include "conformance/backend_suite.hpp"
#include "fakes/cuda/fake_cuda.hpp"
#include "lapwing/cuda_backend.hpp"

namespace lapwing::testing {
namespace {

class CudaHarnessBase {
public:
    using BackendType = CudaBackend;
    static constexpr bool kCanWithhold = true;
    static constexpr uint32_t kMaxMarks = 1u << 16;

    CudaHarnessBase(const FakeCuda::Options& options, bool legacy) : fake_(options) {
        CUctx_st* const context = fake_.make_context();
        fake_.make_current(context);
        stream_ = legacy ? FakeCuda::legacy() : fake_.make_stream(context);
        auto made =
            CudaBackend::create({.find_function = FakeCuda::find, .now = FakeCuda::host_clock, .now_context = &fake_});
        EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
        backend_ = std::move(made).value();
        queue_ = backend_->open_queue(stream_).value();
    }
    ~CudaHarnessBase() {
        backend_->shutdown();
        EXPECT_EQ(fake_.live_events(), 0u) << "events leak";
        EXPECT_EQ(fake_.live_own_streams(), 0u) << "streams leak";
        EXPECT_EQ(fake_.misuses(), std::vector<std::string>{});
        EXPECT_EQ(fake_.context_depth(), 1u);
    }
    CudaHarnessBase(const CudaHarnessBase&) = delete;
    CudaHarnessBase& operator=(const CudaHarnessBase&) = delete;

    [[nodiscard]] std::string why_not() const { return {}; }
    CudaBackend& backend() { return *backend_; }
    CudaBackend::Queue queue() { return queue_; }
    DeviceRingOptions options() { return {.max_spans = 4096, .now = FakeCuda::host_clock, .now_context = &fake_}; }
    HostNs now() { return fake_.host_now(); }
    void begin(uint32_t /*max_marks*/) { fake_.hold(stream_, true); }
    void work() { fake_.work(stream_, 15'000); }
    void submit() { fake_.advance(1'000'000); }
    void finish() {
        fake_.hold(stream_, false);
        fake_.advance(10'000'000);
    }
    [[nodiscard]] uint64_t blocking_calls() const { return fake_.waiting_calls(); }

private:
    FakeCuda fake_;
    std::unique_ptr<CudaBackend> backend_;
    CudaBackend::Queue queue_;
    CUstream_st* stream_ = nullptr;
};
struct PlainStream : CudaHarnessBase {
    PlainStream() : CudaHarnessBase({}, false) {}
};
struct DefaultStream : CudaHarnessBase {
    DefaultStream() : CudaHarnessBase({}, true) {}
};
struct LongUpCoarseClock : CudaHarnessBase {
    LongUpCoarseClock()
        : CudaHarnessBase({.quantum_ns = 512, .device_start_ns = 90ull * 86'400 * 1'000'000'000}, false) {}
};

}    // namespace

using CudaStreams = ::testing::Types<PlainStream, DefaultStream, LongUpCoarseClock>;
INSTANTIATE_TYPED_TEST_SUITE_P(CudaStandIn, BackendSuite, CudaStreams);

}    // namespace lapwing::testing
