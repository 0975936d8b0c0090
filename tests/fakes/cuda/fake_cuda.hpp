// A stand-in for the CUDA driver: streams in order on a simulated clock, captures, contexts and errors on demand. It is
// as strict as the driver is, or stricter, and writes down what no program may do.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/cuda/driver_types.hpp"
#include "lapwing/units.hpp"

namespace lapwing::testing {

/// One driver a process at a time; its functions are found by FakeCuda::find.
///
/// Time passes by advance() and a little with every call. An event is complete once the clock has passed its stamp. The
/// device's clock is the simulated one plus `device_start_ns`, in steps of `quantum_ns`.
class FakeCuda {
public:
    using Context = cuda::Context;
    using Stream = cuda::Stream;
    using Event = cuda::Event;
    using Code = cuda::Code;

    struct Options {
        int devices = 1;
        int version = 13000;
        uint64_t quantum_ns = 1;
        uint64_t call_ns = 50;    ///< what a driver call takes
        uint64_t device_start_ns = 777;
        const char* missing = "";    ///< a function that the library lacks
    };

    explicit FakeCuda(const Options& options);
    FakeCuda() : FakeCuda(Options{}) {}
    ~FakeCuda();
    FakeCuda(const FakeCuda&) = delete;
    FakeCuda& operator=(const FakeCuda&) = delete;

    [[nodiscard]] static void* find(const char* symbol);

    // What the program does.

    [[nodiscard]] Context make_context(int device = 0);
    /// Also what a reset of a primary context does: streams and events of it are gone.
    void destroy_context(Context context);
    void make_current(Context context);
    [[nodiscard]] Stream make_stream(Context context, bool blocking = false);
    void destroy_stream(Stream stream);
    void work(Stream stream, uint64_t ns);
    /// What is enqueued waits until it is let go.
    void hold(Stream stream, bool held);
    void begin_capture(Stream stream, int mode = cuda::kCaptureModeGlobal);
    /// Whether the capture is whole: nobody spoiled it.
    [[nodiscard]] bool end_capture(Stream stream);
    [[nodiscard]] static Stream legacy() { return reinterpret_cast<Stream>(uintptr_t{1}); }
    [[nodiscard]] static Stream per_thread() { return reinterpret_cast<Stream>(uintptr_t{2}); }

    // The script.

    void advance(uint64_t ns);
    /// The call answers `code`, `count` times, after `after` more that go well.
    void fail(const std::string& call, Code code, uint64_t count = 1, uint64_t after = 0);
    void stop_failing();
    /// Every event recorded from now on says "not ready" this many times more.
    void set_extra_not_ready(uint32_t queries);
    /// Every call on the context answers this from now on, as after a kernel crashed.
    void poison(Context context, Code code);
    /// The driver is gone, as in static destructors.
    void unload();

    // What happened.

    [[nodiscard]] uint64_t clock_ns() const;
    [[nodiscard]] HostNs host_now() const;
    [[nodiscard]] static HostNs host_clock(void* fake) noexcept { return static_cast<FakeCuda*>(fake)->host_now(); }
    [[nodiscard]] uint64_t calls(const std::string& call) const;
    [[nodiscard]] uint64_t calls() const;
    [[nodiscard]] uint64_t waiting_calls() const;    ///< synchronising ones
    [[nodiscard]] uint64_t live_events() const;
    [[nodiscard]] uint64_t live_own_streams() const;    ///< made through the driver's interface
    [[nodiscard]] int primary_references(int device) const;
    [[nodiscard]] uint64_t records_on(Stream stream) const;
    /// The device's time of every event that was recorded on the stream and came through, in their order. Units: ns.
    [[nodiscard]] std::vector<uint64_t> stamps_on(Stream stream) const;
    [[nodiscard]] uint64_t worked_ns(Stream stream) const;    ///< what the program's work took in total
    /// Sentences: use of what is destroyed, a null stream, calls after unload, ...
    [[nodiscard]] std::vector<std::string> misuses() const;
    [[nodiscard]] std::size_t context_depth() const;    ///< of this thread
    [[nodiscard]] int capture_mode() const;             ///< of this thread

private:
    friend struct FakeCudaCalls;
    struct ContextState {
        int device = 0;
        bool destroyed = false;
        Code poison = cuda::kSuccess;
        Stream legacy = nullptr;
        Stream per_thread = nullptr;
    };
    struct EventState {
        Context context = nullptr;
        bool destroyed = false;
        bool recorded = false;    // ever
        bool waiting = false;     // behind held work
        bool captured = false;
        uint64_t stamp_ns = 0;
        uint64_t recordings = 0;
        uint32_t not_ready = 0;
    };
    struct Command {
        uint64_t work_ns = 0;
        EventState* event = nullptr;
        uint64_t recording = 0;
        uint64_t enqueued_ns = 0;
    };
    struct StreamState {
        Context context = nullptr;
        bool blocking = false;
        bool destroyed = false;
        bool own = false;
        bool held = false;
        bool is_legacy = false;
        uint64_t busy_until_ns = 0;
        uint64_t records = 0;
        uint64_t worked_ns = 0;
        std::vector<uint64_t> stamps{};
        std::deque<Command> waiting{};
        int capture = cuda::kCaptureStatusNone;
        int capture_mode = 0;
        std::thread::id capture_thread{};
    };
    struct Failure {
        Code code;
        uint64_t count;
        uint64_t after;
    };
    struct ThreadState {
        std::vector<Context> stack{};
        int mode = cuda::kCaptureModeGlobal;
    };
    using Lock = std::lock_guard<std::recursive_mutex>;

    [[nodiscard]] Code enter(const char* call);
    [[nodiscard]] Code forbid_while_captured(const char* call);
    [[nodiscard]] Code usable(Context context, const char* what, const char* call);
    [[nodiscard]] StreamState* stream_at(Stream stream);
    [[nodiscard]] Context current();
    void enqueue(StreamState& stream, Command command);
    void run(StreamState& stream);
    [[nodiscard]] uint64_t device_ns(uint64_t clock) const;
    void misuse(const std::string& text);

    mutable std::recursive_mutex mutex_;
    Options options_;
    uint64_t clock_ns_ = 1'000'000;
    bool unloaded_ = false;
    uint32_t extra_not_ready_ = 0;
    std::map<Context, std::unique_ptr<ContextState>> contexts_;
    std::map<Stream, std::unique_ptr<StreamState>> streams_;
    std::map<Event, std::unique_ptr<EventState>> events_;
    std::map<int, Context> primaries_;
    std::map<int, int> primary_references_;
    std::map<std::string, uint64_t> calls_;
    std::map<std::string, Failure> failures_;
    mutable std::map<std::thread::id, ThreadState> threads_;
    std::vector<std::string> misuses_;
};

}    // namespace lapwing::testing
