#include "run_output.hpp"

#include <fcntl.h>
#include <sys/file.h>
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

Status refuse_foreign(const std::string& path, const std::string& shown) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return {};
    if (fs::is_directory(status)) return unwritable(shown, "it is a folder; name a file with -o");
    if (!fs::is_regular_file(status)) return unwritable(shown, "it is not a regular file; name another with -o");
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return unwritable(shown, std::string(std::strerror(errno)) + "; name another with -o");
    const bool in_use = ::flock(file, LOCK_EX | LOCK_NB) != 0;    // the writer holds the lock while it records
    ::close(file);
    if (in_use) return unwritable(shown, "another run is recording to it; name another with -o");
    if (!may_be_replaced(path))
        return unwritable(shown, "it is there, is not a Lapwing recording and is left alone; name another with -o");
    return {};
}

std::vector<std::string> numbered_neighbours(const std::string& path) {
    const std::string prefix = fs::path(path).filename().string() + ".";
    std::vector<std::string> out;
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(path).parent_path(), ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.size() <= prefix.size() || name.compare(0, prefix.size(), prefix) != 0) continue;
        const std::string_view pid = std::string_view(name).substr(prefix.size());
        if (std::all_of(pid.begin(), pid.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
            out.push_back(name);
    }
    std::sort(out.begin(), out.end());
    return out;
}

}    // namespace

Result<RecordingPlace> RecordingPlace::claim(const std::string& path) {
    std::error_code error;
    RecordingPlace place;
    place.path_ = fs::weakly_canonical(fs::absolute(path, error), error).string();
    if (error) return unwritable(path, error.message());
    if (Status status = refuse_foreign(place.path_, path); !status) return status.error();
    place.neighbours_ = numbered_neighbours(place.path_);
    if (fs::exists(place.path_, error)) {
        place.earlier_ = place.path_ + ".earlier-" + std::to_string(::getpid());
        if (::rename(place.path_.c_str(), place.earlier_.c_str()) != 0) return unwritable(path, std::strerror(errno));
    }

    // Permissions, a read-only file system and a missing folder are found by trying, while there is still someone to
    // tell: the layer inside the program must stay silent.
    const int file = ::open(place.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) {
        const int code = errno;
        place.settle();
        const std::string folder = fs::path(place.path_).parent_path().string();
        if (!fs::exists(folder, error))
            return unwritable(path, "there is no folder " + folder + "; make it, or name another with -o");
        return unwritable(path, std::string(std::strerror(code)) + "; name another with -o");
    }
    ::close(file);
    ::unlink(place.path_.c_str());
    return place;
}

std::vector<std::string> RecordingPlace::children() const {
    std::vector<std::string> out;
    for (const std::string& name : numbered_neighbours(path_))
        if (!std::binary_search(neighbours_.begin(), neighbours_.end(), name) &&
            is_recording((fs::path(path_).parent_path() / name).string()))
            out.push_back(name);
    return out;
}

void RecordingPlace::settle() noexcept {
    if (earlier_.empty()) return;
    if (::access(path_.c_str(), F_OK) == 0)
        ::unlink(earlier_.c_str());
    else
        ::rename(earlier_.c_str(), path_.c_str());
    earlier_.clear();
}

Result<RecordingTotals> read_totals(const std::string& path) {
    CountingSink sink(false);
    const Result<ReadSummary> read = read_perfetto(path, sink);
    if (!read) return read.error();
    RecordingTotals totals = sink.totals();
    totals.torn = read.value().torn;
    return totals;
}

std::string to_text(const RecordingTotals& totals, bool killed) {
    std::string out = std::to_string(totals.spans) + " spans, " + std::to_string(totals.steps) + " steps, ";
    const bool cut = totals.torn || !totals.stats.final;
    if (totals.has_stats)
        out += (cut ? "at least " : "") + std::to_string(totals.stats.lost.total()) + " lost";
    else
        out += "losses unknown";
    std::string reasons;
    for (std::size_t i = 0; i < kLossReasonCount; ++i) {
        const auto reason = static_cast<LossReason>(i);
        if (totals.stats.lost[reason] == 0) continue;
        reasons += (reasons.empty() ? "" : ", ") + std::string(lapwing::to_text(reason)) + " " +
                   std::to_string(totals.stats.lost[reason]);
    }
    if (!reasons.empty()) out += " (" + reasons + ")";
    if (cut)
        out += killed ? ", ends early (killed)"
                      : ", ends early (_exit or exec in the program, a part of it killed, or no room on the disk)";
    return out;
}

}    // namespace lapwing::cli
