#include "fakes/cuda/fake_cuda.hpp"

#include <algorithm>
#include <cstdlib>

namespace lapwing::testing {

using namespace cuda;

namespace {

constexpr int64_t kHostStartNs = 5'000'000'000;

}    // namespace

void FakeCuda::misuse(const std::string& text) {
    misuses_.push_back(text);
}

FakeCuda::Context FakeCuda::make_context(int device) {
    const Lock lock(mutex_);
    auto state = std::make_unique<ContextState>();
    const auto context = reinterpret_cast<Context>(state.get());
    state->device = device;
    state->legacy = make_stream(context, true);
    state->per_thread = make_stream(context, true);
    streams_[state->legacy]->is_legacy = true;
    contexts_[context] = std::move(state);
    return context;
}

void FakeCuda::destroy_context(Context context) {
    const Lock lock(mutex_);
    contexts_.at(context)->destroyed = true;
    for (auto& [handle, stream] : streams_)
        if (stream->context == context) stream->destroyed = true;
    for (auto& [handle, event] : events_)
        if (event->context == context) event->destroyed = true;
}

void FakeCuda::make_current(Context context) {
    const Lock lock(mutex_);
    threads_[std::this_thread::get_id()].stack = {context};
}

FakeCuda::Stream FakeCuda::make_stream(Context context, bool blocking) {
    const Lock lock(mutex_);
    auto state = std::make_unique<StreamState>();
    const auto stream = reinterpret_cast<Stream>(state.get());
    state->context = context;
    state->blocking = blocking;
    streams_[stream] = std::move(state);
    return stream;
}

void FakeCuda::destroy_stream(Stream stream) {
    const Lock lock(mutex_);
    streams_.at(stream)->destroyed = true;
}

void FakeCuda::work(Stream stream, uint64_t ns) {
    const Lock lock(mutex_);
    StreamState& state = *stream_at(stream);
    if (state.capture != kCaptureStatusNone) return;    // a node, not work
    enqueue(state, {.work_ns = ns, .enqueued_ns = clock_ns_});
}

void FakeCuda::hold(Stream stream, bool held) {
    const Lock lock(mutex_);
    StreamState& state = *stream_at(stream);
    state.held = held;
    if (held) return;
    for (Command& command : state.waiting) command.enqueued_ns = std::max(command.enqueued_ns, clock_ns_);
    run(state);
}

void FakeCuda::enqueue(StreamState& stream, Command command) {
    stream.waiting.push_back(command);
    run(stream);
}

// The order on a device: a stream's commands one after the other; the legacy stream and blocking streams wait for each
// other; a non-blocking stream for nobody.
void FakeCuda::run(StreamState& stream) {
    for (; !stream.held && !stream.waiting.empty(); stream.waiting.pop_front()) {
        const Command& command = stream.waiting.front();
        uint64_t start = std::max(stream.busy_until_ns, command.enqueued_ns);
        if (stream.blocking) {
            for (const auto& [handle, other] : streams_)
                if (other->context == stream.context && other->blocking && (stream.is_legacy || other->is_legacy))
                    start = std::max(start, other->busy_until_ns);
        }
        stream.busy_until_ns = start + command.work_ns;
        stream.worked_ns += command.work_ns;
        if (command.event != nullptr) stream.stamps.push_back(device_ns(stream.busy_until_ns));
        if (command.event != nullptr && command.event->recordings == command.recording) {
            command.event->stamp_ns = stream.busy_until_ns;
            command.event->waiting = false;
        }
    }
}

void FakeCuda::begin_capture(Stream stream, int mode) {
    const Lock lock(mutex_);
    StreamState& state = *stream_at(stream);
    state.capture = kCaptureStatusActive;
    state.capture_mode = mode;
    state.capture_thread = std::this_thread::get_id();
}

bool FakeCuda::end_capture(Stream stream) {
    const Lock lock(mutex_);
    StreamState& state = *stream_at(stream);
    const bool whole = state.capture == kCaptureStatusActive;
    state.capture = kCaptureStatusNone;
    return whole;
}

void FakeCuda::advance(uint64_t ns) {
    const Lock lock(mutex_);
    clock_ns_ += ns;
}

void FakeCuda::fail(const std::string& call, Code code, uint64_t count, uint64_t after) {
    const Lock lock(mutex_);
    failures_[call] = {code, count, after};
}
void FakeCuda::stop_failing() {
    const Lock lock(mutex_);
    failures_.clear();
}
void FakeCuda::set_extra_not_ready(uint32_t queries) {
    const Lock lock(mutex_);
    extra_not_ready_ = queries;
}
void FakeCuda::poison(Context context, Code code) {
    const Lock lock(mutex_);
    contexts_.at(context)->poison = code;
}
void FakeCuda::unload() {
    const Lock lock(mutex_);
    unloaded_ = true;
}

uint64_t FakeCuda::clock_ns() const {
    const Lock lock(mutex_);
    return clock_ns_;
}
HostNs FakeCuda::host_now() const {
    return HostNs{kHostStartNs + static_cast<int64_t>(clock_ns())};
}
uint64_t FakeCuda::device_ns(uint64_t clock) const {
    const uint64_t ns = clock + options_.device_start_ns;
    return ns - ns % options_.quantum_ns;
}
uint64_t FakeCuda::calls(const std::string& call) const {
    const Lock lock(mutex_);
    const auto found = calls_.find(call);
    return found == calls_.end() ? 0 : found->second;
}
uint64_t FakeCuda::calls() const {
    const Lock lock(mutex_);
    uint64_t sum = 0;
    for (const auto& [name, count] : calls_) sum += count;
    return sum;
}
uint64_t FakeCuda::waiting_calls() const {
    return calls("cuEventSynchronize") + calls("cuStreamSynchronize") + calls("cuCtxSynchronize");
}
uint64_t FakeCuda::live_events() const {
    const Lock lock(mutex_);
    return std::count_if(events_.begin(), events_.end(), [](const auto& entry) { return !entry.second->destroyed; });
}
uint64_t FakeCuda::live_own_streams() const {
    const Lock lock(mutex_);
    return std::count_if(streams_.begin(), streams_.end(),
                         [](const auto& entry) { return entry.second->own && !entry.second->destroyed; });
}
int FakeCuda::primary_references(int device) const {
    const Lock lock(mutex_);
    const auto found = primary_references_.find(device);
    return found == primary_references_.end() ? 0 : found->second;
}
uint64_t FakeCuda::records_on(Stream stream) const {
    const Lock lock(mutex_);
    return streams_.at(stream)->records;
}
std::vector<uint64_t> FakeCuda::stamps_on(Stream stream) const {
    const Lock lock(mutex_);
    return streams_.at(stream)->stamps;
}
uint64_t FakeCuda::worked_ns(Stream stream) const {
    const Lock lock(mutex_);
    return streams_.at(stream)->worked_ns;
}
std::vector<std::string> FakeCuda::misuses() const {
    const Lock lock(mutex_);
    return misuses_;
}
std::size_t FakeCuda::context_depth() const {
    const Lock lock(mutex_);
    return threads_[std::this_thread::get_id()].stack.size();
}
int FakeCuda::capture_mode() const {
    const Lock lock(mutex_);
    return threads_[std::this_thread::get_id()].mode;
}

FakeCuda::Context FakeCuda::current() {
    const std::vector<Context>& stack = threads_[std::this_thread::get_id()].stack;
    return stack.empty() ? nullptr : stack.back();
}

FakeCuda::StreamState* FakeCuda::stream_at(Stream stream) {
    if (stream == legacy() || stream == per_thread()) {
        const auto context = contexts_.find(current());
        if (context == contexts_.end()) return nullptr;
        stream = stream == legacy() ? context->second->legacy : context->second->per_thread;
    }
    const auto found = streams_.find(stream);
    return found == streams_.end() ? nullptr : found->second.get();
}

// What every call does first.
FakeCuda::Code FakeCuda::enter(const char* call) {
    ++calls_[call];
    clock_ns_ += options_.call_ns;
    if (unloaded_) {
        misuse(std::string(call).append(" after the driver was unloaded"));
        return kDeinitialized;
    }
    const auto failure = failures_.find(call);
    if (failure == failures_.end() || failure->second.count == 0) return kSuccess;
    if (failure->second.after > 0) {
        --failure->second.after;
        return kSuccess;
    }
    --failure->second.count;
    return failure->second.code;
}

// The rules of cuThreadExchangeStreamCaptureMode; a call against them spoils the captures that it is forbidden by.
FakeCuda::Code FakeCuda::forbid_while_captured(const char* call) {
    const std::thread::id self = std::this_thread::get_id();
    const int mode = threads_[self].mode;
    bool forbidden = false;
    for (auto& [handle, stream] : streams_) {
        if (stream->capture != kCaptureStatusActive || stream->capture_mode == kCaptureModeRelaxed) continue;
        const bool own = stream->capture_thread == self;
        if (mode == kCaptureModeRelaxed ||
            (!own && (mode != kCaptureModeGlobal || stream->capture_mode != kCaptureModeGlobal)))
            continue;
        stream->capture = kCaptureStatusInvalidated;
        forbidden = true;
    }
    if (forbidden) misuse(std::string(call).append(" spoiled a capture"));
    return forbidden ? kStreamCaptureUnsupported : kSuccess;
}

FakeCuda::Code FakeCuda::usable(Context context, const char* what, const char* call) {
    const auto found = contexts_.find(context);
    if (found == contexts_.end()) return kInvalidContext;
    if (found->second->destroyed) {
        misuse(std::string(call).append(" on ").append(what).append(" of a destroyed context"));
        return kContextIsDestroyed;
    }
    return found->second->poison;
}

}    // namespace lapwing::testing
