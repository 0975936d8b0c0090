#include "run_file_options.hpp"

#include <time.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <limits>

#include "commands.hpp"
#include "lapwing/arming.hpp"
#include "run_join.hpp"
#include "trace/recording_set.hpp"

namespace lapwing::cli {
namespace {

constexpr int64_t kLeastSize = 1 << 20;
constexpr int64_t kLeastLast = 1'000'000'000;
constexpr uint32_t kMostKept = 1'000'000;

struct Unit {
    std::string_view name;
    int64_t factor;
};

/// "512MiB", "2GB", "1048576": a whole number and a unit (none or B, KiB, MiB, GiB by 1024, kB, MB, GB by 1000; K, M
/// and G are KiB, MiB and GiB). Nothing where it is no such text or beyond 63 bits.
std::optional<int64_t> parse_bytes(std::string_view text) {
    constexpr Unit kUnits[] = {{"", 1},        {"B", 1},         {"K", 1 << 10},    {"KiB", 1 << 10},
                               {"M", 1 << 20}, {"MiB", 1 << 20}, {"G", 1 << 30},    {"GiB", 1 << 30},
                               {"kB", 1'000},  {"KB", 1'000},    {"MB", 1'000'000}, {"GB", 1'000'000'000}};
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result parsed = std::from_chars(text.data(), end, number);
    if (parsed.ec != std::errc() || number < 0) return std::nullopt;
    const std::string_view name(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
    for (const Unit& unit : kUnits) {
        if (unit.name != name) continue;
        int64_t out = 0;
        if (__builtin_mul_overflow(number, unit.factor, &out)) return std::nullopt;
        return out;
    }
    return std::nullopt;
}

std::optional<uint32_t> parse_count(const std::string& text) {
    uint32_t count = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result parsed = std::from_chars(text.data(), end, count);
    if (parsed.ec != std::errc() || parsed.ptr != end || count == 0 || count > kMostKept) return std::nullopt;
    return count;
}

std::optional<int64_t> last_ns(const FileOptions& options) {
    if (!options.last) return std::nullopt;
    const Result<int64_t> parsed = parse_duration(*options.last);
    return parsed.ok() ? std::optional(parsed.value()) : std::nullopt;
}

}    // namespace

void add_file_options(CLI::App& command, FileOptions& options) {
    command
        .add_option("--max-size", options.max_size,
                    "Begin a new file (FILE.part2, ...) where the last would become larger than this, such as 512MiB\n"
                    "(1MiB and more). Each opens by itself, and lapwing report FILE reads them all")
        ->type_name("SIZE");
    command
        .add_option("--keep", options.keep,
                    "With --max-size: keep the newest N files and drop the older ones (1 to 1000000; default: all)")
        ->type_name("N");
    command
        .add_option(
            "--last", options.last,
            "Keep the last so long only, such as 30s or 5min (1s and more); older spans are dropped and counted")
        ->type_name("TIME");
    command.add_flag("--compress", options.compress,
                     "About 8 bytes a span instead of 26, for 0.1 us of the writer's time");
}

std::optional<std::string> find_bad_option(const FileOptions& options) {
    if (options.max_size && parse_bytes(*options.max_size).value_or(0) < kLeastSize)
        return "--max-size '" + *options.max_size + "' is not a size from 1MiB to 8000000000GB, such as 512MiB";
    if (options.keep && !parse_count(*options.keep))
        return "--keep '" + *options.keep + "' is not a whole number from 1 to 1000000";
    if (options.keep && !options.max_size) return "--keep bounds the number of files that --max-size makes: give both";
    if (options.last && last_ns(options).value_or(0) < kLeastLast)
        return "--last '" + *options.last + "' is not a time from 1s to 1000h, such as 30s or 5min";
    return std::nullopt;
}

uint64_t new_run_id() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const auto ns = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
    return (ns ^ static_cast<uint64_t>(::getpid()) << 40) | 1;
}

std::vector<std::pair<std::string, std::string>> file_settings(const FileOptions& options, uint64_t run) {
    std::vector<std::pair<std::string, std::string>> out{{"LAPWING_RUN", std::to_string(run)}};
    const auto bytes = options.max_size ? parse_bytes(*options.max_size) : std::nullopt;
    out.emplace_back("LAPWING_MAX_BYTES", std::to_string(bytes.value_or(0)));
    out.emplace_back("LAPWING_KEEP", options.keep.value_or("0"));
    out.emplace_back("LAPWING_LAST_NS", std::to_string(last_ns(options).value_or(0)));
    out.emplace_back("LAPWING_COMPRESS", options.compress ? "1" : "0");
    return out;
}

void join_recordings(const FileOptions& options, const RecordingPlace& place) {
    std::error_code ignored;
    if (options.max_size || !std::filesystem::exists(place.path(), ignored)) return;
    std::vector<std::string> children;
    for (const std::string& child : place.children()) {
        // A child that outlives its parent goes on by itself.
        if (!is_in_use(child)) children.push_back(child);
    }
    if (is_in_use(place.path())) return;
    const bool ring = options.last && !trace::parts_behind(place.path()).empty();
    if (children.empty() && !ring) return;
    const Status joined = join_recordings(place.path(), children, last_ns(options), options.compress);
    if (!joined) say("warning: the recordings stay apart: " + joined.error().message);
}

}    // namespace lapwing::cli
