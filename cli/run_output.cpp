#include "run_output.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "lapwing/perfetto.hpp"
#include "trace/device_tracks.hpp"
#include "trace/recording_set.hpp"

namespace lapwing::cli {
namespace {

namespace fs = std::filesystem;

/// Counts what is in a recording; with `only_identify` it stops the reading as soon as it is known to be one.
class CountingSink final : public SpanSink {
public:
    explicit CountingSink(bool only_identify) : only_identify_(only_identify) {}

    Status process(const ProcessInfo& process) override {
        identified_ = true;
        if (totals_.processes == 0) totals_.process = process;
        ++totals_.processes;
        return only_identify_ ? Status(Error{Errc::kExhausted, 0, "identified"}) : Status();
    }
    Status device(const DeviceInfo&) override { return {}; }
    Status track(const TrackInfo& track) override {
        device_tracks_.announce(track);
        return {};
    }
    Status site(SiteId, const Site&) override { return {}; }
    Status spans(std::span<const SpanRecord> spans) override {
        totals_.spans += device_tracks_.count(spans);
        for (const SpanRecord& span : spans) reach(span.begin_ns, span.duration_ns);
        return {};
    }
    Status step(const StepRecord& step) override {
        ++totals_.steps;
        totals_.end_ns = std::max(totals_.end_ns, step.end_ns);
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
    void reach(int64_t begin_ns, int64_t duration_ns) {
        int64_t end_ns = 0;
        if (!__builtin_add_overflow(begin_ns, duration_ns, &end_ns)) totals_.end_ns = std::max(totals_.end_ns, end_ns);
    }

    const bool only_identify_;
    bool identified_ = false;
    trace::DeviceTracks device_tracks_;
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

constexpr const char* kInUse = "another run is recording to it; name another with -o";

Error unwritable(const std::string& path, const std::string& why) {
    return Error{Errc::kUnwritable, 0, "cannot record to " + path + ": " + why};
}

// Where the program's own input and output are, and not only under these names: "-o /dev/stdout >FILE" would set FILE
// aside while the program writes to it.
bool is_open_file(const std::string& path) {
    std::error_code ignored;
    const std::string full = fs::absolute(path, ignored).lexically_normal().string();
    return path == "-" || full == "/dev/stdin" || full == "/dev/stdout" || full == "/dev/stderr" ||
           full.starts_with("/dev/fd/") || full.starts_with("/proc/self/fd/");
}

Status refuse_foreign(const std::string& path, const std::string& shown) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return {};
    if (fs::is_directory(status)) return unwritable(shown, "it is a folder; name a file with -o");
    if (!fs::is_regular_file(status)) return unwritable(shown, "it is not a regular file; name another with -o");
    if (::access(path.c_str(), R_OK) != 0)
        return unwritable(shown, std::string(std::strerror(errno)) + "; name another with -o");
    if (is_in_use(path)) return unwritable(shown, kInUse);
    if (!may_be_replaced(path))
        return unwritable(shown, "it is there, is not a Lapwing recording and is left alone; name another with -o");
    return {};
}

// "4711" and "4711-2": what a child process adds to the name.
bool is_child_suffix(std::string_view text) {
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0 &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0 || c == '-'; });
}

// 0 or errno of writing so much as a recording begins with: a full disk is found while there is still someone to tell.
int try_to_write(int file) {
    const std::string block(4096, '\0');
    const auto before = ::signal(SIGXFSZ, SIG_IGN);
    int error = 0;
    for (std::size_t written = 0; error == 0 && written < block.size();) {
        const ssize_t more = ::write(file, block.data() + written, block.size() - written);
        if (more > 0)
            written += static_cast<std::size_t>(more);
        else
            error = errno;
    }
    ::signal(SIGXFSZ, before);
    return error;
}

std::string advice(int error) {
    if (error == ENOSPC || error == EDQUOT) return "; free some space, or name another with -o";
    if (error == EFBIG) return "; raise the file size limit (ulimit -f)";
    return "; name another with -o";
}

}    // namespace

RecordingPlace::RecordingPlace(RecordingPlace&& other) noexcept
    : path_(std::move(other.path_)),
      run_(other.run_),
      earlier_(std::exchange(other.earlier_, {})),
      earlier_parts_(std::move(other.earlier_parts_)),
      lock_(std::exchange(other.lock_, -1)) {}

// The lock's file is removed while it is held, so whoever opened it meanwhile has to look again.
RecordingPlace::~RecordingPlace() {
    if (lock_ < 0) return;
    struct stat info {};
    if (::fstat(lock_, &info) == 0 && info.st_size == 0) ::unlink((path_ + ".lock").c_str());
    ::close(lock_);
}

