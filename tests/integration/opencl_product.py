"""What the OpenCL tests share: running a program under Lapwing as a user would, beside a layer that counts.

CTest starts each test method by itself, and sets:
  LAPWING             the command
  TEST_POCL_ICD       PoCL's .icd file; empty where it is not installed (the test skips)
  TEST_PROGRAMS       folder of cl_run; empty where it could not be built (the test skips)
  TEST_LAYERS         folder of the witness layer (tests/fakes/opencl_count_layer.cpp)
  TEST_KERNEL_CACHE   where PoCL may keep compiled kernels
  TEST_SANITIZED      1 where Lapwing's layer needs a sanitizer's runtime in the program
  TEST_SANITIZER_RUNTIME  that runtime, to preload into programs that are not ours; empty where there is none
"""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from lapwing_command import LAPWING, CommandTest, main

__all__ = ["ICD", "OURS", "OpenClTest", "main"]

ICD = os.environ.get("TEST_POCL_ICD", "")
PROGRAMS = os.environ.get("TEST_PROGRAMS", "")
RUNTIME = os.environ.get("TEST_SANITIZER_RUNTIME", "")
COUNT = str(Path(os.environ.get("TEST_LAYERS", "")) / "libtest_opencl_count_layer.so")
OURS = os.path.normpath(os.path.join(os.path.dirname(os.path.realpath(LAPWING)), "../lib/liblapwing_opencl_layer.so"))
SUMMARY = re.compile(r"^lapwing: .*: (\d+) spans?, \d+ steps?, (\d+) lost.*\n", re.MULTILINE)


class Run:
    """One program run, and what the witness and the recording say about it."""

    def __init__(self, test, result, recording):
        self._test = test
        self._recording = recording
        self.returncode = result.returncode
        self.stdout = result.stdout
        self.stderr = result.stderr
        counts = test.folder / "count.json"
        test.assertTrue(counts.exists(), f"the witness was not loaded; {result.stderr}")
        self.executed = json.loads(counts.read_text())
        counts.unlink()

    def report(self, by="kernel"):
        result = self._test.lapwing("report", self._recording, "--by", by, "--format", "json", "--top", "0")
        self._test.assertEqual(result.returncode, 0, result.stderr + self.stderr)
        return json.loads(result.stdout)

    def rows(self, by="kernel"):
        return {row["name"]: row for row in self.report(by)["rows"]}

    def spans(self, kind):
        """Measured spans of a kind, warm-up included."""
        return sum(row["count"] + row["warmup"]["spans"] for row in self.report()["rows"] if row["kind"] == kind)


class OpenClTest(CommandTest):
    """Each test works in an empty folder, `self.folder`, on PoCL."""

    def setUp(self):
        super().setUp()
        if not ICD:
            self.skipTest("PoCL is not there: install pocl-opencl-icd")
        if not PROGRAMS:
            self.skipTest("the test program was not built: it needs opencl-headers and ocl-icd-libopencl1")

    @staticmethod
    def program(name):
        return str(Path(PROGRAMS) / name)

    def need_command(self, name):
        if os.environ.get("TEST_SANITIZED") and not RUNTIME:
            self.skipTest("no sanitizer runtime to preload into a program that is not ours")
        path = shutil.which(name)
        if path is None:
            self.skipTest(f"{name} is not there: run ./test, or install its Debian package")
        return path

    def opencl_environment(self, changes, foreign=False):
        return self.environment({
            "OCL_ICD_VENDORS": ICD,
            "OPENCL_LAYERS": COUNT,
            "CL_COUNT_OUT": str(self.folder / "count.json"),
            "POCL_CACHE_DIR": os.environ.get("TEST_KERNEL_CACHE"),
            "LD_PRELOAD": RUNTIME or None if foreign else None,
            **(changes or {}),
        })

    def run_plain(self, *command, env=None, timeout=200, foreign=False):
        """Runs a program without Lapwing."""
        result = subprocess.run(command, cwd=self.folder, env=self.opencl_environment(env, foreign), text=True,
                                errors="replace", capture_output=True, timeout=timeout, check=False)
        return Run(self, result, None)

    def measure(self, *command, env=None, timeout=200, options=(), foreign=False):
        recording = self.folder / "x.pftrace"
        result = subprocess.run([LAPWING, "run", "-o", recording, *options, "--", *command], cwd=self.folder,
                                env=self.opencl_environment(env, foreign), text=True, errors="replace",
                                capture_output=True, timeout=timeout, check=False)
        return Run(self, result, recording)

    def run_both(self, *command, part=lambda text: text, foreign=False, env=None):
        """The program without and with Lapwing: the same work, the same text."""
        plain = self.run_plain(*command, foreign=foreign, env=env)
        self.assertEqual(plain.returncode, 0, plain.stdout + plain.stderr)
        measured = self.measure(*command, foreign=foreign, env=env)
        self.assertEqual(measured.returncode, 0, measured.stdout + measured.stderr)
        self.assertEqual(measured.executed, plain.executed, "the program did other work under Lapwing")
        self.assertEqual(part(measured.stdout), part(plain.stdout))
        rest, summaries = SUMMARY.subn("", measured.stderr)
        self.assertEqual(summaries, 1, measured.stderr)
        self.assertEqual(rest, plain.stderr, "Lapwing printed something else than its summary")
        return measured

    def assert_every_command_measured(self, run):
        """As many spans as commands executed, kind by kind, and nothing lost."""
        report = run.report()
        executed = run.executed
        self.assertEqual(report["lost"]["total"], 0, report["lost"])
        self.assertEqual(report["begun"], executed["dispatches"] + executed["copies"] + executed["fills"])
        self.assertEqual(report["spans"], report["begun"])
        self.assertEqual(run.spans("dispatch"), executed["dispatches"])
        self.assertEqual(run.spans("copy"), executed["copies"])
        self.assertEqual(run.spans("fill"), executed["fills"])
