#!/usr/bin/env python3
"""The timer examples: what they print, and the traces and profile they leave."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from chrome_trace_test import Trace

STEPS, LAYERS = 20, 3


class ExampleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "trace.json"

    def run_example(self, name, *arguments, code=0, env=None):
        program = os.environ.get(name)
        if not program:
            self.skipTest(f"{name} was not built")
        result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=100, check=False,
                                cwd=self.folder, env={**os.environ, **(env or {})})
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def trace(self):
        trace = Trace(self.path.read_text(encoding="utf-8"))
        self.assertEqual(trace.badly_nested(), [])
        self.assertEqual(trace.counts["dropped"] + trace.counts["lost"], 0)
        return trace


class Host(ExampleTest):
    def check_trace(self):
        trace = self.trace()
        self.assertEqual(len(trace.spans()), 2 * STEPS * LAYERS)
        self.assertEqual({track for track, *_ in trace.spans()}, {"tid 1", "tid 2", "tid 3"})
        self.assertEqual({(one.event["name"], one.event["cat"]) for one in trace.slices},
                         {("attn", "attention"), ("moe", "moe")})
        self.assertTrue(all(one.end > one.begin for one in trace.slices))
        # Ops of one thread, one after the other: host-aligned begins in the order of the program.
        order = [one.event["name"] for one in sorted(trace.slices, key=lambda one: one.begin)]
        self.assertEqual(order, ["attn", "moe"] * (STEPS * LAYERS))

    def test_figures_trace_and_profile(self):
        profile = self.folder / "made" / "profile.jsonl"
        result = self.run_example("TIMER_EXAMPLE", self.path, profile)
        self.assertRegex(result.stdout, rf"^attn: {STEPS * LAYERS} times, mean [\d.]+ us \+- [\d.]+ \(95 %\), p99 [\d.]+ us\n")
        self.assertIn(f"{2 * STEPS * LAYERS} probes traced", result.stdout)
        self.check_trace()
        (event,) = [json.loads(line) for line in profile.read_text().splitlines()]
        mean = float(re.search(r"mean ([\d.]+)", result.stdout)[1])
        self.assertAlmostEqual(event["stage_us"]["attn"], mean, places=2)

    def test_path_may_come_from_the_environment(self):
        self.run_example("TIMER_EXAMPLE", env={"LAPWING_TRACE_OUT": str(self.path)})
        self.check_trace()

    def test_empty_path_is_off(self):
        result = self.run_example("TIMER_EXAMPLE", env={"LAPWING_TRACE_OUT": ""})
        self.assertNotIn("traced", result.stdout)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_unwritable_path_is_named(self):
        self.assertIn("/nonexistent/t.json", self.run_example("TIMER_EXAMPLE", "/nonexistent/t.json", code=1).stderr)


class Vulkan(ExampleTest):
    def test_real_dispatches_are_timed_by_stamps_and_traced(self):
        if not os.environ.get("TEST_ICD"):
            self.skipTest("lavapipe is not installed (package mesa-vulkan-drivers)")
        result = self.run_example("TIMER_VULKAN_EXAMPLE", self.path, env={"VK_ICD_FILENAMES": os.environ["TEST_ICD"]})
        times = re.findall(r"^dispatch: ([\d.]+) us by stamps, (?:pending|ready) right after the submit$", result.stdout, re.MULTILINE)
        self.assertEqual(len(times), 6, result.stdout)
        self.assertTrue(all(float(time) > 0 for time in times))
        self.assertIn("12 begun, 12 measured, 0 lost", result.stdout)
        trace = self.trace()
        self.assertEqual([(track, name) for track, name, *_ in trace.spans()], [("tid 1", "moe")] * 6)
        self.assertTrue(all(one.end > one.begin for one in trace.slices))
        self.assertIn("gpu", trace.meta[2, None]["process_name"])


if __name__ == "__main__":
    from lapwing_command import main
    sys.exit(main())
