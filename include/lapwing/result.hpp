// Errors as data: the cold path returns Result<T>, the hot path cannot fail (it counts losses, see loss.hpp).
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

/// Checks a precondition of the caller in dev builds; compiled out where NDEBUG is defined.
#define LAPWING_ASSERT(condition) assert(condition)

namespace lapwing {

/// What went wrong, one enumerator a kind of remedy. `describe()` gives the sentence for a user.
enum class Errc : uint8_t {
    kOk = 0,             ///< no error
    kInvalidArgument,    ///< a value out of its documented range
    kNotFound,           ///< a file, program, device or name that does not exist
    kUnreadable,         ///< it exists and cannot be read
    kUnwritable,         ///< a file or folder that cannot be written, or a full disk
    kBadFormat,          ///< bytes that are not what they were said to be
    kUnsupported,        ///< the driver, device or build lacks what was asked for
    kDriver,             ///< a driver call failed; `driver_code` holds its own code
    kDeviceLost,         ///< the device is gone; nothing more will be measured on it
    kExhausted,          ///< a documented limit of Lapwing was reached
    kPending,            ///< the device has not got there yet; ask again later
};

/// A sentence for a user that says what the code means.
/// Shape:  static string, never null.
[[nodiscard]] const char* describe(Errc code) noexcept;

/// An error as plain data. `message` names the thing and the remedy; `driver_code` is the driver's own code, 0 if none.
struct Error {
    Errc code = Errc::kOk;
    int64_t driver_code = 0;
    std::string message;
};

/// A value or an Error.
/// Errors:  `value()` and `error()` assert that they are asked of the right alternative; test with `ok()` first.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}        // NOLINT(google-explicit-constructor)
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}    // NOLINT(google-explicit-constructor)

    [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    [[nodiscard]] T& value() & noexcept { return *checked(std::get_if<0>(&state_)); }
    [[nodiscard]] const T& value() const& noexcept { return *checked(std::get_if<0>(&state_)); }
    [[nodiscard]] T&& value() && noexcept { return std::move(*checked(std::get_if<0>(&state_))); }
    [[nodiscard]] const Error& error() const noexcept { return *checked(std::get_if<1>(&state_)); }

    T& operator*() & noexcept { return value(); }
    const T& operator*() const& noexcept { return value(); }
    T* operator->() noexcept { return &value(); }
    const T* operator->() const noexcept { return &value(); }

private:
    template <class P>
    static P* checked(P* pointer) noexcept {
        LAPWING_ASSERT(pointer != nullptr);
        return pointer;
    }
    std::variant<T, Error> state_;
};

/// A Result without a value.
class [[nodiscard]] Status {
public:
    Status() = default;
    Status(Error error) : error_(std::move(error)) {}    // NOLINT(google-explicit-constructor)

    [[nodiscard]] bool ok() const noexcept { return error_.code == Errc::kOk; }
    explicit operator bool() const noexcept { return ok(); }
    [[nodiscard]] const Error& error() const noexcept { return error_; }

private:
    Error error_;
};

}    // namespace lapwing
