#include "attach/session/process_command.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string_view>

namespace lapwing::attach {

namespace {
constexpr std::size_t kMaxBytes = 4096;
constexpr std::array<std::string_view, 6> kSecretWords = {"token", "key", "password", "passwd", "secret", "auth"};

bool looks_secret(std::string_view name) {
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return std::any_of(kSecretWords.begin(), kSecretWords.end(),
                       [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

std::string quoted(const std::string& word) {
    return word.find(' ') == std::string::npos ? word : "'" + word + "'";
}
}    // namespace

std::string masked_command(const std::vector<std::string>& words) {
    std::string out;
    bool mask_next = false;
    for (const std::string& word : words) {
        if (!out.empty()) out += ' ';
        const bool option = !word.empty() && word[0] == '-';
        const std::size_t equals = word.find('=');
        const std::string_view name = std::string_view(word).substr(0, equals);
        if (mask_next && !option) {
            out += "***";
        } else if (equals != std::string::npos && looks_secret(name)) {
            out += std::string(name) + "=***";
        } else {
            out += quoted(word);
        }
        mask_next = option && equals == std::string::npos && looks_secret(name);
    }
    if (out.size() > kMaxBytes) out = out.substr(0, kMaxBytes - 3) + "...";
    return out;
}

std::vector<std::string> own_command_words() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin < bytes.size();) {
        const std::size_t end = std::min(bytes.find('\0', begin), bytes.size());
        words.push_back(bytes.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

}    // namespace lapwing::attach
