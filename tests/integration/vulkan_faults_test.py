#!/usr/bin/env python3
"""A driver that fails Lapwing costs the program nothing: the same results, nothing leaked, one reason in the report."""
from vulkan_product import ABOVE, BELOW, COUNT, VALIDATION, VulkanTest, main

# Every call by which the layer makes, records or reads what results are kept in, and what the report then says.
REASONS = {
    "vkCreateQueryPool": {"ring_full"},
    "vkGetQueryPoolResults": {"driver_error"},
    "vkGetCalibratedTimestampsEXT": set(),    # clocks are aligned by brackets
    "vkCreateCommandPool": {"driver_error"},
    "vkAllocateCommandBuffers": {"driver_error"},
    "vkBeginCommandBuffer": {"driver_error"},
    "vkEndCommandBuffer": {"driver_error"},
    "vkCreateBuffer": {"driver_error"},
    "vkAllocateMemory": {"driver_error"},
    "vkBindBufferMemory": {"driver_error"},
    "vkMapMemory": {"driver_error"},
}
# What one life of a program calls once only cannot fail later.
ONCE = {"vkCreateCommandPool", "vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory", "vkMapMemory"}


class Faults(VulkanTest):
    """The shim below lets the layer's own calls fail, and never the program's."""

    def assert_harmless(self, call, first, *command):
        plain = self.run_plain(*command)
        runs = []

        def measure(*words, env):
            runs.append(self.measure(*words, above=[ABOVE], below=[BELOW, COUNT, VALIDATION],
                                     env={"VK_SHIM_FAIL": f"{call}:{first}", **env}))
            return runs[0]

        messages = self.validation_messages(measure, *command)
        run = runs[0]
        if call not in run.shims["functions"]:
            return 0    # this driver offers no such function
        self.assertEqual(run.said, plain.said)
        self.assertEqual(run.executed["dispatches"], plain.said["dispatches"], "every command reached the driver")
        self.assertNotIn("VUID", messages[:500], "nothing leaked, nothing misused")
        report = run.report()
        self.assertEqual(report["begun"], run.said["dispatches"])
        self.assertEqual(report["begun"], report["spans"] + report["lost"]["total"])
        self.assertEqual(report["unaccounted"], 0)
        self.assertLessEqual(set(report["lost"]["by_reason"]), REASONS[call])
        return run.shims["failed"]

    def test_each_call_failing_from_the_first_time_on(self):
        for call in REASONS:
            with self.subTest(call=call):
                # Both one-time recordings and such as are submitted again.
                failed = self.assert_harmless(call, 1, self.program("vk_life"), "several_batches_in_one_submit2")
                if call != "vkGetCalibratedTimestampsEXT":
                    self.assertGreater(failed, 0, "the layer makes this call")

    def test_each_call_failing_later(self):
        for call in REASONS.keys() - ONCE:
            with self.subTest(call=call):
                self.assert_harmless(call, 3, self.program("vk_life"), "two_buffers_in_turn")

    # gapid#2022, field case F5: nothing is read any more, what was read is kept, what was pending is lost.
    def test_a_device_lost_in_the_middle_loses_what_was_pending(self):
        run = self.measure(self.program("vk_run"), "lost", "--rounds", "20", above=[ABOVE], below=[BELOW],
                           env={"VK_SHIM_LOSE": "9"})
        self.assertEqual(run.said, {"dispatches": 80, "result": -4})
        report = run.report()
        # Submits 1, 3, 5 and 7 were waited for, which also shows 2, 4 and 6 complete; the 8th was in flight.
        self.assertEqual(report["spans"], 70)
        self.assertEqual(report["lost"], {"total": 10, "by_reason": {"device_lost": 10}})
        self.assertEqual(report["begun"], 80)
        self.assertEqual(report["own_cost"]["faults"], 0)


if __name__ == "__main__":
    main()
