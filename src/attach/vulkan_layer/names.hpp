// What the labels that an engine puts into a command buffer say about the command inside them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "lapwing/record.hpp"

namespace lapwing::attach::vulkan_layer {

/// An op label taken apart. Views into the text that was parsed.
struct OpName {
    std::string_view op;    ///< "RMS_NORM+MUL" of "RMS_NORM+MUL norm-0"; the first word of any other label
    int32_t layer = -1;     ///< 0 of "norm-0" and of "cache_k_l0 (view)"; -1 = none
};

/// Takes an op label apart.
///
/// Operation words are the leading words in capitals, digits, '_' and '+' ("MUL_MAT", "ROPE+VIEW+SET_ROWS"): they are
/// the op, the words behind them name tensors. A label without operation words is an op by itself, less the layer
/// suffix of its first word.
/// The layer is the number at the end of the first word that ends in "-N" or "_lN" (at most 4 digits); operation words
/// have none.
/// Source:  ggml v0.25.1, ggml_vk_debug_label ("OP+OP tensor-layer (view)").
[[nodiscard]] OpName parse_op_label(std::string_view label) noexcept;

/// The label without a trailing " (x,y,z)" of three numbers, which is how ggml writes the grid behind a kernel's name.
[[nodiscard]] std::string_view without_grid(std::string_view label) noexcept;

/// Whether the label only numbers a stretch of work ("submit 3") and so names no op: it would be a name per submit.
[[nodiscard]] bool is_region_label(std::string_view label) noexcept;

/// The program's own part of an object name: Dawn hands "axpy" on as "DawnDbg=1;Dawn_ShaderModule_axpy", and an object
/// without a label as "DawnDbg=1;Dawn_ShaderModule", of which nothing is the program's. Other names are the program's.
/// Source:  what Dawn sends with its feature use_user_defined_labels_in_backend (npm webgpu 0.6.2).
[[nodiscard]] std::string_view given_name(std::string_view object_name) noexcept;

/// What is known of a command when its site is made.
struct CommandNames {
    std::string_view op_label;        ///< full label that names the op; empty if none
    std::string_view kernel_label;    ///< label that names the kernel; empty if none
    std::string_view pipeline;        ///< the pipeline's object name; empty if none
    std::string_view fallback;        ///< stable name of the pipeline where it has none
};

/// The site of a command. The kernel is the pipeline's name, else the kernel label, else the fallback.
[[nodiscard]] Site make_site(SpanKind kind, const CommandNames& names, const std::array<uint32_t, 3>& grid,
                             bool warmup);

}    // namespace lapwing::attach::vulkan_layer
