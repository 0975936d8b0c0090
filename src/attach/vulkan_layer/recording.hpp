// One recording of a command buffer, from vkBeginCommandBuffer to the moment its last result was read.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/vulkan_layer/pipelines.hpp"
#include "backends/vulkan/query_chunks.hpp"
#include "lapwing/loss.hpp"
#include "lapwing/record.hpp"

namespace lapwing::attach::vulkan_layer {

class ChunkStore;
class CopyStore;
struct ResultCopy;
struct Queue;

/// A query of a recording.
struct RecordedStamp {
    uint32_t chunk = 0;    ///< index into Recording::chunks
    uint16_t query = 0;    ///< in the chunk
};

/// A command, or a whole render pass, that lies between two stamps.
struct RecordedOp {
    /// As `end`: a render pass that is suspended, and ends in a recording further behind in the submit.
    static constexpr uint16_t kEndsLater = UINT16_MAX;

    PipelineInfo* pipeline = nullptr;             ///< null for copies, fills and passes
    const std::string* op_label = nullptr;        ///< full label that names the op; null if none
    const std::string* kernel_label = nullptr;    ///< label that names the kernel; null if none
    std::array<uint32_t, 3> grid{};
    uint32_t chunk = 0;    ///< index into Recording::chunks
    uint16_t begin = 0;    ///< query in the chunk
    uint16_t end = 0;      ///< query in the chunk, or kEndsLater
    SpanKind kind = SpanKind::kDispatch;
};

/// The template that each submit executes: commands, and the queries that their stamps go to. Shared by the command
/// buffer, by the primaries that execute it and by every submission whose results were not read, so that resetting or
/// freeing the buffer takes nothing away from results that are still to be read.
/// Threads: written by the thread that records; after that, what is mutable is guarded by DeviceQueues' mutex.
struct Recording {
    Recording(ChunkStore& chunks_from, CopyStore& copies_from, uint32_t family, bool submitted_once) noexcept
        : chunk_store(chunks_from), copy_store(copies_from), queue_family(family), one_time(submitted_once) {}
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    ChunkStore& chunk_store;
    CopyStore& copy_store;
    const uint32_t queue_family;
    const bool one_time;    ///< VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT: its results are read in place
    std::vector<RecordedOp> ops;
    std::optional<RecordedStamp> empty_pair;    ///< the first of two stamps with nothing between: measures the floor
    std::vector<vulkan::QueryChunk> chunks;
    std::vector<std::shared_ptr<Recording>> children;    ///< secondaries that it executes, in order
    std::vector<PipelineInfo*> untimed_pipelines;        ///< used without stamps, not known to have run before
    LossCounts unstamped;                                ///< commands of an armed recording that got no stamps
    uint64_t dispatches = 0;                             ///< timed or not; without those of children
    uint64_t untimed = 0;                                ///< of `dispatches`: recorded while timing was off
    uint64_t stamps = 0;
    bool has_work = false;    ///< a command that is work, or a secondary with one
    bool has_render_pass = false;
    bool pass_suspended = false;                 ///< at its end: nothing may be inserted behind it
    std::optional<RecordedStamp> resumed_end;    ///< of a pass that an earlier recording of the submit has begun
    bool has_stamps = false;                     ///< it, or a secondary that it executes
    bool copied = false;    ///< some of those stamps are written again by later submits: each submit copies them out
    bool opens_step = false;    ///< a label that begins a step opens in it

    /// How often it was submitted. Only the latest execution's results are there to be read in place.
    uint64_t executions = 0;
    /// Executions up to this number shared the queries with one on another queue: nothing is known of their times.
    uint64_t contested = 0;
    const Queue* last_queue = nullptr;    ///< of the latest execution
    uint64_t last_sequence = 0;           ///< that execution's submit on it
    /// Copies of this recording and its secondaries that no submit uses now. Has room for every one that was made.
    std::vector<ResultCopy*> spare_copies;
    std::size_t copies_made = 0;
};

}    // namespace lapwing::attach::vulkan_layer
