#!/usr/bin/env python3
"""What the Vulkan layer adds to recording a dispatch: bench_vulkan record without it, and with it at several settings.

usage: layer_cost.py BIN_DIR [ROUNDS] [--instructions]
BIN_DIR is build/release/bin; the driver is the one that VK_ICD_FILENAMES names. Processes take turns, round by round;
what is printed is the median of the rounds' differences to the process without the layer. --instructions counts by
callgrind instead of timing: the slope between two sizes, which repeats.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile

# Nothing is submitted, so the first step never ends: it is armed unless steps are skipped.
SETTINGS = {"no layer": None,
            "level off, not hooked": {"LAPWING_LEVEL": "off"},
            "level basic, hooked": {"LAPWING_LEVEL": "basic"},
            "level kernel, step not armed": {"LAPWING_LEVEL": "kernel", "LAPWING_SKIP": "1000000"},
            "level kernel, step armed": {"LAPWING_LEVEL": "kernel"}}


def environment(settings, folder, lib):
    env = dict(os.environ)
    if settings is not None:
        env.update(settings, VK_INSTANCE_LAYERS="VK_LAYER_LAPWING_timing", VK_ADD_LAYER_PATH=lib,
                   LAPWING_OUT=os.path.join(folder, "x.pftrace"))
    return env


def run(command, env):
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done


def instructions(program, env, folder):
    counts = []
    for buffers in ("2", "12"):
        done = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.path.join(folder, "out"), program,
                    "record", buffers], env)
        counts.append(int(re.search(r"Collected : (\d+)", done.stderr).group(1)))
    return (counts[1] - counts[0]) / 10_000


def main():
    arguments = [a for a in sys.argv[1:] if a != "--instructions"]
    if not arguments:
        sys.exit(__doc__)
    program = os.path.join(arguments[0], "bench_vulkan")
    lib = os.path.normpath(os.path.join(arguments[0], "..", "lib"))
    count = "--instructions" in sys.argv
    rounds = 1 if count else int(arguments[1]) if len(arguments) > 1 else 12
    figures = {name: [] for name in SETTINGS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, settings in SETTINGS.items():
                env = environment(settings, folder, lib)
                figures[name].append(instructions(program, env, folder) if count
                                     else float(run([program, "record", "101"], env).stdout))
    unit = "instructions" if count else "ns"
    for name, values in figures.items():
        added = statistics.median(ours - bare for ours, bare in zip(values, figures["no layer"]))
        print(f"{name:28} {statistics.median(values):9.1f} {unit} a dispatch and barrier, added {added:+8.1f}")


main()
