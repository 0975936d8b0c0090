#!/usr/bin/env python3
"""Programs of several processes: a recording for each, joined into one; a child that only forked records nothing."""
import json
import os
import signal
import subprocess
import time

from vulkan_product import DRIVER, OURS, VulkanTest, folder_of, main


class Processes(VulkanTest):

    def assert_joined(self, measured, dispatches, processes):
        report = measured.report()
        self.assertEqual(measured.spans("dispatch"), dispatches)
        self.assertEqual(report["executed_dispatches"], dispatches)
        self.assertEqual(report["lost"]["total"], 0)
        self.assertEqual(len(report["source"]["other_pids"]), processes - 1)
        self.assertEqual(len(report["source"]["devices"]), processes)
        self.assertIn(f"of {processes} processes", measured.stderr)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("x.pftrace")], ["x.pftrace"])
        return report

    # TRT-LLM#13536, opencl-intercept#374: parent and child write one path. [field case C6]
    def test_each_process_that_was_started_has_its_spans_in_the_joined_recording(self):
        measured = self.measure(self.program("vk_fork"), "exec")
        self.assertEqual(measured.said, {"parent": 6, "children": 12, "statuses": [0, 0]})
        report = self.assert_joined(measured, 18, 3)
        self.assertEqual((report["begun"], report["unaccounted"], report["final"]), (18, 0, True))

    def test_children_that_are_killed_keep_what_a_second_had_passed_over(self):
        measured = self.measure(self.program("vk_fork"), "killed")
        self.assertEqual(measured.said["statuses"], [128 + signal.SIGKILL] * 2)
        report = self.assert_joined(measured, 18, 3)
        self.assertFalse(report["final"])
        self.assertIn("ends early", measured.stderr)

    # rocm-systems#5744: a forked child inherits the profiler's state. [field case F1]
    def test_child_that_only_forked_records_nothing_and_leaves_the_file_alone(self):
        if DRIVER == "swiftshader":
            self.skipTest("SwiftShader's own threads do not survive a fork, with or without a layer")
        measured = self.measure(self.program("vk_fork"), "fork")
        self.assertEqual(measured.said, {"parent": 6, "status": 0})
        self.assert_all_measured(measured, 6)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("x.pftrace")], ["x.pftrace"])

    def test_child_that_outlives_the_program_is_no_program_without_a_gpu(self):
        # The child opens its device when the program is gone, and then goes on.
        script = f'(exec >/dev/null 2>&1; sleep 2; exec "{self.program("vk_fork")}" exec) & exit 0'
        measured = self.measure("sh", "-c", script)
        self.assert_one_line(measured.stderr, "nothing was recorded yet", "outlive it")
        self.assertNotIn("warning", measured.stderr)
        for _ in range(100):
            if (self.folder / "x.pftrace").exists() and measured.report()["final"]:
                return
            time.sleep(0.2)
        self.fail("the child recorded nothing")

    def test_child_that_is_recording_when_the_program_ends_goes_on(self):
        script = f'(exec >/dev/null 2>&1; exec "{self.program("vk_fork")}" long 8000) & sleep 3; exit 0'
        measured = self.measure("sh", "-c", script)
        self.assert_one_line(measured.stderr, "spans so far", "goes on recording")

    def test_second_of_two_runs_is_refused_while_the_first_has_not_opened_a_device_yet(self):
        env = self.vulkan_environment([], None)
        wait = f'read line; exec "{self.program("vk_fork")}" exec'
        command = [os.environ["LAPWING"], "run", "-o", "x.pftrace", "--"]
        first = subprocess.Popen([*command, "sh", "-c", f"echo ready; {wait}"], cwd=self.folder, env=env, text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(first.stdout.readline(), "ready\n")
        second = subprocess.run([*command, self.program("vk_fork"), "exec"], cwd=self.folder, env=env, text=True,
                                capture_output=True, timeout=60, check=False)
        self.assertEqual(second.returncode, 125, second.stderr)
        _, said = first.communicate("go\n", timeout=60)
        self.assertIn("of 3 processes", said)


class Options(VulkanTest):
    """How the file is kept, asked for by options of `lapwing run`."""

    def run_with(self, *options, program=("vk_run", "resubmit", "--rounds", "400")):
        command = [os.environ["LAPWING"], "run", "-o", "x.pftrace", *options, "--", self.program(program[0]), *program[1:]]
        return subprocess.run(command, cwd=self.folder, env=self.vulkan_environment([], None), text=True,
                              capture_output=True, timeout=110, check=False)

    def report(self):
        return json.loads(self.lapwing("report", "x.pftrace", "--format", "json").stdout)

    def test_ring_ends_as_one_file_of_the_last_second(self):
        result = self.run_with("--last", "1s", program=("vk_fork", "long", "2500"))
        executed = json.loads(result.stdout)["dispatches"]
        report = self.report()
        self.assertEqual(sorted(os.listdir(self.folder)), ["runtime", "x.pftrace"])
        self.assertEqual(report["begun"], executed)
        self.assertEqual(report["spans"] + report["left_out"], executed)
        self.assertEqual((report["lost"]["total"], report["unaccounted"]), (0, 0))
        self.assertGreater(report["left_out"], executed // 4)
        self.assertGreater(report["spans"], 0)
        self.assertLessEqual(report["window_ns"], 1_100_000_000)
        self.assertIn("dropped with older parts", result.stderr)

    def test_ring_of_a_program_that_is_killed_is_read_from_its_parts(self):
        script = f'"{self.program("vk_fork")}" long 20000 & sleep 3; kill -9 $!; wait'
        env = {"LAPWING_LAST_NS": "1000000000", "LAPWING_OUT": str(self.folder / "x.pftrace"),
               "VK_ADD_LAYER_PATH": folder_of(OURS), "VK_INSTANCE_LAYERS": OURS}
        subprocess.run(["sh", "-c", script], cwd=self.folder, env=self.vulkan_environment([], env), text=True,
                       capture_output=True, timeout=110, check=False)
        report = self.report()
        self.assertGreater(len(os.listdir(self.folder)), 3)    # not joined: nobody was there to do it
        self.assertFalse(report["final"])
        self.assertGreater(report["left_out"], 0)
        self.assertGreater(report["spans"], 0)

    def test_compressed_recording_holds_the_same_spans(self):
        self.run_with()
        plain = os.path.getsize(self.folder / "x.pftrace")
        result = self.run_with("--compress")
        self.assertIn("x.pftrace: 4000 spans", result.stderr)
        self.assertLess(os.path.getsize(self.folder / "x.pftrace"), plain * 0.7)


if __name__ == "__main__":
    main()
