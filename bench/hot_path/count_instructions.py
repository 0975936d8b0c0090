#!/usr/bin/env python3
"""Instructions per operation of the hot path, counted by callgrind: the slope between two sizes, loop included.

usage: count_instructions.py PROGRAM [NAME[=LIMIT] ...]    PROGRAM is build/<preset>/bin/run_hot_path_loop
Exits with 1 where a count is above its limit, with 77 where valgrind is missing.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SMALL, LARGE = 20_000, 120_000    # both fit the ring, so that no drop path is counted
NAMES = ["floor/load_branch", "floor/one_tick", "floor/two_ticks", "floor/two_ticks_ring",
         "span/off", "span/enabled", "lap/enabled", "ring/span_and_harvest",
         "histogram/record", "brick/off", "brick/start_stop", "brick/record_deferred"]


def instructions(program, name, operations):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.path.join(folder, "out"),
                               program, name, str(operations)], capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"{program} {name} {operations} under callgrind failed:\n{done.stderr}")
    return int(found.group(1))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if shutil.which("valgrind") is None:
        print("valgrind is missing: install the package valgrind")
        sys.exit(77)
    program = sys.argv[1]
    over = False
    for wanted in sys.argv[2:] or NAMES:
        name, _, limit = wanted.partition("=")
        count = (instructions(program, name, LARGE) - instructions(program, name, SMALL)) / (LARGE - SMALL)
        # The slow path once a chunk adds some hundredths to every count.
        above = bool(limit) and count > float(limit) + 0.5
        over |= above
        print(f"{name:24} {count:7.2f} instructions" + (f", limit {limit}" if limit else "") +
              (" EXCEEDED" if above else ""))
    sys.exit(1 if over else 0)


main()
