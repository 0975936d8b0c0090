#!/usr/bin/env python3
"""What makes a step, which steps are timed, and what the report makes of the others."""
from vulkan_product import COUNT, VulkanTest, main


class Steps(VulkanTest):
    def steps(self, run):
        rows = run.report("step")["rows"]
        return sorted((row for row in rows if row["step"] and row["step"]["finished"]), key=lambda row: int(row["name"]))

    def pipelined(self, *options, rounds=12, **arguments):
        return self.measure(self.program("vk_run"), "pipelined", "--rounds", str(rounds), options=options, **arguments)

    def test_program_that_always_has_work_in_flight_has_its_labels_for_steps(self):
        run = self.pipelined("--step", "label:^decode [0-9]+$", below=[COUNT])
        self.assertEqual([row["step"]["dispatches"] for row in self.steps(run)], [5] * 12)
        report = run.report()
        self.assertEqual(report["spans"], 60, "the upload before the first label is in no step and is not timed")
        self.assertEqual(report["executed_dispatches"], run.executed["dispatches"])
        self.assertEqual(report["lost"]["total"], 0)
        self.assertEqual(report["steps"]["untimed_dispatches"], 0)

    def test_steps_counted_in_submits(self):
        run = self.pipelined("--step", "submits:2")
        counts = [row["step"]["dispatches"] for row in self.steps(run)]
        self.assertEqual(len(counts), 13, "25 submits")
        self.assertEqual(sum(counts), run.said["dispatches"])

    def test_one_step_in_three_is_timed_and_all_launches_are_counted(self):
        run = self.pipelined("--step", "label:decode", "--every", "3", "--skip", "1", below=[COUNT])
        steps = self.steps(run)
        self.assertEqual([row["step"]["armed"] for row in steps], [i >= 1 and (i - 1) % 3 == 0 for i in range(12)])
        self.assertEqual([row["step"]["dispatches"] for row in steps], [5] * 12)
        self.assertEqual([row["count"] + row["warmup"]["spans"] for row in steps],
                         [5 if row["step"]["armed"] else 0 for row in steps])
        report = run.report()
        self.assertEqual(report["executed_dispatches"], run.executed["dispatches"])
        self.assertEqual(report["lost"]["total"], 0)

    def test_totals_of_all_steps_are_scaled_up_with_their_error(self):
        run = self.pipelined("--step", "label:decode", "--every", "4", rounds=40)
        report = run.report()
        self.assertEqual(report["sampling"]["timed"], 10 - report["steps"]["with_warmup"])
        row = report["rows"][0]
        self.assertAlmostEqual(row["scaled"]["total_ns"] / report["sampling"]["steps"],
                               row["total_ns"] / report["sampling"]["timed"], delta=1e-3 * row["scaled"]["total_ns"])
        self.assertGreater(row["scaled"]["error_ns"], 0)
        everything = self.pipelined("--step", "label:decode", rounds=40).report()
        self.assertIsNone(everything["sampling"])
        self.assertIsNone(everything["rows"][0]["scaled"])

    def test_duration_ends_the_timing_and_not_the_program(self):
        run = self.pipelined("--step", "label:decode", "--duration", "1ms", rounds=60)
        steps = self.steps(run)
        self.assertEqual(len(steps), 60)
        self.assertTrue(steps[0]["step"]["armed"])
        self.assertFalse(steps[-1]["step"]["armed"])

    def test_label_that_never_opens_is_named(self):
        run = self.pipelined("--step", "label:prefill")
        report = run.report()
        self.assertEqual((report["spans"], report["steps"]["count"]), (0, 0))
        self.assertTrue(any("'prefill'" in note["text"] for note in report["notes"]), report["notes"])

    def test_buffers_recorded_in_a_timed_step_are_timed_in_all(self):
        run = self.measure(self.program("vk_run"), "resubmit", "--rounds", "6", options=("--every", "100"))
        report = run.report()
        self.assertEqual(report["begun"], 60)
        self.assertEqual(report["steps"]["not_armed"], 0)

    def test_buffers_recorded_while_timing_was_off_are_counted(self):
        run = self.measure(self.program("vk_run"), "resubmit", "--rounds", "6", options=("--skip", "2"))
        report = run.report()
        self.assertEqual(report["begun"], 0)
        self.assertEqual(report["steps"]["untimed_dispatches"], 40)
        self.assertTrue(any(note["text"].startswith("40 launches in armed steps") for note in report["notes"]))

    def test_level_basic_counts_steps_and_launches(self):
        run = self.pipelined("--level", "basic", "--step", "label:decode", below=[COUNT])
        self.assertEqual(run.executed["timestamps"], 0)
        self.assertEqual([row["step"]["dispatches"] for row in self.steps(run)], [5] * 12)
        text = self.lapwing("report", "x.pftrace").stdout
        self.assertIn("12 steps, 60 dispatches executed in them, 5 a step", text)


if __name__ == "__main__":
    main()
