// Packets that lie one after another in memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/fields.hpp"

namespace lapwing::trace {

/// Hands them out in order.
/// Shape:   views point into the run.
class PacketRun {
public:
    explicit PacketRun(std::string_view run) : run_(run) {}

    /// False at the end and at a packet that is none, or not whole: whole() tells.
    bool next(std::string_view& packet) {
        offset_ = at_;
        if (at_ == run_.size()) return false;
        std::size_t length = 0;
        std::size_t from = at_ + 1;
        for (unsigned shift = 0;; shift += 7) {
            if (from >= run_.size() || shift > 28) return false;
            const auto byte = static_cast<uint8_t>(run_[from++]);
            length |= static_cast<std::size_t>(byte & 0x7f) << shift;
            if (byte < 0x80) break;
        }
        if (static_cast<uint8_t>(run_[at_]) != kPacketTag || length > run_.size() - from) return false;
        packet = run_.substr(from, length);
        at_ = from + length;
        return true;
    }
    [[nodiscard]] bool whole() const { return at_ == run_.size(); }
    [[nodiscard]] std::size_t offset() const { return offset_; }

private:
    std::string_view run_;
    std::size_t at_ = 0;
    std::size_t offset_ = 0;
};

}    // namespace lapwing::trace
