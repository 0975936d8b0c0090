// Every kernel lookup with its place in the program: what was missing at boot, and what is asked for too late.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/result.hpp"

namespace lapwing {

/// Where in the program a kernel is looked up. The default is the place of the call itself.
struct CallSite {
    const char* file = "";
    uint32_t line = 0;
    // Not std::source_location: clang 14 has none in libstdc++'s form.
    [[nodiscard]] static constexpr CallSite here(const char* file = __builtin_FILE(),
                                                 uint32_t line = __builtin_LINE()) noexcept {
        return {file, line};
    }
};

/// What a lookup that fails after seal() comes to.
enum class LateLookup : uint8_t {
    kError = 0,    ///< an Error, each time
    kWarnOnce,     ///< a line in warnings(), once a kernel and place
};

/// One kernel as one place asked for it.
struct KernelLookup {
    std::string kernel;         ///< "module:name", or "name"
    std::string place;          ///< "file:line"
    uint64_t found = 0;         ///< lookups that succeeded
    uint64_t missing = 0;       ///< lookups that failed
    bool after_seal = false;    ///< first asked for after seal()
};

/// Keeps the list of kernel lookups of an engine.
///
/// While the engine boots, all lookups are recorded; missing() says what the build lacks. seal() ends the boot: a
/// lookup that fails from then on would have been served by nothing but a fallback, in the middle of a request, and is
/// made an error or a warning. It never aborts and prints nothing.
///
/// Shape:   at most `max_lookups` pairs of kernel and place are kept; further ones are counted.
/// Cost:    cold: a lock, a search, an allocation for a new pair. Look kernels up once, not for each launch.
/// Threads: any.
class KernelAudit {
public:
    explicit KernelAudit(LateLookup policy = LateLookup::kError, std::size_t max_lookups = 65536)
        : policy_(policy), max_lookups_(max_lookups) {}

    /// Records one lookup and whether it found the kernel.
    /// Errors:  kNotFound after seal() where the kernel was not found and the policy is kError: it names the kernel and
    ///          the place. kInvalidArgument for an empty name.
    Status lookup(std::string_view module, std::string_view name, bool found, CallSite site = CallSite::here());

    void seal();
    [[nodiscard]] bool sealed() const;

    /// All lookups, by kernel, then place.
    [[nodiscard]] std::vector<KernelLookup> lookups() const;
    /// Those that failed.
    [[nodiscard]] std::vector<KernelLookup> missing() const;
    /// What kWarnOnce had to say so far, oldest first.
    [[nodiscard]] std::vector<std::string> warnings() const;
    /// Lookups of pairs beyond `max_lookups`.
    [[nodiscard]] uint64_t beyond() const;

private:
    const LateLookup policy_;
    const std::size_t max_lookups_;
    mutable std::mutex lock_;
    bool sealed_ = false;
    std::map<std::pair<std::string, std::string>, KernelLookup> lookups_;
    std::vector<std::string> warnings_;
    uint64_t beyond_ = 0;
};

}    // namespace lapwing
