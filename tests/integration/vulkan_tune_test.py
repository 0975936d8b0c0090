#!/usr/bin/env python3
"""lapwing bench --peaks on a real driver, and lapwing tune on a recording of unmodified llama.cpp with these peaks."""
import json
import subprocess

from foreign_program import WORKLOADS, ForeignProgramTest, main
from tune_command_test import check_schema
from vulkan_product import LAPWING, VulkanTest

# Far below what any processor of the last ten years does, and far above what any machine does.
LEAST_FLOPS, MOST_FLOPS = 1e8, 1e16
LEAST_BYTES, MOST_BYTES = 1e7, 1e14


def measure_peaks(test):
    result = subprocess.run([LAPWING, "bench", "--peaks", "--quick", "--format", "json"], cwd=test.folder, text=True,
                            env=test.vulkan_environment((), None), capture_output=True, timeout=240, check=False)
    test.assertEqual(result.returncode, 0, result.stderr)
    return json.loads(result.stdout)


class Peaks(VulkanTest):
    def test_host_and_device_are_measured(self):
        peaks = measure_peaks(self)
        self.assertEqual([device["api"] for device in peaks["devices"]], ["host", "vulkan"])
        for device in peaks["devices"]:
            self.assertEqual(device["origin"], "measured")
            self.assertTrue(LEAST_FLOPS < device["f32_flops"] < MOST_FLOPS, device)
            self.assertTrue(LEAST_BYTES < device["bytes_per_s"] < MOST_BYTES, device)
            self.assertIsNone(device["int8_ops"])
            self.assertTrue(any("int8_ops" in note and "not measured" in note for note in device["notes"]))
        vulkan = peaks["devices"][1]
        self.assertGreater(vulkan["launch_ns"], 0)
        self.assertIn("timed by the device's own stamps", vulkan["notes"])
        # A software driver computes on the processor: within two orders of magnitude of it, either way.
        for peak in ("f32_flops", "bytes_per_s"):
            self.assertTrue(0.003 < vulkan[peak] / peaks["devices"][0][peak] < 100, (peak, peaks))
        check_schema(self, "peaks", peaks)


class Llama(ForeignProgramTest):
    def test_recommendation_of_a_real_run(self):
        self.need_workload("run-vulkan/llama-bench")
        (self.folder / "peaks.json").write_text(json.dumps(measure_peaks(self)))
        self.measure(str(WORKLOADS / "run-vulkan" / "llama-bench"), "-m", str(WORKLOADS / "tiny.gguf"), "-t", "1", "-p",
                     "0", "-n", "8", "-ngl", "99", "-r", "1", env={"GGML_VK_VISIBLE_DEVICES": "0"}, timeout=200)
        (self.folder / "x.pftrace.config.json").write_text(json.dumps(
            {"schema": "lapwing.run_config/1", "model_params_b": 0.001, "hidden_dim": 64, "num_layers": 2,
             "num_heads": 8, "quant_type": "f32", "kernel_type": "Other"}))
        result = self.lapwing("tune", "x.pftrace", "--peaks", "peaks.json", "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        answer = json.loads(result.stdout)
        report = json.loads(self.lapwing("report", "x.pftrace", "--format", "json").stdout)
        wall = report["steps"]["wall"]
        self.assertEqual(answer["profile"]["steps"], wall["count"])
        self.assertAlmostEqual(answer["throughput"]["tokens_per_s"], 1e9 / wall["p50_ns"])
        self.assertEqual(answer["throughput"]["basis"], "measured")
        self.assertIsNotNone(answer["throughput"]["roofline_cap"])
        self.assertIn("llvmpipe", answer["device"]["name"])
        self.assertTrue(answer["profile"]["by_label"])
        for part in ("attention_ns", "ffn_ns", "norm_ns"):
            self.assertGreater(answer["profile"][part], 0, "llama.cpp's labels name all three")
        self.assertLessEqual(sum(answer["profile"][part] for part in ("attention_ns", "ffn_ns", "norm_ns")),
                             answer["profile"]["total_ns"])
        check_schema(self, "tuner", answer)


if __name__ == "__main__":
    main()
