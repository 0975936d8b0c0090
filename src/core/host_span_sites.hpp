// The process-wide table behind host_site().
#pragma once

#include <cstdint>

#include "lapwing/record.hpp"

namespace lapwing::detail {

/// The site of a number that host_site() gave; an empty site for any other. Threads: any.
[[nodiscard]] Site host_site_at(SiteId id);

/// Names that were asked for beyond the table's capacity.
[[nodiscard]] uint64_t host_sites_folded() noexcept;

/// Held across fork(), so that a child does not inherit the table locked by a thread that it does not have.
void lock_host_sites() noexcept;
void unlock_host_sites() noexcept;

}    // namespace lapwing::detail
