#!/usr/bin/env python3
"""On a driver that accepts every call, runs nothing and never writes a result: the whole call path, nothing made up."""
from vulkan_product import COUNT, VulkanTest, main


class Mock(VulkanTest):
    """Every span is lost, for a reason that is true, and the program goes through."""

    def assert_lost(self, *command):
        run = self.measure(*command, below=[COUNT])
        report = run.report()
        self.assertGreater(report["begun"], 0)
        self.assertEqual(report["spans"] + report["estimated"], 0)
        self.assertEqual(report["lost"]["total"], report["begun"])
        self.assertEqual(report["unaccounted"], 0)
        self.assertEqual(report["own_cost"]["faults"], 0)
        self.assertLessEqual(set(report["lost"]["by_reason"]), {"driver_error", "abandoned", "unsupported"})
        return run

    def test_every_life_of_a_command_buffer_goes_through(self):
        self.assert_lost(self.program("vk_life"))

    def test_every_kind_of_pass_goes_through(self):
        for kind in ("pass", "pass2", "rendering", "suspended", "secondaries"):
            with self.subTest(kind=kind):
                self.assert_lost(self.program("vk_pass"), kind)

    def test_every_kind_of_command_goes_through(self):
        run = self.assert_lost(self.program("vk_run"), "sequence")
        self.assertEqual(run.executed["dispatches"], run.said["dispatches"])

    def test_families_without_compute_and_graphics_are_unsupported(self):
        run = self.assert_lost(self.program("vk_run"), "families", "--rounds", "5")
        self.assertEqual(run.said["families"], 3)
        self.assertGreater(run.said["untimeable"], 0)
        self.assertEqual(run.report()["lost"]["by_reason"]["unsupported"], run.said["untimeable"])
        self.assertEqual(run.report()["begun"], run.said["dispatches"] + run.said["fills"])


if __name__ == "__main__":
    main()
