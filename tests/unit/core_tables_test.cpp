// Levels, losses, names and sites.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lapwing/level.hpp"
#include "lapwing/loss.hpp"
#include "lapwing/name.hpp"
#include "lapwing/record.hpp"
#include "lapwing/site_table.hpp"

namespace lapwing {
namespace {

TEST(Level, NamesAreStrictLowerCase) {
    for (const Level level : {Level::kOff, Level::kBasic, Level::kLane, Level::kKernel}) {
        const Result<Level> parsed = parse_level(to_text(level));
        ASSERT_TRUE(parsed.ok());
        EXPECT_EQ(*parsed, level);
    }
    for (const char* bad : {"", "Off", "KERNEL", " lane", "lane ", "kernels", "1"}) {
        const Result<Level> parsed = parse_level(bad);
        ASSERT_FALSE(parsed.ok()) << bad;
        EXPECT_EQ(parsed.error().code, Errc::kInvalidArgument);
        EXPECT_NE(parsed.error().message.find("off, basic, lane or kernel"), std::string::npos);
        EXPECT_NE(parsed.error().message.find(bad), std::string::npos);
    }
}

TEST(Level, StartsOff) {
    EXPECT_EQ(level(), Level::kOff);
}

TEST(Texts, EveryEnumeratorHasItsOwnName) {
    std::set<std::string> reasons;
    for (std::size_t i = 0; i < kLossReasonCount; ++i) reasons.insert(to_text(static_cast<LossReason>(i)));
    EXPECT_EQ(reasons.size(), kLossReasonCount);
    EXPECT_EQ(reasons.count("unknown"), 0u);
    EXPECT_STREQ(to_text(LossReason::kUnreliableDriver), "unreliable_driver");
    EXPECT_STREQ(to_text(static_cast<LossReason>(99)), "unknown");
    std::set<std::string> kinds;
    for (int i = 0; i <= static_cast<int>(SpanKind::kHost); ++i) kinds.insert(to_text(static_cast<SpanKind>(i)));
    EXPECT_EQ(kinds.size(), 5u);
    std::set<std::string> errors;
    for (int i = 0; i <= static_cast<int>(Errc::kExhausted); ++i) errors.insert(describe(static_cast<Errc>(i)));
    EXPECT_EQ(errors.size(), 10u);
}

TEST(LossCounters, CountFromSeveralThreads) {
    LossCounters counters;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&counters] {
            for (int i = 0; i < 1000; ++i) counters.add(LossReason::kStale);
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(counters.snapshot()[LossReason::kStale], 4000u);
    EXPECT_EQ(counters.snapshot().total(), 4000u);
}

TEST(NameTable, EqualNamesHaveOneNumberAndKeepTheirBytes) {
    NameTable names;
    const std::string raw("k\xff\xfe\0\"\\\n", 7);
    const NameId id = names.intern(raw);
    EXPECT_EQ(id, 1u);
    EXPECT_EQ(names.intern(raw), id);
    EXPECT_EQ(names.text(id), raw);
    EXPECT_EQ(names.intern(""), 0u);
    EXPECT_EQ(names.text(0), "");
    EXPECT_EQ(names.text(2), "");
}

// field-cases D1 (OBI#1230), design.md promise 3: a million names in bounded memory.
TEST(NameTable, MillionNamesStayWithinTheirBounds) {
    NameTable names({.max_names = 1000, .max_bytes = 16'000, .max_name_bytes = 100});
    for (int i = 0; i < 1'000'000; ++i) static_cast<void>(names.intern("kernel_" + std::to_string(i)));
    EXPECT_LE(names.size(), 1001u);
    EXPECT_LE(names.bytes(), 16'005u);
    EXPECT_EQ(names.overflowed() + names.size() - 1, 1'000'000u);
    EXPECT_EQ(names.text(names.intern("one more")), "other");
    EXPECT_EQ(names.text(names.intern("kernel_0")), "kernel_0") << "early names keep their number";
}

TEST(NameTable, NameThatIsTooLongBecomesOtherAndIsCounted) {
    NameTable names({.max_name_bytes = 10});
    EXPECT_EQ(names.text(names.intern(std::string(11, 'x'))), "other");
    EXPECT_EQ(names.overflowed(), 1u);
    const NameId own = names.intern("other");
    EXPECT_NE(own, names.intern(std::string(12, 'x'))) << "a program's own \"other\" is a name of its own";
}

Site site_named(const std::string& op, SpanKind kind = SpanKind::kDispatch) {
    Site site;
    site.op = op;
    site.kind = kind;
    return site;
}

TEST(SiteTable, EqualSitesHaveOneNumberAndAreFreshOnce) {
    SiteTable table;
    const SiteTable::Interned first = table.intern(site_named("norm"));
    EXPECT_EQ(first.id, 1u);
    EXPECT_TRUE(first.fresh);
    EXPECT_FALSE(table.intern(site_named("norm")).fresh);
    EXPECT_EQ(table.intern(site_named("norm")).id, 1u);
    EXPECT_EQ(table.at(1).op, "norm");
    EXPECT_EQ(table.at(0), Site{});
    EXPECT_EQ(table.at(77), Site{});
}

TEST(SiteTable, SitesThatDifferInOneFieldAreToldApart) {
    SiteTable table;
    std::vector<Site> sites(10, site_named("op"));
    sites[1].label = "x";
    sites[2].op = "x";
    sites[3].kernel = "x";
    sites[4].layer = 3;
    sites[5].kind = SpanKind::kCopy;
    sites[6].grid = {1, 0, 0};
    sites[7].warmup = true;
    sites[8].validity = Validity::kEstimated;
    sites[9].note = "x";
    std::set<SiteId> ids;
    for (const Site& site : sites) ids.insert(table.intern(site).id);
    EXPECT_EQ(ids.size(), sites.size());
    for (const Site& site : sites) EXPECT_EQ(table.at(table.intern(site).id), site);
}

TEST(SiteTable, FullTableFoldsIntoOtherOfTheKindAndCounts) {
    SiteTable table(2);
    static_cast<void>(table.intern(site_named("a")));
    static_cast<void>(table.intern(site_named("b")));
    const SiteTable::Interned folded = table.intern(site_named("c"));
    EXPECT_TRUE(folded.folded);
    EXPECT_TRUE(folded.fresh);
    EXPECT_EQ(table.at(folded.id), SiteTable::other(SpanKind::kDispatch));
    const SiteTable::Interned again = table.intern(site_named("d"));
    EXPECT_EQ(again.id, folded.id);
    EXPECT_FALSE(again.fresh);
    const SiteTable::Interned copy = table.intern(site_named("c", SpanKind::kCopy));
    EXPECT_NE(copy.id, folded.id);
    EXPECT_TRUE(copy.fresh);
    EXPECT_EQ(table.folded(), 3u);
    EXPECT_EQ(table.size(), 4u);
    EXPECT_FALSE(table.intern(site_named("a")).folded);
}

TEST(SiteTable, TextIsBoundedInBytes) {
    SiteTable table(1000, 100);
    EXPECT_FALSE(table.intern(site_named(std::string(90, 'a'))).folded);
    EXPECT_TRUE(table.intern(site_named(std::string(20, 'b'))).folded);
    EXPECT_FALSE(table.intern(site_named(std::string(10, 'c'))).folded);
}

TEST(SiteTable, ThreadsGetOneNumberASiteAndOneOfThemIsFresh) {
    SiteTable table;
    std::atomic<int> fresh{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 500; ++i)
                if (table.intern(site_named(std::to_string(i))).fresh) ++fresh;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(fresh.load(), 500);
    EXPECT_EQ(table.size(), 500u);
}

}    // namespace
}    // namespace lapwing
