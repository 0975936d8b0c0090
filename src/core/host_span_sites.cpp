#include "core/host_span_sites.hpp"

#include <mutex>

#include "core/host_span_registry.hpp"
#include "lapwing/site_table.hpp"
#include "lapwing/span.hpp"

namespace lapwing {

namespace detail {

namespace {
// Around every use of the table: the table's own lock cannot be held across a fork from outside.
constinit std::mutex g_mutex;

SiteTable& table() {
    // Never destroyed: spans may be named after the static destructors have run.
    static SiteTable& leaked = *new SiteTable();
    return leaked;
}
}    // namespace

Site host_site_at(SiteId id) {
    const std::lock_guard lock(g_mutex);
    return table().at(id);
}

uint64_t host_sites_folded() noexcept {
    const std::lock_guard lock(g_mutex);
    return table().folded();
}

void lock_host_sites() noexcept {
    g_mutex.lock();
}
void unlock_host_sites() noexcept {
    g_mutex.unlock();
}

}    // namespace detail

SiteId host_site(std::string_view name) {
    detail::set_fork_handlers();
    Site site;
    site.label = name;
    site.kind = SpanKind::kHost;
    const std::lock_guard lock(detail::g_mutex);
    return detail::table().intern(site).id;
}

SiteId HostSite::resolve() noexcept {
    const SiteId id = host_site(name_);
    id_.store(id, std::memory_order_relaxed);
    return id;
}

}    // namespace lapwing
