// lapwing bench --peaks: what each Vulkan device can do at best.
#include "peaks.hpp"

#if defined(LAPWING_CLI_VULKAN) && defined(LAPWING_CLI_SHADERS)
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lapwing/vulkan_devices.hpp"
#include "peaks_device.hpp"
#endif

namespace lapwing::cli {

#if defined(LAPWING_CLI_VULKAN) && defined(LAPWING_CLI_SHADERS)

namespace {

constexpr uint32_t kFma[] = {
#include "peak_fma.inc"
};
constexpr uint32_t kFma16[] = {
#include "peak_fma16.inc"
};
constexpr uint32_t kTriad[] = {
#include "peak_triad.inc"
};
constexpr uint32_t kNothing[] = {
#include "peak_nothing.inc"
};

constexpr double kFlopsOfRound = 64;     // of one invocation: peak_fma.comp
constexpr uint32_t kInvocations = 64;    // of one workgroup
constexpr double kLongEnoughNs = 20e6;
constexpr uint32_t kMostIterations = 1u << 20;    // a watchdog ends dispatches of seconds
constexpr uint32_t kLaunches = 64;
constexpr uint32_t kTriadGroups = 1u << 14;
constexpr VkDeviceSize kTriadRound = VkDeviceSize{kTriadGroups} * kInvocations * 16;    // of each array

// Best over the rounds of amount / ns, after a run that may contain compilation.
std::optional<PeakSample> measure(PeakDevice& device, std::span<const uint32_t> shader, uint32_t groups,
                                  const BenchEffort& effort, PeakParameters parameters, double amount_of_iteration,
                                  bool grow) {
    VkPipeline const pipeline = device.make_pipeline(shader);
    if (pipeline == VK_NULL_HANDLE || !device.run(pipeline, groups, 1, parameters)) return std::nullopt;
    while (grow && parameters.iterations < kMostIterations) {
        const std::optional<double> ns = device.run(pipeline, groups, 1, parameters);
        if (!ns) return std::nullopt;
        if (*ns >= kLongEnoughNs) break;
        parameters.iterations *= 2;
    }
    std::vector<double> rates;
    for (int round = 0; round < effort.rounds; ++round) {
        const std::optional<double> ns = device.run(pipeline, groups, 1, parameters);
        if (ns && *ns > 0) rates.push_back(amount_of_iteration * parameters.iterations / *ns * 1e9);
    }
    return peak_of(rates);
}

std::optional<double> measure_launch(PeakDevice& device, const BenchEffort& effort) {
    VkPipeline const pipeline = device.make_pipeline(kNothing);
    if (pipeline == VK_NULL_HANDLE) return std::nullopt;
    std::vector<double> times;
    for (int round = 0; round <= effort.rounds; ++round) {
        const std::optional<double> ns = device.run(pipeline, 1, kLaunches, {});
        if (round > 0 && ns && *ns > 0) times.push_back(*ns / kLaunches);
    }
    return times.empty() ? std::nullopt : std::optional(median(times));
}

void put(std::optional<double>& peak, const char* name, const std::optional<PeakSample>& sample,
         const BenchEffort& effort, DevicePeaks& out) {
    if (!sample) {
        out.notes.push_back(fmt::format("{}: the driver refused the shader or failed to time it", name));
        return;
    }
    peak = sample->best;
    out.notes.push_back(
        fmt::format("{}: best of {} rounds; their median is {:.3g}", name, effort.rounds, sample->median));
}

// Three arrays beyond a processor's or a GPU's last cache, within what the device gives.
VkDeviceSize triad_bytes(const VkPhysicalDeviceProperties& properties, const VkPhysicalDeviceMemoryProperties& memory) {
    const bool processor = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    VkDeviceSize heap = 0;
    for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) heap = std::max(heap, memory.memoryHeaps[i].size);
    const VkDeviceSize most = std::min<VkDeviceSize>(
        {VkDeviceSize{processor ? 64u : 256u} << 20, properties.limits.maxStorageBufferRange, heap / 12});
    return std::max<VkDeviceSize>(most / kTriadRound, 1) * kTriadRound;
}

DevicePeaks measure_device(const Vulkan& vk, VkPhysicalDevice physical, const std::string& driver,
                           const BenchEffort& effort) {
    VkPhysicalDeviceProperties properties{};
    vk.function<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(physical, &properties);
    VkPhysicalDeviceMemoryProperties memory{};
    vk.function<PFN_vkGetPhysicalDeviceMemoryProperties>("vkGetPhysicalDeviceMemoryProperties")(physical, &memory);
    DevicePeaks out{.device = properties.deviceName, .api = "vulkan", .driver = driver, .origin = "measured"};
    const std::optional<uint32_t> family = vk.compute_family(physical);
    if (!family) {
        out.notes.emplace_back("none of its queues computes");
        return out;
    }
    const VkDeviceSize bytes = triad_bytes(properties, memory);
    PeakDevice device(vk, physical, *family, bytes);
    if (!device.ok()) {
        out.notes.push_back(device.why());
        return out;
    }
    const bool processor = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    const uint32_t groups = processor ? 64 : 4096;
    const double flops = kFlopsOfRound * groups * kInvocations;
    put(out.f32_flops, "f32_flops", measure(device, kFma, groups, effort, {.iterations = 64}, flops, true), effort,
        out);
    if (device.has_half())
        put(out.f16_flops, "f16_flops", measure(device, kFma16, groups, effort, {.iterations = 64}, flops, true),
            effort, out);
    else
        out.notes.emplace_back("f16_flops: the device computes no half precision (shaderFloat16)");
    const PeakParameters rounds{.iterations = static_cast<uint32_t>(bytes / kTriadRound)};
    put(out.bytes_per_s, "bytes_per_s",
        measure(device, kTriad, kTriadGroups, effort, rounds, 3.0 * static_cast<double>(kTriadRound), false), effort,
        out);
    out.launch_ns = measure_launch(device, effort);
    out.notes.emplace_back("int8_ops: not measured: the shader compiler knows no integer dot product");
    out.notes.emplace_back(device.by_host() ? "timed by the host's clock around submits: the device has no timestamps"
                                            : "timed by the device's own stamps");
    if (!device.ok()) out.notes.push_back(device.why());
    return out;
}

}    // namespace

std::vector<DevicePeaks> measure_vulkan_peaks(const BenchEffort& effort) {
    std::vector<DevicePeaks> out;
    const Vulkan vk;
    if (!vk.ok()) return out;
    const auto named = list_vulkan_devices();
    std::size_t index = 0;
    for (VkPhysicalDevice physical : vk.devices()) {
        const bool known = named.ok() && index < named->size();
        out.push_back(measure_device(vk, physical, known ? (*named)[index].driver : std::string(), effort));
        ++index;
    }
    return out;
}

const char* no_vulkan_peaks() noexcept {
    return "no Vulkan device was found; see: lapwing devices";
}

#else

const char* no_vulkan_peaks() noexcept {
    return "Vulkan devices are not measured by this build: install libvulkan-dev and glslc and build again";
}

std::vector<DevicePeaks> measure_vulkan_peaks(const BenchEffort&) {
    return {};
}

#endif

}    // namespace lapwing::cli
