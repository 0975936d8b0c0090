// Our own declarations of the few driver types that are used, so that no toolkit is needed to build. The unit test
// cuda_declarations_test.cpp holds them against the real cuda.h where there is one.
#pragma once

struct CUctx_st;
struct CUevent_st;
struct CUstream_st;

namespace lapwing::cuda {

using Context = CUctx_st*;
using Event = CUevent_st*;
using Stream = CUstream_st*;
using Device = int;
using Code = int;    // CUresult

/// The results that are told apart.
enum : Code {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kDeinitialized = 4,
    kStubLibrary = 34,
    kDeviceUnavailable = 46,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kInvalidContext = 201,
    kEccUncorrectable = 214,
    kNvlinkUncorrectable = 220,
    kContained = 226,
    kOperatingSystem = 304,
    kInvalidHandle = 400,
    kNotReady = 600,
    kIllegalAddress = 700,
    kLaunchTimeout = 702,
    kContextIsDestroyed = 709,
    kAssert = 710,
    kHardwareStackError = 714,
    kLaunchFailed = 719,
    kTensorMemoryLeak = 721,
    kNotPermitted = 800,
    kNotSupported = 801,
    kSystemNotReady = 802,
    kSystemDriverMismatch = 803,
    kCompatNotSupported = 804,
    kStreamCaptureUnsupported = 900,
    kStreamCaptureImplicit = 906,
    kCapturedEvent = 907,
    kStreamCaptureWrongThread = 908,
    kUnknown = 999,
};

enum : unsigned { kEventDefault = 0, kStreamNonBlocking = 1 };
enum : int { kCaptureStatusNone = 0, kCaptureStatusActive = 1, kCaptureStatusInvalidated = 2 };
enum : int { kCaptureModeGlobal = 0, kCaptureModeThreadLocal = 1, kCaptureModeRelaxed = 2 };

}    // namespace lapwing::cuda
