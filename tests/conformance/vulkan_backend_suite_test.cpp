// The Vulkan backend in the suite that every backend passes, on the pinned driver.
#include <utility>

#include "conformance/backend_suite.hpp"
#include "conformance/vulkan_harness.hpp"
#include "lapwing/vulkan_backend.hpp"

namespace lapwing::testing {
namespace {

// Each submission is in flight behind a gate until finish() opens it: a timeline semaphore that the host signals.
class VulkanSuiteHarness {
public:
    using BackendType = VulkanBackend;
    static constexpr bool kCanWithhold = true;
    static constexpr uint32_t kMaxMarks = 65536;

    VulkanSuiteHarness() {
        vk_ = VulkanHarness::make({}, why_not_);
        if (vk_ == nullptr) return;
        backend_ = vk_->make_backend();
        queue_ = backend_->open_queue(vk_->family()).value();
        gate_.semaphore = vk_->make_timeline();
        reset_forbidden_calls();
    }
    ~VulkanSuiteHarness() {
        if (vk_ == nullptr) return;
        const Status status = backend_->shutdown();
        EXPECT_TRUE(status.ok()) << status.error().message;
    }
    VulkanSuiteHarness(const VulkanSuiteHarness&) = delete;
    VulkanSuiteHarness& operator=(const VulkanSuiteHarness&) = delete;

    [[nodiscard]] std::string why_not() const { return why_not_; }
    VulkanBackend& backend() { return *backend_; }
    VulkanBackend::Queue queue() { return queue_; }
    DeviceRingOptions options() { return {.max_spans = 4096}; }
    HostNs now() { return {host_ns()}; }

    void begin(uint32_t max_marks) {
        commands_ = vk_->begin_commands();
        const Status status = backend_->begin_commands(queue_, commands_, max_marks);
        EXPECT_TRUE(status.ok()) << status.error().message;
    }
    void work() { vk_->dispatch(commands_, 4); }
    void submit() {
        backend_->end_commands(queue_);
        vk_->end_commands(commands_);
        fence_ = vk_->make_fence();
        vk_->submit(std::exchange(commands_, VK_NULL_HANDLE), fence_, {}, {gate_.semaphore, ++gate_.value});
        backend_->submitted(queue_, {.fence = fence_});
    }
    void finish() {
        if (commands_ != VK_NULL_HANDLE) submit();
        if (fence_ == VK_NULL_HANDLE) return;
        vk_->open_gate(gate_);
        vk_->wait(fence_);
        fence_ = VK_NULL_HANDLE;
    }
    [[nodiscard]] uint64_t blocking_calls() const { return forbidden_calls().waits + forbidden_calls().result_reads; }

private:
    std::string why_not_;
    std::unique_ptr<VulkanHarness> vk_;
    std::unique_ptr<VulkanBackend> backend_;
    VulkanBackend::Queue queue_;
    VulkanTimeline gate_;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkFence fence_ = VK_NULL_HANDLE;
};

}    // namespace

INSTANTIATE_TYPED_TEST_SUITE_P(Vulkan, BackendSuite, VulkanSuiteHarness);

}    // namespace lapwing::testing
