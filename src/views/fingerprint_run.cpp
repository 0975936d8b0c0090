#include "lapwing/fingerprint_run.hpp"

namespace lapwing {

Status FingerprintRun::process(const ProcessInfo& process) {
    process_ = process;
    ++processes_;
    return {};
}

Status FingerprintRun::stats(const RecordingStats& stats) {
    dropped_ = stats.fingerprints_dropped;
    left_out_ = stats.fingerprints_left_out;
    return {};
}

Status FingerprintRun::fingerprint(const FingerprintRecord& record) {
    if (records_.empty()) {
        owner_ = processes_;
        command_ = process_.command;
    } else if (owner_ != processes_) {
        return Error{Errc::kUnsupported, 0,
                     "two processes recorded fingerprints, the second is pid " + std::to_string(process_.pid) +
                         ": record each to a file of its own (lapwing run --max-size keeps them apart)"};
    }
    records_.push_back(record);
    return {};
}

}    // namespace lapwing
