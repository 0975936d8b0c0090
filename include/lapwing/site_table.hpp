// Sites interned to numbers, bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lapwing/record.hpp"

namespace lapwing {

/// Interns sites: equal sites get the same number.
/// Shape:   numbers are dense from 1. At most `capacity` sites are told apart, holding at most `max_bytes` of text;
///          further ones become the site "other" of their kind, and are counted.
/// Threads: any; one short lock a call.
/// Cost:    cold: a hash and a lookup, one allocation for a new site.
class SiteTable {
public:
    explicit SiteTable(std::size_t capacity = 65536, std::size_t max_bytes = 64u << 20);
    ~SiteTable();
    SiteTable(const SiteTable&) = delete;
    SiteTable& operator=(const SiteTable&) = delete;

    struct Interned {
        SiteId id = 0;
        bool fresh = false;     ///< first time this number is given out: announce it to the sink
        bool folded = false;    ///< the table was full; announce `other(kind)` if fresh
    };
    [[nodiscard]] Interned intern(const Site& site);

    /// The site that stands for those of a kind that found the table full.
    [[nodiscard]] static Site other(SpanKind kind);

    /// The site behind a number; a copy. Unknown numbers give an empty site.
    [[nodiscard]] Site at(SiteId id) const;

    /// Numbers given out so far, those of "other" sites included.
    [[nodiscard]] std::size_t size() const noexcept;

    /// How often intern() answered with an "other" site.
    [[nodiscard]] uint64_t folded() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}    // namespace lapwing
