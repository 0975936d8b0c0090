// The fingerprints of one run, collected from its stream of spans or its recording.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lapwing/fingerprint.hpp"
#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"

namespace lapwing {

/// A sink that keeps fingerprints and passes over everything else.
/// Cost:    memory: 300 bytes a fingerprint.
/// Threads: one at a time.
class FingerprintRun final : public SpanSink {
public:
    Status process(const ProcessInfo& process) override;
    Status device(const DeviceInfo&) override { return {}; }
    Status track(const TrackInfo&) override { return {}; }
    Status site(SiteId, const Site&) override { return {}; }
    Status spans(std::span<const SpanRecord>) override { return {}; }
    Status step(const StepRecord&) override { return {}; }
    Status stats(const RecordingStats& stats) override;
    /// Errors:  kUnsupported where another process had some before: their bricks would be taken for one another.
    Status fingerprint(const FingerprintRecord& record) override;
    Status close() override { return {}; }

    [[nodiscard]] std::span<const FingerprintRecord> records() const noexcept { return records_; }
    /// Of the statistics: taken and not recorded, recorded in parts that are gone.
    [[nodiscard]] uint64_t dropped() const noexcept { return dropped_; }
    [[nodiscard]] uint64_t left_out() const noexcept { return left_out_; }
    /// Of the process that has them; empty where nothing was said.
    [[nodiscard]] const std::string& command() const noexcept { return command_; }

private:
    std::vector<FingerprintRecord> records_;
    ProcessInfo process_;
    uint32_t processes_ = 0;
    uint32_t owner_ = 0;    // counted process that has the fingerprints
    uint64_t dropped_ = 0;
    uint64_t left_out_ = 0;
    std::string command_;
};

}    // namespace lapwing
