#include "trace/sniff.hpp"

#include <array>
#include <cstdio>

namespace lapwing::trace {

namespace {

using namespace std::string_view_literals;

struct Signature {
    std::string_view bytes;
    std::string_view text;
};

constexpr std::array kSignatures{
    Signature{"\x1f\x8b"sv, "it is gzip-compressed: unpack it first (gunzip)"},
    Signature{"\x28\xb5\x2f\xfd"sv, "it is zstd-compressed: unpack it first (unzstd)"},
    Signature{"\xfd"
              "7zXZ"sv,
              "it is xz-compressed: unpack it first (unxz)"},
    Signature{"PK\x03\x04"sv, "it is a zip archive: unpack it first (unzip)"},
    Signature{"\x7f"
              "ELF"sv,
              "it is a program or library: record it with `lapwing run -o FILE.pftrace -- PROGRAM`"},
    Signature{"SQLite format 3"sv, "it is an SQLite database: give the recording it was made from"},
    Signature{"# tracer"sv, "it is an ftrace text: Lapwing cannot read it"},
    Signature{"<"sv, "it looks like HTML or XML: give the recording (.pftrace) it was made from"},
    Signature{"GGUF"sv, "it is a model file: record the program that loads it"},
};

std::string_view skip_blanks(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

}    // namespace

bool begins_like_recording(std::string_view head) {
    // A packet of less than 128 bytes whose first field is number 2000.
    return head.size() >= 4 && head[0] == '\x0a' && (head[1] & 0x80) == 0 && head[2] == '\x82' && head[3] == '\x7d';
}

std::string describe_foreign(std::string_view head) {
    for (const Signature& signature : kSignatures)
        if (head.starts_with(signature.bytes)) return std::string(signature.text);
    const std::string_view text = skip_blanks(head);
    if (!text.empty() && (text[0] == '{' || text[0] == '['))
        return "it looks like Chrome trace JSON or another JSON file: give a recording made by `lapwing run -o "
               "FILE.pftrace`";
    if (head.starts_with("\x0a"))
        return "it looks like a Perfetto trace that another tool wrote: only Lapwing's own recordings carry what a "
               "report needs";
    std::string bytes;
    for (std::size_t i = 0; i < head.size() && i < 8; ++i) {
        char hex[4];
        std::snprintf(hex, sizeof hex, " %02x", static_cast<unsigned>(static_cast<unsigned char>(head[i])));
        bytes += hex;
    }
    return "its first bytes are" + bytes + ": give a recording made by `lapwing run -o FILE.pftrace`";
}

}    // namespace lapwing::trace
