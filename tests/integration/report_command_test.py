#!/usr/bin/env python3
"""lapwing report on a good recording: its formats, its options, its colour."""
import csv
import json
import os
import pty
import subprocess

from lapwing_command import LAPWING, CommandTest, main


class Report(CommandTest):
    def setUp(self):
        super().setUp()
        self.write_recording("x.pftrace", "--spans", "30", "--steps", "1", "--lost", "2")

    def report(self, *arguments):
        result = self.lapwing("report", "x.pftrace", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def on_terminal(self, **env):
        """What the command prints where its output is a terminal."""
        master, slave = pty.openpty()
        process = subprocess.Popen([LAPWING, "report", "x.pftrace"], cwd=self.folder, stdout=slave,
                                   env=self.environment(env))
        os.close(slave)
        out = b""
        try:
            while chunk := os.read(master, 65536):
                out += chunk
        except OSError:  # Linux ends a terminal without writers with EIO
            pass
        os.close(master)
        self.assertEqual(process.wait(timeout=60), 0)
        return out.decode()

    def test_text_accounts_for_every_span(self):
        self.assertIn("begun 32 = measured 30 + estimated 0 + lost 2 (ring_full 2)", self.report())

    def test_every_grouping_has_the_same_device_spans(self):
        for by in ("op", "kernel", "layer", "step", "queue", "name"):
            report = json.loads(self.report("--by", by, "--format", "json"))
            self.assertEqual(report["by"], by)
            self.assertEqual(sum(row["count"] + row["warmup"]["spans"] for row in report["rows"]), report["spans"], by)

    def test_csv_and_json_say_the_same(self):
        rows = list(csv.DictReader(self.report("--format", "csv").splitlines()))
        self.assertEqual([(row["name"], int(row["count"]), int(row["p50_ns"])) for row in rows],
                         [(row["name"], row["count"], row["p50_ns"])
                          for row in json.loads(self.report("--format", "json"))["rows"]])

    def test_markdown_is_a_table(self):
        lines = [line for line in self.report("--format", "md").splitlines() if line.startswith("|")]
        self.assertGreaterEqual(len(lines), 3)
        self.assertEqual({line.count("|") for line in lines}, {lines[0].count("|")})

    def test_width_bounds_every_line(self):
        self.assertLessEqual(max(map(len, self.report("--width", "72").splitlines())), 72)

    def test_width_and_top_out_of_range_are_refused(self):
        for bad in (["--width", "59"], ["--width", "x"], ["--top", "-1"], ["--top", "x"]):
            self.assert_refused(self.lapwing("report", "x.pftrace", *bad), 2, bad[0])

    def test_colour_is_for_terminals_and_no_color_forbids_it(self):
        self.assertNotIn("\x1b", self.report())
        self.assertIn("\x1b", self.on_terminal(TERM="xterm", NO_COLOR=None))
        self.assertNotIn("\x1b", self.on_terminal(TERM="xterm", NO_COLOR="1"))
        self.assertNotIn("\x1b", self.on_terminal(TERM="dumb", NO_COLOR=None))


if __name__ == "__main__":
    main()
