#include "lapwing/global_trace.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "lapwing/this_process.hpp"

namespace lapwing {

namespace {

struct Open {
    explicit Open(std::unique_ptr<SpanSink> to, const ProbeTraceOptions& options)
        : sink(std::move(to)), trace(*sink, options) {}
    std::unique_ptr<SpanSink> sink;
    ProbeTrace trace;
};

std::mutex g_mutex;
std::atomic<ProbeTrace*> g_trace{nullptr};

// What was open is kept: a probe that got the pointer before may still add to it.
void keep(std::unique_ptr<Open> open) {
    struct Kept {
        std::unique_ptr<Open> open;
        Kept* earlier;
    };
    static Kept* newest = nullptr;
    newest = new Kept{std::move(open), newest};
}

}    // namespace

GlobalTraceConfig trace_config_from_env() {
    GlobalTraceConfig config;
    const char* const path = std::getenv(kTraceOutVariable);
    if (path != nullptr) config.path = path;
    return config;
}

Status open_global_trace(const GlobalTraceConfig& config) {
    const std::lock_guard lock(g_mutex);
    if (config.path.empty()) return {};
    if (g_trace.load(std::memory_order_relaxed) != nullptr)
        return Error{Errc::kInvalidArgument, 0, "a trace is open already: call close_global_trace() first"};
    Result<std::unique_ptr<SpanSink>> sink = open_chrome_writer(config.path, config.writer);
    if (!sink.ok()) return sink.error();
    ProbeTraceOptions options = config.probes;
    if (options.process.pid == 0) options.process = this_process();
    auto open = std::make_unique<Open>(std::move(sink).value(), options);
    ProbeTrace* const trace = &open->trace;
    keep(std::move(open));
    g_trace.store(trace, std::memory_order_release);
    return {};
}

ProbeTrace* global_trace() noexcept {
    return g_trace.load(std::memory_order_acquire);
}

Status flush_global_trace() {
    ProbeTrace* const trace = global_trace();
    return trace != nullptr ? trace->flush() : Status();
}

Status close_global_trace() {
    const std::lock_guard lock(g_mutex);
    ProbeTrace* const trace = g_trace.exchange(nullptr, std::memory_order_acq_rel);
    return trace != nullptr ? trace->close() : Status();
}

}    // namespace lapwing
