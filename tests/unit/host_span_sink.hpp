// A sink that keeps what host-span tests look at.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lapwing/sink.hpp"

namespace lapwing::test {

class KeepingSink : public SpanSink {
public:
    Status process(const ProcessInfo& info) override {
        processes.push_back(info);
        return {};
    }
    Status device(const DeviceInfo&) override { return {}; }
    Status track(const TrackInfo& info) override {
        tracks[info.id] = info;
        return {};
    }
    Status site(SiteId id, const Site& site) override {
        sites[id] = site;
        return {};
    }
    Status spans(std::span<const SpanRecord> batch) override {
        if (on_spans) on_spans();
        if (!fail_with.ok()) return fail_with;
        kept.insert(kept.end(), batch.begin(), batch.end());
        ++batches;
        return {};
    }
    Status step(const StepRecord&) override { return {}; }
    Status stats(const RecordingStats& stats) override {
        last_stats = stats;
        return {};
    }
    Status close() override {
        ++closes;
        return {};
    }

    [[nodiscard]] std::string name_of(const SpanRecord& span) const {
        const auto found = sites.find(span.site);
        return found == sites.end() ? "(never described)" : found->second.label;
    }
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (const SpanRecord& span : kept) out.push_back(name_of(span));
        return out;
    }

    std::vector<ProcessInfo> processes;
    std::map<TrackId, TrackInfo> tracks;
    std::map<SiteId, Site> sites;
    std::vector<SpanRecord> kept;
    RecordingStats last_stats;
    std::size_t batches = 0;
    int closes = 0;
    Status fail_with;
    std::function<void()> on_spans;
};

}    // namespace lapwing::test
