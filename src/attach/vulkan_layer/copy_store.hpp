// Our own command buffers that copy a recording's results out, behind a lock.
#pragma once

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "backends/vulkan/result_cells.hpp"
#include "lapwing/loss.hpp"

namespace lapwing::attach::vulkan_layer {

/// A command buffer that copies every result of one recording, its secondaries included, to cells of its own, or one
/// that stamps. It is inserted into the program's submits, one at a time, again and again.
struct ResultCopy {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    uint32_t queue_family = 0;
    bool usable = true;                       ///< may be recorded again
    std::vector<vulkan::ResultCell> cells;    ///< one a chunk, in the order of the chunks it was made for
};

/// Threads: any. Never calls back, and takes no other lock: recordings may die while DeviceQueues' mutex is held.
class CopyStore {
public:
    /// What is known at vkCreateDevice only.
    struct Setup {
        VkPhysicalDeviceMemoryProperties memory{};
        PFN_vkSetDeviceLoaderData set_loader_data =
            nullptr;    ///< makes our command buffers the loader's; null in tests
    };

    /// `table` must outlive this object.
    CopyStore(const vulkan::DeviceTable& table, VkDevice device, const Setup& setup);

    /// What make() answers: a copy, or why there is none.
    struct Made {
        ResultCopy* copy = nullptr;
        LossReason why_not = LossReason::kRingFull;
    };
    /// A copy of these chunks for queues of a family. Stays until it is given back; the store keeps owning it.
    /// Cost:    cold: records one command buffer.
    /// Errors:  `kRingFull` at the bounds below, `kDriverError` where the driver refused; after 8 refusals it is asked
    /// no
    ///          more. Throws std::bad_alloc.
    [[nodiscard]] Made make(uint32_t queue_family, const std::vector<vulkan::QueryChunk>& chunks);
    /// The two that go around a submit's work: the first resets a chunk and stamps its query 0, the second stamps query
    /// 1 and copies both out. Both are needed, so both are made, or neither.
    struct MadeBracket {
        ResultCopy* front = nullptr;    ///< no cells
        ResultCopy* behind = nullptr;
        LossReason why_not = LossReason::kRingFull;
    };
    /// Errors:  those of make().
    /// Shape:   `chunk` has two queries in use.
    [[nodiscard]] MadeBracket make_bracket(uint32_t queue_family, const vulkan::QueryChunk& chunk);

    /// Copies that no unfinished submit uses.
    void give_back(std::span<ResultCopy* const> copies) noexcept;

    /// The device must be idle.
    void destroy() noexcept;

    static constexpr std::size_t kMaxCopies = 4096;    ///< command buffers, spare ones of live recordings included
    static constexpr uint32_t kMaxSlabs = 64;          ///< of 256 KiB: a million results
    static constexpr uint32_t kMaxDriverRefusals = 8;

private:
    struct Family {
        VkCommandPool pool = VK_NULL_HANDLE;
        std::vector<ResultCopy*> free;    // has room for every copy of the family
    };
    template <class Record>
    [[nodiscard]] Made make(uint32_t queue_family, std::size_t cells, Record&& record);
    [[nodiscard]] ResultCopy* command_buffer(Family& family, uint32_t queue_family);
    [[nodiscard]] bool take_cells(ResultCopy& copy, std::size_t count);
    void stamp(VkCommandBuffer commands, const vulkan::QueryChunk& chunk, uint32_t query) const noexcept;
    void give_cells_back(ResultCopy& copy) noexcept;

    const vulkan::DeviceTable& vk_;
    const VkDevice device_;
    const PFN_vkSetDeviceLoaderData set_loader_data_;
    std::mutex mutex_;
    vulkan::ResultCells cells_;
    std::map<uint32_t, Family> families_;
    std::deque<ResultCopy> copies_;    // never moves its elements
    uint32_t refusals_ = 0;
};

}    // namespace lapwing::attach::vulkan_layer
