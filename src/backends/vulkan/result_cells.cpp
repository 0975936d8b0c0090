#include "backends/vulkan/result_cells.hpp"

#include <algorithm>
#include <bit>

namespace lapwing::vulkan {

void ResultCell::clear(uint32_t count) const noexcept {
    std::fill_n(words, 2 * std::size_t{count}, uint64_t{0});
}

bool ResultCells::grow() {
    driver_refused_ = false;
    if (slabs_.size() >= options_.max_slabs) return false;
    slabs_.reserve(slabs_.size() + 1);    // before the driver's memory, so that none is lost to bad_alloc
    const uint64_t bytes = uint64_t{kCellsPerSlab} * options_.results_per_cell * kResultStride;
    const Result<HostBuffer> made = HostBuffer::create(table_, device_, memory_, bytes);
    driver_refused_ = !made.ok();
    if (!made.ok()) return false;
    Slab slab;
    slab.buffer = made.value();
    slab.free.fill(~uint64_t{0});
    slabs_.push_back(slab);
    return true;
}

std::optional<ResultCell> ResultCells::take() {
    const auto is_full = [](const Slab& slab) {
        return std::all_of(slab.free.begin(), slab.free.end(), [](uint64_t word) { return word == 0; });
    };
    while (lowest_ < slabs_.size() && is_full(slabs_[lowest_])) ++lowest_;
    if (lowest_ == slabs_.size() && !grow()) return std::nullopt;
    Slab& slab = slabs_[lowest_];
    auto word = std::find_if(slab.free.begin(), slab.free.end(), [](uint64_t bits) { return bits != 0; });
    const auto index =
        static_cast<uint32_t>(64 * (word - slab.free.begin())) + static_cast<uint32_t>(std::countr_zero(*word));
    *word &= *word - 1;
    ++taken_;
    return ResultCell{slab.buffer.buffer, slab.buffer.words + std::size_t{2} * options_.results_per_cell * index,
                      lowest_, index};
}

void ResultCells::give_back(const ResultCell& cell) noexcept {
    if (cell.slab >= slabs_.size()) return;    // given back after destroy()
    slabs_[cell.slab].free[cell.index / 64] |= uint64_t{1} << (cell.index % 64);
    lowest_ = std::min(lowest_, cell.slab);
    --taken_;
}

void ResultCells::record_copies(VkCommandBuffer commands, const std::vector<QueryChunk>& chunks,
                                const std::vector<ResultCell>& cells) const noexcept {
    const uint32_t per_cell = options_.results_per_cell;
    for (std::size_t i = 0; i < chunks.size();) {
        const QueryChunk& head = chunks[i];
        const ResultCell& cell = cells[i];
        uint32_t count = head.used;
        // A chunk that is not full ends the run: its last queries are never written, and would be waited for.
        for (++i; i < chunks.size() && count % per_cell == 0; ++i) {
            const uint32_t further = count / per_cell;
            if (chunks[i].pool != head.pool || chunks[i].first != head.first + count) break;
            if (cells[i].slab != cell.slab || cells[i].index != cell.index + further) break;
            count += chunks[i].used;
        }
        if (count == 0) continue;
        table_.CmdCopyQueryPoolResults(commands, head.pool, head.first, count, cell.buffer,
                                       uint64_t{cell.index} * per_cell * kResultStride, kResultStride, kCopyFlags);
    }
    record_host_barrier(table_, commands);
}

void ResultCells::destroy() noexcept {
    for (Slab& slab : slabs_) slab.buffer.destroy(table_, device_);
    slabs_.clear();
    lowest_ = 0;
    taken_ = 0;
}

}    // namespace lapwing::vulkan
