#include "lapwing/result.hpp"

namespace lapwing {

const char* describe(Errc code) noexcept {
    switch (code) {
        case Errc::kOk:
            return "no error";
        case Errc::kInvalidArgument:
            return "a value is out of its range";
        case Errc::kNotFound:
            return "it does not exist";
        case Errc::kUnreadable:
            return "it exists but cannot be read";
        case Errc::kUnwritable:
            return "it cannot be written";
        case Errc::kBadFormat:
            return "its content is not what it was said to be";
        case Errc::kUnsupported:
            return "the driver, the device or this build lacks what was asked for";
        case Errc::kDriver:
            return "a call into the driver failed";
        case Errc::kDeviceLost:
            return "the device is lost; nothing more can be measured on it";
        case Errc::kExhausted:
            return "a limit of Lapwing was reached";
        case Errc::kPending:
            return "the device has not got there yet";
    }
    return "unknown error";
}

}    // namespace lapwing
