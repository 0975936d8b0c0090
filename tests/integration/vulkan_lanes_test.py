#!/usr/bin/env python3
"""Level lane: one span a step and queue, from the first to the last command of the step, by two stamps a submit."""
from vulkan_product import COUNT, VALIDATION, VulkanTest, main


class Lanes(VulkanTest):
    def lanes(self, run):
        return run.rows("lane")["step"]

    def last_step_ns(self, run):
        steps = [row for row in run.report("step")["rows"] if row["step"] and row["step"]["finished"]]
        last = max(steps, key=lambda row: int(row["name"]))
        return last["total_ns"] + last["warmup"]["total_ns"]

    def assert_lanes_whole(self, run, spans, submits):
        """So many spans, none lost, kernels not timed but counted, and two stamps a submit with work."""
        report = run.report("lane")
        row = self.lanes(run)
        self.assertEqual(row["count"] + row["warmup"]["spans"], spans)
        self.assertEqual((report["begun"], report["spans"], report["lost"]["total"]), (spans, spans, 0))
        self.assertEqual(report["unaccounted"], 0)
        self.assertEqual(report["executed_dispatches"], run.said["dispatches"])
        self.assertEqual(report["steps"]["untimed_dispatches"], 0)
        self.assertEqual(report["own_cost"]["stamps"], 2 * submits)
        self.assertEqual(run.executed["timestamps"], 2 * submits, "the witness below Lapwing saw no others")
        self.assertEqual(run.report("kernel")["rows"], [])
        return report

    def test_buffers_submitted_again_are_a_span_a_step(self):
        run = self.measure(self.program("vk_run"), "resubmit", "--rounds", "12", options=("--level", "lane"), below=[COUNT])
        report = self.assert_lanes_whole(run, spans=12, submits=12)
        self.assertEqual(report["steps"]["count"], 12)

    def test_labelled_steps_in_flight_are_a_span_each(self):
        run = self.measure(self.program("vk_run"), "pipelined", "--rounds", "12", below=[COUNT],
                           options=("--level", "lane", "--step", "label:^decode [0-9]+$"))
        row = self.lanes(run)
        self.assertEqual(row["count"] + row["warmup"]["spans"], 12)
        self.assertEqual(run.report("lane")["lost"]["total"], 0)

    def test_one_step_in_four_is_timed_though_its_buffers_are_recorded_once(self):
        run = self.measure(self.program("vk_run"), "resubmit", "--rounds", "12", below=[COUNT],
                           options=("--level", "lane", "--every", "4"))
        self.assert_lanes_whole(run, spans=3, submits=3)

    def test_each_device_and_queue_has_its_own(self):
        run = self.measure(self.program("vk_run"), "devices", "--rounds", "20", options=("--level", "lane"), below=[COUNT])
        report = run.report("lane")
        self.assertEqual(report["begun"], report["spans"])
        self.assertGreaterEqual(report["begun"], 2)
        self.assertEqual(len(report["source"]["devices"]), 2)
        self.assertEqual(run.executed["timestamps"], report["own_cost"]["stamps"])

    def test_span_covers_the_window_of_the_steps_kernels(self):
        # The last step is one dispatch of 100 ms: both levels time the same work.
        command = (self.program("vk_run"), "burn", "--ms", "100")
        kernel_ns = self.last_step_ns(self.measure(*command))
        for _ in range(3):
            run = self.measure(*command, options=("--level", "lane"))
            lane_ns = self.last_step_ns(run)
            self.assertLessEqual(lane_ns, run.said["submit_to_fence_ns"])
            if lane_ns >= 0.5 * kernel_ns:    # the program measures how much to burn, on a busy machine
                return
        self.fail(f"lane {lane_ns} ns, kernel {kernel_ns} ns")

    def test_exit_without_destroying_keeps_what_was_seen_complete(self):
        run = self.measure(self.program("vk_run"), "exit-without-destroy", "--rounds", "20", options=("--level", "lane"))
        row = self.lanes(run)
        self.assertEqual(row["count"] + row["warmup"]["spans"], run.report("lane")["steps"]["count"])
        self.assertTrue(run.report("lane")["final"])

    def test_exit_while_busy_loses_only_what_was_running(self):
        run = self.measure(self.program("vk_run"), "exit-while-busy", "--rounds", "20", options=("--level", "lane"))
        report = run.report("lane")
        self.assertEqual(report["begun"], report["spans"] + report["lost"]["total"])
        self.assertLessEqual(set(report["lost"]["by_reason"]), {"abandoned"})

    def test_every_life_of_a_command_buffer_is_valid_and_computes_the_same(self):
        plain = self.run_plain(self.program("vk_life"), "all", "primary_with_secondaries")
        runs = []

        def measure(*words, **more):
            runs.append(self.measure(*words, below=[VALIDATION, COUNT], options=("--level", "lane"), **more))
            return runs[0]

        messages = self.validation_messages(measure, self.program("vk_life"), "all", "primary_with_secondaries")
        self.assertNotIn("VUID", messages)
        self.assertEqual(runs[0].said, plain.said)
        report = runs[0].report("lane")
        self.assertEqual((report["lost"]["total"], report["begun"]), (0, report["spans"]))
        self.assertEqual(report["executed_dispatches"], runs[0].said["dispatches"])

    def test_passes_in_several_buffers_stay_whole(self):
        for kind in ("pass", "rendering", "suspended", "secondaries"):
            with self.subTest(kind=kind):
                run = self.measure(self.program("vk_pass"), kind, options=("--level", "lane"))
                report = run.report("lane")
                self.assertEqual(report["begun"], report["spans"] + report["lost"]["total"])
                self.assertLessEqual(set(report["lost"]["by_reason"]), {"unreliable_driver"})

    def test_report_says_that_kernels_were_not_timed(self):
        self.measure(self.program("vk_run"), "resubmit", "--rounds", "6", options=("--level", "lane"))
        text = self.lapwing("report", "x.pftrace").stdout
        self.assertIn("kernels were not timed", text)
        self.assertRegex(text, r"(?m)^step +\S+ +\d")
        self.assertIn("over 5 steps (1 more with warm-up)", text)
        self.assertNotIn("lack", text, "no dispatch is missing")


if __name__ == "__main__":
    main()
