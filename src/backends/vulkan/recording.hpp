// One begin_commands() .. end_commands(): its queries, and which slot each of them answers.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <vector>

#include "backends/vulkan/entry_points.hpp"
#include "backends/vulkan/query_chunks.hpp"
#include "backends/vulkan/result_slabs.hpp"
#include "backends/vulkan/slot_table.hpp"

namespace lapwing::vulkan {

/// The marks of one recording, in the order of the queries that hold them.
/// Threads: one at a time; the recording thread until it is ended, then whoever holds the backend's lock.
class Recording {
public:
    /// Takes over chunks with room for `max_marks` marks, in the order in which they were taken.
    void open(VkCommandBuffer commands, std::vector<QueryChunk> chunks, uint32_t queries_per_chunk, uint32_t max_marks);

    /// hot: one vkCmdWriteTimestamp. False where all marks are used up.
    bool mark(const DeviceTable& table, VkPipelineStageFlagBits stage, SlotTable& slots, uint32_t slot) noexcept {
        if (marks_.size() == max_marks_) return false;
        const QueryRun& run = runs_[run_];
        marks_.push_back({slot, slots.mark(slot)});    // reserved by open(): does not allocate
        table.CmdWriteTimestamp(commands_, stage, run.pool, run.first + in_run_);
        if (++in_run_ == run.count) {
            ++run_;
            in_run_ = 0;
        }
        return true;
    }

    /// Every query that was taken.
    [[nodiscard]] const std::vector<QueryRun>& all_runs() const noexcept { return runs_; }

    /// The queries that marks were written to.
    [[nodiscard]] std::vector<QueryRun> used_runs() const;

    /// Gives every mark its result from memory; a missing one has failed. Returns how many failed.
    uint64_t resolve(const ResultSlabs& slabs, SlotTable& slots) const noexcept;

    /// Gives every mark the same state, without a time.
    void resolve_all(StampState state, SlotTable& slots) const noexcept;

    [[nodiscard]] std::size_t marks() const noexcept { return marks_.size(); }
    [[nodiscard]] VkCommandBuffer commands() const noexcept { return commands_; }

    /// Returns the chunks; the recording may be opened again.
    void close(QueryChunks& chunks) noexcept;

private:
    struct Mark {
        uint32_t slot = 0;
        uint32_t serial = 0;
    };
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    std::vector<QueryChunk> chunks_;
    std::vector<QueryRun> runs_;    // adjacent chunks joined
    std::vector<Mark> marks_;
    uint32_t max_marks_ = 0;
    uint32_t run_ = 0;
    uint32_t in_run_ = 0;
};

}    // namespace lapwing::vulkan
