// The text of reports: figures, names, widths, and what is said when something is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "export/figures.hpp"
#include "export/names.hpp"
#include "export/text_table.hpp"
#include "lapwing/report.hpp"
#include "report_streams.hpp"

namespace lapwing {
namespace {

using ::testing::HasSubstr;
using testing::make_site;
using ::testing::Not;
using testing::report_of;
using testing::StreamWriter;

// Notes and sentences may be broken over lines.
std::string unwrapped(const std::string& text) {
    return std::regex_replace(text, std::regex{"\n *"}, " ");
}

Report decode_report(GroupBy by = GroupBy::kOp) {
    return report_of([](SpanSink& sink) { testing::feed_decode(sink); }, by);
}

void expect_no_line_wider_than(const std::string& text, std::size_t width) {
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) EXPECT_LE(detail::columns_of(line), width) << line;
}

TEST(Figures, DurationsHaveThreeDigitsAndCarryIntoTheNextUnit) {
    using detail::duration_text;
    EXPECT_EQ(duration_text(int64_t{0}), "0 ns");
    EXPECT_EQ(duration_text(int64_t{999}), "999 ns");
    EXPECT_EQ(duration_text(int64_t{1000}), "1.00 us");
    EXPECT_EQ(duration_text(int64_t{1234}), "1.23 us");
    EXPECT_EQ(duration_text(int64_t{1235}), "1.24 us");
    EXPECT_EQ(duration_text(int64_t{9994}), "9.99 us");
    EXPECT_EQ(duration_text(int64_t{9995}), "10.0 us");
    EXPECT_EQ(duration_text(int64_t{99949}), "99.9 us");
    EXPECT_EQ(duration_text(int64_t{99950}), "100 us");
    EXPECT_EQ(duration_text(int64_t{999499}), "999 us");
    EXPECT_EQ(duration_text(int64_t{999500}), "1.00 ms");
    EXPECT_EQ(duration_text(int64_t{12'345'678'901}), "12.3 s");
    EXPECT_EQ(duration_text(int64_t{999'600'000'000}), "1000 s");
    EXPECT_EQ(duration_text(INT64_MAX), "9223372037 s");
    EXPECT_EQ(duration_text(INT64_MIN), "-9223372037 s");
    EXPECT_EQ(duration_text(1.25), "1.25 ns");
    EXPECT_EQ(duration_text(99.96), "100 ns");
    EXPECT_EQ(duration_text(1234.6), "1.24 us");
}

TEST(Figures, SharesThatExistAreNeverShownAsZero) {
    EXPECT_EQ(detail::percent_text(0), "0 %");
    EXPECT_EQ(detail::percent_text(0.00001), "<0.01 %");
    EXPECT_EQ(detail::percent_text(0.0042), "0.42 %");
    EXPECT_EQ(detail::percent_text(1), "100 %");
    EXPECT_EQ(detail::percent_cell(0.0001), "<0.1");
    EXPECT_EQ(detail::percent_cell(0.612), "61.2");
}

TEST(Names, LongNamesLoseTheirMiddleAndStayUnique) {
    const std::vector<std::string> names{"mul_mat_vec_q4_0_f32_f32_long_suffix", "mul_mat_vec_q5_1_f32_f32_long_suffix",
                                         "mul_mat_vec_q8_0_f32_f32_long_suffix", "short"};
    const std::vector<std::string> fitted = detail::fit_names(names, 20);
    EXPECT_EQ(std::set<std::string>(fitted.begin(), fitted.end()).size(), names.size());
    for (const std::string& name : fitted) EXPECT_LE(name.size(), 20u);
    EXPECT_EQ(fitted[3], "short");
    EXPECT_THAT(fitted[0], HasSubstr(".."));
}

TEST(Names, NamesAlikeAtBothEndsAreNumbered) {
    std::vector<std::string> names;
    for (int i = 10; i < 40; ++i) names.push_back(std::string(40, 'a') + std::to_string(i) + std::string(40, 'b'));
    const std::vector<std::string> fitted = detail::fit_names(names, 16);
    EXPECT_EQ(std::set<std::string>(fitted.begin(), fitted.end()).size(), names.size());
    for (const std::string& name : fitted) EXPECT_LE(name.size(), 16u);
}

TEST(Names, WhatATerminalWouldObeyIsWrittenOut) {
    EXPECT_EQ(detail::printable("a\x1b[31mb\n"), "a\\x1b[31mb\\x0a");
    EXPECT_EQ(detail::printable("caf\xc3\xa9"), "caf\xc3\xa9");
    EXPECT_EQ(detail::printable("bad\xff\xc3"), "bad\\xff\\xc3");
    EXPECT_EQ(detail::printable("\xc2\x9b"), "\\xc2\\x9b");
    EXPECT_EQ(detail::printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");
    EXPECT_EQ(detail::columns_of("caf\xc3\xa9"), 4u);
}

TEST(ReportText, HeadlineSaysGpuTimePerStepFirst) {
    const std::string text = to_text(decode_report());
    EXPECT_EQ(text.find("GPU time per step: p50 2.76 ms, p99 3.12 ms over 32 steps (1 more with warm-up)"),
              text.find("GPU time"));
    EXPECT_THAT(text, HasSubstr("begun 1290 = measured 1287 + estimated 0 + lost 3 (abandoned 3)"));
}

TEST(ReportText, NoLineIsWiderThanAskedForInAnyGrouping) {
    for (const GroupBy by :
         {GroupBy::kOp, GroupBy::kKernel, GroupBy::kLayer, GroupBy::kStep, GroupBy::kQueue, GroupBy::kName}) {
        for (const std::size_t width : {60, 80, 100, 120, 200})
            expect_no_line_wider_than(to_text(decode_report(by), {.top = 0, .width = width, .colour = false}), width);
    }
}

TEST(ReportText, AWordWiderThanTheLineIsBroken) {
    expect_no_line_wider_than(detail::wrap("model " + std::string(300, 'x') + " end", 60, 4), 60);
}

TEST(ReportText, NumbersAreNotPartedFromTheirUnits) {
    for (std::size_t width = 60; width < 140; ++width) {
        std::istringstream lines{to_text(decode_report(), {.top = 0, .width = width, .colour = false})};
        for (std::string line; std::getline(lines, line);) {
            const std::string start = line.substr(std::min(line.find_first_not_of(' '), line.size()));
            EXPECT_FALSE(std::regex_search(start, std::regex{"^(%|ns|us|ms|s)([ ,;]|$)"})) << line;
        }
    }
}

TEST(ReportText, ColourIsUsedOnlyWhereAskedForAndEndsBeforeEveryLineFeed) {
    EXPECT_THAT(to_text(decode_report()), Not(HasSubstr("\x1b")));
    const std::string text = to_text(decode_report(), {.top = 20, .width = 60, .colour = true});
    EXPECT_THAT(text, HasSubstr("\x1b[1m"));
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        if (line.find('\x1b') == std::string::npos) continue;
        EXPECT_EQ(line.substr(line.size() - 4), "\x1b[0m") << line;
    }
    EXPECT_EQ(std::regex_replace(text, std::regex{"\x1b\\[[0-9]*m"}, ""),
              to_text(decode_report(), {.top = 20, .width = 60, .colour = false}));
}

TEST(ReportText, RowsBeyondTopAreSummedInOne) {
    const std::string text = to_text(decode_report(), {.top = 2, .width = 120, .colour = false});
    EXPECT_THAT(text, HasSubstr("(7 more)"));
    EXPECT_THAT(text, HasSubstr("MUL_MAT+ADD "));
    EXPECT_THAT(text, Not(HasSubstr("\nROPE")));
}

// Field-case D7 (xprof#564, tensorflow#59655, tensorboard#6198): idle time without a definition.
TEST(ReportText, IdleIsPrintedWithItsFormulaAndWindow) {
    const std::string text = unwrapped(to_text(decode_report()));
    EXPECT_THAT(text, HasSubstr("idle = window - busy"));
    EXPECT_THAT(text, HasSubstr("of the 350 ms window; idle at most 17.7 ms"));
}

// Field-case D8 (realizar contracts): op times that sum to more than 100 % of wall are explained by overlap.
TEST(ReportText, SumsAboveTheUnionAreExplainedByOverlap) {
    const auto feed = [](int64_t second_begin_ns) {
        return report_of([&](SpanSink& sink) {
            StreamWriter stream{sink};
            stream.device(1, "gpu");
            const SiteId site = stream.site(make_site("MUL_MAT"));
            stream.span(stream.queue(1, "queue 0"), site, 0, 1000);
            stream.span(stream.queue(1, "queue 1"), site, second_begin_ns, 1000);
        });
    };
    EXPECT_EQ(feed(500).busy_ns, 1500);
    EXPECT_EQ(feed(500).total_ns, 2000);
    EXPECT_THAT(unwrapped(to_text(feed(500))), HasSubstr("they sum to 2.00 us, their union (busy) is 1.50 us"));
    EXPECT_THAT(to_text(feed(1000)), Not(HasSubstr("overlap")));
}

// Field-case A20 (kineto#996, pytorch#192021): more than 1 % dropped must be a warning, not an INFO line.
TEST(ReportText, MoreThanOnePercentLostIsAWarningWithItsRemedy) {
    const auto feed = [](uint64_t lost) {
        return report_of([&](SpanSink& sink) {
            StreamWriter stream{sink};
            const TrackId queue = stream.queue(1, "q");
            const SiteId site = stream.site(make_site("MUL_MAT"));
            for (int i = 0; i < 99; ++i) stream.span(queue, site, i * 10, 10);
            RecordingStats stats;
            stats.final = true;
            stats.begun = 99 + lost;
            stats.lost[LossReason::kRingFull] = lost;
            stream.stats(stats);
        });
    };
    EXPECT_THAT(to_text(feed(1)), Not(HasSubstr("warning")));
    EXPECT_THAT(to_text(feed(1)), HasSubstr("lost 1 (ring_full 1)"));
    EXPECT_THAT(unwrapped(to_text(feed(2))),
                HasSubstr("warning: 1.98 % of the spans begun are lost, most as ring_full"));
    EXPECT_THAT(unwrapped(to_text(feed(2))), HasSubstr("--every N"));
}

// Field-case B19 (TraceLens#827, Hyperloom#1121, TraceLens#728): idle that is an artefact of lost records.
TEST(ReportText, IdleIsAnUpperBoundWhereSpansAreLost) {
    const auto feed = [](uint64_t lost) {
        return report_of([&](SpanSink& sink) {
            StreamWriter stream{sink};
            stream.device(1, "gpu");
            const TrackId queue = stream.queue(1, "q");
            const SiteId site = stream.site(make_site("MUL_MAT"));
            stream.span(queue, site, 0, 50);
            stream.span(queue, site, 90, 10);
            RecordingStats stats;
            stats.final = true;
            stats.begun = 2 + lost;
            stats.lost[LossReason::kAbandoned] = lost;
            stream.stats(stats);
        });
    };
    EXPECT_THAT(to_text(feed(0)), HasSubstr("60 ns = 60.0 % of the 100 ns window; idle 40 ns"));
    EXPECT_THAT(to_text(feed(1)), HasSubstr("at least 60 ns = 60.0 % of the 100 ns window; idle at most 40 ns"));
}

// Field-case E11 (onnxruntime-inference-examples#501, cubecl#1361): compilation in the first uses is not in the rows.
TEST(ReportText, WarmUpIsToldApart) {
    const std::string text = unwrapped(to_text(decode_report()));
    EXPECT_THAT(text, HasSubstr("10 first uses took 241 ms"));
    EXPECT_THAT(text, HasSubstr("1st use"));
}

TEST(ReportText, KilledRecordingSaysThatItsCountIsNotFinal) {
    const auto feed = [](bool final) {
        return report_of([&](SpanSink& sink) {
            StreamWriter stream{sink};
            stream.span(stream.queue(1, "q"), stream.site(make_site("MUL_MAT")), 0, 50);
            RecordingStats stats;
            stats.begun = 8;
            stats.final = final;
            stream.stats(stats);
        });
    };
    const std::string killed = unwrapped(to_text(feed(false)));
    EXPECT_THAT(killed, HasSubstr("recording ended without a final count"));
    EXPECT_THAT(killed,
                HasSubstr("7 spans begun are neither in the recording nor counted as lost: they were in flight"));
    EXPECT_THAT(killed, HasSubstr("unaccounted 7"));
    EXPECT_THAT(unwrapped(to_text(feed(true))), HasSubstr("fault of Lapwing"));
}

TEST(ReportText, TornFileIsToldWithItsPlace) {
    Report report = decode_report();
    report.source.torn = true;
    report.source.torn_at = 4096;
    EXPECT_THAT(to_text(report), HasSubstr("warning: the file ends inside a packet at byte 4096"));
}

TEST(ReportText, WithoutDeviceSpansItSaysWhatToDo) {
    const auto feed = [](const std::string& level, uint64_t executed) {
        return report_of([&](SpanSink& sink) {
            StreamWriter stream{sink};
            stream.process("engine", level);
            RecordingStats stats;
            stats.final = true;
            stats.executed_dispatches = executed;
            stream.stats(stats);
        });
    };
    EXPECT_THAT(unwrapped(to_text(feed("basic", 5))), HasSubstr("record with --level kernel"));
    EXPECT_THAT(unwrapped(to_text(feed("kernel", 0))), HasSubstr("GGML_VK_VISIBLE_DEVICES=0"));
    EXPECT_THAT(unwrapped(to_text(feed("kernel", 5))), HasSubstr("although 5 dispatches were executed"));
    EXPECT_THAT(to_text(feed("kernel", 0)), HasSubstr("GPU time: unknown"));
    EXPECT_THAT(unwrapped(to_text(report_of([](SpanSink&) {}))), HasSubstr("ended before the first result came"));
}

// Field-case A15 (nvbench#184): times near the clock's own step.
TEST(ReportText, TimesOfAFewTicksAreCalledCoarse) {
    const auto feed = [](int64_t duration_ns) {
        return report_of([&](SpanSink& sink) {
            StreamWriter stream{sink};
            stream.device(1, "gpu", 52.0833, 36);
            stream.span(stream.queue(1, "q"), stream.site(make_site("MUL_MAT")), 0, duration_ns);
        });
    };
    EXPECT_THAT(unwrapped(to_text(feed(500))), HasSubstr("1 row has a p50 below 10 clock ticks of 52.0833 ns"));
    EXPECT_THAT(to_text(feed(600)), Not(HasSubstr("coarse")));
}

TEST(ReportText, ClockLineSaysHowTimesReachTheHostClock) {
    const auto text_of = [](bool calibrated, std::optional<int64_t> uncertainty_ns) {
        return to_text(report_of([&](SpanSink& sink) {
            DeviceInfo device;
            device.id = 1;
            device.name = "gpu";
            device.clock = ClockInfo{83.33, 36, calibrated, uncertainty_ns};
            EXPECT_TRUE(sink.device(device).ok());
        }));
    };
    EXPECT_THAT(text_of(true, 900), HasSubstr("83.33 ns a tick, 36 valid bits, calibrated by the driver, +-900 ns"));
    EXPECT_THAT(text_of(false, 90'000), HasSubstr("aligned by brackets around submits, +-90.0 us to the host clock"));
    EXPECT_THAT(text_of(false, std::nullopt), HasSubstr("not aligned to the host clock"));

    DeviceInfo device;
    device.id = 1;
    device.clock = ClockInfo{1, 64, true, 900, -50.126, -1'200, 1};
    const std::string text =
        unwrapped(to_text(report_of([&](SpanSink& sink) { EXPECT_TRUE(sink.device(device).ok()); })));
    EXPECT_THAT(text, HasSubstr("to the host clock, drift -50.13 ppm (residual -1.20 us), 1 clock step"));
}

TEST(ReportText, SkipIsTheReasonOnlyWhereStepsAreTimedAtAll) {
    const auto text_of = [](const std::string& level) {
        return unwrapped(to_text(report_of([&level](SpanSink& sink) {
            ProcessInfo process;
            process.level = level;
            process.skip = 10;
            EXPECT_TRUE(sink.process(process).ok());
            StreamWriter stream{sink};
            for (uint32_t i = 0; i < 3; ++i) stream.step(i, 1'000 * i, 1'000 * i + 900, 5, false);
            RecordingStats stats;
            stats.executed_dispatches = 15;
            stats.final = true;
            stream.stats(stats);
        })));
    };
    EXPECT_THAT(text_of("kernel"), HasSubstr("--skip 10 leaves the first 10 out, and there were only 3 steps"));
    EXPECT_THAT(text_of("basic"), Not(HasSubstr("--skip")));
    EXPECT_THAT(text_of("basic"), HasSubstr("level basic takes no stamps"));
}

// A15: nvbench#184.
TEST(ReportFloor, SpansThatReadNoMoreThanAnEmptyPairAreMarked) {
    const auto feed = [](SpanSink& sink) {
        StreamWriter stream{sink};
        DeviceInfo device;
        device.id = 1;
        device.name = "gpu";
        device.clock.floor_ns = 8'000;
        device.clock.floor_pairs = 8;
        EXPECT_TRUE(sink.device(device).ok());
        const TrackId queue = stream.queue(1, "q");
        const SiteId small = stream.site(make_site("small"));
        stream.span(queue, small, 0, 7'000);
        stream.span(queue, small, 10'000, 8'000);
        stream.span(queue, small, 20'000, 8'001);
        stream.span(queue, stream.site(make_site("large")), 30'000, 58'000);
        stream.span(stream.thread("main"), stream.site(make_site("call", "", SpanKind::kHost)), 0, 5);
    };
    const std::unique_ptr<ReportBuilder> builder = make_report_builder();
    feed(*builder);
    const Report kept = builder->build();
    ASSERT_EQ(kept.rows.size(), 2u);
    EXPECT_EQ(kept.rows[0].below_floor, 0u);
    EXPECT_EQ(kept.rows[1].below_floor, 2u);
    EXPECT_EQ(kept.total_ns, 81'001);
    const std::string text = unwrapped(to_text(kept));
    EXPECT_THAT(text, HasSubstr("an empty pair of stamps reads 8.00 us"));
    EXPECT_THAT(text, HasSubstr("<= floor"));
    EXPECT_THAT(text, HasSubstr("2 spans read no more than an empty pair of stamps"));

    const Report less = builder->build(GroupBy::kOp, FloorTime::kSubtracted);
    EXPECT_EQ(less.rows[0].spans.total_ns, 50'000);
    EXPECT_EQ(less.rows[1].spans.total_ns, 1) << "those below count as 0";
    EXPECT_EQ(less.rows[1].spans.count, 3u);
    EXPECT_EQ(less.busy_ns, kept.busy_ns) << "busy time stays as it was read";
    EXPECT_THAT(unwrapped(to_text(less)), HasSubstr("2 spans were shorter than that and count as 0"));
    EXPECT_EQ(builder->build(GroupBy::kName, FloorTime::kSubtracted).rows[1].spans.total_ns, 5)
        << "host time has no floor";
}

TEST(ReportFloor, NothingIsSubtractedWhereNoFloorWasMeasured) {
    const std::unique_ptr<ReportBuilder> builder = make_report_builder();
    testing::feed_decode(*builder);
    const Report kept = builder->build(GroupBy::kOp);
    const Report less = builder->build(GroupBy::kOp, FloorTime::kSubtracted);
    EXPECT_EQ(less.total_ns, kept.total_ns);
    EXPECT_THAT(unwrapped(to_text(less)), HasSubstr("nothing was subtracted"));
    EXPECT_THAT(to_text(kept), Not(HasSubstr("floor")));
}

TEST(ReportCsv, NamesWithCommasQuotesAndLineBreaksAreQuoted) {
    const std::string csv = to_csv(report_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.span(stream.queue(1, "q"), stream.site(make_site("a,\"b\"\nc")), 0, 50);
    }));
    EXPECT_THAT(csv, HasSubstr("\n\"a,\"\"b\"\"\nc\",dispatch,1,50,50,50,50,50,50,50,1,,,0,0,,,0,,1,0,,\n"));
}

TEST(ReportMarkdown, NamesCannotBreakTheTable) {
    const std::string text = to_markdown(report_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        const TrackId queue = stream.queue(1, "q");
        stream.span(queue, stream.site(make_site("a|b")), 0, 50);
        stream.span(queue, stream.site(make_site("x`y\nz")), 50, 40);
    }));
    EXPECT_THAT(text, HasSubstr("| `a\\|b` | dispatch |"));
    EXPECT_THAT(text, HasSubstr("| `` x`y\\x0az `` | dispatch |"));
}

}    // namespace
}    // namespace lapwing
