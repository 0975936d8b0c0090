// A program under test: llama.cpp decodes some tokens and records the fingerprint of every node. Compiled against the
// workloads' llama.cpp by the test that runs it.
// Usage: llama_fingerprints MODEL OUT TOKENS GPU_LAYERS [BRICK LAYER NMSE]
// GGML_LIBRARIES is the folder of ggml's backends.
// With BRICK, one element of that node's result is moved in the first position, so that its NMSE is the one given.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "lapwing/ggml.hpp"
#include "lapwing/perfetto.hpp"
#include "llama.h"

namespace {

struct Fault {
    std::string brick;
    int32_t layer = -1;
    double nmse = 0;    // 0 = no fault
    bool done = false;
};

struct Run {
    lapwing::GgmlFingerprints* prints = nullptr;
    Fault fault;
};

void plant(ggml_tensor& node, Fault& fault) {
    const lapwing::GgmlBrick brick = lapwing::brick_of(node);
    if (fault.nmse == 0 || fault.done || brick.name != fault.brick || brick.layer != fault.layer) return;
    std::vector<float> values(static_cast<std::size_t>(ggml_nelements(&node)));
    ggml_backend_tensor_get(&node, values.data(), 0, ggml_nbytes(&node));
    double squares = 0;
    for (const float value : values) squares += double(value) * value;
    values[values.size() / 2] += static_cast<float>(std::sqrt(fault.nmse * squares));
    ggml_backend_tensor_set(&node, values.data(), 0, ggml_nbytes(&node));
    fault.done = true;
}

bool callback(ggml_tensor* node, bool ask, void* data) {
    Run& run = *static_cast<Run*>(data);
    if (!ask) plant(*node, run.fault);
    return lapwing::GgmlFingerprints::callback(node, ask, run.prints);
}

int fail(const std::string& message) {
    std::fprintf(stderr, "llama_fingerprints: %s\n", message.c_str());
    return 1;
}

}    // namespace

int main(int argc, char** argv) {
    if (argc != 5 && argc != 8) return 64;
    Run run;
    if (argc == 8) run.fault = {argv[5], std::atoi(argv[6]), std::atof(argv[7])};
    auto file = lapwing::open_perfetto_writer(argv[2]);
    if (!file.ok()) return fail(file.error().message);
    lapwing::ProcessInfo process;
    process.command = "llama_fingerprints";
    if (auto status = file.value()->process(process); !status.ok()) return fail(status.error().message);
    lapwing::GgmlFingerprints prints(*file.value());
    run.prints = &prints;

    ggml_backend_load_all_from_path(std::getenv("GGML_LIBRARIES"));
    llama_log_set(
        [](ggml_log_level level, const char* text, void*) {
            if (level >= GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
        },
        nullptr);
    llama_model_params model_params = llama_model_default_params();
    model_params.n_gpu_layers = std::atoi(argv[4]);
    llama_model* model = llama_model_load_from_file(argv[1], model_params);
    if (model == nullptr) return fail("no model");
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 64;
    // Products in f32 throughout: over a cache of halves the CPU rounds the queries too, and the Vulkan backend does
    // not.
    params.type_k = GGML_TYPE_F32;
    params.type_v = GGML_TYPE_F32;
    params.n_threads = 1;
    params.n_threads_batch = 1;
    params.cb_eval = callback;
    params.cb_eval_user_data = &run;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    llama_context* context = llama_init_from_model(model, params);
    if (context == nullptr) return fail("no context");
    // The same tokens on every backend, whatever it computes.
    for (int32_t token = 0; token < std::atoi(argv[3]); ++token) {
        llama_token input = 10 + token;
        prints.begin(static_cast<uint32_t>(token));
        if (llama_decode(context, llama_batch_get_one(&input, 1)) != 0) return fail("decode");
    }
    llama_free(context);
    llama_model_free(model);
    if (run.fault.nmse != 0 && !run.fault.done) return fail("no node is called " + run.fault.brick);
    std::printf("skipped %llu\n", static_cast<unsigned long long>(prints.skipped()));
    if (!prints.status().ok()) return fail(prints.status().error().message);
    const lapwing::Status closed = file.value()->close();
    return closed.ok() ? 0 : fail(closed.error().message);
}
