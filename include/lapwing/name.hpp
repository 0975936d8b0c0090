// Names interned to numbers, bounded in count and in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace lapwing {

/// Number of an interned name. 0 is the empty name.
using NameId = uint32_t;

/// How many names are told apart.
struct NameTableOptions {
    std::size_t max_names = 65536;             ///< names told apart; later ones become "other"; <= 2^32 - 2
    std::size_t max_bytes = 16u << 20;         ///< their text in total; names beyond it become "other"
    std::size_t max_name_bytes = 64u << 10;    ///< longest name that is kept; longer ones become "other"
};

/// Interns names: equal names get the same number.
/// Shape:   the text is kept as it came, any bytes; numbers are dense from 1. Names that find the table full share one
///          number, whose text is "other", and are counted: memory stays bounded for any number of names.
/// Threads: any; one short lock a call.
/// Cost:    cold: a hash and a lookup, an allocation for a new name.
class NameTable {
public:
    explicit NameTable(const NameTableOptions& options = {});
    ~NameTable();
    NameTable(const NameTable&) = delete;
    NameTable& operator=(const NameTable&) = delete;

    [[nodiscard]] NameId intern(std::string_view name);

    /// The name behind a number, "" for numbers that were not given out.
    /// Shape:   valid as long as the table.
    [[nodiscard]] std::string_view text(NameId id) const noexcept;

    /// Numbers given out, that of "other" included.
    [[nodiscard]] std::size_t size() const noexcept;

    /// Bytes of text kept.
    [[nodiscard]] std::size_t bytes() const noexcept;

    /// How often intern() answered "other" for want of room.
    [[nodiscard]] uint64_t overflowed() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}    // namespace lapwing
