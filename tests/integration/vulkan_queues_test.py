#!/usr/bin/env python3
"""Several queues, families and devices at once, on threads of their own."""
from vulkan_product import COUNT, VulkanTest, main


class Queues(VulkanTest):
    """Drivers here have one family; the mock driver of vulkan_mock_test has three."""

    def test_every_family_that_can_be_timed_is(self):
        run = self.measure(self.program("vk_run"), "families", "--rounds", "20", below=[COUNT])
        self.assertEqual(run.executed["fills"], run.said["fills"])
        self.assert_all_measured(run, run.said["dispatches"])
        self.assertEqual(run.spans("fill"), run.said["fills"])

    def test_two_devices_at_once_are_both_measured(self):
        run = self.measure(self.program("vk_run"), "devices", "--rounds", "30", below=[COUNT])
        self.assertEqual(run.executed["dispatches"], run.said["dispatches"])
        self.assert_all_measured(run, run.said["dispatches"])


if __name__ == "__main__":
    main()
