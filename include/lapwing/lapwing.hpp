// Everything of Lapwing that needs no driver's headers. The Vulkan backend's are included by name.
#pragma once

#include "lapwing/alignment.hpp"      // IWYU pragma: export
#include "lapwing/arming.hpp"         // IWYU pragma: export
#include "lapwing/backend.hpp"        // IWYU pragma: export
#include "lapwing/brick_id.hpp"       // IWYU pragma: export
#include "lapwing/brick_stats.hpp"    // IWYU pragma: export
#include "lapwing/budget.hpp"         // IWYU pragma: export
#include "lapwing/chrome.hpp"         // IWYU pragma: export
#include "lapwing/clock.hpp"          // IWYU pragma: export
#include "lapwing/cpu_backend.hpp"    // IWYU pragma: export
#include "lapwing/device_ring.hpp"    // IWYU pragma: export
#include "lapwing/histogram.hpp"      // IWYU pragma: export
#include "lapwing/host_spans.hpp"     // IWYU pragma: export
#include "lapwing/lanes.hpp"          // IWYU pragma: export
#include "lapwing/level.hpp"          // IWYU pragma: export
#include "lapwing/loss.hpp"           // IWYU pragma: export
#include "lapwing/metrics.hpp"        // IWYU pragma: export
#include "lapwing/name.hpp"           // IWYU pragma: export
#include "lapwing/own_cost.hpp"       // IWYU pragma: export
#include "lapwing/perfetto.hpp"       // IWYU pragma: export
#include "lapwing/record.hpp"         // IWYU pragma: export
#include "lapwing/recorder.hpp"       // IWYU pragma: export
#include "lapwing/report.hpp"         // IWYU pragma: export
#include "lapwing/result.hpp"         // IWYU pragma: export
#include "lapwing/seq_cell.hpp"       // IWYU pragma: export
#include "lapwing/sim_backend.hpp"    // IWYU pragma: export
#include "lapwing/sink.hpp"           // IWYU pragma: export
#include "lapwing/site_table.hpp"     // IWYU pragma: export
#include "lapwing/span.hpp"           // IWYU pragma: export
#include "lapwing/stamp.hpp"          // IWYU pragma: export
#include "lapwing/statistics.hpp"     // IWYU pragma: export
#include "lapwing/step_rule.hpp"      // IWYU pragma: export
#include "lapwing/units.hpp"          // IWYU pragma: export
