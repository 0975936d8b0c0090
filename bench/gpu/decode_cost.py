#!/usr/bin/env python3
"""What timing costs llama.cpp's decoding, step beside step inside one process.

usage: decode_cost.py LAPWING WORKLOADS [TOKENS] [RUNS]
LAPWING is build/release/bin/lapwing, WORKLOADS what scripts/setup_workloads made; the driver is the one that
VK_ICD_FILENAMES names. Every second step is timed; each is compared with the untimed ones beside it. "null" is the same
comparison in runs in which no step is timed: what it is off from 1 is the method's own error. Printed: wall time of an
untimed step over a timed one, the median over all pairs and its standard error; and what follows for one step in 64.
"""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

MODELS = {"tiny": "tiny.gguf", "15m": "15m.gguf"}
THREADS = {"as it comes": {}, "LP_NUM_THREADS=0": {"LP_NUM_THREADS": "0"}}


def steps_of(lapwing, workloads, model, tokens, env, timed):
    options = ["--every", "2"] if timed else ["--skip", "1000000"]
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "x.pftrace")
        engine = [os.path.join(workloads, "run-vulkan", "llama-bench"), "-m", os.path.join(workloads, model), "-t", "1",
                  "-p", "0", "-n", str(tokens), "-ngl", "99", "-r", "1"]
        subprocess.run([lapwing, "run", *options, "-o", recording, "--", *engine], check=True, capture_output=True,
                       env={**os.environ, "GGML_VK_VISIBLE_DEVICES": "0", **env})
        report = subprocess.run([lapwing, "report", recording, "--by", "step", "--format", "json"], check=True,
                                capture_output=True, text=True).stdout
    steps = [row["step"] | {"warmup": row["warmup"]["spans"]} for row in json.loads(report)["rows"] if row.get("step")]
    return [step for step in steps if step["finished"]][4:]


def log_ratios(steps, is_timed):
    """Untimed over timed, for each timed step with an untimed one on both sides: a trend falls out."""
    out = []
    for before, here, after in zip(steps, steps[1:], steps[2:]):
        number = steps.index(here)
        if is_timed(here, number) and not is_timed(before, number - 1) and not is_timed(after, number + 1):
            out.append(math.log(math.sqrt(before["wall_ns"] * after["wall_ns"]) / here["wall_ns"]))
    return out


def summary(ratios):
    middle = statistics.median(ratios)
    deviation = 1.4826 * statistics.median(abs(r - middle) for r in ratios)
    return math.exp(middle), 1.2533 * deviation / math.sqrt(len(ratios)), len(ratios)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    lapwing, workloads = sys.argv[1:3]
    tokens = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    for name, model in MODELS.items():
        for threads, env in THREADS.items():
            timed, null = [], []
            for _ in range(runs):
                timed += log_ratios(steps_of(lapwing, workloads, model, tokens, env, True),
                                    lambda step, number: step["armed"])
                null += log_ratios(steps_of(lapwing, workloads, model, tokens, env, False),
                                   lambda step, number: number % 2 == 1)
            ratio, error, pairs = summary(timed)
            control, control_error, _ = summary(null)
            print(f"{name:5} {threads:18} timed {ratio:.3f} +- {error:.3f} ({pairs} pairs), null {control:.3f} +- "
                  f"{control_error:.3f}; one step in 64: {1 / (1 + (1 / ratio - 1) / 64):.4f}", flush=True)


main()
