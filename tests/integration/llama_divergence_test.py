#!/usr/bin/env python3
"""llama.cpp on its CPU backend and on Vulkan: the same model computes the same, and one wrong element is named.

The program (tests/programs/llama_fingerprints.cpp) is compiled here against the workloads' llama.cpp, which is fetched
after the build. It runs node by node, so times are those of nodes by themselves.
"""
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

from lapwing_command import CommandTest, main

ROOT = Path(os.environ.get("LAPWING_SOURCE_DIR", Path(__file__).resolve().parents[2]))
WORKLOADS = Path(os.environ.get("TEST_WORKLOADS", ""))
LIBRARIES = WORKLOADS / "run-vulkan"
TOKENS = 2
BOUND = 1e-7    # of f32, as lapwing takes it where nobody says another


@functools.lru_cache(maxsize=None)
def build(folder):
    program = Path(folder) / "llama_fingerprints"
    llama = WORKLOADS / "llama.cpp"
    subprocess.run([os.environ["CXX"], "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include",
                    "-isystem", llama / "include", "-isystem", llama / "ggml/include",
                    ROOT / "tests/programs/llama_fingerprints.cpp", "-o", program, *os.environ["LAPWING_ARCHIVES"].split(":"),
                    "-ldeflate", f"-L{LIBRARIES}", *[f"-l:{name}" for name in libraries()], "-lpthread",
                    f"-Wl,-rpath,{LIBRARIES}"], check=True, timeout=300)
    return program


def libraries():
    names = sorted(path.name for path in LIBRARIES.glob("*.so"))
    return [name for name in names if name.startswith(("libllama.", "libggml.", "libggml-base"))]


class LlamaDivergence(CommandTest):
    def setUp(self):
        super().setUp()
        if not (LIBRARIES / "llama-bench").exists():
            self.skipTest("llama.cpp is not there: run ./test or scripts/setup_workloads")
        if not os.environ.get("TEST_ICD"):
            self.skipTest("no lavapipe: install mesa-vulkan-drivers")
        self.program = build(str(self.folder))
        # Weights of f32: with f16 the CPU rounds what it multiplies them with, and the two backends are 1e-6 apart.
        subprocess.run([sys.executable, ROOT / "scripts/gen_gguf.py", self.folder / "model.gguf", "--dim", "64",
                        "--layers", "2", "--heads", "4", "--ff", "128", "--type", "f32"], check=True, timeout=60,
                       capture_output=True)

    def record(self, name, gpu, *fault):
        env = {"GGML_LIBRARIES": str(LIBRARIES), "VK_ICD_FILENAMES": os.environ["TEST_ICD"],
               "GGML_VK_VISIBLE_DEVICES": "0" if gpu else ""}
        result = subprocess.run([self.program, self.folder / "model.gguf", self.folder / name, str(TOKENS),
                                 "99" if gpu else "0", *map(str, fault)], env=self.environment(env), text=True,
                                capture_output=True, timeout=800, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("skipped 0\n", result.stdout)
        self.assertEqual("llvmpipe" in result.stderr, gpu, "the backend that was asked for")

    def compare(self, code, *arguments):
        result = self.lapwing("divergence", *arguments, "--format", "json")
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return json.loads(result.stdout)

    def test_both_backends_agree_and_one_wrong_element_is_named_by_brick_and_layer(self):
        self.record("cpu.pftrace", False)
        self.record("vulkan.pftrace", True)
        report = self.compare(0, "cpu.pftrace", "vulkan.pftrace")
        self.assertEqual((report["missing"], report["extra"]), ([], []))
        self.assertGreaterEqual(report["compared"], 2 * 15 * TOKENS)
        self.assertGreater(report["worst"]["nmse"], 0, "two backends, not one")
        self.assertLess(report["worst"]["nmse"], BOUND / 1000, "2e-13 was seen: so far below the bound is f32 rounding")

        self.record("faulty.pftrace", True, "MUL_MAT ffn_up", 1, 4 * BOUND)
        report = self.compare(1, "cpu.pftrace", "faulty.pftrace")
        first = report["first"]
        self.assertEqual((first["name"], first["layer"], first["position"]), ("MUL_MAT ffn_up", 1, 0))
        self.assertEqual(first["kind"], "values")
        self.assertAlmostEqual(first["nmse"] / (4 * BOUND), 1, delta=0.3)
        for side in ("reference", "candidate"):
            self.assertGreater(first[side]["isolated_ns"], 0)
        text = self.lapwing("divergence", "cpu.pftrace", "faulty.pftrace")
        self.assertIn("diverges first at MUL_MAT ffn_up, layer 1, position 0", text.stdout)
        self.assertIn("time, isolated", text.stdout)


if __name__ == "__main__":
    main()
