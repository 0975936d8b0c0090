#include "trace/chrome_names.hpp"

#include <utility>

namespace lapwing::trace {

namespace {

constexpr std::size_t kMaxNames = 65536;
constexpr char kSeparator = '\x1f';

std::string trimmed(std::string text) {
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

std::string argument(const ChromeEvent& event, std::string_view wanted) {
    std::string out;
    json::for_each_member(event.args, [&](const json::Text& key, const json::Text& value) {
        if (key.view() == wanted && value.quoted) out = trimmed(json::text_of(value));
    });
    return out;
}

bool names_device(std::string_view name) {
    constexpr std::string_view kDevice = "device ";
    return name.starts_with(kDevice) && name.size() > kDevice.size() && name[kDevice.size()] >= '0' &&
           name[kDevice.size()] <= '9';
}

template <class Names>
void keep(Names& names, std::string key, std::string value) {
    if (value.empty() || (names.size() >= kMaxNames && !names.contains(key))) return;
    names.insert_or_assign(std::move(key), std::move(value));
}

template <class Names>
std::string look_up(const Names& names, std::string_view key) {
    const auto found = names.find(key);
    return found == names.end() ? std::string() : found->second;
}

}    // namespace

void ChromeNames::metadata(const ChromeEvent& event) {
    const std::string_view what = event.name.view();
    std::string pid = json::text_of(event.pid);
    if (what == "process_name") {
        std::string name = argument(event, "name");
        has_device_processes_ = has_device_processes_ || names_device(name);
        keep(processes_, std::move(pid), std::move(name));
    } else if (what == "process_labels") {
        std::string label = argument(event, "labels");
        by_lapwing_ = by_lapwing_ || label == "Lapwing";
        keep(labels_, std::move(pid), std::move(label));
    } else if (what == "thread_name") {
        keep(threads_, (std::move(pid) + kSeparator) + json::text_of(event.tid), argument(event, "name"));
    }
}

std::string ChromeNames::thread(const ChromeThread& thread, bool with_process) const {
    std::string key = thread.pid;
    key += kSeparator;
    key += thread.tid;
    std::string name = look_up(threads_, key);
    if (name.empty()) {
        name = thread.device ? "stream " : "thread ";
        name += thread.tid.empty() ? std::string("?") : thread.tid;
    }
    if (!with_process || thread.device) return name;
    std::string process = look_up(processes_, thread.pid);
    if (process.empty()) process = "pid";
    ((process += ' ') += thread.pid.empty() ? std::string("?") : thread.pid) += ": ";
    return process + name;
}

std::string ChromeNames::device(const std::string& pid, const ChromeRoot& root) const {
    for (const auto& [id, name] : root.devices)
        if (id == pid && !name.empty()) return name;
    std::string process = look_up(processes_, pid);
    if (names_device(process)) return process;
    std::string label = look_up(labels_, pid);
    if (!label.empty()) return label;
    if (pid.empty() || pid == "-1") return "GPU";
    std::string name = "GPU ";
    return name += pid;
}

bool ChromeNames::is_device_process(std::string_view pid) const {
    if (!has_device_processes_) return false;
    const auto found = processes_.find(pid);
    return found != processes_.end() && names_device(found->second);
}

}    // namespace lapwing::trace
