// Fingerprints of every node of a ggml graph, through the evaluation callback that ggml's scheduler and llama.cpp
// offer. Header only; include it where "ggml.h" and "ggml-backend.h" are found, and link lapwing::ggml.
//
//     lapwing::GgmlFingerprints prints(recording);               // any SpanSink
//     params.cb_eval = lapwing::GgmlFingerprints::callback;      // or ggml_backend_sched_set_eval_callback()
//     params.cb_eval_user_data = &prints;
//     for (uint32_t token = 0; ...; ++token) {
//         prints.begin(token);
//         llama_decode(context, batch);
//     }
//
// With a callback ggml computes node by node and waits for each: nothing is fused, nothing overlaps. The times are
// therefore those of nodes by themselves ("isolated"), and on backends that fuse (Vulkan: RMS_NORM and MUL, ...) other
// kernels run than without it.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ggml-backend.h"
#include "ggml.h"
#include "lapwing/clock.hpp"
#include "lapwing/fingerprint.hpp"
#include "lapwing/sink.hpp"

namespace lapwing {

/// What a node of a graph is called in a recording.
/// Shape:   "ffn_out-3" is brick "ffn_out" of layer 3. The operation is in front ("MUL_MAT ffn_out"), since engines
///          give several nodes of a layer one name. A node without a name of its own is called by the first of its
///          sources that has one ("GET_ROWS of l_out"): its place in the graph would not do, because backends reorder
///          graphs (Vulkan does).
struct GgmlBrick {
    std::string name;
    int32_t layer = -1;
};
[[nodiscard]] inline GgmlBrick brick_of(const ggml_tensor& node) {
    // The name without its layer; empty where ggml made it up from the node's place.
    const auto named = [](const ggml_tensor& tensor, int32_t& layer) {
        std::string_view name = ggml_get_name(&tensor);
        if (name.starts_with("node_") || name.starts_with("leaf_")) return std::string_view();
        const std::size_t dash = name.rfind('-');
        if (dash == std::string_view::npos) return name;
        const char* const end = name.data() + name.size();
        int32_t number = -1;
        const auto [stop, error] = std::from_chars(name.data() + dash + 1, end, number);
        if (error != std::errc() || stop != end || number < 0) return name;
        layer = number;
        return name.substr(0, dash);
    };
    GgmlBrick out{ggml_op_desc(&node), -1};
    std::string_view name = named(node, out.layer);
    out.name += name.empty() ? "" : " ";
    for (std::size_t i = 0; name.empty() && i < GGML_MAX_SRC && node.src[i] != nullptr; ++i) {
        name = named(*node.src[i], out.layer);
        out.name += name.empty() ? "" : " of ";
    }
    out.name += name;
    return out;
}

/// The element type that Lapwing knows it by; nothing for quantised blocks, i32 and others.
[[nodiscard]] inline std::optional<DType> dtype_of(ggml_type type) noexcept {
    switch (type) {
        case GGML_TYPE_F32:
            return DType::kF32;
        case GGML_TYPE_F16:
            return DType::kF16;
        case GGML_TYPE_BF16:
            return DType::kBf16;
        case GGML_TYPE_I8:
            return DType::kI8;
        default:
            return std::nullopt;
    }
}

/// Takes the fingerprint and the isolated time of each node that computes something, and hands both to a sink.
/// Shape:   the sink outlives it. Nodes that only look at others (views, reshapes, permutations) are passed over. A
///          brick that comes again in a position is "NAME #2" and so on. Order is that of the graph as it is run.
/// Errors:  the sink's first one is kept (status()); the graph is computed all the same.
/// Cost:    the graph runs node by node; each node's tensor is copied to the host and read once.
/// Threads: one at a time, as ggml calls it.
class GgmlFingerprints {
public:
    explicit GgmlFingerprints(SpanSink& sink, uint32_t seed = kFingerprintSeed) : sink_(sink), seed_(seed) {}

    /// Nodes from here on are of this position: a token, a step. Call it before each graph.
    void begin(uint32_t position) {
        position_ = position;
        order_ = 0;
        seen_.clear();
    }

    /// To be given to ggml, with the object as user data.
    static bool callback(ggml_tensor* node, bool ask, void* self) {
        return static_cast<GgmlFingerprints*>(self)->node(*node, ask);
    }

    [[nodiscard]] const Status& status() const noexcept { return status_; }
    /// Nodes that were computed and have no fingerprint: another element type, or elements that do not lie in a row.
    [[nodiscard]] uint64_t skipped() const noexcept { return skipped_; }

private:
    bool node(ggml_tensor& tensor, bool ask) {
        if (ask) {
            const bool wanted = computes(tensor);
            // The device has nothing to do from here on but the nodes up to the one wanted.
            if (wanted || !asked_ns_) asked_ns_ = host_now().value;
            return wanted;
        }
        std::optional<int64_t> isolated_ns;
        if (asked_ns_) isolated_ns = host_now().value - *std::exchange(asked_ns_, std::nullopt);
        record(tensor, isolated_ns);
        return true;    // false would cancel the program's graph
    }

    static bool computes(const ggml_tensor& tensor) noexcept {
        switch (tensor.op) {
            case GGML_OP_NONE:
            case GGML_OP_RESHAPE:
            case GGML_OP_VIEW:
            case GGML_OP_PERMUTE:
            case GGML_OP_TRANSPOSE:
                return false;
            default:
                return ggml_nelements(&tensor) > 0;
        }
    }

    void record(const ggml_tensor& tensor, std::optional<int64_t> isolated_ns) {
        const uint32_t order = order_++;
        const std::optional<DType> type = dtype_of(tensor.type);
        if (!type || !ggml_is_contiguous(&tensor)) {
            ++skipped_;
            return;
        }
        bytes_.resize(ggml_nbytes(&tensor));
        ggml_backend_tensor_get(&tensor, bytes_.data(), 0, bytes_.size());
        const Result<Fingerprint> print =
            fingerprint_of({bytes_.data(), static_cast<uint64_t>(ggml_nelements(&tensor)), *type}, seed_);
        if (!print.ok()) return keep(print.error());
        GgmlBrick brick = brick_of(tensor);
        FingerprintRecord out;
        const uint32_t times = ++seen_[{brick.name, brick.layer}];
        out.name = std::move(brick.name);
        if (times > 1) out.name += " #" + std::to_string(times);
        out.layer = brick.layer;
        out.position = position_;
        out.order = order;
        for (std::size_t i = 0; i < out.shape.size(); ++i) out.shape[i] = static_cast<uint64_t>(tensor.ne[i]);
        out.fingerprint = print.value();
        out.isolated_ns = isolated_ns;
        keep(sink_.fingerprint(out));
    }

    void keep(Status status) {
        if (status_.ok()) status_ = std::move(status);
    }

    SpanSink& sink_;
    const uint32_t seed_;
    Status status_;
    uint32_t position_ = 0;
    uint32_t order_ = 0;
    uint64_t skipped_ = 0;
    std::optional<int64_t> asked_ns_;
    std::map<std::pair<std::string, int32_t>, uint32_t> seen_;    // of this position
    std::vector<std::byte> bytes_;
};

}    // namespace lapwing
