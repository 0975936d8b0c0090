// Everything of Lapwing that needs no driver's headers. The Vulkan backend's are included by name.
#pragma once

// IWYU pragma: begin_exports
#include "lapwing/alignment.hpp"
#include "lapwing/arming.hpp"
#include "lapwing/async_task.hpp"    // IWYU pragma: export
#include "lapwing/backend.hpp"
#include "lapwing/brick_id.hpp"          // IWYU pragma: export
#include "lapwing/brick_profiler.hpp"    // IWYU pragma: export
#include "lapwing/brick_snapshot.hpp"    // IWYU pragma: export
#include "lapwing/brick_stats.hpp"       // IWYU pragma: export
#include "lapwing/budget.hpp"
#include "lapwing/cached_clock.hpp"    // IWYU pragma: export
#include "lapwing/chrome.hpp"
#include "lapwing/clock.hpp"
#include "lapwing/cpu_backend.hpp"
#include "lapwing/device_bricks.hpp"    // IWYU pragma: export
#include "lapwing/device_ring.hpp"
#include "lapwing/device_spans.hpp"
#include "lapwing/divergence.hpp"
#include "lapwing/execution_graph.hpp"
#include "lapwing/families.hpp"
#include "lapwing/fingerprint.hpp"
#include "lapwing/graph_analysis.hpp"
#include "lapwing/graph_builder.hpp"
#include "lapwing/graph_export.hpp"
#include "lapwing/histogram.hpp"
#include "lapwing/host_spans.hpp"
#include "lapwing/kernel_audit.hpp"
#include "lapwing/kernel_registry.hpp"
#include "lapwing/kernel_table.hpp"
#include "lapwing/lanes.hpp"
#include "lapwing/launch_trace.hpp"
#include "lapwing/level.hpp"
#include "lapwing/loss.hpp"
#include "lapwing/metrics.hpp"
#include "lapwing/name.hpp"
#include "lapwing/own_cost.hpp"
#include "lapwing/page_faults.hpp"    // IWYU pragma: export
#include "lapwing/perfetto.hpp"
#include "lapwing/process_sites.hpp"
#include "lapwing/profile_checks.hpp"
#include "lapwing/range_hooks.hpp"
#include "lapwing/record.hpp"
#include "lapwing/recorder.hpp"
#include "lapwing/report.hpp"
#include "lapwing/result.hpp"
#include "lapwing/round_trip.hpp"
#include "lapwing/seq_cell.hpp"
#include "lapwing/sim_backend.hpp"
#include "lapwing/sink.hpp"
#include "lapwing/site_table.hpp"
#include "lapwing/span.hpp"
#include "lapwing/span_tee.hpp"
#include "lapwing/stamp.hpp"
#include "lapwing/statistics.hpp"
#include "lapwing/step_rule.hpp"
#include "lapwing/telemetry.hpp"
#include "lapwing/telemetry_config.hpp"
#include "lapwing/telemetry_export.hpp"
#include "lapwing/telemetry_figures.hpp"
#include "lapwing/telemetry_stream.hpp"
#include "lapwing/this_process.hpp"
#include "lapwing/tile_stats.hpp"    // IWYU pragma: export
#include "lapwing/units.hpp"
// IWYU pragma: end_exports
