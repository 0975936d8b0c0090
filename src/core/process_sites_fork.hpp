// Keeps the process-wide table of sites usable in a forked child.
#pragma once

namespace lapwing::detail {

/// Held across fork(), so that a child does not inherit the table locked by a thread that it does not have.
void lock_process_sites() noexcept;
void unlock_process_sites() noexcept;

}    // namespace lapwing::detail
