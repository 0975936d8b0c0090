#include "lapwing/kernel_table.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <unordered_map>

#include "lapwing/metrics.hpp"
#include "lapwing/seq_cell.hpp"
#include "telemetry/handle_map.hpp"
#include "telemetry/kernel_figures.hpp"

namespace lapwing {
namespace {

using detail::KernelFigures;

// What the sink knows of a site.
constexpr uint32_t kUnknownSite = 0xffff'ffff;
constexpr uint32_t kNoKernel = 0xffff'fffe;    // of the host, or of a lane

// Sites beyond are "other", so that a stream of ever new sites takes no memory.
constexpr SiteId kMaxSites = 1u << 20;

std::string text_of(std::string_view module, std::string_view name) {
    std::string out(module);
    if (!module.empty()) out += ':';
    return out.append(name);
}

std::string text_of_handle(uint64_t handle) {
    char text[24];
    std::snprintf(text, sizeof text, "fn@%llx", static_cast<unsigned long long>(handle));
    return text;
}

}    // namespace

struct KernelTable::State {
    explicit State(const KernelTableOptions& options)
        : max_kernels(std::max(options.max_kernels, 1u)),
          figures(std::make_unique<std::atomic<KernelFigures*>[]>(std::size_t{max_kernels} + 1)),
          handles(options.max_handles) {
        figures[0].store(new KernelFigures("other"), std::memory_order_relaxed);
        by_name.emplace("other", 0);
        known.store(1, std::memory_order_release);
    }
    ~State() {
        for (KernelId i = 0; i < known.load(std::memory_order_relaxed); ++i) delete &at(i);
    }

    [[nodiscard]] KernelFigures& at(KernelId kernel) const noexcept {
        return *figures[kernel].load(std::memory_order_relaxed);
    }

    // Under the lock.
    KernelId intern(std::string text) {
        const auto found = by_name.find(text);
        if (found != by_name.end()) return found->second;
        const KernelId id = known.load(std::memory_order_relaxed);
        if (id > max_kernels) return 0;
        figures[id].store(new KernelFigures(text), std::memory_order_relaxed);
        by_name.emplace(std::move(text), id);
        known.store(id + 1, std::memory_order_release);    // readers below `known` find it
        return id;
    }

    const uint32_t max_kernels;
    std::unique_ptr<std::atomic<KernelFigures*>[]> figures;
    std::atomic<KernelId> known{0};
    detail::HandleMap handles;
    std::mutex lock;
    std::unordered_map<std::string, KernelId> by_name;

    Counter table_full;
    Counter handle_zero;
    Counter refused;
    Counter unknown_sites;
    SeqCell<KernelTableLosses> forgotten;    // by reset(): counters never go down

