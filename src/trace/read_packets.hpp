// A recording from any source of packets.
#pragma once

#include "lapwing/perfetto.hpp"
#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"
#include "trace/packet_source.hpp"

namespace lapwing::trace {

/// read_perfetto() of what is open already.
[[nodiscard]] Result<ReadSummary> read_packets(PacketSource& source, SpanSink& sink);

}    // namespace lapwing::trace
