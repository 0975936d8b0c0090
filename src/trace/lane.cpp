#include "trace/lane.hpp"

#include <bit>
#include <cstring>

#include "trace/fields.hpp"

namespace lapwing::trace {

static_assert(std::endian::native == std::endian::little, "packets are assembled in registers, low byte first");

namespace {

// The constant bytes of the two packets of a span, low byte first: tag, length, sequence, event, type.
//   0a 0c  50 SS  5a 04  48 01 | 50 NN  40 TT TT TT     begin: 14 bytes, 15 where the site number takes two
//   0a 0a  50 SS  5a 02  48 02 | 40 TT TT TT            end: 12 bytes
constexpr uint64_t kBeginWord = 0x0148'045a'0050'0c0a;
constexpr uint64_t kEndWord = 0x0248'025a'0050'0a0a;
constexpr uint64_t kSequenceByte = uint64_t{1} << 24;
// One more byte in the packet and in the event for a two-byte site number.
constexpr uint64_t kWideSite = uint64_t{1} << 8 | uint64_t{1} << 40;

// Deltas below 2^21 ns are padded to three bytes: legal varints that make every packet the same size.
constexpr unsigned kPaddedBits = 21;

void store64(uint8_t* to, uint64_t value) noexcept {
    std::memcpy(to, &value, 8);
}

void store_padded(uint8_t* to, uint64_t value) noexcept {
    const auto bytes = static_cast<uint32_t>((value & 0x7f) | (value & 0x3f80) << 1 | (value & 0x1fc000) << 2 | 0x8080);
    std::memcpy(to, &bytes, 4);
}

uint8_t* put_varint(uint8_t* to, uint64_t value) noexcept {
    for (; value > 0x7f; value >>= 7) *to++ = static_cast<uint8_t>(value | 0x80);
    *to++ = static_cast<uint8_t>(value);
    return to;
}

}    // namespace

PacketBuffer::PacketBuffer(std::size_t capacity)
    : bytes_(std::make_unique_for_overwrite<uint8_t[]>(capacity)),
      limit_(bytes_.get() + capacity),
      cursor(bytes_.get()) {}

void PacketBuffer::regrow(std::size_t capacity) {
    bytes_ = std::make_unique_for_overwrite<uint8_t[]>(capacity);
    limit_ = bytes_.get() + capacity;
    cursor = bytes_.get();
}

void PacketBuffer::append(std::string_view bytes) noexcept {
    std::memcpy(cursor, bytes.data(), bytes.size());
    cursor += bytes.size();
}

Lane::Lane(uint32_t sequence, uint64_t track_uuid, int64_t first_ns, std::size_t buffer_bytes)
    : buffer(buffer_bytes), sequence_(sequence), track_uuid_(track_uuid), first_ns_(first_ns), last_ns_(first_ns) {}

std::size_t Lane::write_plain(std::span<const SpanRecord> spans) noexcept {
    if (sequence_ > 0x7f) return 0;
    uint8_t* out = buffer.cursor;
    const uint8_t* const stop = out + buffer.room();
    const uint64_t begin_word = kBeginWord + sequence_ * kSequenceByte;
    const uint64_t end_word = kEndWord + sequence_ * kSequenceByte;
    int64_t last = last_ns_;
    const uint32_t step = step_;
    std::size_t done = 0;
    for (const SpanRecord& span : spans) {
        // As unsigned numbers, what is out of order or negative is too large as well.
        const uint64_t delta = static_cast<uint64_t>(span.begin_ns) - static_cast<uint64_t>(last);
        const auto duration = static_cast<uint64_t>(span.duration_ns);
        const SiteId site = span.site;
        if ((delta | duration) >> kPaddedBits != 0 || span.step != step || site >= kPlainSites) break;
        if ((known_[site / 64] >> (site % 64) & 1) == 0) break;
        if (out + kMaxSlicePacket > stop) break;
        last = span.begin_ns + span.duration_ns;
        if (site <= 0x7f) {
            store64(out, begin_word);
            store64(out + 8, 0x50 | uint64_t{site} << 8 | 0x40 << 16);
            out += 11;
        } else {
            store64(out, begin_word + kWideSite);
            store64(out + 8, 0x50 | uint64_t{(site & 0x7f) | 0x80} << 8 | uint64_t{site >> 7} << 16 | 0x40 << 24);
            out += 12;
        }
        store_padded(out, delta);
        store64(out + 3, end_word);
        out[11] = 0x40;
        store_padded(out + 12, duration);
        out += 15;
        ++done;
    }
    buffer.cursor = out;
    last_ns_ = last;
    return done;
}

void Lane::write_begin(int64_t at_ns, SiteId site) noexcept {
    write_slice(event::kSliceBegin, site, static_cast<uint64_t>(at_ns - last_ns_), false);
    last_ns_ = at_ns;
}

void Lane::write_end(int64_t at_ns) noexcept {
    write_slice(event::kSliceEnd, 0, static_cast<uint64_t>(at_ns - last_ns_), false);
    last_ns_ = at_ns;
}

void Lane::write_late(const SpanRecord& span) noexcept {
    write_slice(event::kSliceBegin, span.site, static_cast<uint64_t>(span.begin_ns), true);
    write_slice(event::kSliceEnd, 0, static_cast<uint64_t>(span.begin_ns + span.duration_ns), true);
    first_ns_ = span.begin_ns;
}

void Lane::write_slice(uint64_t type, SiteId site, uint64_t timestamp, bool absolute) noexcept {
    static constexpr std::string_view kNameless = "unknown";
    std::array<uint8_t, 16> body{};
    uint8_t* at = body.data();
    *at++ = static_cast<uint8_t>(tag(event::kType, Wire::kVarint));
    *at++ = static_cast<uint8_t>(type);
    if (type == event::kSliceBegin && site != 0) {
        *at++ = static_cast<uint8_t>(tag(event::kNameIid, Wire::kVarint));
        at = put_varint(at, site);
    } else if (type == event::kSliceBegin) {
        at = put_varint(at, tag(event::kName, Wire::kBytes));
        *at++ = static_cast<uint8_t>(kNameless.size());
        std::memcpy(at, kNameless.data(), kNameless.size());
        at += kNameless.size();
    }
    const auto body_size = static_cast<std::size_t>(at - body.data());

    uint8_t* const start = buffer.cursor;
    uint8_t* out = start + 2;    // tag and length, which stays below 128
    *out++ = static_cast<uint8_t>(tag(packet::kSequenceId, Wire::kVarint));
    out = put_varint(out, sequence_);
    *out++ = static_cast<uint8_t>(tag(packet::kTrackEvent, Wire::kBytes));
    *out++ = static_cast<uint8_t>(body_size);
    std::memcpy(out, body.data(), body_size);
    out += body_size;
    if (absolute) {
        out = put_varint(out, tag(packet::kTimestampClockId, Wire::kVarint));
        out = put_varint(out, kMonotonicClock);
    }
    *out++ = static_cast<uint8_t>(tag(packet::kTimestamp, Wire::kVarint));
    out = put_varint(out, timestamp);
    start[0] = kPacketTag;
    start[1] = static_cast<uint8_t>(out - start - 2);
    buffer.cursor = out;
}

bool Lane::knows(SiteId site) const noexcept {
    if (site == 0) return true;
    if (site < kPlainSites) return (known_[site / 64] >> (site % 64) & 1) != 0;
    return known_beyond_.contains(site);
}

void Lane::learn(SiteId site) {
    if (site < kPlainSites)
        known_[site / 64] |= uint64_t{1} << (site % 64);
    else
        known_beyond_.insert(site);
}

}    // namespace lapwing::trace
