#include "lapwing/opencl_devices.hpp"

#include "backends/opencl/device_clock.hpp"
#include "backends/opencl/entry_points.hpp"

namespace lapwing {
namespace {

using namespace opencl;

std::string platform_text(const EntryPoints& cl, cl_platform_id platform, cl_platform_info what) {
    std::size_t size = 0;
    if (cl.GetPlatformInfo(platform, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
    std::string text(size, '\0');
    if (cl.GetPlatformInfo(platform, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
    text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
    return text;
}

const char* type_text(cl_device_type type) {
    if ((type & CL_DEVICE_TYPE_GPU) != 0) return "gpu";
    if ((type & CL_DEVICE_TYPE_CPU) != 0) return "cpu";
    return (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? "accelerator" : "other";
}

OpenClDeviceInfo describe(const EntryPoints& cl, cl_platform_id platform, cl_device_id device) {
    const DeviceTraits traits = describe_device(cl, device);
    OpenClDeviceInfo out;
    out.name = device_text(cl, device, CL_DEVICE_NAME);
    out.platform = platform_text(cl, platform, CL_PLATFORM_NAME);
    out.platform += ", " + platform_text(cl, platform, CL_PLATFORM_VERSION);
    out.driver = device_text(cl, device, CL_DRIVER_VERSION);
    cl_device_type type = 0;
    if (cl.GetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr) == CL_SUCCESS) out.type = type_text(type);
    cl_command_queue_properties properties = 0;
    static_cast<void>(cl.GetDeviceInfo(device, CL_DEVICE_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr));
    out.out_of_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    out.resolution_ns = traits.resolution_ns;
    out.device_host_timer = traits.device_host_timer;
    out.reason = traits.no_times_reason;
    if (out.reason.empty() && (properties & CL_QUEUE_PROFILING_ENABLE) == 0)
        out.reason = "the device's queues cannot have CL_QUEUE_PROFILING_ENABLE";
    out.valid_bits = out.reason.empty() ? 64 : 0;
    return out;
}

}    // namespace

Result<std::vector<OpenClDeviceInfo>> list_opencl_devices(const char* loader) {
    const Result<EntryPoints> table = EntryPoints::open(loader);
    if (!table.ok()) return table.error();
    const EntryPoints& cl = *table;
    cl_uint count = 0;
    const cl_int asked = cl.GetPlatformIDs(0, nullptr, &count);
    std::vector<cl_platform_id> platforms(count);
    if (asked != CL_SUCCESS || count == 0 || cl.GetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS)
        return Error{Errc::kNotFound, asked,
                     "no OpenCL driver was found: install the GPU's driver, or pocl-opencl-icd to run on the CPU"};
    std::vector<OpenClDeviceInfo> out;
    for (cl_platform_id platform : platforms) {
        cl_uint devices_count = 0;
        if (cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices_count) != CL_SUCCESS) continue;
        std::vector<cl_device_id> devices(devices_count);
        if (cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, devices_count, devices.data(), nullptr) != CL_SUCCESS)
            continue;
        for (cl_device_id device : devices) out.push_back(describe(cl, platform, device));
    }
    if (out.empty())
        return Error{Errc::kNotFound, 0,
                     "the OpenCL drivers that are installed offer no device here: install the GPU's driver, or "
                     "pocl-opencl-icd to run on the CPU"};
    return out;
}

}    // namespace lapwing
