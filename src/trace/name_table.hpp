// Texts as dense numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::trace {

/// Numbers texts from 0 in the order in which they first come.
/// Shape:   memory is that of the texts and 12 to 24 bytes a text.
class NameTable {
public:
    static constexpr uint32_t kNone = 0xffffffffu;

    [[nodiscard]] uint32_t find(std::string_view text) const noexcept;
    /// Shape:   `text` is not in it yet.
    uint32_t add(std::string_view text);
    [[nodiscard]] const std::string& text(uint32_t number) const noexcept { return texts_[number]; }
    [[nodiscard]] std::size_t size() const noexcept { return texts_.size(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    struct Slot {
        uint64_t hash = 0;
        uint32_t number = kNone;
    };
    void grow();

    std::vector<Slot> slots_ = std::vector<Slot>(256);    // a power of two, at most half of it used
    std::deque<std::string> texts_;
    std::size_t bytes_ = 0;
};

}    // namespace lapwing::trace
