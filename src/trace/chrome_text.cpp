#include "trace/chrome_text.hpp"

#include <array>
#include <charconv>

#include "trace/descriptor.hpp"
#include "trace/json_text.hpp"

namespace lapwing::trace::chrome {

namespace {

template <class Number>
void append_number(std::string& out, Number value) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out.append(digits.data(), end);
}

void append_member(std::string& out, std::string_view key, std::string_view json) {
    if (!out.empty()) out += ',';
    ((out += '"') += key) += "\":";
    out += json;
}

std::string args_of(const Site& site, std::string_view shown) {
    std::string out;
    if (!site.op.empty() && site.op != shown) append_member(out, "op", json_string(site.op));
    if (!site.kernel.empty() && site.kernel != shown) append_member(out, "kernel", json_string(site.kernel));
    if (!site.family.empty()) append_member(out, "family", json_string(site.family));
    if (!site.phase.empty()) append_member(out, "phase", json_string(site.phase));
    if (!site.lane.empty()) append_member(out, "lane", json_string(site.lane));
    if (site.layer >= 0) append_member(out, "layer", std::to_string(site.layer));
    if (site.grid != std::array<uint32_t, 3>{}) {
        std::string grid;
        for (const uint32_t groups : site.grid) append_number(grid += grid.empty() ? '[' : ',', groups);
        append_member(out, "grid", grid += ']');
    }
    if (site.warmup) append_member(out, "warmup", "true");
    if (site.flops) append_member(out, "flops", std::to_string(*site.flops));
    if (site.bytes) append_member(out, "bytes", std::to_string(*site.bytes));
    if (site.validity == Validity::kEstimated) append_member(out, "estimated_from", json_string(site.note));
    return out;
}

}    // namespace

std::string json_string(std::string_view value) {
    std::string out;
    append_json_string(out, value);
    return out;
}

void append_us(std::string& out, int64_t ns) {
    // In unsigned arithmetic: the smallest integer has no positive counterpart.
    const uint64_t size = ns < 0 ? uint64_t{0} - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
    if (ns < 0) out += '-';
    append_number(out, size / 1000);
    const auto rest = static_cast<unsigned>(size % 1000);
    const char decimals[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                             static_cast<char>('0' + rest % 10)};
    out.append(decimals, sizeof decimals);
}

void append_metadata(std::string& out, std::string_view name, uint32_t pid, uint32_t tid, std::string_view key,
                     std::string_view value) {
    ((out += "{\"name\":\"") += name) += "\",\"ph\":\"M\",\"pid\":";
    append_number(out, pid);
    if (tid != 0) append_number(out += ",\"tid\":", tid);
    ((out += ",\"args\":{\"") += key) += "\":";
    (out += value) += "}}";
}

SiteText site_text(const Site& site) {
    const std::string_view shown = display_name(site);
    SiteText out;
    append_member(out.head, "name", json_string(shown));
    append_member(out.head, "cat", json_string(site.category.empty() ? to_text(site.kind) : site.category));
    out.args = args_of(site, shown);
    return out;
}

void append_complete(std::string& out, const SiteText& site, uint32_t pid, uint32_t tid, int64_t at_ns,
                     int64_t duration_ns, std::string_view last_args) {
    ((out += '{') += site.head) += ",\"ph\":\"X\",\"pid\":";
    append_number(out, pid);
    append_number(out += ",\"tid\":", tid);
    append_us(out += ",\"ts\":", at_ns);
    append_us(out += ",\"dur\":", duration_ns);
    if (!site.args.empty() || !last_args.empty()) {
        (out += ",\"args\":{") += site.args;
        if (!site.args.empty() && !last_args.empty()) out += ',';
        (out += last_args) += '}';
    }
    out += '}';
}

}    // namespace lapwing::trace::chrome
