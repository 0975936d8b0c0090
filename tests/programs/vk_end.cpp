// vk_end MODE [--rounds N] [--then PROGRAM]: a Vulkan program that does --rounds dispatches, sees each complete, says
// so as JSON, and ends in an unusual way. Some modes let a writer in the background catch up first.
//   abort      abort()
//   quick      _exit(5): no exit handlers
//   terminate  raises SIGTERM, whose action is the default one
//   exec       becomes `PROGRAM resubmit --rounds 2`
//   threads    exit() while another thread goes on submitting
//   fork       a child that exit()s in between, then --rounds more
//   devices    a second device when the first one is destroyed, then two at once, each with --rounds dispatches
//   signals    lists the signals whose action or mask is not the default, and counts the threads that would take one
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "vulkan_device.hpp"

namespace programs {
namespace {

using namespace std::chrono_literals;

struct Options {
    std::string_view mode;
    unsigned rounds = 10;
    const char* then = "";
};

/// A device with what one thread needs to dispatch.
struct Worker {
    VulkanDevice device;
    VkPipeline pipeline = device.make_pipeline("end_f32");
    VkFence fence = device.make_fence();
    VkCommandBuffer commands = device.make_commands(device.make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT));

    void dispatch(unsigned rounds) {
        for (unsigned round = 0; round < rounds; ++round) {
            device.begin(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
            device.dispatch(commands, pipeline);
            device.end(commands);
            device.submit({commands}, fence);
            device.wait(fence);
        }
    }
};

void say(unsigned dispatches) {
    std::printf("{\"dispatches\":%u}\n", dispatches);
    std::fflush(stdout);
}

[[noreturn]] void end_abruptly(const Options& options) {
    Worker worker;
    worker.dispatch(options.rounds);
    say(options.rounds);
    std::this_thread::sleep_for(2s);
    if (options.mode == "abort") std::abort();
    if (options.mode == "quick") _exit(5);
    if (options.mode == "terminate") raise(SIGTERM);
    execl(options.then, options.then, "resubmit", "--rounds", "2", static_cast<char*>(nullptr));
    std::perror(options.then);
    _exit(1);
}

[[noreturn]] void end_beside_a_thread(unsigned rounds) {
    auto* const worker = new Worker;    // never destroyed: the thread uses it to the end
    std::atomic<unsigned> done{0};
    std::thread([worker, &done] {
        for (;;) {
            worker->dispatch(1);
            done.fetch_add(1);
        }
    }).detach();
    while (done.load() < rounds) std::this_thread::sleep_for(1ms);
    say(rounds);
    std::exit(0);
}

int fork_in_between(unsigned rounds) {
    Worker worker;
    worker.dispatch(rounds);
    if (const pid_t child = fork(); child == 0) {
        std::exit(0);
    } else {
        int status = 0;
        if (waitpid(child, &status, 0) != child || status != 0) return 1;
    }
    worker.dispatch(rounds);
    say(2 * rounds);
    return 0;
}

int several_devices(unsigned rounds) {
    { Worker().dispatch(rounds); }
    Worker first;
    Worker second;
    first.dispatch(rounds);
    second.dispatch(rounds);
    say(3 * rounds);
    return 0;
}

void list_signals(const char* when) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    for (int signal = 1; signal < SIGRTMAX; ++signal) {
        struct sigaction action {};
        if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_DFL)
            std::printf("%s: signal %d has an action\n", when, signal);
        if (sigismember(&mask, signal) == 1) std::printf("%s: signal %d is blocked\n", when, signal);
    }
}

// A signal sent to the process goes to any thread that does not block it: how many could get one that main blocks?
unsigned threads_that_take(int signal) {
    unsigned open = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream status(task.path() / "status");
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("SigBlk:") && (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) == 0)
                ++open;
    }
    return open;
}

int look_at_signals(unsigned rounds) {
    list_signals("before");
    Worker worker;
    worker.dispatch(rounds);
    list_signals("with a device");
    std::printf("threads that take SIGUSR1: %u\n", threads_that_take(SIGUSR1));
    return 0;
}

int run(const Options& options) {
    if (options.mode == "threads") end_beside_a_thread(options.rounds);
    if (options.mode == "fork") return fork_in_between(options.rounds);
    if (options.mode == "devices") return several_devices(options.rounds);
    if (options.mode == "signals") return look_at_signals(options.rounds);
    for (const std::string_view mode : {"abort", "quick", "terminate", "exec"})
        if (options.mode == mode) end_abruptly(options);
    std::fputs("usage: vk_end MODE [--rounds N] [--then PROGRAM]; the modes are described in vk_end.cpp\n", stderr);
    return 2;
}

}    // namespace
}    // namespace programs

int main(int argc, char** argv) {
    programs::Options options;
    if (argc > 1) options.mode = argv[1];
    for (int i = 2; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--rounds") == 0) options.rounds = static_cast<unsigned>(std::atoi(argv[i + 1]));
        if (std::strcmp(argv[i], "--then") == 0) options.then = argv[i + 1];
    }
    return programs::run(options);
}
