#include "report_streams.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace lapwing::testing {

void StreamWriter::process(const std::string& command, const std::string& level, uint32_t every) {
    ProcessInfo info;
    info.pid = 4711;
    info.command = command;
    info.lapwing_version = "0.1.0";
    info.level = level;
    info.every = every;
    EXPECT_TRUE(sink_.process(info).ok());
}

void StreamWriter::device(uint32_t id, const std::string& name, double resolution_ns, uint32_t valid_bits) {
    DeviceInfo info;
    info.id = id;
    info.api = "vulkan";
    info.name = name;
    info.driver = "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)";
    info.clock = ClockInfo{resolution_ns, valid_bits, true, 12'000};
    EXPECT_TRUE(sink_.device(info).ok());
}

TrackId StreamWriter::queue(uint32_t device, const std::string& name) {
    EXPECT_TRUE(sink_.track(TrackInfo{++last_track_, TrackKind::kDeviceQueue, device, name}).ok());
    return last_track_;
}

TrackId StreamWriter::thread(const std::string& name) {
    EXPECT_TRUE(sink_.track(TrackInfo{++last_track_, TrackKind::kHostThread, 0, name}).ok());
    return last_track_;
}

SiteId StreamWriter::site(const Site& site) {
    EXPECT_TRUE(sink_.site(++last_site_, site).ok());
    return last_site_;
}

void StreamWriter::span(TrackId track, SiteId site, int64_t begin_ns, int64_t duration_ns, uint32_t step) {
    SpanRecord record;
    record.begin_ns = begin_ns;
    record.duration_ns = duration_ns;
    record.site = site;
    record.step = step;
    record.track = track;
    EXPECT_TRUE(sink_.spans({&record, 1}).ok());
}

void StreamWriter::step(uint32_t index, int64_t begin_ns, int64_t end_ns, uint64_t dispatches, bool armed) {
    EXPECT_TRUE(sink_.step(StepRecord{index, begin_ns, end_ns, dispatches, armed}).ok());
}

void StreamWriter::stats(const RecordingStats& stats) {
    EXPECT_TRUE(sink_.stats(stats).ok());
}

Site make_site(const std::string& op, const std::string& kernel, SpanKind kind) {
    Site site;
    site.op = op;
    site.label = op;
    site.kernel = kernel;
    site.kind = kind;
    return site;
}

namespace {

// One dispatch or copy of a decoded token.
struct Work {
    std::string op;
    std::string tensor;
    std::string kernel;
    int32_t layer;
    int64_t typical_ns;
    SpanKind kind = SpanKind::kDispatch;
};

std::vector<Work> decode_step(uint32_t layers) {
    std::vector<Work> work;
    for (const char* input : {"inp_tokens", "inp_pos", "kq_mask"})
        work.push_back({"", input, "", -1, 2'100, SpanKind::kCopy});
    work.push_back({"GET_ROWS", "inp_embd", "get_rows_q4_0_f32", -1, 8'400});
    for (uint32_t i = 0; i < layers; ++i) {
        const auto layer = static_cast<int32_t>(i);
        const auto add = [&](const char* op, const char* tensor, const char* kernel, int64_t ns) {
            work.push_back({op, std::string{tensor} + "-" + std::to_string(layer), kernel, layer, ns});
        };
        add("RMS_NORM+MUL", "norm", "rms_norm_mul_f32", 11'800);
        add("MUL_MAT", "Qcur", "mul_mat_vec_q4_0_f32_f32", 64'000);
        add("MUL_MAT", "Kcur", "mul_mat_vec_q4_0_f32_f32", 33'000);
        add("MUL_MAT", "Vcur", "mul_mat_vec_q4_0_f32_f32", 33'500);
        add("ROPE", "Qcur_rope", "rope_norm_f32", 9'900);
        add("ROPE", "Kcur_rope", "rope_norm_f32", 7'300);
        add("SET_ROWS", "cache_k_l", "set_rows_f16_i64", 6'200);
        add("SET_ROWS", "cache_v_l", "set_rows_f16_i64", 6'100);
        add("FLASH_ATTN_EXT", "fattn", "flash_attn_f32_f16_D64_f32accf16_aligned", 88'000);
        add("MUL_MAT+ADD", "attn_out", "mul_mat_vec_q4_0_f32_f32_add", 66'000);
        add("RMS_NORM+MUL", "ffn_norm", "rms_norm_mul_f32", 11'600);
        add("MUL_MAT", "ffn_gate", "mul_mat_vec_q4_0_f32_f32", 171'000);
        add("MUL_MAT", "ffn_up", "mul_mat_vec_q4_0_f32_f32", 172'000);
        add("GLU", "ffn_swiglu", "swiglu_f32", 14'500);
        add("MUL_MAT+ADD", "ffn_out", "mul_mat_vec_q4_0_f32_f32_add", 181'000);
    }
    work.push_back({"GET_ROWS", "attn_sel", "get_rows_f32", -1, 5'300});
    work.push_back({"GET_ROWS", "res_sel", "get_rows_f32", -1, 5'200});
    work.push_back({"RMS_NORM+MUL", "result_norm", "rms_norm_mul_f32", -1, 12'000});
    work.push_back({"MUL_MAT", "result_output", "mul_mat_vec_q6_k_f32_f32", -1, 940'000});
    work.push_back({"", "logits", "", -1, 18'000, SpanKind::kCopy});
    return work;
}

// A spread that repeats on every machine: 0.92 to 1.30 times the typical time, long towards the slow side.
int64_t spread(int64_t typical_ns, uint64_t& state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto r = static_cast<int64_t>(state >> 54u);    // 0..1023
    return typical_ns * 92 / 100 + typical_ns * (r * r * r >> 20u) / 1024 * 38 / 100;
}

}    // namespace

void feed_decode(SpanSink& sink, uint32_t layers, uint32_t steps) {
    StreamWriter stream{sink};
    stream.process("llama-bench -m tiny.gguf -t 1 -p 0 -n 32 -ngl 99 -r 1");
    stream.device(1, "llvmpipe (LLVM 15.0.6, 256 bits)");
    const TrackId queue = stream.queue(1, "queue 0");
    const TrackId thread = stream.thread("thread 4711");
    const SiteId submit = stream.site(make_site("vkQueueSubmit", "", SpanKind::kHost));
    const SiteId wait = stream.site(make_site("vkWaitForFences", "", SpanKind::kHost));

    const std::vector<Work> work = decode_step(layers);
    std::map<std::pair<std::string, bool>, SiteId> sites;
    std::map<std::string, bool> compiled;
    uint64_t state = 20240229;
    RecordingStats stats;
    int64_t now = 1'000'000'000;
    stats.window_begin_ns = now - 3'000'000;
    for (uint32_t step = 0; step < steps; ++step) {
        const int64_t begin = now;
        uint64_t dispatches = 0;
        stream.span(thread, submit, now, 41'000, step);
        int64_t device = now + 30'000;
        for (const Work& item : work) {
            const bool first = !item.kernel.empty() && !compiled[item.kernel];
            if (first) compiled[item.kernel] = true;
            const std::string label = item.op.empty() ? "" : item.op + " " + item.tensor;
            SiteId& site = sites[{item.op + item.tensor, first}];
            if (site == 0) {
                Site described = make_site(item.op, item.kernel, item.kind);
                described.label = label;
                described.layer = item.layer;
                described.warmup = first;
                site = stream.site(described);
            }
            const int64_t duration = spread(item.typical_ns, state) + (first ? 24'000'000 : 0);
            stream.span(queue, site, device, duration, step);
            device += duration + 1'500;
            dispatches += item.kind == SpanKind::kDispatch ? 1 : 0;
        }
        stream.span(thread, wait, now + 60'000, device - now - 20'000, step);
        now = device + 55'000;
        stream.step(step, begin, now, dispatches);
        stats.recorded += work.size();
        stats.executed_dispatches += dispatches;
        now += 240'000;    // sampling the next token
    }
    stats.begun = stats.recorded + 3;
    stats.lost[LossReason::kAbandoned] = 3;
    stats.stamps = 2 * stats.begun;
    stats.hook_ns = static_cast<int64_t>(stats.begun) * 310;
    stats.result_reads = steps;
    stats.window_end_ns = now + 2'000'000;
    stats.final = true;
    stream.stats(stats);
}

}    // namespace lapwing::testing
