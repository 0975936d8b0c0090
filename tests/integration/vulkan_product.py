"""What the Vulkan tests share: running a program under Lapwing as a user would, beside layers that watch.

CTest starts each test method by itself, once for each driver, and sets:
  LAPWING             the command
  TEST_DRIVER         lavapipe, swiftshader or mock
  TEST_ICD            the driver's manifest; empty where it is not installed (the test skips)
  TEST_PROGRAMS       folder of vk_run and vk_life; empty where they could not be built (the test skips)
  TEST_LAYERS         folder of the witness layers' folders (tests/fakes)
  TEST_WORKLOADS      folder of llama.cpp and its models, from scripts/setup_workloads
  TEST_SHADER_CACHE   where the driver may keep compiled shaders
  TEST_SANITIZED      1 where Lapwing's layer needs a sanitizer's runtime in the program
  TEST_SANITIZER_RUNTIME  that runtime, to preload into programs that are not ours; empty where there is none
"""
import json
import os
import subprocess
from pathlib import Path

from lapwing_command import LAPWING, CommandTest, main

__all__ = ["LAPWING", "Measurement", "VulkanTest", "main"]

DRIVER = os.environ.get("TEST_DRIVER", "lavapipe")
ICD = os.environ.get("TEST_ICD", "")
PROGRAMS = os.environ.get("TEST_PROGRAMS", "")
LAYERS = os.environ.get("TEST_LAYERS", "")

OURS = "VK_LAYER_LAPWING_timing"
VALIDATION = "VK_LAYER_KHRONOS_validation"    # in the system's folders, so below all of these
COUNT = "VK_LAYER_LAPWING_TEST_count"
ABOVE = "VK_LAYER_LAPWING_TEST_above"
BELOW = "VK_LAYER_LAPWING_TEST_below"
SHAPE = "VK_LAYER_LAPWING_TEST_shape"
RUDE = "VK_LAYER_LAPWING_TEST_rude"


def folder_of(layer):
    """The folder of a layer's manifest. The loader stacks layers in the order in which it finds their manifests."""
    if layer == OURS:
        return os.path.normpath(os.path.join(os.path.dirname(os.path.realpath(LAPWING)), "../lib"))
    return os.path.join(LAYERS, layer.rpartition("_")[2])


class Measurement:
    """One program run, and what the witnesses and the recording say about it."""

    def __init__(self, test, result, recording):
        self._test = test
        self._recording = recording
        self.returncode = result.returncode
        self.stdout = result.stdout
        self.stderr = result.stderr

    @property
    def said(self):
        """The JSON object that the program printed."""
        return json.loads(self.stdout)

    def _witness(self, name):
        path = self._test.folder / name
        self._test.assertTrue(path.exists(), f"{name} was not written: the layer was not loaded; {self.stderr}")
        return json.loads(path.read_text())

    @property
    def executed(self):
        return self._witness("count.json")["executed"]

    @property
    def shims(self):
        return self._witness("shims.json")

    def report(self, by="kernel"):
        result = self._test.lapwing("report", self._recording, "--by", by, "--format", "json", "--top", "0")
        self._test.assertEqual(result.returncode, 0, result.stderr + self.stderr)
        return json.loads(result.stdout)

    def rows(self, by):
        return {row["name"]: row for row in self.report(by)["rows"]}

    def spans(self, kind):
        """Measured spans of a kind, warm-up included."""
        return sum(row["count"] + row["warmup"]["spans"] for row in self.report("kernel")["rows"]
                   if row["kind"] == kind)


class VulkanTest(CommandTest):
    """Each test works in an empty folder, `self.folder`, on the driver that CTest names."""

    def setUp(self):
        super().setUp()
        if not ICD:
            self.skipTest(f"no {DRIVER} driver on this machine")
        if not PROGRAMS:
            self.skipTest("the test programs were not built: they need libvulkan-dev and glslc")

    @staticmethod
    def program(name):
        return str(Path(PROGRAMS) / name)

    def vulkan_environment(self, layers, changes):
        runtime = self.folder / "runtime"
        runtime.mkdir(exist_ok=True)
        return self.environment({
            "VK_ICD_FILENAMES": ICD,
            "VK_ADD_LAYER_PATH": ":".join(folder_of(layer) for layer in layers if layer != VALIDATION) or None,
            "VK_INSTANCE_LAYERS": ":".join(layers) or None,
            "VK_COUNT_OUT": str(self.folder / "count.json"),
            "VK_SHIM_OUT": str(self.folder / "shims.json"),
            "MESA_SHADER_CACHE_DIR": os.environ.get("TEST_SHADER_CACHE"),
            "XDG_RUNTIME_DIR": str(runtime),
            **(changes or {}),
        })

    def run_plain(self, *command, layers=(), env=None, timeout=100):
        """Runs a program without Lapwing."""
        result = subprocess.run(command, cwd=self.folder, env=self.vulkan_environment(layers, env), text=True,
                                errors="replace", capture_output=True, timeout=timeout, check=False)
        return Measurement(self, result, None)

    def measure(self, *command, above=(), below=(), env=None, timeout=100, returncode=0, options=()):
        """Runs a program under `lapwing run`, with witness layers above and below Lapwing's own."""
        recording = self.folder / "x.pftrace"
        result = subprocess.run([LAPWING, "run", *options, "-o", recording, "--", *command], cwd=self.folder, text=True,
                                env=self.vulkan_environment([*above, OURS, *below], env), errors="replace",
                                capture_output=True, timeout=timeout, check=False)
        self.assertEqual(result.returncode, returncode, result.stdout + result.stderr)
        return Measurement(self, result, recording)

    def validation_messages(self, measure, *command, **env):
        """What Khronos validation says about a run by `measure`, which loads it."""
        log = self.folder / "validation.log"
        settings = self.folder / "vk_layer_settings.txt"
        settings.write_text("khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG\n"
                            "khronos_validation.report_flags = error,warn\n"
                            f"khronos_validation.log_filename = {log}\n")
        run = measure(*command, env={"VK_LAYER_SETTINGS_PATH": str(settings), "VK_LOADER_DEBUG": "layer", **env})
        if VALIDATION not in run.stderr:
            self.skipTest("the Khronos validation layer is not installed (vulkan-validationlayers)")
        return log.read_text() if log.exists() else run.stdout

    def assert_all_measured(self, measured, dispatches):
        """Every dispatch is a measured span, and the report's own sum says so."""
        report = measured.report()
        self.assertEqual(measured.spans("dispatch"), dispatches)
        self.assertEqual(report["lost"], {"total": 0, "by_reason": {}})
        self.assertEqual(report["begun"], report["spans"])
        self.assertEqual(report["unaccounted"], 0)
        self.assertEqual(report["executed_dispatches"], dispatches)
        self.assertEqual(report["own_cost"]["faults"], 0)
        self.assertGreater(report["own_cost"]["start_ns"], 0)
