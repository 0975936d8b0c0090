// A sink that keeps all it is told, for comparison.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "lapwing/sink.hpp"

namespace lapwing::test {

class CaptureSink : public SpanSink {
public:
    Status process(const ProcessInfo& process) override {
        processes.push_back(process);
        return answer;
    }
    Status device(const DeviceInfo& device) override {
        devices[device.id] = device;
        return answer;
    }
    Status track(const TrackInfo& track) override {
        tracks[track.id] = track;
        return answer;
    }
    Status site(SiteId id, const Site& site) override {
        sites[id] = site;
        return answer;
    }
    Status spans(std::span<const SpanRecord> batch) override {
        for (const SpanRecord& span : batch) {
            if (span.site != 0 && !sites.contains(span.site)) ++used_before_announced;
            if (!tracks.contains(span.track)) ++used_before_announced;
            all.push_back(span);
        }
        return answer;
    }
    Status step(const StepRecord& step) override {
        steps.push_back(step);
        return answer;
    }
    Status stats(const RecordingStats& stats) override {
        latest_stats = stats;
        ++stats_calls;
        return answer;
    }
    Status fingerprint(const FingerprintRecord& record) override {
        fingerprints.push_back(record);
        return answer;
    }
    Status flush() override {
        flushed = all.size();
        return answer;
    }
    Status close() override {
        ++closes;
        return answer;
    }

    Status answer;
    std::vector<ProcessInfo> processes;
    std::map<uint32_t, DeviceInfo> devices;
    std::map<TrackId, TrackInfo> tracks;
    std::map<SiteId, Site> sites;
    std::vector<SpanRecord> all;
    std::vector<StepRecord> steps;
    std::vector<FingerprintRecord> fingerprints;
    std::optional<RecordingStats> latest_stats;
    int stats_calls = 0;
    std::size_t flushed = 0;    // spans before the last flush
    int closes = 0;
    int used_before_announced = 0;
};

}    // namespace lapwing::test
