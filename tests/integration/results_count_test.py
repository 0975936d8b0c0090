#!/usr/bin/env python3
"""scripts/count_tests: the closing line of ./test counts what CTest says, and nothing passes by not running."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("LAPWING_SOURCE_DIR", Path(__file__).resolve().parents[2]))

PASSED = '<testcase name="P" status="run"><system-out>[  PASSED  ]</system-out></testcase>'
FAILED = '<testcase name="F" status="fail"><failure message="Timeout"/><system-out/></testcase>'
SKIPPED = ('<testcase name="S" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'
           '<system-out>a_test.cpp:3: Skipped\nno device here\n\n[  SKIPPED ] A.Skip (0 ms)</system-out></testcase>')
SKIPPED_PYTHON = ('<testcase name="S" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
                  "<system-out>test_x ... skipped 'no tool here'</system-out></testcase>")
NOT_BUILT = ('<testcase name="N" status="notrun"><skipped message="Unable to find executable"/>'
             "<system-out>Unable to find executable: x</system-out></testcase>")


class ClosingLine(unittest.TestCase):
    def count(self, *files):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, cases in enumerate(files):
                paths.append(Path(folder) / f"preset{number}.xml")
                paths[-1].write_text(f"<testsuite>{cases}</testsuite>", encoding="utf-8")
            return self.run_count(*paths)

    @staticmethod
    def run_count(*paths):
        result = subprocess.run([sys.executable, ROOT / "scripts/count_tests", *paths], capture_output=True, text=True,
                                timeout=60, check=False)
        return result.returncode, result.stdout.splitlines()

    def test_presets_are_summed(self):
        self.assertEqual(self.count(PASSED, PASSED + PASSED), (0, ["3 passed, 0 failed, 0 skipped"]))

    def test_failure_is_named_and_fails(self):
        code, lines = self.count(PASSED + FAILED)
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertIn("F: Timeout", lines[0])

    def test_skip_of_googletest_comes_with_its_reason(self):
        code, lines = self.count(PASSED + SKIPPED)
        self.assertEqual((code, lines[-1]), (0, "1 passed, 0 failed, 1 skipped"))
        self.assertIn("no device here", lines[0])

    def test_skip_of_python_comes_with_its_reason(self):
        self.assertIn("no tool here", self.count(PASSED + SKIPPED_PYTHON)[1][0])

    def test_program_that_was_not_built_has_failed(self):
        code, lines = self.count(PASSED + NOT_BUILT)
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_no_test_at_all_fails(self):
        self.assertEqual(self.count(""), (1, ["0 passed, 0 failed, 0 skipped"]))

    def test_skips_alone_fail(self):
        self.assertEqual(self.count(SKIPPED)[0], 1)

    def test_missing_results_fail(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.run_count(Path(folder) / "none.xml")[0], 1)

    def test_cut_off_results_fail(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cut.xml"
            path.write_text(f"<testsuite>{PASSED}", encoding="utf-8")
            self.assertEqual(self.run_count(path)[0], 1)


if __name__ == "__main__":
    from lapwing_command import main
    sys.exit(main())
