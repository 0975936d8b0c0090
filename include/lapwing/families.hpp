// Families: device time by what kind of operation it is (gemm, attention, ...), over one pass or several.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/device_ring.hpp"
#include "lapwing/level.hpp"
#include "lapwing/process_sites.hpp"
#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"

namespace lapwing {

/// The families that every engine has. Others are added by name (FamilySpans::add).
enum class Family : uint8_t {
    kEmbedding = 0,    ///< "embedding"
    kGemm,             ///< "gemm"
    kAttention,        ///< "attention"
    kFusedBlock,       ///< "fused_block": a whole layer, or a whole token, in one pass
    kOutputTopk,       ///< "output_topk"
};
inline constexpr uint32_t kBuiltInFamilies = 5;
inline constexpr uint32_t kMaxFamilies = 32;    ///< built-in ones included

[[nodiscard]] const char* to_text(Family family) noexcept;

/// Strict lower case, nothing trimmed.
/// Errors:  kInvalidArgument with the text in quotes and the accepted names.
[[nodiscard]] Result<Family> parse_family(std::string_view text);

/// What one family took.
struct FamilyTiming {
    std::string family;
    uint64_t calls = 0;      ///< valid samples: a single pass, or all passes from the first to the last
    int64_t total_ns = 0;    ///< from begin to end, gaps between passes included
    /// The time inside in which the device was at work: for a single pass its time, for several the union of the other
    /// spans of the same track inside. Absent where there were too many of them to keep.
    std::optional<int64_t> busy_ns = 0;
    int64_t min_ns = 0, max_ns = 0;    ///< of a call, begin to end; 0 without calls
    uint64_t invalid = 0;              ///< begun, and never with a valid time; known when a later call has one
    [[nodiscard]] double micros() const noexcept { return static_cast<double>(total_ns) / 1000.0; }
};

/// The families of a stream of spans: any span whose site has one.
/// Shape:   spans of one track come in the order in which they end, as a harvest hands them on; in another order (a
///          file), busy_ns of several passes may miss passes that come after their family's span.
/// Cost:    cold: a lock a batch; 16 bytes for each span that no later span has enclosed yet, 4096 a track at most.
/// Threads: the sink one at a time; snapshot, reset, any_recorded: any.
class FamilyView final : public SpanSink {
public:
    FamilyView();
    ~FamilyView() override;
    FamilyView(const FamilyView&) = delete;
    FamilyView& operator=(const FamilyView&) = delete;

    Status process(const ProcessInfo&) override { return {}; }
    Status device(const DeviceInfo&) override { return {}; }
    Status track(const TrackInfo&) override { return {}; }
    Status site(SiteId id, const Site& site) override;
    Status spans(std::span<const SpanRecord> spans) override;
    Status step(const StepRecord&) override { return {}; }
    Status stats(const RecordingStats&) override { return {}; }
    Status close() override { return {}; }

    /// The built-in families in their order, called or not, then others as they came.
    [[nodiscard]] std::vector<FamilyTiming> snapshot() const;
    /// Forgets all samples; what is in flight counts when it lands.
    void reset() noexcept;
    [[nodiscard]] bool any_recorded() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// How many passes a family's span holds.
enum class Passes : uint8_t {
    kOne = 0,    ///< begin() and end() enclose one pass: the span is the work itself
    kSeveral,    ///< they enclose several; each may be timed with begin_pass() and end_pass()
};

/// A family's span that was begun. The default is null: ending it does nothing.
struct FamilyToken {
    DeviceToken span;
    uint32_t queue = 0;
    uint32_t family = 0;
};

/// Times families on the queues of a ring, any number of them in flight; a FamilyView fed from the ring's collector
/// adds them up.
///
/// When it is disabled, or the level is below kKernel, no command is added to the program's: guard what the backend
/// itself records around marks by enabled() (Vulkan: begin_commands and end_commands), and the program's commands are
/// byte for byte what they are without Lapwing. A span that was begun may always be ended.
///
/// Cost:    hot: as DeviceRing's begin and end; disabled: two loads.
/// Threads: begin, end and passes of one queue are externally synchronised, as the queue itself is; the rest: any.
template <Backend B>
class FamilySpans {
public:
    explicit FamilySpans(DeviceRing<B>& ring) : ring_(ring) {
        for (uint32_t family = 0; family < kBuiltInFamilies; ++family)
            set_sites(family, to_text(static_cast<Family>(family)));
    }

