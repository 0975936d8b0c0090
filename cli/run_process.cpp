#include "run_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace lapwing::cli {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> out;
    out.reserve(strings.size() + 1);
    for (const std::string& string : strings) out.push_back(const_cast<char*>(string.c_str()));
    out.push_back(nullptr);
    return out;
}

/// In the child: becomes the program, or sends errno to the parent and exits.
[[noreturn]] void become_program(char* const* arguments, char* const* environment, const sigset_t& mask, int report) {
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    ::execvpe(arguments[0], arguments, environment);
    const int error = errno;
    [[maybe_unused]] const ssize_t sent = ::write(report, &error, sizeof error);
    ::_exit(127);
}

/// Waits for the child's end; every signal in `watched` is blocked, so that none can be missed between two calls.
ProgramEnd wait_and_forward(pid_t child, const sigset_t& watched) {
    for (;;) {
        int status = 0;
        if (::waitpid(child, &status, WNOHANG) == child) {
            if (WIFSIGNALED(status)) return {.signalled = true, .number = WTERMSIG(status)};
            return {.signalled = false, .number = WEXITSTATUS(status)};
        }
        siginfo_t info{};
        const int signal = ::sigwaitinfo(&watched, &info);
        // The kernel has sent the terminal's signals (si_code > 0) to the whole foreground group, the program included:
        // sent on they would arrive twice, and many programs take a second Ctrl-C for "at once".
        if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) ::kill(child, signal);
    }
}

}    // namespace

std::size_t count_processes_with(const std::string& variable) {
    std::size_t count = 0;
    std::error_code ignored;
    for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator("/proc", ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos || name == std::to_string(::getpid())) continue;
        std::ifstream file(entry.path() / "environ");
        for (std::string one; std::getline(file, one, '\0');) {
            if (one != variable) continue;
            ++count;
            break;
        }
    }
    return count;
}

Result<ProgramEnd> run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
    const std::vector<char*> arguments = pointers(command);
    const std::vector<char*> variables = pointers(environment);
    ::signal(SIGCHLD, SIG_DFL);    // where it is inherited as ignored, the child's exit code would be thrown away
    sigset_t watched;
    sigset_t before;
    ::sigemptyset(&watched);
    ::sigaddset(&watched, SIGCHLD);
    for (const int signal : kForwarded) ::sigaddset(&watched, signal);
    ::pthread_sigmask(SIG_BLOCK, &watched, &before);

    int report[2];
    const pid_t child = ::pipe2(report, O_CLOEXEC) == 0 ? ::fork() : -1;
    if (child < 0) {
        const int error = errno;
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return Error{Errc::kExhausted, error,
                     std::strerror(error) + std::string("; free some memory, or raise the limit of processes (ulimit "
                                                        "-u)")};
    }
    if (child == 0) become_program(arguments.data(), variables.data(), before, report[1]);
    ::close(report[1]);
    int error = 0;
    const bool failed = ::read(report[0], &error, sizeof error) == ssize_t{sizeof error};
    ::close(report[0]);
    const ProgramEnd end = wait_and_forward(child, watched);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failed) {
        // A path through something that is no folder (ENOTDIR) names no program either.
        const bool absent = error == ENOENT || error == ENOTDIR;
        return Error{absent ? Errc::kNotFound : Errc::kUnreadable, error, std::strerror(error)};
    }
    return end;
}

}    // namespace lapwing::cli