// Two runs that begin at one moment would both find nothing at `path_`, and the program of the second would take itself
// for a child of the first.
Status RecordingPlace::lock(const std::string& shown) {
    const std::string path = path_ + ".lock";
    for (;;) {
        const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (file < 0) {
            const int code = errno;
            const std::string folder = fs::path(path_).parent_path().string();
            std::error_code ignored;
            if (!fs::exists(folder, ignored))
                return unwritable(shown, "there is no folder " + folder + "; make it, or name another with -o");
            // File systems of the kernel's own (/proc) answer as if the folder were not there.
            if (code == ENOENT) return unwritable(shown, "no file can be made in " + folder + "; name another with -o");
            return unwritable(shown, std::strerror(code) + advice(code));
        }
        const bool taken = ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        struct stat held {};
        struct stat there {};
        const bool same = ::fstat(file, &held) == 0 && ::stat(path.c_str(), &there) == 0 && held.st_ino == there.st_ino;
        if (!taken && same) {
            lock_ = file;
            return {};
        }
        ::close(file);
        if (taken) return unwritable(shown, kInUse);
    }
}

Result<RecordingPlace> RecordingPlace::claim(const std::string& path, uint64_t run) {
    std::error_code error;
    RecordingPlace place;
    place.run_ = run;
    if (is_open_file(path))
        return unwritable(path,
                          "the program's own output may go there, and a recording is a file of its own; name one "
                          "with -o");
    place.path_ = fs::weakly_canonical(fs::absolute(path, error), error).string();
    if (error) return unwritable(path, error.message() + "; name another with -o");
    if (Status status = refuse_foreign(place.path_, path); !status) return status.error();
    if (Status status = place.lock(path); !status) return status.error();
    if (Status status = refuse_foreign(place.path_, path); !status) return status.error();
    if (fs::exists(place.path_, error)) {
        place.earlier_parts_ = trace::parts_behind(place.path_);
        place.earlier_ = place.path_ + ".earlier-" + std::to_string(::getpid());
        if (::rename(place.path_.c_str(), place.earlier_.c_str()) != 0)
            return unwritable(path, std::string("the recording that is there cannot be set aside: ") +
                                        std::strerror(errno) + advice(errno));
    }

    // Permissions, a read-only file system and a full disk are found by trying, while there is still someone to tell:
    // the layer inside the program must stay silent.
    const int file = ::open(place.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const int code = file < 0 ? errno : try_to_write(file);
    if (file >= 0) {
        ::close(file);
        ::unlink(place.path_.c_str());
    }
    if (code == 0) return place;
    place.settle();
    return unwritable(path, std::strerror(code) + advice(code));
}

std::vector<std::string> RecordingPlace::children() const {
    const std::string prefix = fs::path(path_).filename().string() + ".";
    std::vector<std::string> out;
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(path_).parent_path(), ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(prefix) || !is_child_suffix(std::string_view(name).substr(prefix.size()))) continue;
        const std::optional<trace::RecordingInfo> recording = trace::identify(entry.path().string());
        if (recording && recording->run == run_) out.push_back(entry.path().string());
    }
    std::sort(out.begin(), out.end());
    return out;
}

void RecordingPlace::settle() {
    if (earlier_.empty()) return;
    if (::access(path_.c_str(), F_OK) == 0) {
        const std::optional<trace::RecordingInfo> earlier = trace::identify(earlier_);
        for (const std::string& part : earlier_parts_) {
            const std::optional<trace::RecordingInfo> now = trace::identify(part);
            if (earlier && now && now->id == earlier->id) ::unlink(part.c_str());
        }
        ::unlink(earlier_.c_str());
    } else {
        ::rename(earlier_.c_str(), path_.c_str());
    }
    earlier_.clear();
}

bool is_in_use(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    const bool locked = ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    ::close(file);
    return locked;
}

Result<RecordingTotals> read_totals(const std::string& path) {
    CountingSink sink(false);
    const Result<ReadSummary> read = read_recording(path, sink);
    if (!read) return read.error();
    RecordingTotals totals = sink.totals();
    totals.torn = read.value().torn;
    return totals;
}

std::string to_text(const RecordingTotals& totals, bool killed) {
    std::string out = std::to_string(totals.spans) + " spans";
    if (totals.processes > 1) out += " of " + std::to_string(totals.processes) + " processes";
    out += ", " + std::to_string(totals.steps) + " steps, ";
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
    if (totals.stats.left_out != 0) out += ", " + std::to_string(totals.stats.left_out) + " dropped with older parts";
    const int error = static_cast<int>(totals.stats.write_error);
    if (error != 0)
        out += ", ends early (" + std::string(std::strerror(error)) + advice(error) + ")";
    else if (cut)
        out += killed ? ", ends early (killed)"
                      : ", ends early (_exit or exec in the program, a part of it killed, or no room on the disk)";
    return out;
}

}    // namespace lapwing::cli
