// The stand-in's entry points, by the symbols of the real library.
#include <cstring>

#include "backends/cuda/entry_points.hpp"
#include "fakes/cuda/fake_cuda.hpp"

namespace lapwing::testing {

using namespace cuda;

namespace {

FakeCuda* g_fake = nullptr;

}    // namespace

FakeCuda::FakeCuda(const Options& options) : options_(options) {
    g_fake = this;
}
FakeCuda::~FakeCuda() {
    g_fake = nullptr;
}

// Every function: lock, count, answer what is scripted, then do it.
#define FAKE_ENTER(name)                    \
    FakeCuda& fake = *g_fake;               \
    const FakeCuda::Lock lock(fake.mutex_); \
    if (const Code code = fake.enter(name); code != kSuccess) return code
#define FAKE_TRY(expression) \
    if (const Code code = expression; code != kSuccess) return code

struct FakeCudaCalls {
    using Context = cuda::Context;
    static Code Init(unsigned) {
        FAKE_ENTER("cuInit");
        return kSuccess;
    }
    static Code DriverGetVersion(int* version) {
        FAKE_ENTER("cuDriverGetVersion");
        *version = fake.options_.version;
        return kSuccess;
    }
    static Code DeviceGetCount(int* count) {
        FAKE_ENTER("cuDeviceGetCount");
        *count = fake.options_.devices;
        return kSuccess;
    }
    static Code DeviceGet(Device* device, int ordinal) {
        FAKE_ENTER("cuDeviceGet");
        if (ordinal < 0 || ordinal >= fake.options_.devices) return kInvalidDevice;
        *device = ordinal;
        return kSuccess;
    }
    static Code DeviceGetName(char* name, int length, Device device) {
        FAKE_ENTER("cuDeviceGetName");
        std::strncpy(name, device == 0 ? "Stand-in 0" : "Stand-in 1", static_cast<std::size_t>(length));
        return kSuccess;
    }
    static Code DeviceGetAttribute(int* value, int which, Device) {
        FAKE_ENTER("cuDeviceGetAttribute");
        *value = which == 75 ? 9 : 0;
        return kSuccess;
    }
    static Code DevicePrimaryCtxRetain(Context* context, Device device) {
        FAKE_ENTER("cuDevicePrimaryCtxRetain");
        Context& primary = fake.primaries_[device];
        if (primary == nullptr) primary = fake.make_context(device);
        ++fake.primary_references_[device];
        *context = primary;
        return kSuccess;
    }
    static Code DevicePrimaryCtxRelease(Device device) {
        FAKE_ENTER("cuDevicePrimaryCtxRelease");
        if (--fake.primary_references_[device] < 0) fake.misuse("a primary context released once too often");
        return kSuccess;
    }
    static Code CtxGetCurrent(Context* context) {
        FAKE_ENTER("cuCtxGetCurrent");
        *context = fake.current();
        return kSuccess;
    }
    static Code CtxPushCurrent(Context context) {
        FAKE_ENTER("cuCtxPushCurrent");
        const auto found = fake.contexts_.find(context);
        if (found == fake.contexts_.end() || found->second->destroyed) return kInvalidContext;
        fake.threads_[std::this_thread::get_id()].stack.push_back(context);
        return kSuccess;
    }
    static Code CtxPopCurrent(Context* context) {
        FAKE_ENTER("cuCtxPopCurrent");
        auto& stack = fake.threads_[std::this_thread::get_id()].stack;
        if (stack.empty()) return kInvalidContext;
        *context = stack.back();
        stack.pop_back();
        return kSuccess;
    }
    static Code StreamCreate(Stream* stream, unsigned flags) {
        FAKE_ENTER("cuStreamCreate");
        FAKE_TRY(fake.usable(fake.current(), "a stream", "cuStreamCreate"));
        FAKE_TRY(fake.forbid_while_captured("cuStreamCreate"));
        *stream = fake.make_stream(fake.current(), flags != kStreamNonBlocking);
        fake.streams_[*stream]->own = true;
        return kSuccess;
    }
    static Code stream_in(FakeCuda& fake, Stream handle, const char* call, FakeCuda::StreamState** out) {
        if (handle == nullptr) fake.misuse(std::string(call).append(" on the null stream"));
        FakeCuda::StreamState* const stream = fake.stream_at(handle);
        if (stream == nullptr) return kInvalidHandle;
        FAKE_TRY(fake.usable(stream->context, "a stream", call));
        if (stream->destroyed) {
            fake.misuse(std::string(call).append(" on a destroyed stream"));
            return kInvalidHandle;
        }
        *out = stream;
        return kSuccess;
    }
    static Code StreamDestroy(Stream handle) {
        FAKE_ENTER("cuStreamDestroy");
        FakeCuda::StreamState* stream = nullptr;
        FAKE_TRY(stream_in(fake, handle, "cuStreamDestroy", &stream));
        FAKE_TRY(fake.forbid_while_captured("cuStreamDestroy"));
        stream->destroyed = true;
        return kSuccess;
    }
    static Code StreamGetCtx(Stream handle, Context* context) {
        FAKE_ENTER("cuStreamGetCtx");
        FakeCuda::StreamState* stream = nullptr;
        FAKE_TRY(stream_in(fake, handle, "cuStreamGetCtx", &stream));
        *context = stream->context;
        return kSuccess;
    }
    // A capture on a blocking stream of the context forbids the legacy stream.
    static bool beside_capture(FakeCuda& fake, const FakeCuda::StreamState& stream, bool spoil) {
        bool found = false;
        for (auto& [handle, other] : fake.streams_) {
            if (!stream.is_legacy || other.get() == &stream || other->context != stream.context || !other->blocking ||
                other->capture != kCaptureStatusActive)
                continue;
            found = true;
            if (spoil) {
                other->capture = kCaptureStatusInvalidated;
                fake.misuse("an event on the legacy stream spoiled a capture");
            }
        }
        return found;
    }
    static Code StreamIsCapturing(Stream handle, int* status) {
        FAKE_ENTER("cuStreamIsCapturing");
        FakeCuda::StreamState* stream = nullptr;
        FAKE_TRY(stream_in(fake, handle, "cuStreamIsCapturing", &stream));
        if (beside_capture(fake, *stream, false)) return kStreamCaptureImplicit;
        *status = stream->capture;
        return kSuccess;
    }
    static Code ExchangeCaptureMode(int* mode) {
        FAKE_ENTER("cuThreadExchangeStreamCaptureMode");
        std::swap(*mode, fake.threads_[std::this_thread::get_id()].mode);
        return kSuccess;
    }
    static Code EventCreate(Event* event, unsigned) {
        FAKE_ENTER("cuEventCreate");
        FAKE_TRY(fake.usable(fake.current(), "an event", "cuEventCreate"));
        FAKE_TRY(fake.forbid_while_captured("cuEventCreate"));
        auto state = std::make_unique<FakeCuda::EventState>();
        state->context = fake.current();
        *event = reinterpret_cast<Event>(state.get());
        fake.events_[*event] = std::move(state);
        return kSuccess;
    }
    static Code event_in(FakeCuda& fake, Event handle, const char* call, FakeCuda::EventState** out) {
        const auto found = fake.events_.find(handle);
        if (found == fake.events_.end()) {
            fake.misuse(std::string(call).append(" on what is no event"));
            return kInvalidHandle;
        }
        FAKE_TRY(fake.usable(found->second->context, "an event", call));
        if (fake.current() == nullptr) fake.misuse(std::string(call).append(" without a current context"));
        if (found->second->destroyed) {
            fake.misuse(std::string(call).append(" on a destroyed event"));
            return kInvalidHandle;
        }
        *out = found->second.get();
        return kSuccess;
    }
    static Code EventRecord(Event handle, Stream stream_handle) {
        FAKE_ENTER("cuEventRecord");
        FakeCuda::StreamState* stream = nullptr;
        FakeCuda::EventState* event = nullptr;
        FAKE_TRY(stream_in(fake, stream_handle, "cuEventRecord", &stream));
        FAKE_TRY(event_in(fake, handle, "cuEventRecord", &event));
        if (stream->context != event->context) return kInvalidHandle;
        if (beside_capture(fake, *stream, true)) return kStreamCaptureImplicit;
        event->recorded = true;
        event->captured = stream->capture != kCaptureStatusNone;
        ++event->recordings;
        ++stream->records;
        event->not_ready = fake.extra_not_ready_;
        if (event->captured) {
            fake.misuse("an event was recorded into a capture");
            return kSuccess;
        }
        event->waiting = true;
        fake.enqueue(*stream, {.event = event, .recording = event->recordings, .enqueued_ns = fake.clock_ns_});
        return kSuccess;
    }
    static bool complete(const FakeCuda& fake, const FakeCuda::EventState& event) {
        return !event.waiting && event.stamp_ns <= fake.clock_ns_ && event.not_ready == 0;
    }
    static Code EventQuery(Event handle) {
        FAKE_ENTER("cuEventQuery");
        FakeCuda::EventState* event = nullptr;
        FAKE_TRY(event_in(fake, handle, "cuEventQuery", &event));
        FAKE_TRY(fake.forbid_while_captured("cuEventQuery"));
        if (event->captured) return kCapturedEvent;
        if (!event->recorded || complete(fake, *event)) return kSuccess;    // as the driver: never recorded = complete
        if (event->not_ready > 0) --event->not_ready;
        return kNotReady;
    }
    static Code EventDestroy(Event handle) {
        FAKE_ENTER("cuEventDestroy");
        FakeCuda::EventState* event = nullptr;
        FAKE_TRY(event_in(fake, handle, "cuEventDestroy", &event));
        FAKE_TRY(fake.forbid_while_captured("cuEventDestroy"));
        event->destroyed = true;
        return kSuccess;
    }
    static Code EventElapsedTime(float* ms, Event from, Event to) {
        FAKE_ENTER("cuEventElapsedTime");
        FakeCuda::EventState* first = nullptr;
        FakeCuda::EventState* last = nullptr;
        FAKE_TRY(event_in(fake, from, "cuEventElapsedTime", &first));
        FAKE_TRY(event_in(fake, to, "cuEventElapsedTime", &last));
        FAKE_TRY(fake.forbid_while_captured("cuEventElapsedTime"));
        if (!first->recorded || !last->recorded || first->context != last->context) return kInvalidHandle;
        if (first->captured || last->captured) return kCapturedEvent;
        for (const FakeCuda::EventState* event : {first, last})
            if (event->waiting || event->stamp_ns > fake.clock_ns_) return kNotReady;
        const auto a = static_cast<int64_t>(fake.device_ns(first->stamp_ns));
        const auto b = static_cast<int64_t>(fake.device_ns(last->stamp_ns));
        *ms = static_cast<float>(static_cast<double>(b - a) * 1e-6);
        return kSuccess;
    }
    static Code EventElapsedTime2(float* ms, Event from, Event to) { return EventElapsedTime(ms, from, to); }

    // What a timing tool must not call; it may not even look for them.
    static Code Synchronize(void*) {
        FAKE_ENTER("cuEventSynchronize");
        return kSuccess;
    }
};

#undef FAKE_ENTER
#undef FAKE_TRY

void* FakeCuda::find(const char* symbol) {
    if (std::strcmp(symbol, g_fake->options_.missing) == 0) return nullptr;
#define FAKE_FIND(name, text, ...)                                         \
    if (std::strcmp(symbol, text) == 0) {                                  \
        EntryPoints::name##Function* const function = FakeCudaCalls::name; \
        return reinterpret_cast<void*>(function);                          \
    }
    LAPWING_GPU_ENTRY_POINTS(FAKE_FIND)
    LAPWING_GPU_OPTIONAL_ENTRY_POINTS(FAKE_FIND)
#undef FAKE_FIND
    if (std::strstr(symbol, "Synchronize") != nullptr) return reinterpret_cast<void*>(&FakeCudaCalls::Synchronize);
    return nullptr;
}

}    // namespace lapwing::testing
