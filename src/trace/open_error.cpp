#include "trace/open_error.hpp"

#include <cerrno>
#include <system_error>

namespace lapwing::trace {

Error open_error(const std::string& path, int error) {
    if (error == ENOENT || error == ENOTDIR)
        return {Errc::kNotFound, error, "'" + path + "' does not exist: check the name"};
    const char* const remedy = error == EACCES || error == EPERM ? "; ask its owner for permission to read it"
                               : error == EISDIR                 ? "; give the recording (.pftrace) in it"
                                                                 : "; copy it to another disk, or record again";
    return {Errc::kUnreadable, error, "cannot read '" + path + "': " + std::generic_category().message(error) + remedy};
}

}    // namespace lapwing::trace
