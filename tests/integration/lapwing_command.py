"""What the tests of the lapwing command share: running it in a folder of its own, and ending as CTest wants.

CTest starts each test method by itself and sets LAPWING (the command) and WRITE_RECORDING (write_recording.cpp).
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LAPWING = os.environ.get("LAPWING", "lapwing")
WRITE_RECORDING = os.environ.get("WRITE_RECORDING", "write_recording")
_SKIPPED = 77


class CommandTest(unittest.TestCase):
    """Each test works in an empty folder, `self.folder`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def lapwing(self, *arguments, env=None, **options):
        """Runs the command; `env` is added to the environment, a value of None takes a variable away."""
        options.setdefault("capture_output", True)
        return subprocess.run([LAPWING, *map(str, arguments)], cwd=self.folder, env=self.environment(env), text=True,
                              timeout=60, check=False, **options)

    @staticmethod
    def environment(changes=None):
        merged = {**os.environ, **(changes or {})}
        return {name: value for name, value in merged.items() if value is not None}

    def write_recording(self, name, *arguments):
        path = self.folder / name
        subprocess.run([WRITE_RECORDING, *arguments, path], check=True, timeout=60)
        return path

    def assert_one_line(self, text, *parts):
        self.assertEqual(text.count("\n"), 1, f"one line expected: {text!r}")
        for part in parts:
            self.assertIn(part, text)

    def assert_refused(self, result, code, *parts):
        """Ended with `code` after exactly one line on stderr that holds `parts`, and nothing on stdout."""
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assert_one_line(result.stderr, "lapwing: ", *parts)


def main():
    program = unittest.main(exit=False, verbosity=2)
    if not program.result.wasSuccessful() or program.result.testsRun == 0:
        sys.exit(1)
    sys.exit(_SKIPPED if program.result.skipped else 0)
