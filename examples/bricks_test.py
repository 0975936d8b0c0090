#!/usr/bin/env python3
"""What the examples print of their bricks and tiles is right, and what a report of the recording says."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

LAYERS, STEPS = 3, 6
NAMES = {"RmsNorm", "UpProjection", "Activation"}


def lines_of(*command):
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout.splitlines()


class Examples(unittest.TestCase):
    def test_report_of_the_recording_equals_what_the_process_printed(self):
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, "bricks.pftrace")
            printed = [json.loads(line) for line in lines_of(os.environ["LAPWING_BRICKS_EXAMPLE"], recording)
                       if line.startswith("{")]
            report = json.loads("\n".join(lines_of(os.environ["LAPWING_CLI"], "report", recording, "--by", "brick",
                                                   "--format", "json")))
        self.assertEqual(len(printed), 2, "the example was built without Vulkan")
        expected = {}
        for profile in printed:
            self.assertEqual(profile["schema"], "lapwing.bricks/1")
            self.assertEqual(profile["total_tokens"], STEPS)
            self.assertEqual({brick["name"] for brick in profile["bricks"]}, NAMES)
            self.assertEqual(sum(category["total_ns"] for category in profile["categories"]), profile["total_ns"])
            self.assertEqual(profile["refused"], {})
            for brick in profile["bricks"]:
                self.assertEqual(brick["count"], STEPS * LAYERS - 1)
                self.assertEqual(brick["warmup"]["count"], 1)
                expected[brick["name"], brick["clock"]] = (brick["count"], brick["total_ns"], brick["warmup"]["total_ns"])
        self.assertEqual({brick["clock"] for brick in printed[0]["bricks"]}, {"host"})
        self.assertEqual({brick["clock"] for brick in printed[1]["bricks"]}, {"device"})
        self.assertEqual({brick["sync_mode"] for brick in printed[1]["bricks"]}, {"deferred"})
        rows = {(row["name"], "host" if row["kind"] == "host" else "device"):
                (row["count"], row["total_ns"], row["warmup"]["total_ns"]) for row in report["rows"]}
        self.assertEqual(rows, expected)
        # Forty times the work takes longer, on the device's own clock.
        device = {brick["name"]: brick for brick in printed[1]["bricks"]}
        self.assertGreater(device["UpProjection"]["p50_ns"], 3 * device["RmsNorm"]["p50_ns"])

    def test_tiles_example_multiplies_right_and_times_every_tile(self):
        lines = lines_of(os.environ["LAPWING_TILES_EXAMPLE"])
        tiles = json.loads(lines[-1])
        self.assertEqual([tile["level"] for tile in tiles["tiles"]], ["midi"])
        self.assertEqual(tiles["tiles"][0]["count"], 16)
        self.assertEqual({(cell["row"], cell["col"]) for cell in tiles["heat"]},
                         {(row, col) for row in range(4) for col in range(4)})
        self.assertEqual(sum(cell["total_ns"] for cell in tiles["heat"]), tiles["tiles"][0]["total_ns"])


if __name__ == "__main__":
    if not os.path.exists(os.environ.get("VK_ICD_FILENAMES", "")):
        print("lapwing: no lavapipe: install mesa-vulkan-drivers")
        sys.exit(77)
    unittest.main()
