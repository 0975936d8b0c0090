#include "lapwing/cuda_devices.hpp"

#include "backends/cuda/driver_errors.hpp"
#include "backends/cuda/driver_names.hpp"
#include "backends/cuda/entry_points.hpp"

namespace lapwing {

using namespace cuda;

Result<std::vector<CudaDeviceInfo>> list_cuda_devices(void* (*find)(const char* symbol)) {
    const Result<EntryPoints> table = EntryPoints::start(find);
    if (!table.ok()) return table.error();
    const EntryPoints& cu = *table;
    int version = 0;
    int count = 0;
    static_cast<void>(cu.DriverGetVersion(&version));
    if (const Code code = cu.DeviceGetCount(&count); code != kSuccess) return describe_start(code);
    if (count == 0) return describe_start(kNoDevice);
    std::vector<CudaDeviceInfo> out;
    for (int i = 0; i < count; ++i) {
        Device device = 0;
        if (const Code code = cu.DeviceGet(&device, i); code != kSuccess)
            return call_error(Errc::kDriver, "cuDeviceGet", code);
        CudaDeviceInfo info;
        char name[256] = "";
        if (cu.DeviceGetName(name, sizeof name - 1, device) == kSuccess) info.name = name;
        info.driver = std::to_string(version / kVersionMajor);
        info.driver += ".";
        info.driver += std::to_string(version % kVersionMajor / kVersionMinor);
        int major = 0;
        int minor = 0;
        if (cu.DeviceGetAttribute(&major, kCapabilityMajor, device) == kSuccess &&
            cu.DeviceGetAttribute(&minor, kCapabilityMinor, device) == kSuccess) {
            info.capability = std::to_string(major);
            info.capability += ".";
            info.capability += std::to_string(minor);
        }
        out.push_back(std::move(info));
    }
    return out;
}

}    // namespace lapwing