    std::vector<uint32_t> by_site;    // of the sink
};

KernelTable::KernelTable(const KernelTableOptions& options) : state_(std::make_unique<State>(options)) {}
KernelTable::~KernelTable() = default;

KernelId KernelTable::kernel(std::string_view module, std::string_view name) {
    const std::lock_guard guard(state_->lock);
    return state_->intern(text_of(module, name));
}

KernelId KernelTable::of_handle(uint64_t handle) noexcept {
    if (handle == 0) [[unlikely]]
        return state_->handle_zero.add(), 0;
    if (const std::optional<KernelId> known = state_->handles.find(handle)) [[likely]]
        return *known;
    const std::lock_guard guard(state_->lock);
    if (const std::optional<KernelId> known = state_->handles.find(handle)) return *known;
    const KernelId kernel = state_->intern(text_of_handle(handle));
    // Not kept where there is no room: it comes here again, and finds its row by its name.
    (void)state_->handles.insert(handle, kernel);
    return kernel;
}

Status KernelTable::name_handle(uint64_t handle, std::string_view module, std::string_view name) {
    if (handle == 0) return Error{Errc::kInvalidArgument, 0, "handle 0 is no kernel: name the one that was loaded"};
    if (name.empty()) return Error{Errc::kInvalidArgument, 0, "a kernel needs a name"};
    const std::lock_guard guard(state_->lock);
    const KernelId kernel = state_->intern(text_of(module, name));
    const auto anonymous = state_->by_name.find(text_of_handle(handle));
    if (anonymous != state_->by_name.end() && anonymous->second != kernel && kernel != 0) {
        // The first name only: what came under a later one is that kernel's alone.
        KernelId none = 0;
        state_->at(anonymous->second).same_as.compare_exchange_strong(none, kernel, std::memory_order_relaxed);
    }
    if (!state_->handles.insert(handle, kernel))
        return Error{Errc::kExhausted, 0, "the handle table is full: raise KernelTableOptions::max_handles"};
    return {};
}

void KernelTable::record(KernelId kernel, int64_t ns) noexcept {
    if (ns < 0 || ns > kLongestSampleNs) [[unlikely]]
        return state_->refused.add();
    if (kernel == 0 || kernel >= state_->known.load(std::memory_order_acquire)) [[unlikely]] {
        state_->table_full.add();
        kernel = 0;
    }
    state_->at(kernel).record(ns);
}

void KernelTable::record_handle(uint64_t handle, int64_t ns) noexcept {
    const KernelId kernel = of_handle(handle);
    if (handle != 0) record(kernel, ns);
}

void KernelTable::launched(KernelId kernel) noexcept {
    if (kernel >= state_->known.load(std::memory_order_acquire)) [[unlikely]]
        kernel = 0;
    state_->at(kernel).launched();
}

std::vector<KernelRow> KernelTable::rows() const {
    const KernelId known = state_->known.load(std::memory_order_acquire);
    // Rows of handles that got a name later, by the kernel that they are.
    std::unordered_map<KernelId, std::vector<KernelId>> parts;
    for (KernelId i = 1; i < known; ++i) {
        const KernelId same = state_->at(i).same_as.load(std::memory_order_relaxed);
        if (same != 0 && same < known) parts[same].push_back(i);
    }
    std::vector<KernelRow> out;
    for (KernelId i = 0; i < known; ++i) {
        const KernelId same = state_->at(i).same_as.load(std::memory_order_relaxed);
        if (same != 0 && same < known) continue;
        const auto sum = std::make_unique<detail::KernelSum>();    // 30 KB: not for every stack
        sum->add(state_->at(i));
        if (const auto more = parts.find(i); more != parts.end())
            for (const KernelId part : more->second) sum->add(state_->at(part));
        if (!sum->empty()) out.push_back(sum->row(state_->at(i).name));
    }
    std::sort(out.begin(), out.end(), [](const KernelRow& a, const KernelRow& b) {
        return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
    });
    return out;
}

KernelTableLosses KernelTable::losses() const noexcept {
    const KernelTableLosses before = state_->forgotten.load().value;
    return {state_->table_full.get() - before.table_full, state_->handle_zero.get() - before.handle_zero,
            state_->refused.get() - before.refused, state_->unknown_sites.get() - before.unknown_sites};
}

std::string KernelTable::name_of(KernelId kernel) const {
    return state_->at(kernel < state_->known.load(std::memory_order_acquire) ? kernel : 0).name;
}

void KernelTable::reset() noexcept {
    for (KernelId i = 0; i < state_->known.load(std::memory_order_acquire); ++i) state_->at(i).reset();
    state_->forgotten.store(
        {state_->table_full.get(), state_->handle_zero.get(), state_->refused.get(), state_->unknown_sites.get()});
}

Status KernelTable::process(const ProcessInfo& /*process*/) {
    state_->by_site.clear();
    return {};
}
Status KernelTable::device(const DeviceInfo& /*device*/) {
    return {};
}
Status KernelTable::track(const TrackInfo& /*track*/) {
    return {};
}
Status KernelTable::step(const StepRecord& /*step*/) {
    return {};
}
Status KernelTable::stats(const RecordingStats& /*stats*/) {
    return {};
}
Status KernelTable::close() {
    return {};
}

Status KernelTable::site(SiteId id, const Site& site) {
    if (id >= kMaxSites) return {};
    if (id >= state_->by_site.size()) state_->by_site.resize(std::size_t{id} + 1, kUnknownSite);
    uint32_t& kernel_of_site = state_->by_site[id];
    if (site.kind == SpanKind::kHost || site.container)
        kernel_of_site = kNoKernel;
    else
        kernel_of_site = kernel({}, site.kernel.empty() ? to_text(site.kind) : site.kernel);
    return {};
}

Status KernelTable::spans(std::span<const SpanRecord> spans) {
    for (const SpanRecord& span : spans) {
        uint32_t kernel = kUnknownSite;
        if (span.site >= kMaxSites)
            kernel = 0;
        else if (span.site < state_->by_site.size())
            kernel = state_->by_site[span.site];
        if (kernel == kUnknownSite) [[unlikely]]
            state_->unknown_sites.add();
        else if (kernel != kNoKernel)
            record(kernel, span.duration_ns);
    }
    return {};
}

}    // namespace lapwing
