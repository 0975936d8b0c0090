#include "trace/chrome_kinds.hpp"

namespace lapwing::trace {

namespace {

constexpr ChromeKind kHost{};

ChromeKind on_device(SpanKind kind) {
    return {kind, true, false, false};
}

ChromeKind of_lapwing(SpanKind kind) {
    return {kind, true, false, true};
}

}    // namespace

ChromeKind kind_of(const ChromeEvent& event, bool on_device_process) noexcept {
    const std::string_view cat = event.cat.view();
    // PyTorch's names, and those of its versions before 2022, which ONNX Runtime's CUDA profiler shares.
    if (cat == "kernel" || cat == "Kernel") return on_device(SpanKind::kDispatch);
    if (cat == "gpu_memcpy" || cat == "Memcpy") return on_device(SpanKind::kCopy);
    if (cat == "gpu_memset" || cat == "Memset") return on_device(SpanKind::kFill);
    if (cat == "Api" && event.pid.view() == "-1" && event.tid.view() == "-1") {
        ChromeKind kind = on_device(SpanKind::kDispatch);
        kind.onnx = true;
        return kind;
    }
    if (cat == "OpenCL" && event.tid.view() == "Device") return on_device(SpanKind::kDispatch);
    if (cat == "dispatch") return of_lapwing(SpanKind::kDispatch);
    if (cat == "copy" && on_device_process) return of_lapwing(SpanKind::kCopy);
    if (cat == "fill" && on_device_process) return of_lapwing(SpanKind::kFill);
    if (cat == "render" && on_device_process) return of_lapwing(SpanKind::kRender);
    return on_device_process ? of_lapwing(SpanKind::kDispatch) : kHost;
}

void ChromeFlavour::see(const ChromeEvent& event, const ChromeKind& kind) noexcept {
    const std::string_view cat = event.cat.view();
    if (kind.lapwing) seen_ |= kLapwing;
    if (cat == "cpu_op" || cat == "cuda_runtime" || cat == "kernel" || cat == "gpu_memcpy" || cat == "user_annotation")
        seen_ |= kKineto;
    if (kind.onnx || cat == "Session" || cat == "Node") seen_ |= kOnnx;
    if (cat == "OpenCL") seen_ |= kGgml;
    if (cat == "FEE") seen_ |= kViz;
    if (event.pid.view() == "CPU functions") seen_ |= kAutograd;
}

std::string ChromeFlavour::name(const ChromeRoot& root) const {
    if ((seen_ & kLapwing) != 0 || root.has("lapwing")) return "Lapwing";
    if (root.has("viztracer_metadata") || (seen_ & kViz) != 0) return "VizTracer";
    if ((seen_ & kKineto) != 0 || root.has("deviceProperties") || root.has("distributedInfo"))
        return "PyTorch (Kineto)";
    if ((seen_ & kOnnx) != 0) return "ONNX Runtime";
    if ((seen_ & kGgml) != 0) return "ggml (OpenCL)";
    if ((seen_ & kAutograd) != 0) return "PyTorch (autograd profiler)";
    return {};
}

}    // namespace lapwing::trace
