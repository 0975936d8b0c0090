// What `lapwing run` changes in the environment of the program that it starts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lapwing/result.hpp"

namespace lapwing::cli {

/// Name of the Vulkan layer, as its manifest states it.
inline constexpr const char* kLayerName = "VK_LAYER_LAPWING_timing";

/// The folder that holds the layer's manifest: beside this executable in the build tree, under its prefix when
/// installed.
/// Errors:  kNotFound naming the folders that were looked in.
[[nodiscard]] Result<std::string> find_layer_folder();

/// The library of the OpenCL layer: beside this executable in the build tree, under its prefix when installed. Empty
/// where it was not built.
[[nodiscard]] std::string find_opencl_layer();

/// What the layers are told.
struct LayerSettings {
    std::string folder{};    ///< of the Vulkan layer's manifest
    std::string opencl{};    ///< library of the OpenCL layer; empty = none
    std::string output{};    ///< absolute path of the recording
    std::string level{};     ///< "off", "basic", "lane" or "kernel"
    std::string step{};    ///< these five as parse_step_rule() and the parsers of arming.hpp take them; empty = not set
    std::string every{};
    std::string skip{};
    std::string duration{};
    std::string budget{};
    std::vector<std::pair<std::string, std::string>> recording{};    ///< further variables: how the file is written
};

/// The user's environment with Lapwing's settings added to those that are there; none of the user's is lost.
/// Shape:   `user` and the result are "NAME=value" strings; order is kept, new names come last.
///          VK_INSTANCE_LAYERS: our layer is added. Which layer stands above which is not decided there: the loader
///          (1.3.239) stacks them in the order in which it finds their manifests. VK_LAYER_PATH: the folder is appended
///          where the user set it, because the loader then looks nowhere else; otherwise VK_ADD_LAYER_PATH gets it.
///          OPENCL_LAYERS: our layer comes first, which is the place nearest to the driver; those of the user stay.
///          GGML_VK_DEBUG_MARKERS: 1 unless the user set it. LAPWING_OUT, _LEVEL, _STEP, _EVERY, _SKIP, _DURATION,
///          _BUDGET and those of `recording`: set, to nothing where there is no value, so that the user's own cannot
///          slip through.
[[nodiscard]] std::vector<std::string> program_environment(std::vector<std::string> user,
                                                           const LayerSettings& settings);

}    // namespace lapwing::cli
