#include "trace/packet_output.hpp"

#include <utility>

#include "trace/descriptor.hpp"
#include "trace/fields.hpp"
#include "trace/metadata.hpp"

namespace lapwing::trace {

namespace {
constexpr std::size_t kMostDescriptionBytes = 64 * 1024;
}    // namespace

PacketOutput::PacketOutput(TraceFile file, bool compress) : file_(std::move(file)) {
    if (compress) compressor_.emplace();
}

Status PacketOutput::append(std::string_view packets) {
    return file_.append({reinterpret_cast<const uint8_t*>(packets.data()), packets.size()});
}

void PacketOutput::describe(std::string_view packets) {
    if (!ok()) return;
    descriptions_ += packets;
    if (descriptions_.size() >= kMostDescriptionBytes) flush_descriptions();
}

void PacketOutput::flush_descriptions() {
    if (ok() && !descriptions_.empty()) keep(append(descriptions_));
    descriptions_.clear();
}

void PacketOutput::write_lane(std::span<const uint8_t> packets) {
    flush_descriptions();
    if (ok() && !packets.empty()) keep(file_.append(compressor_ ? compressor_->pack(packets) : packets));
}

void PacketOutput::write_large(std::string_view packet) {
    flush_descriptions();
    if (ok()) keep(append(packet));
}

void PacketOutput::set_last_word(const RecordingStats& stats) {
    if (!status_.ok() && !closed_) last_word_ = stats;
}

Status PacketOutput::close() {
    if (closed_) return status_;
    flush_descriptions();
    if (last_word_) {
        last_word_->write_error = status_.error().driver_code;
        static_cast<void>(append(own_packet(kMetaSequence, own::kStats, encode(*last_word_))));
    }
    keep(file_.close());
    closed_ = true;
    return status_;
}

Status PacketOutput::state() const {
    return closed_ && status_.ok() ? Status(Error{Errc::kUnwritable, 0, "the recording is closed"}) : status_;
}

void PacketOutput::keep(Status status) {
    if (status_.ok() && !status.ok()) status_ = std::move(status);
}

}    // namespace lapwing::trace
