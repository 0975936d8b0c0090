#include "run_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "lapwing/perfetto.hpp"

namespace lapwing::cli {
namespace {

namespace fs = std::filesystem;

/// Counts what is in a recording; with `only_identify` it stops the reading as soon as it is known to be one.
class CountingSink final : public SpanSink {
public:
    explicit CountingSink(bool only_identify) : only_identify_(only_identify) {}

    Status process(const ProcessInfo&) override {
        identified_ = true;
        return only_identify_ ? Status(Error{Errc::kExhausted, 0, "identified"}) : Status();
    }
    Status device(const DeviceInfo&) override { return {}; }
    Status track(const TrackInfo& track) override {
        if (track.kind == TrackKind::kDeviceQueue) device_tracks_.insert(track.id);
        return {};
    }
    Status site(SiteId, const Site&) override { return {}; }
    Status spans(std::span<const SpanRecord> spans) override {
        for (const SpanRecord& span : spans) totals_.spans += device_tracks_.count(span.track);
        return {};
    }
    Status step(const StepRecord&) override {
        ++totals_.steps;
        return {};
    }
    Status stats(const RecordingStats& stats) override {
        totals_.stats = stats;
        totals_.has_stats = true;
        return {};
    }
    Status close() override { return {}; }

    [[nodiscard]] bool identified() const { return identified_; }
    [[nodiscard]] const RecordingTotals& totals() const { return totals_; }

private:
    const bool only_identify_;
    bool identified_ = false;
    std::set<TrackId> device_tracks_;
    RecordingTotals totals_;
};

bool is_recording(const std::string& path) {
    CountingSink sink(true);
    [[maybe_unused]] const Result<ReadSummary> stopped = read_perfetto(path, sink);
    return sink.identified();
}

bool may_be_replaced(const std::string& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return false;
    const uintmax_t size = fs::file_size(path, error);
    return !error && (size == 0 || is_recording(path));
}

Error unwritable(const std::string& path, const std::string& why) {
    return Error{Errc::kUnwritable, 0, "cannot record to " + path + ": " + why};
}

Status remove_earlier(const std::string& path, const std::string& shown) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return {};
    if (fs::is_directory(status)) return unwritable(shown, "it is a folder; name a file with -o");
    if (!fs::is_regular_file(status)) return unwritable(shown, "it is not a regular file; name another with -o");
    if (!may_be_replaced(path))
        return unwritable(shown, "it is there, is not a Lapwing recording and is left alone; name another with -o");
    if (::unlink(path.c_str()) != 0) return unwritable(shown, std::strerror(errno));
    return {};
}

}    // namespace

Result<std::string> prepare_output(const std::string& path) {
    std::error_code error;
    const std::string absolute = fs::weakly_canonical(fs::absolute(path, error), error).string();
    if (error) return unwritable(path, error.message());
    if (Status removed = remove_earlier(absolute, path); !removed) return removed.error();
    for (const std::string& child : child_recordings(absolute))
        if (may_be_replaced(child)) ::unlink(child.c_str());

    // Permissions, a read-only file system and a missing folder are found by trying, while there is still someone to
    // tell: the layer inside the program must stay silent.
    const int file = ::open(absolute.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) {
        const int code = errno;
        const std::string folder = fs::path(absolute).parent_path().string();
        return unwritable(path, code == ENOENT ? "there is no folder " + folder + "; make it, or name another with -o"
                                               : std::string(std::strerror(code)) + "; name another with -o");
    }
    ::close(file);
    ::unlink(absolute.c_str());
    return absolute;
}

std::vector<std::string> child_recordings(const std::string& path) {
    const std::string prefix = fs::path(path).filename().string() + ".";
    std::vector<std::string> out;
    std::error_code ignored;
    const fs::path folder = fs::path(path).parent_path();
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.size() <= prefix.size() || name.compare(0, prefix.size(), prefix) != 0) continue;
        const std::string_view pid = std::string_view(name).substr(prefix.size());
        if (std::all_of(pid.begin(), pid.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
            out.push_back(entry.path().string());
    }
    std::sort(out.begin(), out.end());
    return out;
}

Result<RecordingTotals> read_totals(const std::string& path) {
    CountingSink sink(false);
    const Result<ReadSummary> read = read_perfetto(path, sink);
    if (!read) return read.error();
    RecordingTotals totals = sink.totals();
    totals.torn = read.value().torn;
    return totals;
}

std::string to_text(const RecordingTotals& totals) {
    std::string out = std::to_string(totals.spans) + " spans, " + std::to_string(totals.steps) + " steps, ";
    out += totals.has_stats ? std::to_string(totals.stats.lost.total()) + " lost" : "losses unknown";
    std::string reasons;
    for (std::size_t i = 0; i < kLossReasonCount; ++i) {
        const auto reason = static_cast<LossReason>(i);
        if (totals.stats.lost[reason] == 0) continue;
        reasons += (reasons.empty() ? "" : ", ") + std::string(lapwing::to_text(reason)) + " " +
                   std::to_string(totals.stats.lost[reason]);
    }
    if (!reasons.empty()) out += " (" + reasons + ")";
    if (totals.torn || !totals.stats.final) out += ", ends early (killed, or no room on the disk)";
    return out;
}

}    // namespace lapwing::cli
