#include "lapwing/process_sites.hpp"

#include <mutex>

#include "core/host_span_registry.hpp"
#include "core/process_sites_fork.hpp"
#include "lapwing/span.hpp"

namespace lapwing {

namespace {
// Around every use of the table: the table's own lock cannot be held across a fork from outside.
constinit std::mutex g_mutex;

SiteTable& table() {
    // Never destroyed: spans may be named after the static destructors have run.
    static SiteTable& leaked = *new SiteTable();
    return leaked;
}
}    // namespace

namespace detail {
void lock_process_sites() noexcept {
    g_mutex.lock();
}
void unlock_process_sites() noexcept {
    g_mutex.unlock();
}
}    // namespace detail

SiteId process_site(const Site& site) {
    detail::set_fork_handlers();
    const std::lock_guard lock(g_mutex);
    return table().intern(site).id;
}

Site process_site_at(SiteId id) {
    const std::lock_guard lock(g_mutex);
    return table().at(id);
}

uint64_t process_sites_folded() noexcept {
    const std::lock_guard lock(g_mutex);
    return table().folded();
}

SiteId SiteAnnouncer::announce(SiteId process, Status& status) {
    const Site site = process_site_at(process);
    if (site == Site{}) return 0;
    const SiteTable::Interned interned = (table_ != nullptr ? *table_ : own_).intern(site);
    if (interned.fresh) {
        Status told = sink_.site(interned.id, interned.folded ? SiteTable::other(site.kind) : site);
        if (status.ok()) status = std::move(told);
    }
    if (process >= numbers_.size()) numbers_.resize(process + std::size_t{1}, 0);
    numbers_[process] = interned.id;
    return interned.id;
}

SiteId host_site(std::string_view name) {
    Site site;
    site.label = name;
    site.kind = SpanKind::kHost;
    return process_site(site);
}

SiteId HostSite::resolve() noexcept {
    const SiteId id = host_site(name_);
    id_.store(id, std::memory_order_relaxed);
    return id;
}

}    // namespace lapwing
