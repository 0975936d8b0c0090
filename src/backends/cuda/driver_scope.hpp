// The state of a thread while we call the driver on it: our context current, captures left alone.
#pragma once

#include "backends/cuda/entry_points.hpp"

namespace lapwing::cuda {

/// Pushes the context and enters the relaxed capture mode; undoes both at its end. The push comes first: it is the one
/// call that a driver answers for a context that is gone.
///
/// In the default mode a query on any thread spoils a capture that another thread has under way (pytorch#158352).
class DriverScope {
public:
    DriverScope(const EntryPoints& cu, Context context) noexcept : cu_(cu) {
        call_ = "cuCtxPushCurrent";
        code_ = cu_.CtxPushCurrent(context);
        if (code_ != kSuccess) return;
        pushed_ = true;
        call_ = "cuThreadExchangeStreamCaptureMode";
        code_ = cu_.ExchangeCaptureMode(&mode_);
        relaxed_ = code_ == kSuccess;
    }
    ~DriverScope() {
        Context popped = nullptr;
        if (relaxed_) insist([&] { return cu_.ExchangeCaptureMode(&mode_); });
        if (pushed_) insist([&] { return cu_.CtxPopCurrent(&popped); });
    }
    DriverScope(const DriverScope&) = delete;
    DriverScope& operator=(const DriverScope&) = delete;

    /// Whether the driver may be called. Where not, `code()` and `call()` say why.
    [[nodiscard]] bool ok() const noexcept { return relaxed_; }
    /// The context itself is refused: it is gone.
    [[nodiscard]] bool context_gone() const noexcept { return !pushed_; }
    [[nodiscard]] Code code() const noexcept { return code_; }
    [[nodiscard]] const char* call() const noexcept { return call_; }

private:
    // The thread is the program's: it is left as it was found, also where the driver refuses once.
    template <class Call>
    static void insist(Call call) noexcept {
        for (int i = 0; i < 3; ++i)
            if (const Code code = call(); code == kSuccess || code == kDeinitialized) return;
    }

    const EntryPoints& cu_;
    const char* call_ = "";
    Code code_ = kSuccess;
    int mode_ = kCaptureModeRelaxed;    // ours going in, the thread's coming out
    bool pushed_ = false;
    bool relaxed_ = false;
};

}    // namespace lapwing::cuda
