// lapwing devices: what each backend finds on this machine, how good its clock is, and why what is missing is missing.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "lapwing/clock.hpp"
#include "lapwing/result.hpp"
#ifdef LAPWING_CLI_CUDA
#include "lapwing/cuda_devices.hpp"
#endif
#ifdef LAPWING_CLI_OPENCL
#include "lapwing/opencl_devices.hpp"
#endif
#ifdef LAPWING_CLI_VULKAN
#include "lapwing/vulkan_devices.hpp"
#endif

namespace lapwing::cli {
namespace {

/// One queue family of a device; a device without families has none.
struct Family {
    uint32_t index = 0;
    uint32_t queues = 0;
    std::string work{};         ///< "graphics+compute+transfer"
    uint32_t valid_bits = 0;    ///< 0: no timestamps, `reason` says why
    double resolution_ns = 0;
    std::string reason{};
};

struct Device {
    uint32_t index = 0;
    std::string name{};
    std::string type{};      ///< "host", "scripted", or what the driver says
    std::string driver{};    ///< empty where there is none
    double resolution_ns = 0;
    uint32_t valid_bits = 0;    ///< of the best queue family
    bool calibrated = false;
    std::string calibration{};    ///< how, or why not
    std::optional<int64_t> uncertainty_ns{};
    std::vector<std::string> notes{};
    std::vector<Family> families{};
};

struct BackendState {
    std::string name{};
    std::string summary{};
    std::string reason{};    ///< why nothing was found; empty where something was
    std::vector<Device> devices{};
};

BackendState describe_cpu() {
    const HostClockInfo clock = host_clock();
    Device device{.name = fmt::format("host clock ({})", lapwing::to_text(clock.source)),
                  .type = "host",
                  .resolution_ns = clock.ns_per_tick,
                  .valid_bits = 64,
                  .calibrated = true,
                  .calibration = "paired with CLOCK_MONOTONIC",
                  .uncertainty_ns = clock.uncertainty_ns};
    if (*clock.reason != '\0') device.notes.emplace_back(clock.reason);
    return {.name = "cpu", .summary = "times host work", .devices = {device}};
}

BackendState describe_sim() {
    return {.name = "sim",
            .summary = "scripted time for tests and as a template for backends",
            .devices = {{.name = "scripted device",
                         .type = "scripted",
                         .resolution_ns = 1,
                         .valid_bits = 64,
                         .calibrated = true,
                         .calibration = "as scripted"}}};
}

#ifdef LAPWING_CLI_VULKAN
std::string work_of(const VulkanQueueFamilyInfo& family) {
    std::string out;
    const auto add = [&out](bool can, const char* word) {
        if (can) out += (out.empty() ? "" : "+") + std::string(word);
    };
    add(family.graphics, "graphics");
    add(family.compute, "compute");
    add(family.transfer, "transfer");
    return out.empty() ? "other" : out;
}

Device describe(const VulkanDeviceInfo& info, uint32_t index) {
    Device device{.index = index,
                  .name = info.name,
                  .type = info.type,
                  .driver = info.driver + ", Vulkan " + info.api_version,
                  .resolution_ns = info.ns_per_tick,
                  .calibrated = info.calibrated,
                  .calibration = info.calibrated ? "VK_EXT_calibrated_timestamps" : info.calibration_reason,
                  .notes = info.quirks};
    for (const VulkanQueueFamilyInfo& family : info.queue_families) {
        device.valid_bits = std::max(device.valid_bits, family.caps.valid_bits);
        device.families.push_back({.index = family.index,
                                   .queues = family.queue_count,
                                   .work = work_of(family),
                                   .valid_bits = family.caps.valid_bits,
                                   .resolution_ns = family.caps.resolution_ns,
                                   .reason = family.caps.reason});
    }
    return device;
}

BackendState describe_vulkan() {
    BackendState out{.name = "vulkan", .summary = "times GPU work of Vulkan programs", .devices = {}};
    const Result<std::vector<VulkanDeviceInfo>> found = list_vulkan_devices();
    if (!found) {
        out.reason = found.error().message;
        return out;
    }
    for (const VulkanDeviceInfo& info : found.value())
        out.devices.push_back(describe(info, uint32_t(out.devices.size())));
    return out;
}
#else
BackendState describe_vulkan() {
    return {.name = "vulkan",
            .summary = "times GPU work of Vulkan programs",
            .reason = "not in this build: install libvulkan-dev and build again",
            .devices = {}};
}
#endif

BackendState describe_opencl() {
    BackendState out{.name = "opencl", .summary = "times GPU work of OpenCL programs", .devices = {}};
#ifdef LAPWING_CLI_OPENCL
    const Result<std::vector<OpenClDeviceInfo>> found = list_opencl_devices();
    if (!found) {
        out.reason = found.error().message;
        return out;
    }
    for (const OpenClDeviceInfo& info : found.value()) {
        Device device{.index = uint32_t(out.devices.size()),
                      .name = info.name,
                      .type = info.type,
                      .driver = info.platform + ", driver " + info.driver,
                      .resolution_ns = info.resolution_ns,
                      .valid_bits = info.valid_bits,
                      .calibrated = info.valid_bits > 0,
                      .calibration = info.device_host_timer ? "clGetDeviceAndHostTimer"
                                                            : "by QUEUED times of markers, where they are usable",
                      .notes = {}};
        if (!device.calibrated) device.calibration = info.reason;
        if (info.out_of_order) device.notes.emplace_back("queues may run out of order");
        out.devices.push_back(std::move(device));
    }
#else
    out.reason = "not in this build: install opencl-headers and build again";
#endif
    return out;
}

BackendState describe_cuda() {
    BackendState out{.name = "cuda", .summary = "times GPU work of CUDA programs", .devices = {}};
#ifdef LAPWING_CLI_CUDA
    const Result<std::vector<CudaDeviceInfo>> found = list_cuda_devices();
    if (!found) {
        out.reason = found.error().message;
        return out;
    }
    for (const CudaDeviceInfo& info : found.value()) {
        Device device{.index = uint32_t(out.devices.size()),
                      .name = info.name,
                      .type = "gpu",
                      .driver = "CUDA " + info.driver,
                      .resolution_ns = info.resolution_ns,
                      .valid_bits = 64,
                      .calibrated = true,
                      .calibration = "by events between two readings of the host's clock",
                      .notes = {}};
        if (!info.capability.empty()) device.notes.emplace_back("compute capability " + info.capability);
        device.notes.emplace_back("the resolution is the documented one; this backend has not been run on hardware");
        out.devices.push_back(std::move(device));
    }
#else
    out.reason = "not in this build: configure with -DLAPWING_BACKEND_CUDA=ON and build again";
#endif
    return out;
}

nlohmann::ordered_json known(double value) {
    return value > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json to_json(const Device& device) {
    nlohmann::ordered_json families = nlohmann::ordered_json::array();
    for (const Family& family : device.families) {
        families.push_back({{"index", family.index},
                            {"queues", family.queues},
                            {"work", family.work},
                            {"valid_bits", family.valid_bits},
                            {"resolution_ns", known(family.resolution_ns)},
                            {"reason", family.reason}});
    }
    nlohmann::ordered_json clock = {{"resolution_ns", known(device.resolution_ns)},
                                    {"valid_bits", device.valid_bits},
                                    {"calibrated", device.calibrated},
                                    {"calibration", device.calibration},
                                    {"uncertainty_ns", nullptr}};
    if (device.uncertainty_ns) clock["uncertainty_ns"] = *device.uncertainty_ns;
    return {{"index", device.index}, {"name", device.name},   {"type", device.type},       {"driver", device.driver},
            {"clock", clock},        {"notes", device.notes}, {"queue_families", families}};
}

std::string to_json(const std::vector<BackendState>& backends) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const BackendState& backend : backends) {
        nlohmann::ordered_json devices = nlohmann::ordered_json::array();
        for (const Device& device : backend.devices) devices.push_back(to_json(device));
        list.push_back({{"name", backend.name}, {"reason", backend.reason}, {"devices", devices}});
    }
    const nlohmann::ordered_json document = {{"schema", "lapwing.devices/1"}, {"backends", list}};
    // A driver may name its device in any bytes.
    return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string clock_text(double resolution_ns, uint32_t valid_bits, const std::string& reason) {
    if (valid_bits == 0) return "no timestamps" + (reason.empty() ? "" : ": " + reason);
    return fmt::format("{:.4g} ns a tick, {} valid bits", resolution_ns, valid_bits);
}

std::string to_text(const BackendState& backend) {
    std::string out = fmt::format("{:<8}{}\n", backend.name, backend.summary);
    if (!backend.reason.empty()) out += fmt::format("  none   {}\n", backend.reason);
    for (const Device& device : backend.devices) {
        out += fmt::format("  {:<6} {}{}\n", device.index, device.name,
                           device.driver.empty() ? "" : fmt::format(" ({}; {})", device.type, device.driver));
        if (device.families.empty())
            out += fmt::format("         clock       {}\n", clock_text(device.resolution_ns, device.valid_bits, ""));
        for (const Family& family : device.families) {
            out += fmt::format("         family {:<4} {} x {}: {}\n", family.index, family.queues, family.work,
                               clock_text(family.resolution_ns, family.valid_bits, family.reason));
        }
        out += fmt::format("         calibrated  {}{}{}\n", device.calibrated ? "yes, " : "no: ", device.calibration,
                           device.uncertainty_ns ? fmt::format(" to {} ns", *device.uncertainty_ns) : "");
        for (const std::string& note : device.notes) out += fmt::format("         note        {}\n", note);
    }
    return out;
}

int run_devices(const std::string& format) {
    if (format != "text" && format != "json")
        return fail(kBadUse, "--format '" + format + "' is not one of: text, json");
    const std::vector<BackendState> backends = {describe_cpu(), describe_sim(), describe_vulkan(), describe_opencl(),
                                                describe_cuda()};
    std::string text;
    if (format == "json")
        text = to_json(backends);
    else
        for (const BackendState& backend : backends) text += to_text(backend);
    return print(text, "the list");
}

}    // namespace

void add_devices_command(CLI::App& app, int& exit_code) {
    auto format = std::make_shared<std::string>("text");
    CLI::App* command = app.add_subcommand("devices", "List what each backend can time on this machine, and why not");
    command->add_option("--format", *format, "text (default) or json")->type_name("FORMAT");
    command->callback([format, &exit_code] { exit_code = run_devices(*format); });
}

}    // namespace lapwing::cli
