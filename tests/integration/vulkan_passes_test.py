#!/usr/bin/env python3
"""Render passes: one span each, however they are recorded, with stamps outside of them."""
from vulkan_product import COUNT, DRIVER, VALIDATION, VulkanTest, main

KINDS = ["pass", "pass2", "rendering", "suspended", "secondaries"]


class Passes(VulkanTest):
    """vk_pass draws lightly and heavily in turn, with a dispatch behind each pass."""

    # On lavapipe every stamp behind a render pass is wrong: 0.2 ms for a dispatch of 40 ms.
    def test_each_pass_is_one_span_or_says_that_the_driver_cannot_be_trusted(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                run = self.measure(self.program("vk_pass"), kind, below=[COUNT])
                report = run.report()
                commands = run.said["passes"] + run.said["dispatches"]
                self.assertEqual(report["begun"], commands)
                self.assertEqual(run.executed["dispatches"], run.said["dispatches"])
                self.assertEqual(report["unaccounted"], 0)
                if DRIVER == "lavapipe":
                    self.assertEqual(report["lost"], {"total": commands, "by_reason": {"unreliable_driver": commands}})
                else:
                    self.assertEqual(report["lost"]["total"], 0, report["lost"])
                    self.assertEqual(run.spans("render"), run.said["passes"])
                    self.assertEqual(run.spans("dispatch"), run.said["dispatches"])

    def test_a_pass_that_draws_more_takes_longer(self):
        if DRIVER == "lavapipe":
            self.skipTest("lavapipe's stamps are wrong after a render pass")
        for kind in KINDS:
            with self.subTest(kind=kind):
                run = self.measure(self.program("vk_pass"), kind)
                rows = {name: row for name, row in run.rows("op").items() if row["kind"] == "render"}
                self.assertEqual(set(rows), {"LIGHT", "HEAVY"})
                self.assertEqual({row["count"] for row in rows.values()}, {run.said["passes"] // 2})
                # 1000 rounds a fragment against one; the lightest is compared, for any pass may be held up by the host.
                self.assertGreater(rows["HEAVY"]["min_ns"], 3 * rows["LIGHT"]["min_ns"])

    def test_validation_is_silent_about_every_kind(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.assertNotIn("VUID", self.validation_messages(
                    lambda *words, **more: self.measure(*words, below=[VALIDATION], **more),
                    self.program("vk_pass"), kind))


if __name__ == "__main__":
    main()
