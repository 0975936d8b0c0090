#include "run_environment.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace lapwing::cli {
namespace {

namespace fs = std::filesystem;

/// A variable of the environment, or nullptr.
std::string* find_variable(std::vector<std::string>& environment, std::string_view name) {
    const auto at = std::find_if(environment.begin(), environment.end(), [&](const std::string& entry) {
        return entry.size() > name.size() && entry[name.size()] == '=' && entry.compare(0, name.size(), name) == 0;
    });
    return at == environment.end() ? nullptr : &*at;
}

void set_variable(std::vector<std::string>& environment, std::string_view name, std::string_view value) {
    std::string entry = std::string(name) + "=" + std::string(value);
    if (std::string* old = find_variable(environment, name))
        *old = std::move(entry);
    else
        environment.push_back(std::move(entry));
}

/// The value of a variable; empty where it is not set or empty: the Vulkan loader makes no difference either.
std::string value_of(std::vector<std::string>& environment, std::string_view name) {
    const std::string* entry = find_variable(environment, name);
    return entry == nullptr ? std::string() : entry->substr(name.size() + 1);
}

bool has_entry(std::string_view list, std::string_view wanted) {
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(':'), list.size());
        if (list.substr(0, end) == wanted) return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

bool has_manifest(const fs::path& folder) {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
        if (entry.path().extension() != ".json") continue;
        std::ifstream file(entry.path());
        const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        if (text.find('"' + std::string(kLayerName) + '"') != std::string::npos) return true;
    }
    return false;
}

}    // namespace

Result<std::string> find_layer_folder() {
    std::error_code error;
    const fs::path executable = fs::read_symlink("/proc/self/exe", error);
    std::string looked_in;
    for (const char* relative : {"../lib", "../share/lapwing/vulkan/explicit_layer.d"}) {
        const fs::path folder = (executable.parent_path() / relative).lexically_normal();
        if (has_manifest(folder)) return folder.string();
        looked_in += (looked_in.empty() ? "" : " and ") + folder.string();
    }
    return Error{Errc::kNotFound, 0,
                 "no manifest of " + std::string(kLayerName) + " in " + looked_in +
                     ": build it (it needs libvulkan-dev), or install Lapwing again"};
}

std::string find_opencl_layer() {
    std::error_code error;
    const fs::path executable = fs::read_symlink("/proc/self/exe", error);
    const fs::path library = (executable.parent_path() / LAPWING_LIBRARY_FOLDER / "liblapwing_opencl_layer.so");
    for (const fs::path& path : {executable.parent_path() / "../lib/liblapwing_opencl_layer.so", library})
        if (fs::exists(path, error)) return path.lexically_normal().string();
    return {};
}

std::vector<std::string> program_environment(std::vector<std::string> user, const LayerSettings& settings) {
    const std::string layers = value_of(user, "VK_INSTANCE_LAYERS");
    if (!has_entry(layers, kLayerName))
        set_variable(user, "VK_INSTANCE_LAYERS", kLayerName + (layers.empty() ? "" : ":" + layers));

    const std::string only = value_of(user, "VK_LAYER_PATH");
    const std::string_view path_variable = only.empty() ? "VK_ADD_LAYER_PATH" : "VK_LAYER_PATH";
    const std::string paths = value_of(user, path_variable);
    if (!has_entry(paths, settings.folder))
        set_variable(user, path_variable, paths.empty() ? settings.folder : paths + ":" + settings.folder);

    const std::string opencl_layers = value_of(user, "OPENCL_LAYERS");
    if (!settings.opencl.empty() && !has_entry(opencl_layers, settings.opencl))
        set_variable(user, "OPENCL_LAYERS", settings.opencl + (opencl_layers.empty() ? "" : ":" + opencl_layers));

    if (find_variable(user, "GGML_VK_DEBUG_MARKERS") == nullptr) set_variable(user, "GGML_VK_DEBUG_MARKERS", "1");
    set_variable(user, "LAPWING_OUT", settings.output);
    set_variable(user, "LAPWING_LEVEL", settings.level);
    set_variable(user, "LAPWING_STEP", settings.step);
    set_variable(user, "LAPWING_EVERY", settings.every);
    set_variable(user, "LAPWING_SKIP", settings.skip);
    set_variable(user, "LAPWING_DURATION", settings.duration);
    set_variable(user, "LAPWING_BUDGET", settings.budget);
    for (const auto& [name, value] : settings.recording) set_variable(user, name, value);
    return user;
}

}    // namespace lapwing::cli
