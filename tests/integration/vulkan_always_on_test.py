#!/usr/bin/env python3
"""What a program that is always measured asks for: no thread without need, and a recording that is whole at any time."""
import collections
import json
import os
import subprocess
import time
from pathlib import Path

from vulkan_product import OURS, VulkanTest, main

WRITER = "lapwing-writer"


class Threads(VulkanTest):
    """Field case E10 (HPCToolkit#378): an idle helper thread cost 36 to 60 %."""

    def names(self, layers, **env):
        """The names of a program's threads once its first dispatches are through."""
        program = subprocess.Popen([self.program("vk_fork"), "long", "30000"], cwd=self.folder,
                                   env=self.vulkan_environment(layers, env), stdout=subprocess.DEVNULL)
        try:
            last, names = None, collections.Counter()
            for _ in range(60):    # until no more threads come
                time.sleep(0.5)
                self.assertIsNone(program.poll(), "it ended before it was looked at")
                tasks = Path(f"/proc/{program.pid}/task")
                names = collections.Counter((task / "comm").read_text().strip() for task in tasks.iterdir())
                if names == last and len(names) > 1:
                    break
                last = names
            return names
        finally:
            program.kill()
            program.wait()

    def test_writer_is_the_only_thread_and_only_where_something_is_recorded(self):
        plain = self.names([])
        out = str(self.folder / "x.pftrace")
        self.assertEqual(self.names([OURS], LAPWING_OUT=out, LAPWING_LEVEL="off"), plain, "level off")
        self.assertEqual(self.names([OURS]), plain, "loaded, and nothing asked for")
        self.assertFalse(Path(out).exists())
        for level in ("basic", "lane", "kernel"):
            with self.subTest(level=level):
                path = str(self.folder / f"{level}.pftrace")
                added = self.names([OURS], LAPWING_OUT=path, LAPWING_LEVEL=level) - plain
                self.assertEqual(added, collections.Counter([WRITER]))


class Checkpoints(VulkanTest):
    """Field case F6 (lucebox#645): bounded, what is dropped is counted, readable at every moment."""

    def test_recording_opens_and_adds_up_while_it_is_written(self):
        command = [os.environ["LAPWING"], "run", "-o", "x.pftrace", "--", self.program("vk_fork"), "long", "6000"]
        run = subprocess.Popen(command, cwd=self.folder, env=self.vulkan_environment([], None),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        spans, looks = [0], 0
        while run.poll() is None:
            time.sleep(0.3)
            result = self.lapwing("report", "x.pftrace", "--format", "json")
            if result.returncode != 0:    # only before the program has opened its device
                self.assertEqual((spans, looks), ([0], 0), result.stderr)
                continue
            report = json.loads(result.stdout)
            self.assertGreaterEqual(report["spans"], spans[-1], "nothing that was there goes away")
            if not report["final"]:
                looks += 1
                spans.append(report["spans"])
        out, err = run.communicate()
        report = json.loads(self.lapwing("report", "x.pftrace", "--format", "json").stdout)
        self.assertEqual((report["spans"], report["lost"]["total"], report["final"]),
                         (json.loads(out)["dispatches"], 0, True), err)
        self.assertGreater(looks, 3)
        self.assertGreater(len(set(spans)), 3, "it grew while it was looked at")

    def test_bounded_recording_keeps_to_its_size_and_counts_what_it_dropped(self):
        command = [os.environ["LAPWING"], "run", "-o", "x.pftrace", "--max-size", "1MiB", "--keep", "2", "--",
                   self.program("vk_run"), "resubmit", "--rounds", "12000"]
        subprocess.run(command, cwd=self.folder, env=self.vulkan_environment([], None), capture_output=True, timeout=200,
                       check=True)
        sizes = [path.stat().st_size for path in self.folder.glob("x.pftrace*")]
        self.assertLessEqual(len(sizes), 2)
        self.assertLessEqual(max(sizes), 1 << 20)
        report = json.loads(self.lapwing("report", "x.pftrace", "--format", "json").stdout)
        self.assertEqual(report["begun"], 120_000)
        self.assertEqual(report["spans"] + report["lost"]["total"] + report["left_out"], 120_000)
        self.assertGreater(report["left_out"], 0)


if __name__ == "__main__":
    main()
