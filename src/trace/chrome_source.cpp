#include "trace/chrome_source.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "trace/decimal_time.hpp"

namespace lapwing::trace {

namespace {

constexpr std::size_t kMaxEventBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxRootDepth = 1024;
constexpr std::size_t kMaxRootKeys = 64;
constexpr std::size_t kMaxKeyBytes = 256;

std::string shown(char character) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte > 0x20 && byte < 0x7f) return std::string("'") + character + "'";
    char hex[16];
    std::snprintf(hex, sizeof hex, "byte 0x%02x", byte);
    return hex;
}

void assign(ChromeEvent& event, std::string_view key, const json::Text& value) {
    switch (key.size()) {
        case 2:
            if (key == "ph") event.ph = value;
            if (key == "ts") event.ts = value;
            return;
        case 3:
            if (key == "dur") event.dur = value;
            if (key == "pid") event.pid = value;
            if (key == "tid") event.tid = value;
            if (key == "cat") event.cat = value;
            return;
        case 4:
            if (key == "name") event.name = value;
            if (key == "args") event.args = value;
            return;
        default:
            return;
    }
}

}    // namespace

bool ChromeRoot::has(std::string_view key) const noexcept {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

ChromeSource::ChromeSource(ByteSource source, std::size_t buffer_bytes)
    : source_(std::move(source)), buffer_(std::max<std::size_t>(buffer_bytes, 16) + json::kPadding) {
    scan_.end = at_ = buffer_.data();
}

// Moves what is not read yet to the front and fills the rest; grows where that is the whole buffer. False at the end of
// the file, and on failure.
bool ChromeSource::refill() {
    if (at_end_ || error_.code != Errc::kOk) return false;
    const auto kept = static_cast<std::size_t>(scan_.end - at_);
    base_ = offset_of(at_);
    std::memmove(buffer_.data(), at_, kept);
    if (kept + json::kPadding == buffer_.size()) {
        if (kept >= kMaxEventBytes) {
            error_ = {
                Errc::kExhausted, 0,
                "'" + name() + "', byte " + std::to_string(base_) +
                    ": one event or member is longer than 16 MiB, which no trace needs; the file is damaged there"};
            return false;
        }
        buffer_.resize(2 * kept + json::kPadding);
    }
    std::size_t held = kept;
    const std::size_t room = buffer_.size() - json::kPadding;
    while (held < room) {
        const std::size_t got = source_.read(buffer_.data() + held, room - held);
        if (got == 0) {
            at_end_ = true;
            break;
        }
        held += got;
    }
    if (source_.error().code != Errc::kOk) error_ = source_.error();
    at_ = buffer_.data();
    scan_.end = buffer_.data() + held;
    std::memset(buffer_.data() + held, 0, json::kPadding);
    return held > kept;
}

// The next character that is no blank; 0 at the end.
char ChromeSource::peek() {
    for (;;) {
        at_ = json::Scan::blanks(at_);
        if (at_ < scan_.end) return *at_;
        if (!refill()) return '\0';
    }
}

// Lets `read` read one thing from at_ on, again with more in the buffer where it ran off the end.
template <class Read>
ChromeSource::Whole ChromeSource::whole(Read read) {
    for (;;) {
        scan_.bad = nullptr;
        if (const char* const behind = read(at_); behind != nullptr) {
            at_ = behind;
            return Whole::kRead;
        }
        if (scan_.bad != nullptr) {
            static_cast<void>(fail(scan_.bad, scan_.expected));
            return Whole::kFailed;
        }
        if (!refill()) return error_.code == Errc::kOk ? Whole::kEnded : Whole::kFailed;
    }
}

ChromeSource::Step ChromeSource::torn(uint64_t at) {
    if (error_.code != Errc::kOk) return Step::kFailed;
    offset_ = at;
    return Step::kTorn;
}

ChromeSource::Step ChromeSource::ended_in(Whole whole) {
    return whole == Whole::kFailed ? Step::kFailed : torn(offset_of(at_));
}

ChromeSource::Step ChromeSource::fail(const char* at, const char* expected) {
    if (error_.code != Errc::kOk) return Step::kFailed;
    std::string text = "'" + name() + "' is damaged at byte " + std::to_string(offset_of(at));
    if (source_.packed()) text += " of what it unpacks to";
    text += ": expected ";
    text += expected;
    text += ", found " + shown(*at) + "; " + std::to_string(events_) + " events were read before it";
    error_ = {Errc::kBadFormat, 0, std::move(text)};
    return Step::kFailed;
}

ChromeSource::Step ChromeSource::next(ChromeEvent& event) {
    for (;;) {
        if (error_.code != Errc::kOk) return Step::kFailed;
        const char found = place_ == Place::kStart ? '\0' : peek();
        if (error_.code != Errc::kOk) return Step::kFailed;
        bool again = true;
        Step step = Step::kEnd;
        switch (place_) {
            case Place::kStart: {
                while (scan_.end - at_ < 3 && refill()) {
                }
                if (scan_.end - at_ >= 3 && std::memcmp(at_, "\xef\xbb\xbf", 3) == 0) at_ += 3;
                const char first = peek();
                if (first != '[' && first != '{') {
                    if (first == '\0' && at_ >= scan_.end) return torn(bytes());
                    return fail(at_, "'[' or '{'");
                }
                object_ = first == '{';
                has_events_ = !object_;
                place_ = object_ ? Place::kRoot : Place::kEvents;
                ++at_;
                continue;
            }
            case Place::kEvents:
                step = step_in_events(event, again);
                break;
            case Place::kRoot:
                step = read_member(again);
                break;
            case Place::kBehind:
                if (found != '\0' || at_ < scan_.end) return fail(at_, "the end of the file");
                return source_.cut_off() ? torn(bytes()) : Step::kEnd;
        }
        if (!again) return step;
    }
}

ChromeSource::Step ChromeSource::step_in_events(ChromeEvent& event, bool& again) {
    again = false;
    if (at_ >= scan_.end) {    // peek() found no more
        if (object_ || source_.cut_off()) return torn(bytes());
        open_array_ = true;
        return Step::kEnd;
    }
    switch (*at_) {
        case '{': {
            const Whole read = whole([&](const char* at) { return read_event(at, event); });
            if (read != Whole::kRead) return ended_in(read);
            ++events_;
            return Step::kEvent;
        }
        case ']':
            place_ = object_ ? Place::kRoot : Place::kBehind;
            [[fallthrough]];
        case ',':
            ++at_;
            again = true;
            return Step::kEnd;
        default:
            return fail(at_, "an event in braces, ',' or ']'");
    }
}

const char* ChromeSource::read_event(const char* at, ChromeEvent& event) {
    event = {};
    offset_ = offset_of(at);
    at = json::Scan::blanks(at + 1);
    if (*at == '}') return at + 1;
    for (;;) {
        json::Text key;
        json::Text value;
        at = scan_.member(at, key, value);
        if (at == nullptr) return nullptr;
        if (key.escaped)
            assign(event, json::unescape(key.view()), value);
        else
            assign(event, key.view(), value);
        at = json::Scan::blanks(at);
        if (*at == ',')
            at = json::Scan::blanks(at + 1);
        else if (*at == '}')
            return at + 1;
        else
            return scan_.fail(at, "',' or '}'");
    }
}

ChromeSource::Step ChromeSource::read_member(bool& again) {
    again = true;
    if (at_ >= scan_.end) {
        again = false;
        return torn(bytes());
    }
    if (*at_ == ',') {
        ++at_;
        return Step::kEnd;
    }
    if (*at_ == '}') {
        ++at_;
        place_ = Place::kBehind;
        return Step::kEnd;
    }
    again = false;
    if (*at_ != '"') return fail(at_, "a key in quotes, ',' or '}'");
    const uint64_t from = offset_of(at_);
    std::string key;
    const Whole read = whole([&](const char* at) -> const char* {
        json::Text text{at + 1, nullptr, true, false};
        text.end = scan_.string_end(text.begin, text.escaped);
        if (text.end == nullptr) return nullptr;
        key = json::text_of(text);
        return text.end + 1;
    });
    if (read != Whole::kRead) return ended_in(read);
    if (peek() != ':') return at_ < scan_.end ? fail(at_, "':'") : torn(from);
    ++at_;
    const char first = peek();
    if (root_.keys.size() < kMaxRootKeys && key.size() <= kMaxKeyBytes) root_.keys.push_back(key);
    again = true;
    if (key == "traceEvents" && first == '[') {
        ++at_;
        has_events_ = true;
        place_ = Place::kEvents;
        return Step::kEnd;
    }
    if (key == "baseTimeNanoseconds" || key == "deviceProperties") {
        json::Text value;
        const Whole kept = whole([&](const char* at) { return scan_.value(at, value); });
        again = kept == Whole::kRead;
        if (!again) return kept == Whole::kFailed ? Step::kFailed : torn(from);
        keep_value(key, value);
        return Step::kEnd;
    }
    if (skip_value()) return Step::kEnd;
    again = false;
    return torn(from);
}

void ChromeSource::keep_value(std::string_view key, json::Text value) {
    if (key == "baseTimeNanoseconds") {
        root_.base_time_ns = whole_number_of(value.view());
        return;
    }
    json::for_each_element(value, [&](const json::Text& device) {
        std::string id;
        std::string name;
        json::for_each_member(device, [&](const json::Text& member, const json::Text& text) {
            if (member.view() == "id") id = json::text_of(text);
            if (member.view() == "name") name = json::text_of(text);
        });
        if (root_.devices.size() < 1024) root_.devices.emplace_back(std::move(id), std::move(name));
    });
}

// Skips a value of any size in constant memory. False where the file ends inside it, or on failure.
bool ChromeSource::skip_value() {
    std::string closers;
    bool in_string = false;
    for (;;) {
        if (at_ >= scan_.end) {
            if (!refill()) return false;
            continue;
        }
        const char found = *at_;
        if (in_string) {
            if (found == '\\' && scan_.end - at_ < 2) {
                if (!refill()) return false;
                continue;
            }
            at_ += found == '\\' ? 2 : 1;
            in_string = found != '"';
        } else if (closers.empty() && (found == ',' || found == '}' || found == ']')) {
            return true;
        } else if (found == '"') {
            in_string = true;
            ++at_;
            continue;
        } else if (found == '{' || found == '[') {
            if (closers.size() == kMaxRootDepth) {
                static_cast<void>(fail(at_, "at most 1024 objects and arrays inside each other"));
                return false;
            }
            closers += found == '{' ? '}' : ']';
            ++at_;
            continue;
        } else if (found == '}' || found == ']') {
            if (closers.back() != found) {
                static_cast<void>(fail(at_, closers.back() == '}' ? "'}'" : "']'"));
                return false;
            }
            closers.pop_back();
            ++at_;
        } else {
            ++at_;
            continue;
        }
        if (!in_string && closers.empty()) return true;
    }
}

}    // namespace lapwing::trace
