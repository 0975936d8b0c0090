// The sites of the process: one table of numbers that every producer of spans in it uses.
#pragma once

#include "lapwing/record.hpp"
#include "lapwing/sink.hpp"
#include "lapwing/site_table.hpp"

namespace lapwing {

/// The number of a site in the process: equal sites give equal numbers.
/// Shape:   the texts are copied. 65 536 sites; later ones share one number a kind, "other", and are counted.
/// Cost:    cold: a lock, a hash, an allocation for a new site. Ask once, keep the number.
/// Threads: any.
[[nodiscard]] SiteId process_site(const Site& site);

/// The site of a number that process_site() or host_site() gave; an empty site for any other. Threads: any.
[[nodiscard]] Site process_site_at(SiteId id);

/// Sites that were asked for beyond the table's capacity. Threads: any.
[[nodiscard]] uint64_t process_sites_folded() noexcept;

/// Turns the numbers of the process into those of a recording, and announces each site when it is first met.
/// Cost:    cold: an array lookup for a site that was met before.
/// Threads: one at a time.
class SiteAnnouncer {
public:
    /// `table` holds the recording's numbers, shared with its other producers; null: a table of its own, for a
    /// recording that nobody else writes to. Both outlive the announcer.
    explicit SiteAnnouncer(SpanSink& sink, SiteTable* table = nullptr) noexcept : sink_(sink), table_(table) {}

    /// The recording's number; 0 for a number that the process never gave. `status` keeps the sink's first error.
    [[nodiscard]] SiteId number_of(SiteId process, Status& status) {
        const SiteId known = process < numbers_.size() ? numbers_[process] : 0;
        return known != 0 ? known : announce(process, status);
    }

    /// Sites folded because the announcer's own table was full.
    [[nodiscard]] uint64_t folded() const noexcept { return table_ == nullptr ? own_.folded() : 0; }

private:
    SiteId announce(SiteId process, Status& status);

    SpanSink& sink_;
    SiteTable* table_;
    SiteTable own_;
    std::vector<SiteId> numbers_;    // by the process's number; 0 = not asked for yet
};

}    // namespace lapwing
