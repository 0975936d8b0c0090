// Our declarations against the real cuda.h, where a toolkit is installed: arity, sizes, pointers, values, symbols.
#include <gtest/gtest.h>

#include <cstring>
#include <type_traits>

#include "backends/cuda/driver_names.hpp"
#include "backends/cuda/entry_points.hpp"

#ifdef LAPWING_TEST_HAVE_CUDA_H
#include <cuda.h>
#endif

namespace lapwing::testing {
namespace {

#ifdef LAPWING_TEST_HAVE_CUDA_H

// What the calling convention sees: enumerations are integers, signs do not matter, handles are their struct.
template <class T>
struct Plain {
    using Type = T;
};
template <class T>
requires(std::is_enum_v<T> || std::is_integral_v<T>) struct Plain<T> {
    static_assert(sizeof(T) <= 8);
    using Type = std::conditional_t<sizeof(T) == 1, char, std::conditional_t<sizeof(T) == 4, unsigned, unsigned long>>;
};
template <class T>
requires(!std::is_function_v<T>) struct Plain<T*> {
    using Type = typename Plain<std::remove_cv_t<T>>::Type*;
};
template <class R, class... A>
struct Plain<R(A...)> {
    using Type = typename Plain<R>::Type(typename Plain<A>::Type...);
};
template <class Ours, class Real>
constexpr bool kSame = std::is_same_v<typename Plain<Ours>::Type, typename Plain<Real>::Type>;

using Table = cuda::EntryPoints;
#define SAME(ours, real) static_assert(kSame<Table::ours##Function, decltype(::real)>, #real)
SAME(Init, cuInit);
SAME(DriverGetVersion, cuDriverGetVersion);
SAME(DeviceGetCount, cuDeviceGetCount);
SAME(DeviceGet, cuDeviceGet);
SAME(DeviceGetName, cuDeviceGetName);
SAME(DeviceGetAttribute, cuDeviceGetAttribute);
SAME(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain);
SAME(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease);
SAME(CtxGetCurrent, cuCtxGetCurrent);
SAME(CtxPushCurrent, cuCtxPushCurrent);
SAME(CtxPopCurrent, cuCtxPopCurrent);
SAME(StreamCreate, cuStreamCreate);
SAME(StreamDestroy, cuStreamDestroy);
SAME(StreamGetCtx, cuStreamGetCtx);
SAME(StreamIsCapturing, cuStreamIsCapturing);
SAME(ExchangeCaptureMode, cuThreadExchangeStreamCaptureMode);
SAME(EventCreate, cuEventCreate);
SAME(EventRecord, cuEventRecord);
SAME(EventQuery, cuEventQuery);
SAME(EventDestroy, cuEventDestroy);
SAME(EventElapsedTime, cuEventElapsedTime);
#undef SAME

// A wrong declaration is seen: one parameter less, another order, another size.
static_assert(!kSame<cuda::Code(cuda::Event), decltype(::cuEventRecord)>);
static_assert(!kSame<cuda::Code(cuda::Stream, cuda::Event), decltype(::cuEventRecord)>);
static_assert(!kSame<cuda::Code(double*, cuda::Event, cuda::Event), decltype(::cuEventElapsedTime)>);

#define VALUE(ours, real) static_assert(static_cast<int>(cuda::ours) == static_cast<int>(real), #real)
VALUE(kSuccess, CUDA_SUCCESS);
VALUE(kNotReady, CUDA_ERROR_NOT_READY);
VALUE(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
VALUE(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
VALUE(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
VALUE(kDeinitialized, CUDA_ERROR_DEINITIALIZED);
VALUE(kStubLibrary, CUDA_ERROR_STUB_LIBRARY);
VALUE(kNoDevice, CUDA_ERROR_NO_DEVICE);
VALUE(kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
VALUE(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
VALUE(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
VALUE(kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
VALUE(kNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
VALUE(kOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM);
VALUE(kNotPermitted, CUDA_ERROR_NOT_PERMITTED);
VALUE(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
VALUE(kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
VALUE(kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
VALUE(kAssert, CUDA_ERROR_ASSERT);
VALUE(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
VALUE(kUnknown, CUDA_ERROR_UNKNOWN);
VALUE(kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
VALUE(kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
VALUE(kStreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
VALUE(kStreamCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
VALUE(kStreamCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
VALUE(kCapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
VALUE(kEventDefault, CU_EVENT_DEFAULT);
VALUE(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
VALUE(kCaptureStatusNone, CU_STREAM_CAPTURE_STATUS_NONE);
VALUE(kCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
VALUE(kCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
VALUE(kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
#undef VALUE

#define TEXT_OF(macro) TEXT(macro)
#define TEXT(name) #name
TEST(CudaDeclarations, SymbolsAreThoseThatTheHeaderMapsTheNamesTo) {
    const auto symbol = [](const char* member) -> std::string {
#define FIND(name, symbol, ...) \
    if (std::strcmp(member, #name) == 0) return symbol;
        LAPWING_GPU_ENTRY_POINTS(FIND)
#undef FIND
        return {};
    };
    EXPECT_EQ(symbol("EventDestroy"), TEXT_OF(cuEventDestroy));
    EXPECT_EQ(symbol("StreamDestroy"), TEXT_OF(cuStreamDestroy));
    EXPECT_EQ(symbol("CtxPushCurrent"), TEXT_OF(cuCtxPushCurrent));
    EXPECT_EQ(symbol("CtxPopCurrent"), TEXT_OF(cuCtxPopCurrent));
    EXPECT_EQ(symbol("DevicePrimaryCtxRelease"), TEXT_OF(cuDevicePrimaryCtxRelease));
    EXPECT_EQ(symbol("EventRecord"), TEXT_OF(cuEventRecord));
}

#else

TEST(CudaDeclarations, AreHeldAgainstTheRealHeader) {
    GTEST_SKIP() << "no cuda.h here: install a CUDA toolkit, or set CUDA_PATH, and configure again";
}

#endif

}    // namespace
}    // namespace lapwing::testing
