#include "backends/cuda/driver_errors.hpp"

#include <string>

#include "backends/cuda/driver_names.hpp"

namespace lapwing::cuda {

bool is_fatal(Code code) noexcept {
    switch (code) {
        case kNotInitialized:
        case kDeinitialized:
        case kDeviceUnavailable:
        case kEccUncorrectable:
        case kNvlinkUncorrectable:
        case kContained:
        case kIllegalAddress:
        case kLaunchTimeout:
        case kContextIsDestroyed:
        case kUnknown:
            return true;
        default:
            return code >= kAssert && code <= kTensorMemoryLeak && code != 712 && code != 713;    // host memory's
    }
}

const char* describe(Code code) noexcept {
    switch (code) {
        case kOutOfMemory:
            return "out of memory";
        case kNotInitialized:
            return "the driver is not initialised";
        case kDeinitialized:
            return "the driver was unloaded: call shutdown() before the program exits";
        case kDeviceUnavailable:
            return "the device is unavailable: another process has it exclusively, or it was taken away";
        case kInvalidContext:
            return "the context is not valid";
        case kEccUncorrectable:
            return "uncorrectable memory error on the device";
        case kInvalidHandle:
            return "a handle that the driver does not know: the stream, or its context, was destroyed or reset";
        case kIllegalAddress:
            return "a kernel of the program used an address that is not its own; the context is unusable";
        case kLaunchTimeout:
            return "a kernel of the program ran into the time limit; the context is unusable";
        case kContextIsDestroyed:
            return "the context was destroyed or reset: call shutdown() before that";
        case kAssert:
            return "a kernel of the program failed an assertion; the context is unusable";
        case kLaunchFailed:
            return "a kernel of the program crashed; the context is unusable";
        case kStreamCaptureUnsupported:
            return "not allowed while a stream is captured";
        case kCapturedEvent:
            return "the stamp became a node of a graph";
        default:
            return "see the driver's error code";
    }
}

Error describe_start(Code code) {
    std::string text = "the ";
    text += kApi;
    text += " driver ";
    Errc errc = Errc::kDriver;
    switch (code) {
        case kStubLibrary:
            errc = Errc::kUnsupported;
            text += "found is a stub for linking: ";
            text += kInstall;
            text += ", and take the toolkit's stubs off LD_LIBRARY_PATH";
            break;
        case kNoDevice:
            errc = Errc::kNotFound;
            text += "finds no GPU: ";
            text += kPermissions;
            break;
        case kSystemDriverMismatch:
        case kCompatNotSupported:
            errc = Errc::kUnsupported;
            text +=
                "library and the kernel's module are of different versions: restart, or install one version of both";
            break;
        case kSystemNotReady:
            text += "is not ready: start the fabric manager, or wait for it";
            break;
        case kOperatingSystem:
        case kNotPermitted:
            text += "may not reach the GPU: ";
            text += kPermissions;
            break;
        default:
            text += "did not start: ";
            text += describe(code);
            text += " (code ";
            text += std::to_string(code);
            text += ")";
    }
    return {errc, code, std::move(text)};
}

Error call_error(Errc errc, const char* call, Code code) {
    std::string text = call;
    text += " failed with code ";
    text += std::to_string(code);
    text += ": ";
    text += describe(code);
    return {errc, code, std::move(text)};
}

}    // namespace lapwing::cuda
