#!/usr/bin/env python3
"""The witnesses themselves, without Lapwing: each sees what it is there to see, and nothing else."""
import struct

from vulkan_product import ABOVE, BELOW, COUNT, DRIVER, RUDE, SHAPE, VulkanTest, main


class Count(VulkanTest):
    """The counting layer counts what is executed."""

    def counted(self, *command):
        return self.run_plain(*command, layers=[COUNT])

    def test_every_command_of_a_sequence_counts(self):
        run = self.counted(self.program("vk_run"), "sequence")
        for kind in ("dispatches", "copies", "fills"):
            self.assertEqual(run.executed[kind], run.said[kind], kind)
        self.assertEqual(run.executed["dispatches_base"], run.executed["dispatches_indirect"])

    def test_resubmitted_buffer_counts_each_time(self):
        run = self.counted(self.program("vk_run"), "resubmit", "--rounds", "7")
        self.assertEqual(run.executed["dispatches"], 70)

    def test_buffer_that_is_never_submitted_does_not_count(self):
        run = self.counted(self.program("vk_run"), "neversubmit", "--rounds", "5")
        self.assertEqual(run.executed["dispatches"], 3)

    def test_every_life_of_a_command_buffer_counts(self):
        run = self.counted(self.program("vk_life"))
        self.assertEqual(run.executed["dispatches"], run.said["dispatches"])


class Shims(VulkanTest):
    """The shims tell the calls of the layer between them from those of the program."""

    def shims(self, rude, mode="inflight"):
        return self.run_plain(self.program("vk_run"), mode, layers=[ABOVE, RUDE, BELOW], env={"RUDE": rude}).shims

    def test_polite_layer_is_not_accused(self):
        shims = self.shims(None)
        self.assertEqual(shims["own_waits"] + shims["own_wait_reads"] + shims["own_reads"], 0)
        self.assertGreater(shims["functions"]["vkWaitForFences"]["application"]["calls"], 0)

    def test_layer_that_waits_is_seen(self):
        shims = self.shims("wait")
        self.assertGreaterEqual(shims["own_waits"], 3)
        self.assertGreater(shims["longest_own"]["ns"], 20_000_000)
        self.assertGreater(shims["longest_added"]["ns"], 20_000_000)

    def test_read_while_the_device_is_busy_is_seen(self):
        shims = self.shims("read")
        self.assertGreaterEqual(shims["own_reads_while_unfinished"], 1)
        if DRIVER == "lavapipe":    # which blocks in such a read
            self.assertGreater(shims["longest_own"]["ns"], 20_000_000)


class Shape(VulkanTest):
    """The shape layer makes the driver report another clock, in every way that a program can ask."""

    def stamps(self, **settings):
        self.log = self.folder / "shape.log"
        env = {"SHAPE_LOG": str(self.log), **settings}
        said = self.run_plain(self.program("vk_run"), "stamps", layers=[SHAPE], env=env).said
        lines = self.log.read_text().splitlines()
        self.truth = dict(sorted(tuple(map(int, line.split())) for line in lines))
        # The driver's period is a float; its decimal becomes exactly that again.
        said["period"] = struct.unpack("f", struct.pack("f", said["period"]))[0]
        return said

    def test_period_and_bits_are_as_asked(self):
        said = self.stamps()
        self.assertAlmostEqual(said["period"], 52.083, places=3)
        self.assertEqual((said["valid_bits"], said["valid_bits2"]), (36, 36))

    def test_ticks_are_the_drivers_time(self):
        said = self.stamps()
        self.assertEqual(len(self.truth), 2)
        begin_ns, end_ns = self.truth
        for ns, ticks in zip(self.truth, said["polled"]):
            self.assertEqual(ticks, int(ns / said["period"]) % 2**36)
        self.assertLessEqual(end_ns - begin_ns, said["submit_to_fence_ns"])

    def test_each_result_is_late(self):
        self.assertEqual(self.stamps()["not_ready"], 3)
        self.assertEqual(self.stamps(SHAPE_NOT_READY="5")["not_ready"], 5)

    def test_polled_waited_and_copied_results_are_the_same(self):
        said = self.stamps()
        self.assertEqual(said["copied"], said["polled"])
        self.assertEqual(said["waited"], said["polled"])
        self.assertTrue(all(said["copied_available"]))

    def test_few_bits_wrap(self):
        said = self.stamps(SHAPE_BITS="16")
        self.assertEqual(said["valid_bits"], 16)
        for ns, ticks in zip(self.truth, said["copied"]):
            self.assertEqual(ticks, int(ns / said["period"]) % 2**16)

    def test_calibrated_device_time_is_of_the_same_clock(self):
        said = self.stamps()
        if said["calibrated"] is None:
            self.skipTest(f"{DRIVER} has no VK_EXT_calibrated_timestamps")
        since_ns = (said["calibrated"]["ticks"] - said["polled"][1]) % 2**36 * said["period"]
        self.assertLess(since_ns, 10e9)
        self.assertGreaterEqual(said["calibrated"]["max_deviation_ns"], 53)


if __name__ == "__main__":
    main()
