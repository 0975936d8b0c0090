// What processes, threads and devices of a Chrome trace are called, as its metadata says in any order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "trace/chrome_source.hpp"

namespace lapwing::trace {

/// The thread of a process, as the file writes both.
struct ChromeThread {
    std::string pid;
    std::string tid;
    bool device = false;
};

/// Shape:   remembers at most 2^16 names of each sort; later ones are passed over.
class ChromeNames {
public:
    /// Takes an event of phase "M".
    void metadata(const ChromeEvent& event);

    [[nodiscard]] std::string thread(const ChromeThread& thread, bool with_process) const;
    /// Shape:   `root` has what the file says of its devices by number.
    [[nodiscard]] std::string device(const std::string& pid, const ChromeRoot& root) const;
    /// Whether open_chrome_writer() made this process for a device.
    [[nodiscard]] bool is_device_process(std::string_view pid) const;
    [[nodiscard]] bool by_lapwing() const noexcept { return by_lapwing_; }

private:
    using Names = std::map<std::string, std::string, std::less<>>;
    Names processes_;    // by pid
    Names labels_;       // by pid
    Names threads_;      // by pid, a separator, tid
    bool by_lapwing_ = false;
    bool has_device_processes_ = false;
};

}    // namespace lapwing::trace
