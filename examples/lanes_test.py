#!/usr/bin/env python3
"""What the lanes example says of its lanes is what lapwing report says of its recording."""
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

EXAMPLE, LAPWING = os.environ["LAPWING_LANES_EXAMPLE"], os.environ["LAPWING_CLI"]


class Lanes(unittest.TestCase):
    def run_example(self, backend):
        """(the process's own figures, those of the report) as {lane: (spans, ns)}."""
        with tempfile.TemporaryDirectory() as folder:
            recording = str(Path(folder) / "lanes.pftrace")
            said = subprocess.run([EXAMPLE, recording, backend], check=True, capture_output=True, text=True).stdout
            report = subprocess.run([LAPWING, "report", recording, "--by", "lane", "--format", "json"], check=True,
                                    capture_output=True, text=True).stdout
        own = {lane: (int(count), int(ns)) for lane, count, ns in re.findall(r"(\w+) (\d+) spans (\d+) ns\n", said)}
        return own, json.loads(report)

    def check(self, backend):
        own, report = self.run_example(backend)
        rows = {row["name"]: (row["count"], row["total_ns"]) for row in report["rows"]}
        self.assertEqual(own, rows)
        self.assertEqual({lane: figures[0] for lane, figures in own.items()}, {"admit": 6, "prefill": 6, "decode": 24})
        self.assertEqual(report["lost"]["total"], 0)
        return own

    def test_lanes_of_host_work(self):
        self.check("cpu")

    def test_lanes_of_scripted_time(self):
        self.assertEqual(self.check("sim")["admit"], (6, 6 * 1100))

    def test_a_backend_that_is_not_there_is_bad_use(self):
        self.assertEqual(subprocess.run([EXAMPLE, "f", "abacus"], capture_output=True).returncode, 2)

    def test_a_file_that_cannot_be_written_is_named(self):
        done = subprocess.run([EXAMPLE, "/nonexistent/lanes.pftrace"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/lanes.pftrace", done.stderr)


if __name__ == "__main__":
    unittest.main()
