// One trace of the process that probes anywhere can write to.
//
//     lapwing::Status on = lapwing::open_global_trace(lapwing::trace_config_from_env());    // once, at the start
//     ... finish_probe_timer_traced(timer, lapwing::global_trace(), "attn", "attention", layer) ...
//     lapwing::close_global_trace();    // at the end, when the pools are gone or collected
#pragma once

#include <string>

#include "lapwing/chrome.hpp"
#include "lapwing/probe_trace.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

/// Where the process's trace goes.
struct GlobalTraceConfig {
    std::string path;    ///< of the Chrome trace; empty = no trace
    ChromeWriterOptions writer;
    ProbeTraceOptions probes;    ///< the process is this one where its pid is 0
};

/// The name of the variable that trace_config_from_env() reads.
inline constexpr const char* kTraceOutVariable = "LAPWING_TRACE_OUT";

/// A configuration whose path is the value of LAPWING_TRACE_OUT; unset or empty means no trace. The library never reads
/// the environment unless this is called.
[[nodiscard]] GlobalTraceConfig trace_config_from_env();

/// Opens the process's trace. An empty path opens none and is no error.
/// Errors:  those of open_chrome_writer(); kInvalidArgument where a trace is open: close it first.
/// Threads: any.
Status open_global_trace(const GlobalTraceConfig& config);

/// The trace, or null while there is none.
/// Shape:   valid for ever: what comes after close_global_trace() is lost, and no fault.
/// Cost:    one load.
/// Threads: any.
[[nodiscard]] ProbeTrace* global_trace() noexcept;

/// Brings what was traced so far into the file, which is a whole trace then; a later flush goes on behind it.
/// Nothing does it by itself at the end of the process. Fine where there is no trace.
/// Threads: any.
Status flush_global_trace();

/// Flushes and closes the file; global_trace() is null from here on. Fine where there is no trace.
/// Threads: any.
Status close_global_trace();

}    // namespace lapwing
