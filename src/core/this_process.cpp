#include "lapwing/this_process.hpp"

#include <unistd.h>

#include <cerrno>

#include "lapwing/level.hpp"

namespace lapwing {

ProcessInfo this_process() {
    ProcessInfo info;
    info.pid = getpid();
    info.command = program_invocation_name;
    info.lapwing_version = LAPWING_VERSION;
    info.level = to_text(level());
    return info;
}

}    // namespace lapwing
