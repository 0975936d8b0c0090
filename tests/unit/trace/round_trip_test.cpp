#include <gtest/gtest.h>

#include "unit/trace/trace_material.hpp"

namespace lapwing::test {
namespace {

TEST(RoundTrip, EveryFieldOfEveryMessageComesBack) {
    const TemporaryFile file;
    const Recording written = sample_recording();
    CaptureSink read;
    const ReadSummary summary = round_trip(written, file.path(), read);

    ASSERT_EQ(read.processes.size(), 1u);
    EXPECT_EQ(read.processes[0].pid, written.process.pid);
    EXPECT_EQ(read.processes[0].command, written.process.command);
    EXPECT_EQ(read.processes[0].lapwing_version, written.process.lapwing_version);
    EXPECT_EQ(read.processes[0].level, written.process.level);
    EXPECT_EQ(read.processes[0].every, written.process.every);
    ASSERT_EQ(read.devices.size(), 2u);
    for (const DeviceInfo& device : written.devices) {
        const DeviceInfo& got = read.devices[device.id];
        EXPECT_EQ(got.api, device.api);
        EXPECT_EQ(got.name, device.name);
        EXPECT_EQ(got.driver, device.driver);
        EXPECT_EQ(got.clock.resolution_ns, device.clock.resolution_ns);
        EXPECT_EQ(got.clock.valid_bits, device.clock.valid_bits);
        EXPECT_EQ(got.clock.calibrated, device.clock.calibrated);
        EXPECT_EQ(got.clock.uncertainty_ns, device.clock.uncertainty_ns);
        EXPECT_EQ(got.uuid, device.uuid);
        EXPECT_EQ(got.clock.drift_ppm, device.clock.drift_ppm);
        EXPECT_EQ(got.clock.residual_ns, device.clock.residual_ns);
        EXPECT_EQ(got.clock.clock_steps, device.clock.clock_steps);
    }
    ASSERT_EQ(read.tracks.size(), 3u);
    for (const TrackInfo& track : written.tracks) {
        EXPECT_EQ(read.tracks[track.id].kind, track.kind);
        EXPECT_EQ(read.tracks[track.id].device, track.device);
        EXPECT_EQ(read.tracks[track.id].name, track.name);
    }
    ASSERT_EQ(read.sites.size(), written.sites.size());
    for (const auto& [id, site] : written.sites) EXPECT_EQ(read.sites[id], site) << id;
    EXPECT_EQ(keys(read.all), keys(written.spans));
    ASSERT_EQ(read.steps.size(), written.steps.size());
    for (std::size_t i = 0; i < read.steps.size(); ++i) {
        EXPECT_EQ(read.steps[i].index, written.steps[i].index);
        EXPECT_EQ(read.steps[i].begin_ns, written.steps[i].begin_ns);
        EXPECT_EQ(read.steps[i].end_ns, written.steps[i].end_ns);
        EXPECT_EQ(read.steps[i].dispatches, written.steps[i].dispatches);
        EXPECT_EQ(read.steps[i].armed, written.steps[i].armed);
    }
    EXPECT_EQ(read.fingerprints, written.fingerprints);
    ASSERT_TRUE(read.latest_stats);
    const RecordingStats& got = *read.latest_stats;
    const RecordingStats& put = written.stats;
    EXPECT_EQ(got.begun, put.begun);
    EXPECT_EQ(got.recorded, put.recorded);
    EXPECT_EQ(got.estimated, put.estimated);
    EXPECT_EQ(got.lost.by_reason, put.lost.by_reason);
    EXPECT_EQ(got.stamps, put.stamps);
    EXPECT_EQ(got.result_reads, put.result_reads);
    EXPECT_EQ(got.own_submits, put.own_submits);
    EXPECT_EQ(got.hook_ns, put.hook_ns);
    EXPECT_EQ(got.start_ns, put.start_ns);
    EXPECT_EQ(got.faults, put.faults);
    EXPECT_EQ(got.window_begin_ns, put.window_begin_ns);
    EXPECT_EQ(got.window_end_ns, put.window_end_ns);
    EXPECT_EQ(got.final, put.final);
    EXPECT_EQ(got.executed_dispatches, put.executed_dispatches);
    EXPECT_EQ(got.names_dropped, put.names_dropped);
    EXPECT_EQ(got.fingerprints_dropped, put.fingerprints_dropped);

    EXPECT_EQ(summary.spans, written.spans.size());
    EXPECT_EQ(summary.bytes, file.content().size());
    EXPECT_FALSE(summary.torn);
    EXPECT_EQ(summary.unclosed, 0u);
    EXPECT_EQ(summary.unknown_sites, 0u);
    EXPECT_EQ(read.used_before_announced, 0);
    EXPECT_EQ(read.closes, 0);
}

}    // namespace
}    // namespace lapwing::test
