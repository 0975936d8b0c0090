#!/usr/bin/env python3
"""What the example prints of its families is what a report of its recording says."""
import json
import os
import subprocess
import tempfile
import unittest


class FamiliesExample(unittest.TestCase):
    def test_report_of_the_recording_equals_what_the_process_printed(self):
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, "families.pftrace")
            shown = subprocess.run([os.environ["LAPWING_FAMILIES_EXAMPLE"], recording], check=True, text=True,
                                   capture_output=True).stdout.splitlines()[1:]
            printed = {fields[0]: tuple(map(int, fields[1:])) for fields in map(str.split, shown)}
            self.assertEqual(list(printed), ["embedding", "gemm", "attention", "fused_block", "output_topk"])
            report = json.loads(subprocess.run(
                [os.environ["LAPWING_CLI"], "report", recording, "--by", "family", "--format", "json"], check=True, text=True,
                capture_output=True).stdout)
            rows = {row["name"]: (row["count"], row["total_ns"]) for row in report["rows"]}
            self.assertEqual(rows, {name: figures[:2] for name, figures in printed.items() if figures[0]})
            self.assertEqual({name: figures[0] for name, figures in printed.items()},
                             {"embedding": 0, "gemm": 16, "attention": 16, "fused_block": 16, "output_topk": 0})
            self.assertLessEqual(printed["fused_block"][2], printed["fused_block"][1])
            self.assertGreater(printed["fused_block"][2], 0)
            self.assertEqual(report["begun"], report["spans"])
            # Six spans a token; the block around its four passes is not busy time.
            self.assertEqual(report["spans"], 16 * 7)
            self.assertLessEqual(report["busy_ns"], sum(printed[name][2] for name in printed))


if __name__ == "__main__":
    unittest.main()
