// lapwing bench: what the layer takes of a program's start, by the meter in the layer itself
// (RecordingStats::start_ns): two processes cannot be told apart by so little.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "bench_figures.hpp"
#include "lapwing/clock.hpp"

#ifdef LAPWING_CLI_VULKAN
#include "bench_instance.hpp"
#include "lapwing/perfetto.hpp"
#include "run_environment.hpp"
#endif

extern char** environ;

namespace lapwing::cli {

#ifdef LAPWING_CLI_VULKAN

namespace {

/// What a child of this program prints as one number; absent where it does not.
std::optional<double> ask_child(const std::vector<std::string>& environment) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    std::vector<char*> variables;
    for (const std::string& entry : environment) variables.push_back(const_cast<char*>(entry.c_str()));
    variables.push_back(nullptr);
    char program[] = "/proc/self/exe";
    char command[] = "bench";
    char option[] = "--startup-probe";
    char* const arguments[] = {program, command, option, nullptr};
    pid_t child = 0;
    const int started = ::posix_spawn(&child, program, &actions, nullptr, arguments, variables.data());
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::string said;
    char buffer[256];
    for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        said.append(buffer, static_cast<std::size_t>(got));
    ::close(ends[0]);
    int status = 1;
    if (started == 0) ::waitpid(child, &status, 0);
    if (started != 0 || status != 0 || said.empty()) return std::nullopt;
    return std::strtod(said.c_str(), nullptr);
}

/// Keeps the stats of a recording.
class StatsSink : public SpanSink {
public:
    Status process(const ProcessInfo&) override { return {}; }
    Status device(const DeviceInfo&) override { return {}; }
    Status track(const TrackInfo&) override { return {}; }
    Status site(SiteId, const Site&) override { return {}; }
    Status spans(std::span<const SpanRecord>) override { return {}; }
    Status step(const StepRecord&) override { return {}; }
    Status stats(const RecordingStats& stats) override {
        stats_ = stats;
        return {};
    }
    Status close() override { return {}; }
    [[nodiscard]] const RecordingStats& get() const { return stats_; }

private:
    RecordingStats stats_;
};

}    // namespace

BenchRow bench_layer_start(const BenchEffort& effort, const std::string& recordings) {
    BenchRow row{.what = "the layer at a program's start", .floor = "creating instance and device", .unit = "ms"};
    const Result<std::string> folder = find_layer_folder();
    if (!folder.ok()) {
        row.reason = folder.error().message;
        return row;
    }
    std::vector<std::string> user;
    for (char** entry = environ; *entry != nullptr; ++entry) user.emplace_back(*entry);
    const std::string file = recordings + "/lapwing-bench-" + std::to_string(::getpid()) + ".pftrace";
    const LayerSettings settings{.folder = *folder, .output = file, .level = "kernel"};
    const std::vector<std::string> environment = program_environment(user, settings);
    std::vector<double> drivers;
    std::vector<double> ours;
    for (int round = 0; round <= effort.rounds; ++round) {
        const std::optional<double> all_ns = ask_child(environment);
        StatsSink sink;
        const bool recorded = all_ns && read_perfetto(file, sink).ok() && sink.get().start_ns;
        ::unlink(file.c_str());
        if (!recorded) {
            row.reason = all_ns ? "the layer made no recording: see what it says on stderr"
                                : "no Vulkan device could be created; see: lapwing devices";
            return row;
        }
        if (round == 0) continue;    // warms up
        ours.push_back(static_cast<double>(*sink.get().start_ns) * 1e-6);
        drivers.push_back(*all_ns * 1e-6 - ours.back());
    }
    row.floor_value = median(drivers);
    row.value = median(ours);
    return row;
}

int bench_startup_probe() {
    const int64_t begin = host_now().value;
    const Vulkan vk;
    const std::vector<VkPhysicalDevice> devices = vk.ok() ? vk.devices() : std::vector<VkPhysicalDevice>{};
    if (devices.empty()) return 1;
    const VkDevice device = vk.make_device(devices.front(), vk.timed_family(devices.front()).value_or(0));
    const int64_t end = host_now().value;
    if (device == VK_NULL_HANDLE) return 1;
    vk.function<PFN_vkDestroyDevice>("vkDestroyDevice")(device, nullptr);
    std::printf("%lld\n", static_cast<long long>(end - begin));
    return 0;
}

#else

BenchRow bench_layer_start(const BenchEffort&, const std::string&) {
    return {.what = "the layer at a program's start", .unit = "ms", .reason = kNoVulkan};
}
int bench_startup_probe() {
    return 1;
}

#endif

}    // namespace lapwing::cli
