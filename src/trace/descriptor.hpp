// Perfetto's side of a recording: track descriptors, sequence heads and interned names, as whole packets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lapwing/sink.hpp"

namespace lapwing::trace {

/// Sequence 1 carries what belongs to the whole recording; lanes are numbered from 2.
inline constexpr uint32_t kMetaSequence = 1;

/// A packet whose payload is one field of Lapwing's own message.
[[nodiscard]] std::string own_packet(uint32_t sequence, uint32_t own_field, std::string_view body);

/// A packet saying that spans begun from here on on this sequence belong to `step`.
[[nodiscard]] std::string step_mark_packet(uint32_t sequence, uint32_t step);

/// The head of the meta sequence: its timestamps are absolute, on CLOCK_MONOTONIC, which is the clock of the trace.
[[nodiscard]] std::string meta_head_packet(int64_t now_ns);

/// The head of a lane's sequence: timestamps are deltas, the first one to `first_ns`; slices go to track `uuid`.
[[nodiscard]] std::string lane_head_packet(uint32_t sequence, uint64_t uuid, int64_t first_ns);

/// Interns the name of a site on a sequence.
[[nodiscard]] std::string name_packet(uint32_t sequence, uint32_t iid, std::string_view name);

/// Descriptors. `name` may hold any bytes; viewers get valid UTF-8.
[[nodiscard]] std::string process_packet(uint64_t uuid, int32_t pid, std::string_view name);
[[nodiscard]] std::string track_packet(uint64_t uuid, uint64_t parent, std::string_view name);
[[nodiscard]] std::string thread_packet(uint64_t uuid, int32_t pid, int32_t tid, std::string_view name);

/// A slice with its own name and absolute times, two packets of the meta sequence.
[[nodiscard]] std::string step_slice_packets(uint64_t track_uuid, const StepRecord& step);

/// What a viewer calls the spans of a site: its label, else its op, its kernel or its kind.
[[nodiscard]] std::string_view display_name(const Site& site);

/// The number in a name such as "thread 4711"; 0 where there is none that a viewer takes as a thread id.
[[nodiscard]] int32_t thread_id_in(std::string_view track_name);

/// `id` where a viewer takes it as a process id, else 1: zero, negative and wide ids are folded or dropped by viewers.
[[nodiscard]] int32_t viewer_pid(int64_t id);

}    // namespace lapwing::trace