    /// A family of the program's own. Returns its number, for begin().
    /// Errors:  kInvalidArgument: an empty name, or one that is taken; kExhausted at kMaxFamilies.
    /// Cost:    cold; nobody else may be at work on the families.
    [[nodiscard]] Result<uint32_t> add(std::string_view name) {
        if (name.empty()) return Error{Errc::kInvalidArgument, 0, "a family needs a name"};
        for (uint32_t family = 0; family < count_; ++family)
            if (names_[family] == name)
                return Error{Errc::kInvalidArgument, 0,
                             "the family \"" + std::string(name) + "\" is there already: use its number"};
        if (count_ == kMaxFamilies) return Error{Errc::kExhausted, 0, "there are 32 families at most: share one"};
        set_sites(count_, name);
        return count_++;
    }

    /// Starts enabled; the level decides as well.
    void set_enabled(bool enabled) noexcept { enabled_.store(enabled, std::memory_order_relaxed); }
    [[nodiscard]] bool enabled() const noexcept {
        return enabled_.load(std::memory_order_relaxed) &&
               detail::g_level.load(std::memory_order_relaxed) >= static_cast<uint8_t>(Level::kKernel);
    }

    /// Before the first pass. Null when disabled, and for a family that was never added (counted).
    [[nodiscard]] FamilyToken begin(uint32_t queue, uint32_t family, Passes passes = Passes::kOne) noexcept {
        if (!enabled()) return {};
        if (family >= count_) [[unlikely]] {
            unknown_.fetch_add(1, std::memory_order_relaxed);
            return {};
        }
        // Numbered from 1: a call that never lands is seen by the gap when a later one does.
        const uint32_t tag = calls_[family].fetch_add(1, std::memory_order_relaxed) + 1;
        const SiteId site = passes == Passes::kOne ? sites_[family] : containers_[family];
        return {ring_.begin(queue, site, Level::kKernel, tag), queue, family};
    }
    [[nodiscard]] FamilyToken begin(uint32_t queue, Family family, Passes passes = Passes::kOne) noexcept {
        return begin(queue, static_cast<uint32_t>(family), passes);
    }

    /// After the last pass.
    void end(const FamilyToken& token) noexcept { ring_.end(token.queue, token.span); }

    /// One of several passes. Null where the family's own token is.
    [[nodiscard]] FamilyToken begin_pass(const FamilyToken& of) noexcept {
        if (of.span == DeviceToken{}) return {};
        return {ring_.begin(of.queue, passes_[of.family], Level::kKernel), of.queue, of.family};
    }
    void end_pass(const FamilyToken& pass) noexcept { end(pass); }

    /// begin() with a number that add() never gave.
    [[nodiscard]] uint64_t unknown_families() const noexcept { return unknown_.load(std::memory_order_relaxed); }

private:
    void set_sites(uint32_t family, std::string_view name) {
        names_[family] = name;
        Site site;
        site.op = name;
        passes_[family] = process_site(site);
        site.family = name;
        sites_[family] = process_site(site);
        site.container = true;
        containers_[family] = process_site(site);
    }

    DeviceRing<B>& ring_;
    std::atomic<bool> enabled_{true};
    uint32_t count_ = kBuiltInFamilies;
    std::array<std::string, kMaxFamilies> names_;
    std::array<SiteId, kMaxFamilies> sites_{};         // single passes
    std::array<SiteId, kMaxFamilies> containers_{};    // around several
    std::array<SiteId, kMaxFamilies> passes_{};        // each of several
    std::array<std::atomic<uint32_t>, kMaxFamilies> calls_{};
    std::atomic<uint64_t> unknown_{0};
};

/// Begins a family's span and ends it with its scope.
template <Backend B>
class FamilyScope {
public:
    FamilyScope(FamilySpans<B>& families, uint32_t queue, Family family, Passes passes = Passes::kOne) noexcept
        : families_(families), token_(families.begin(queue, family, passes)) {}
    ~FamilyScope() { families_.end(token_); }
    FamilyScope(const FamilyScope&) = delete;
    FamilyScope& operator=(const FamilyScope&) = delete;
    [[nodiscard]] const FamilyToken& token() const noexcept { return token_; }

private:
    FamilySpans<B>& families_;
    FamilyToken token_;
};

}    // namespace lapwing
