// vk_fork MODE: a Vulkan program of several processes. Prints one JSON object with the dispatches of each.
//   fork      3 dispatches, then a child without exec, which opens Vulkan anew for 5 more, then 3 in the parent
//   exec      3 dispatches, then two children that are this program again, with 5 and 7, then 3 in the parent
//   killed    as exec; the children kill themselves when a second has passed since they saw their work complete
//   long MS   dispatches for so long, two every 5 ms
//   child N [die]
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "vulkan_device.hpp"

namespace programs {
namespace {

// Opens Vulkan where it is made.
class Worker {
public:
    void dispatch(unsigned count) {
        const VkCommandBuffer commands = device_.make_commands(pool_);
        device_.begin(commands);
        for (unsigned i = 0; i < count; ++i) {
            device_.dispatch(commands, pipeline_, {});
            device_.barrier(commands);
        }
        device_.end(commands);
        device_.submit({commands}, fence_);
        device_.wait(fence_);
    }

private:
    VulkanDevice device_;
    VkPipeline pipeline_ = device_.make_pipeline("add_f32");
    VkFence fence_ = device_.make_fence();
    VkCommandPool pool_ = device_.make_pool();
};

int status_of(pid_t child) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child) return -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int run_fork() {
    Worker worker;
    worker.dispatch(3);
    const pid_t child = ::fork();
    if (child == 0) {
        { Worker().dispatch(5); }
        // Not exit(): lavapipe's own handler joins threads of the parent there, and crashes, with or without a layer.
        ::_exit(0);
    }
    const int status = status_of(child);
    worker.dispatch(3);
    std::printf("{\"parent\":6,\"status\":%d}\n", status);
    return 0;
}

pid_t start_child(const char* program, const char* dispatches, bool die) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::execl(program, program, "child", dispatches, die ? "die" : nullptr, nullptr);
    ::_exit(127);
}

int run_exec(const char* program, bool die) {
    Worker worker;
    worker.dispatch(3);
    const pid_t first = start_child(program, "5", die);
    const pid_t second = start_child(program, "7", die);
    const int statuses[] = {status_of(first), status_of(second)};
    worker.dispatch(3);
    std::printf("{\"parent\":6,\"children\":12,\"statuses\":[%d,%d]}\n", statuses[0], statuses[1]);
    return 0;
}

int run_long(int ms) {
    Worker worker;
    unsigned dispatches = 0;
    for (const int64_t end_ns = now_ns() + ms * int64_t{1'000'000}; now_ns() < end_ns; dispatches += 2) {
        worker.dispatch(2);
        ::usleep(5000);
    }
    std::printf("{\"dispatches\":%u}\n", dispatches);
    return 0;
}

int run_child(unsigned dispatches, bool die) {
    Worker worker;
    worker.dispatch(dispatches);
    if (!die) return 0;
    ::usleep(1'100'000);
    return ::raise(SIGKILL);
}

}    // namespace
}    // namespace programs

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    if (mode == "fork") return programs::run_fork();
    if (mode == "exec" || mode == "killed") return programs::run_exec(argv[0], mode == "killed");
    if (mode == "long" && argc > 2) return programs::run_long(std::atoi(argv[2]));
    if (mode == "child" && argc > 2) return programs::run_child(static_cast<unsigned>(std::atoi(argv[2])), argc > 3);
    std::fputs("usage: vk_fork MODE; the modes are described in vk_fork.cpp\n", stderr);
    return 2;
}
