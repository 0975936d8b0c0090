// Kernels by their handles.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "attach/opencl_layer/dispatch.hpp"

namespace lapwing::attach::opencl_layer {

/// One kernel of one program; kernel objects of it that are made again share it, so that its first run alone is a
/// warm-up. Lives as long as the process: commands in flight point to it.
struct KernelInfo {
    std::string name;
    std::array<std::size_t, 3> group{};    ///< work-group size that the kernel requires; zeros = it does not
    std::atomic<bool> used{false};         ///< a command of it was executed
};

/// Threads: any; a shared lock a look-up that the thread's own cache does not answer.
class KernelTable {
public:
    /// A kernel object was made: asks the driver for its name. Throws std::bad_alloc.
    void add(cl_kernel kernel);

    /// Never null: a kernel that was made elsewhere is asked for its name now. Throws std::bad_alloc.
    [[nodiscard]] KernelInfo* find(cl_kernel kernel);

    /// The program is built (again): its kernels are new code.
    void forget_program(cl_program program) noexcept;

    void lock_for_fork() noexcept { mutex_.lock(); }
    void unlock_in_parent() noexcept { mutex_.unlock(); }
    void renew_lock_in_child() noexcept { new (&mutex_) std::shared_mutex; }

private:
    [[nodiscard]] KernelInfo* describe(cl_kernel kernel);

    std::shared_mutex mutex_;
    // Rises when a handle gets another meaning: drivers hand out freed ones again at once.
    std::atomic<uint64_t> generation_{1};
    std::unordered_map<cl_kernel, KernelInfo*> by_handle_;
    std::map<std::pair<cl_program, std::string>, KernelInfo*> by_name_;
};

/// The process's table. Never destroyed.
[[nodiscard]] KernelTable& kernels() noexcept;

}    // namespace lapwing::attach::opencl_layer
