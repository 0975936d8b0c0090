#!/usr/bin/env python3
"""The OpenCL layer under a program of ours that knows nothing of it: what it sees, and that all it does is timed."""
import os
import subprocess

from opencl_product import OURS, OpenClTest, main


class View(OpenClTest):
    def test_the_program_sees_its_queues_and_events_as_without(self):
        # Properties, reference counts, profiles refused, callbacks and codes are in the text that is compared.
        run = self.run_both(self.program("cl_run"), "view")
        self.assertIn("properties 0", run.stdout)
        self.assertIn("late -7", run.stdout, "a queue without profiling gives no profile")
        self.assertIn("late 0", run.stdout, "a queue with profiling does")
        self.assert_every_command_measured(run)

    def test_without_a_recording_no_call_comes_by(self):
        plain = self.run_plain(self.program("cl_run"), "view")
        loaded = self.run_plain(self.program("cl_run"), "view", env={"OPENCL_LAYERS": OURS + ":" + os.environ[
            "TEST_LAYERS"] + "/libtest_opencl_count_layer.so"})
        self.assertEqual(loaded.stdout, plain.stdout)
        self.assertEqual(loaded.stderr, plain.stderr)
        self.assertEqual(list(self.folder.glob("*.pftrace*")), [])

    def test_a_program_without_opencl_is_left_alone(self):
        result = self.lapwing("run", "-o", "x.pftrace", "--", "/bin/echo", "hello")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "hello\n")
        self.assert_one_line(result.stderr, "used no GPU API that Lapwing can see", "made no OpenCL queue")

    def test_disabled_by_its_variable(self):
        run = self.measure(self.program("cl_run"), "steps", "2", env={"LAPWING_OPENCL_LAYER_DISABLE": "1"})
        self.assertEqual(run.returncode, 0)
        self.assertFalse((self.folder / "x.pftrace").exists(), run.stderr)

    def test_a_bad_setting_is_one_line(self):
        result = subprocess.run([self.program("cl_run"), "steps", "1"], cwd=self.folder, text=True, capture_output=True,
                                timeout=100, check=False,
                                env=self.opencl_environment({"OPENCL_LAYERS": OURS, "LAPWING_OUT": "x.pftrace",
                                                             "LAPWING_LEVEL": "kernels"}))
        self.assertEqual(result.returncode, 0)
        self.assert_one_line(result.stderr, "lapwing: OpenCL layer off: LAPWING_LEVEL", "kernels")


class Spans(OpenClTest):
    def test_each_kind_of_command_has_its_span(self):
        run = self.run_both(self.program("cl_run"), "all")
        self.assertGreaterEqual(run.executed["copies"], 15)
        self.assertGreaterEqual(run.executed["fills"], 2)
        self.assert_every_command_measured(run)
        rows = run.rows()
        self.assertIn("burn", rows)
        self.assertIn("clEnqueueNativeKernel", rows)

    def test_spans_have_the_grid_and_lie_in_the_run(self):
        run = self.measure(self.program("cl_run"), "steps", "8")
        self.assert_every_command_measured(run)
        report = run.report()
        self.assertEqual(report["steps"]["count"], 8)
        self.assertLess(report["busy_ns"], report["window_ns"])
        uncertainty = report["devices"][0]["clock"]["uncertainty_ns"] if "devices" in report \
            else report["source"]["clock"]["uncertainty_ns"]
        self.assertLess(uncertainty, 5_000_000, "PoCL's clock was not placed on the host's")

    def test_a_program_that_never_waits_is_drained_at_its_end(self):
        run = self.run_both(self.program("cl_run"), "unfinished", "20")
        self.assertEqual(run.executed["waits"], 0)
        self.assert_every_command_measured(run)

    def test_queues_that_are_released_with_work_in_flight(self):
        run = self.run_both(self.program("cl_run"), "queues", "10")
        self.assertEqual(run.executed["dispatches"], 21)
        self.assert_every_command_measured(run)

    def test_two_threads_on_one_queue(self):
        run = self.measure(self.program("cl_run"), "threads", "500")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.executed["dispatches"], 1000)
        self.assert_every_command_measured(run)


class Arming(OpenClTest):
    def test_one_step_in_four_is_timed(self):
        run = self.measure(self.program("cl_run"), "steps", "16", options=["--every", "4"])
        report = run.report()
        self.assertEqual(report["steps"]["count"], 16)
        self.assertEqual(report["begun"], 4 * 4)
        self.assertEqual(report["spans"], 16)
        self.assertEqual(report["lost"]["total"], 0)

    def test_level_lane_gives_one_span_a_step(self):
        run = self.measure(self.program("cl_run"), "steps", "6", options=["--level", "lane"])
        report = run.report("lane")
        self.assertEqual(report["begun"], 6)
        self.assertEqual(report["spans"], 6)
        self.assertEqual(report["lost"]["total"], 0)

    def test_level_basic_counts_launches_and_takes_no_event(self):
        plain = self.run_plain(self.program("cl_run"), "steps", "6")
        run = self.measure(self.program("cl_run"), "steps", "6", options=["--level", "basic"])
        report = run.report()
        self.assertEqual(report["begun"], 0)
        self.assertEqual(report["steps"]["count"], 6)
        self.assertEqual(run.executed, plain.executed)


if __name__ == "__main__":
    main()
