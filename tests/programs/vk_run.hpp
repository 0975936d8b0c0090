// The modes of vk_run: each opens Vulkan, does one thing, and prints one JSON object with what it did.
#pragma once

namespace programs {

/// One dispatch of about `ms`, after warm-up and calibration: submit-to-fence time and how many dispatches in all.
int run_burn(double ms);
/// A dispatch of about `ms` in flight; meanwhile polls of its fence and small submissions, each timed.
int run_inflight(double ms);
/// Every command that a timing layer times, in `rounds` rounds, with labels and names; submitted both ways.
int run_sequence(unsigned rounds);
/// The program's own timestamps around a dispatch, read by poll, by wait and by copy, and the calibrated device clock.
int run_stamps();

}    // namespace programs
