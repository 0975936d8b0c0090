#include "lapwing/families.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "views/arithmetic.hpp"

namespace lapwing {

namespace {

constexpr std::array<const char*, kBuiltInFamilies> kNames{"embedding", "gemm", "attention", "fused_block",
                                                           "output_topk"};
constexpr std::size_t kMostInside = 4096;

struct Interval {
    int64_t begin_ns;
    int64_t end_ns;
};

// The work of one track that no family's span has enclosed yet.
struct Recent {
    std::vector<Interval> work;
    bool overflowed = false;

    void add(const Interval& interval) {
        if (work.size() == kMostInside) {
            work.erase(work.begin(), work.begin() + kMostInside / 2);
            overflowed = true;
        }
        work.push_back(interval);
    }

    // The time in [begin, end] in which there was work; what ends before `end` is not asked for again.
    std::optional<int64_t> busy_inside(const Interval& whole) {
        std::vector<Interval> inside;
        for (const Interval& interval : work)
            if (interval.begin_ns >= whole.begin_ns && interval.end_ns <= whole.end_ns) inside.push_back(interval);
        const bool complete = !overflowed || (!work.empty() && work.front().end_ns <= whole.begin_ns);
        std::erase_if(work, [&](const Interval& interval) { return interval.end_ns <= whole.end_ns; });
        if (work.empty()) overflowed = false;
        if (!complete) return std::nullopt;
        std::sort(inside.begin(), inside.end(),
                  [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
        detail::UnionMeter busy;
        for (const Interval& interval : inside) busy.add(interval.begin_ns, interval.end_ns);
        return busy.length_ns();
    }
};

struct KnownSite {
    std::size_t family = 0;    // index, where `has_family`
    bool has_family = false;
    bool container = false;
};

}    // namespace

const char* to_text(Family family) noexcept {
    const auto index = static_cast<std::size_t>(family);
    return index < kNames.size() ? kNames[index] : "unknown";
}

Result<Family> parse_family(std::string_view text) {
    std::string accepted;
    for (std::size_t index = 0; index < kNames.size(); ++index) {
        if (text == kNames[index]) return static_cast<Family>(index);
        if (index != 0) accepted += ", ";
        accepted += kNames[index];
    }
    return Error{Errc::kInvalidArgument, 0,
                 "no built-in family is called \"" + std::string(text) + "\": use one of " + accepted +
                     ", or add your own with FamilySpans::add"};
}

struct FamilyView::State {
    mutable std::mutex mutex;
    std::vector<FamilyTiming> families;
    std::map<std::string, std::size_t, std::less<>> by_name;
    std::unordered_map<SiteId, KnownSite> sites;
    std::unordered_map<TrackId, Recent> tracks;
    std::vector<uint32_t> last_tag;    // by family: the newest call that landed

    State() {
        for (const char* name : kNames) index_of(name);
    }

    std::size_t index_of(const std::string& name) {
        const auto [found, fresh] = by_name.try_emplace(name, families.size());
        if (fresh) {
            families.emplace_back().family = name;
            last_tag.push_back(0);
        }
        return found->second;
    }

    void count(const SpanRecord& span, const KnownSite& site) {
        FamilyTiming& family = families[site.family];
        const Interval whole{span.begin_ns, span.begin_ns + span.duration_ns};
        const std::optional<int64_t> busy_ns =
            site.container ? tracks[span.track].busy_inside(whole) : std::optional(span.duration_ns);
        if (family.busy_ns && busy_ns)
            *family.busy_ns += *busy_ns;
        else
            family.busy_ns.reset();
        family.min_ns = family.calls == 0 ? span.duration_ns : std::min(family.min_ns, span.duration_ns);
        family.max_ns = std::max(family.max_ns, span.duration_ns);
        family.total_ns += span.duration_ns;
        ++family.calls;
        settle(span.tag, site.family);
    }

    // Calls of a family are numbered; one that lands behind a gap tells that those in the gap never will. One that
    // comes late after all (another queue) takes itself back.
    void settle(uint32_t tag, std::size_t index) {
        if (tag == 0) return;
        const auto ahead = static_cast<int32_t>(tag - last_tag[index]);
        if (ahead > 0) {
            families[index].invalid += static_cast<uint32_t>(ahead) - 1;
            last_tag[index] = tag;
        } else if (families[index].invalid > 0) {
            --families[index].invalid;
        }
    }
};

FamilyView::FamilyView() : state_(std::make_unique<State>()) {}
FamilyView::~FamilyView() = default;

Status FamilyView::site(SiteId id, const Site& site) {
    const std::lock_guard lock(state_->mutex);
    KnownSite known;
    known.container = site.container;
    known.has_family = !site.family.empty();
    if (known.has_family) known.family = state_->index_of(site.family);
    state_->sites[id] = known;
    return {};
}

Status FamilyView::spans(std::span<const SpanRecord> spans) {
    const std::lock_guard lock(state_->mutex);
    for (const SpanRecord& span : spans) {
        const auto found = state_->sites.find(span.site);
        const KnownSite site = found == state_->sites.end() ? KnownSite{} : found->second;
        if (site.has_family) state_->count(span, site);
        if (!site.container) state_->tracks[span.track].add({span.begin_ns, span.begin_ns + span.duration_ns});
    }
    return {};
}

std::vector<FamilyTiming> FamilyView::snapshot() const {
    const std::lock_guard lock(state_->mutex);
    return state_->families;
}

void FamilyView::reset() noexcept {
    const std::lock_guard lock(state_->mutex);
    for (FamilyTiming& family : state_->families) {
        family.calls = family.invalid = 0;
        family.total_ns = family.min_ns = family.max_ns = 0;
        family.busy_ns = 0;
    }
}

bool FamilyView::any_recorded() const noexcept {
    const std::lock_guard lock(state_->mutex);
    return std::any_of(state_->families.begin(), state_->families.end(),
                       [](const FamilyTiming& family) { return family.calls != 0; });
}

}    // namespace lapwing
