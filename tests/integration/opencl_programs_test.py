#!/usr/bin/env python3
"""OpenCL programs that nobody here wrote: each is run without Lapwing and with it, and compared.

They come from Debian: clpeak, clblast-tests, ffmpeg, piglit. A layer above Lapwing counts what they make the device
execute.
"""
import os
import re
import subprocess
from pathlib import Path

from opencl_product import OURS, OpenClTest, main

PIGLIT = Path("/usr/lib/x86_64-linux-gnu/piglit/bin")
FRAMES = 10


class Programs(OpenClTest):
    def test_clpeak(self):
        # 20,000 launches one by one, each waited for; what it prints has times in it.
        command = [self.need_command("clpeak"), "--kernel-latency", "-p", "0"]
        run = self.run_both(*command, part=lambda text: re.sub(r"latency : .*", "", text), foreign=True)
        self.assertGreater(run.executed["dispatches"], 20_000)
        self.assert_every_command_measured(run)

    def test_clblast(self):
        command = [self.need_command("clblast_test_xaxpy"), "-platform", "0", "-device", "0"]
        run = self.run_both(*command, part=lambda text: re.sub(r"[\d.]+ (ms|s)\b", "", text), foreign=True)
        self.assertGreater(run.executed["dispatches"], 100)
        self.assertGreater(run.executed["copies"], 1000)
        self.assertIn("Xaxpy", run.rows())
        self.assert_every_command_measured(run)

    def test_ffmpeg(self):
        run = self.run_both(self.need_command("ffmpeg"), "-v", "error", "-nostdin", "-init_hw_device", "opencl=ocl:0.0",
                            "-filter_hw_device", "ocl", "-f", "lavfi", "-i", f"testsrc2=s=256x128:d=1:r={FRAMES}",
                            "-vf", "format=yuv420p,hwupload,avgblur_opencl=5,unsharp_opencl,hwdownload,format=yuv420p",
                            "-f", "framemd5", "-", foreign=True)
        self.assertEqual(len([line for line in run.stdout.splitlines() if line.startswith("0,")]), FRAMES)
        self.assertEqual(run.executed["dispatches"], 9 * FRAMES)
        self.assertLessEqual({"avgblur_horiz", "avgblur_vert", "unsharp_local"}, set(run.rows()))
        self.assert_every_command_measured(run)


class Piglit(OpenClTest):
    """The API's own tests pass and fail as they do without the layer."""

    def outcomes(self, layers):
        out = {}
        for test in sorted([*PIGLIT.glob("cl-api-*"), *PIGLIT.glob("cl-custom-*")]):
            env = self.opencl_environment({"OPENCL_LAYERS": layers, "LAPWING_OUT": str(self.folder / "p.pftrace"),
                                           "PIGLIT_SOURCE_DIR": str(PIGLIT.parent)}, foreign=True)
            arguments = ["-auto"] if test.name.startswith("cl-api") else []
            result = subprocess.run([test, *arguments], cwd=self.folder, env=env, capture_output=True, timeout=100,
                                    check=False, errors="replace", text=True)
            out[test.name] = (result.returncode, re.findall(r"PIGLIT: .*", result.stdout))
            for recording in self.folder.glob("p.pftrace*"):
                recording.unlink()
        return out

    def test_the_same_pass_and_fail(self):
        if not list(PIGLIT.glob("cl-api-*")):
            self.skipTest("piglit is not there: run ./test --slow, or install its Debian package")
        if os.environ.get("TEST_SANITIZED"):
            self.skipTest("the sanitizer's runtime is too slow for so many processes")
        plain = self.outcomes(None)
        self.assertGreater(sum("pass" in str(outcome) for outcome in plain.values()), 30)
        self.assertEqual(self.outcomes(OURS), plain)


if __name__ == "__main__":
    main()
