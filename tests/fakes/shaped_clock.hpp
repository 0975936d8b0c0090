// The clock that the shape layer makes a driver report: coarse ticks, few valid bits, results that are late.
#pragma once

#include <vulkan/vulkan.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

namespace fakes {

inline double number_from_environment(const char* name, double fallback) {
    const char* const text = std::getenv(name);
    return text != nullptr && *text != '\0' ? std::atof(text) : fallback;
}

/// Turns a driver's nanoseconds into ticks of the shape that SHAPE_PERIOD (52.083 ns) and SHAPE_BITS (36) ask for, of a
/// clock that runs SHAPE_FAST_PPM (0) faster than it says.
/// The period is the float that VkPhysicalDeviceLimits can carry, not the decimal that was asked for, so that a reader
/// who multiplies by what the driver reports gets the right time at any uptime.
class ShapedClock {
public:
    float period() const { return period_; }
    uint32_t bits() const { return bits_; }
    uint64_t ticks(uint64_t ns) const {
        const auto ticks =
            static_cast<uint64_t>(static_cast<long double>(ns) * rate_ / static_cast<long double>(period_));
        return bits_ < 64 ? ticks & ((uint64_t{1} << bits_) - 1) : ticks;
    }
    /// How far apart a tick and its true moment may be.
    uint64_t resolution_ns() const { return static_cast<uint64_t>(std::ceil(period_)); }

private:
    float period_ = static_cast<float>(number_from_environment("SHAPE_PERIOD", 52.083));
    uint32_t bits_ = static_cast<uint32_t>(number_from_environment("SHAPE_BITS", 36));
    long double rate_ = 1 + static_cast<long double>(number_from_environment("SHAPE_FAST_PPM", 0)) * 1e-6L;
};

/// Says for each new result of each query, for its first SHAPE_NOT_READY (3) reads, that it is not there yet.
/// A result is new when its value is: a driver's nanoseconds never repeat, so resets, by host or device, need no
/// watching. Threads: any.
class LateResults {
public:
    bool holds_back(VkQueryPool pool, uint32_t query, uint64_t value) {
        const std::lock_guard lock(mutex_);
        Result& result = results_[{pool, query}];
        if (result.value != value) result = {.value = value, .refusals_left = refusals_};
        if (result.refusals_left == 0) return false;
        --result.refusals_left;
        return true;
    }
    void forget(VkQueryPool pool) {
        const std::lock_guard lock(mutex_);
        std::erase_if(results_, [pool](const auto& entry) { return entry.first.first == pool; });
    }

private:
    struct Result {
        uint64_t value = 0;
        int refusals_left = 0;
    };
    const int refusals_ = static_cast<int>(number_from_environment("SHAPE_NOT_READY", 3));
    std::mutex mutex_;
    std::map<std::pair<VkQueryPool, uint32_t>, Result> results_;
};

/// Appends every result as it is first handed out, "NS TICKS" a line, to the file named by SHAPE_LOG: the truth that a
/// reader of the ticks is compared with.
/// Threads: any.
class ResultLog {
public:
    void write(uint64_t ns, uint64_t ticks) {
        if (path_ == nullptr) return;
        const std::lock_guard lock(mutex_);
        std::FILE* const file = std::fopen(path_, "a");
        if (file == nullptr) return;
        std::fprintf(file, "%llu %llu\n", static_cast<unsigned long long>(ns), static_cast<unsigned long long>(ticks));
        std::fclose(file);
    }

private:
    const char* const path_ = std::getenv("SHAPE_LOG");
    std::mutex mutex_;
};

/// One query's result as a driver gives it with 64 bits and availability.
struct RawResult {
    uint64_t ns = 0;
    uint64_t available = 0;
};

/// Writes a result where and as `flags` ask for: 32 or 64 bits, with or without availability.
inline void write_result(void* out, uint64_t ticks, bool available, VkQueryResultFlags flags) {
    const bool wide = (flags & VK_QUERY_RESULT_64_BIT) != 0;
    const bool with_availability = (flags & VK_QUERY_RESULT_WITH_AVAILABILITY_BIT) != 0;
    if (wide) {
        auto* const words = static_cast<uint64_t*>(out);
        if (available) words[0] = ticks;
        if (with_availability) words[1] = available ? 1 : 0;
    } else {
        auto* const words = static_cast<uint32_t*>(out);
        if (available) words[0] = static_cast<uint32_t>(ticks);
        if (with_availability) words[1] = available ? 1 : 0;
    }
}

}    // namespace fakes
