"""What the tests of programs that nobody here wrote share: each is run without Lapwing and with it, and compared.

The programs come from scripts/setup_workloads --all and from Debian. A layer above Lapwing counts, at each submit, what
the program makes the device execute.
"""
import os
import re
import shutil
from pathlib import Path

from vulkan_product import COUNT, DRIVER, VulkanTest, main

__all__ = ["COUNT", "DRIVER", "ForeignProgramTest", "SCRIPTS", "WORKLOADS", "main"]

WORKLOADS = Path(os.environ.get("TEST_WORKLOADS", ""))
# Dawn and ONNX Runtime in scripts of ours, which know nothing of Lapwing.
SCRIPTS = Path(__file__).resolve().parent.parent / "workloads"

# The sanitizer's runtime where the layers are built with one.
RUNTIME = os.environ.get("TEST_SANITIZER_RUNTIME", "")

# What the runtime says of the program itself, with its process number: upscayl-bin uses a format that it does not know.
RUNTIME_WARNING = re.compile(r"^==\d+==AddressSanitizer: WARNING: .*\n", re.MULTILINE)

SUMMARY = re.compile(r"^lapwing: .*: \d+ spans, \d+ steps, 0 lost; see: lapwing report .*\n", re.MULTILINE)


class ForeignProgramTest(VulkanTest):
    """Skips, with the remedy, where what it needs is missing."""

    def setUp(self):
        super().setUp()
        if os.environ.get("TEST_SANITIZED") and not RUNTIME:
            self.skipTest("no sanitizer runtime to preload into a program that is not ours")

    def vulkan_environment(self, layers, changes):
        # A layer with a sanitizer needs its runtime, and the runtime must be the first library of the program.
        return super().vulkan_environment(layers, {"LD_PRELOAD": RUNTIME or None, **(changes or {})})

    def need_workload(self, name):
        path = WORKLOADS / name
        if not path.exists():
            self.skipTest(f"{name} is not there: run ./test or scripts/setup_workloads --all")
        return str(path)

    def need_command(self, name):
        path = shutil.which(name)
        if path is None:
            self.skipTest(f"{name} is not there: run ./test, or install its Debian package")
        return path

    def run_both(self, *command, writes=(), same_output=True, part=lambda text: text, env=None, timeout=250):
        """The program without and with Lapwing: the same work, the same text, the same files (`writes`).

        `part` takes out of a text what is the same in every run, where the rest has times in it.
        """
        plain = self.run_plain(*command, layers=[COUNT], env=env, timeout=timeout)
        self.assertEqual(plain.returncode, 0, plain.stdout + plain.stderr)
        plain_executed, plain_files = plain.executed, self.take(writes)
        measured = self.measure(*command, above=[COUNT], env=env, timeout=timeout)
        self.assertEqual(measured.executed, plain_executed, "the program did other work under Lapwing")
        measured_files = self.take(writes)
        if same_output:
            self.assertEqual(part(measured.stdout), part(plain.stdout))
            self.assertEqual(measured_files, plain_files)
        rest, summaries = SUMMARY.subn("", measured.stderr)
        self.assertEqual(summaries, 1, measured.stderr)
        said, said_plain = (part(RUNTIME_WARNING.sub("", text)) for text in (rest, plain.stderr))
        self.assertEqual(said, said_plain, "Lapwing printed something else than its summary")
        measured.files = measured_files
        return measured

    def take(self, names):
        """Contents of files, which are removed, so that the next run cannot leave them to us unwritten."""
        contents = [(self.folder / name).read_bytes() for name in names]
        for name in names:
            (self.folder / name).unlink()
        return contents

    def assert_every_command_measured(self, run):
        """As many spans as commands executed, kind by kind, and nothing lost."""
        executed = run.executed
        self.assert_all_measured(run, executed["dispatches"])
        self.assertEqual(run.spans("copy"), executed["copies"] + executed["query_copies"])
        self.assertEqual(run.spans("fill"), executed["fills"])
        self.assertEqual(executed["render_passes"], 0, "a program with render passes: compare their spans too")

    def dispatched_kernels(self, run):
        return {name for name, row in run.rows("kernel").items() if row["kind"] == "dispatch"}
