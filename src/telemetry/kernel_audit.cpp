#include "lapwing/kernel_audit.hpp"

#include <utility>

namespace lapwing {

Status KernelAudit::lookup(std::string_view module, std::string_view name, bool found, CallSite site) {
    if (name.empty()) return Error{Errc::kInvalidArgument, 0, "a kernel lookup needs a name"};
    std::string kernel(module);
    if (!module.empty()) kernel += ':';
    kernel += name;
    std::string place = std::string(site.file) + ":" + std::to_string(site.line);

    const std::lock_guard guard(lock_);
    const bool late = sealed_ && !found;
    bool first_miss = false;
    auto entry = lookups_.find({kernel, place});
    if (entry == lookups_.end() && lookups_.size() >= max_lookups_) {
        ++beyond_;
    } else {
        if (entry == lookups_.end()) {
            entry = lookups_.try_emplace({kernel, place}, KernelLookup{kernel, place, 0, 0, sealed_}).first;
        }
        KernelLookup& one = entry->second;
        first_miss = !found && one.missing == 0;
        ++(found ? one.found : one.missing);
    }
    if (!late) return {};
    std::string text = "kernel '" + kernel + "' is missing, and " + place +
                       " asks for it after the boot was over: load it before KernelAudit::seal()";
    if (policy_ == LateLookup::kError) return Error{Errc::kNotFound, 0, std::move(text)};
    if (first_miss) warnings_.push_back(std::move(text));
    return {};
}

void KernelAudit::seal() {
    const std::lock_guard guard(lock_);
    sealed_ = true;
}

bool KernelAudit::sealed() const {
    const std::lock_guard guard(lock_);
    return sealed_;
}

std::vector<KernelLookup> KernelAudit::lookups() const {
    const std::lock_guard guard(lock_);
    std::vector<KernelLookup> out;
    out.reserve(lookups_.size());
    for (const auto& [key, lookup] : lookups_) out.push_back(lookup);
    return out;
}

std::vector<KernelLookup> KernelAudit::missing() const {
    std::vector<KernelLookup> out = lookups();
    std::erase_if(out, [](const KernelLookup& lookup) { return lookup.missing == 0; });
    return out;
}

std::vector<std::string> KernelAudit::warnings() const {
    const std::lock_guard guard(lock_);
    return warnings_;
}

uint64_t KernelAudit::beyond() const {
    const std::lock_guard guard(lock_);
    return beyond_;
}

}    // namespace lapwing
