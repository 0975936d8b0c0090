#!/usr/bin/env python3
"""Chrome traces, checked by Python's own JSON reader and by a validator of nesting that shares no code with the writer.

CTest starts each test method by itself and sets WRITE_CHROME (write_chrome.cpp). Names of the cases are those of the
public threads that showed what goes wrong in other tools.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path

WRITE_CHROME = os.environ.get("WRITE_CHROME", "write_chrome")
Slice = collections.namedtuple("Slice", "pid tid begin end event")


def recover(text):
    """What a viewer does with an array that was cut off: it ends behind the last whole event."""
    if text.rstrip().endswith("]"):
        return text
    assert text.startswith("["), "only an array can be recovered"
    lines = text.split("\n")[:-1]    # the last line is not whole
    return "\n".join(lines).rstrip().rstrip(",") + "\n]" if len(lines) > 1 else "[]"


class Trace:
    """A trace as a strict reader sees it; every rule of a well-formed one is asserted on the way."""

    def __init__(self, text):
        document = json.loads(text, parse_float=Decimal, object_pairs_hook=self.no_duplicate_keys)
        self.top = document if isinstance(document, dict) else {}
        self.events = document["traceEvents"] if isinstance(document, dict) else document
        self.base = self.top.get("baseTimeNanoseconds")
        self.counts = self.top.get("lapwing", {})
        self.meta = collections.defaultdict(dict)    # (pid, tid) -> name -> value
        self.slices = []
        for event in self.events:
            self.take(event)

    @staticmethod
    def no_duplicate_keys(pairs):
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), f"a key stands twice: {keys}"
        return dict(pairs)

    def take(self, event):
        assert isinstance(event, dict)
        for key in ("pid", "tid"):
            if key in event:
                assert isinstance(event[key], int) and 1 <= event[key] <= 2**31 - 1, event
        if "args" in event:
            assert isinstance(event["args"], dict) and event["args"], "args is an object, left out when empty"
        if event["ph"] == "M":
            self.take_metadata(event)
            return
        assert event["ph"] == "X", event
        key = event["pid"], event["tid"]
        assert "thread_name" in self.meta[key], "a thread is named before its first event"
        assert "process_name" in self.meta[event["pid"], None], "a process is named before its first event"
        begin = self.base + self.ns(event["ts"])
        self.slices.append(Slice(*key, begin, begin + self.ns(event["dur"]), event))

    def take_metadata(self, event):
        args = event["args"]
        if event["name"] == "process_labels":
            if "baseTimeNanoseconds" in args:
                self.base = args["baseTimeNanoseconds"]
            if "spans" in args:
                self.counts = args
            return
        found = self.meta[event["pid"], event.get("tid")]
        assert event["name"] not in found, f"metadata stands twice: {event}"
        (found[event["name"]],) = args.values()

    @staticmethod
    def ns(us):
        """Exact: a number with at most three decimals is a whole number of ns."""
        ns = Decimal(us) * 1000
        assert ns == ns.to_integral_value(), us
        return int(ns)

    def by_thread(self):
        threads = collections.defaultdict(list)
        for one in self.slices:
            threads[one.pid, one.tid].append(one)
        return threads

    def badly_nested(self):
        """Slices that overlap an earlier one of their thread in part, or stand out of order in the file."""
        bad = []
        for slices in self.by_thread().values():
            if [one.begin for one in slices] != sorted(one.begin for one in slices):
                bad.append(slices[0])
            stack = []
            for one in sorted(slices, key=lambda s: (s.begin, -s.end)):
                while stack and stack[-1].end <= one.begin:
                    stack.pop()
                if stack and one.end > stack[-1].end:
                    bad.append(one)
                stack.append(one)
        return bad

    def spans(self):
        """(track, name, begin, duration) of what is no step; lanes count as their track."""
        out = []
        for one in self.slices:
            if one.event["cat"] != "step":
                track = self.meta[one.pid, one.tid]["thread_name"].split(" lane ")[0]
                out.append((track, one.event["name"], one.begin, one.end - one.begin))
        return sorted(out)


def shown(raw):
    return bytes.fromhex(raw).decode("utf-8", errors="replace")


class ChromeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "trace.json"

    def write(self, case, *numbers, code=0):
        """Returns the spans that the program says it wrote."""
        result = subprocess.run([WRITE_CHROME, case, self.path, *map(str, numbers)], capture_output=True, text=True,
                                timeout=60, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        lines = [line.split() for line in result.stdout.splitlines()]
        return sorted((shown(track), shown(name), int(begin), int(duration)) for _, track, name, begin, duration in lines)

    def text(self):
        return self.path.read_bytes().decode("utf-8")    # strict: a byte that is no UTF-8 fails

    def trace(self):
        return Trace(self.text())

    def written(self, case, *numbers):
        """Writes, and checks what holds for every trace."""
        expected = self.write(case, *numbers)
        trace = self.trace()
        self.assertEqual(trace.badly_nested(), [])
        self.assertEqual(trace.spans(), expected)
        self.assertEqual((trace.counts["spans"], trace.counts["dropped"]), (len(expected), 0))
        return trace


class FieldCases(ChromeTest):
    def test_c1_c2_c3_c4_names_of_any_bytes_come_back(self):
        """pytorch#146900, #136040, #33961, #189982; kineto#988; uftrace#183; perfetto#598."""
        trace = self.written("names")
        names = {one.event["name"] for one in trace.slices}
        for name in ('{"device": "cpu"}(12): run', "torch\\cuda", "two\nlines\r\tand a tab", "\ufffd\ufffd", "lone \ufffd continuation",
                     "cut \ufffd", "two \ufffd\u20ac", "|||S\x01(1): <module>", "nul\0inside", "attention_非ASCII", "\U0001f600",
                     "".join(map(chr, range(1, 32)))):
            self.assertIn(name, names)
        for control in range(0x20):
            if control != 10:    # the end of each event's line
                self.assertNotIn(chr(control), self.text())
        self.assertIn("\\u0001", self.text())
        self.assertEqual(trace.meta[1, None]["process_name"], "./run --prompt='print(\"hello\")' \\ \ufffd (pid 4711)")
        self.assertIn('GPU "A" \\ \ufffd', trace.meta[2, None]["process_name"])
        event = next(one.event for one in trace.slices if one.event["name"] == "torch\\cuda")
        self.assertEqual((event["args"]["op"], event["args"]["kernel"]), ("torch\\cudaop", "torch\\cudakernel"))

    def test_c7_times_keep_their_nanoseconds(self):
        """kineto#853, #919, #928; perfetto#5012: 1.7e18 ns, spans that abut to the nanosecond."""
        trace = self.written("times")
        first, second, third = trace.slices[:3]
        self.assertEqual((first.begin, first.end), (1700000000123456789, 1700000000123456790))
        self.assertEqual((second.begin, third.begin), (first.end, second.end))
        for one in trace.slices:    # also for a reader that computes in doubles
            self.assertEqual(round(float(one.event["ts"]) * 1000), one.begin - trace.base)
            self.assertNotIsInstance(one.event["ts"], str)

    def test_c8_c9_overlaps_spread_to_lanes_and_none_vanishes(self):
        """perfetto#4280, #432, #438, #386; janestreet/perfetto#35."""
        trace = self.written("overlaps")
        self.assertGreaterEqual(len(trace.by_thread()), 10)
        for meta in trace.meta.values():
            if "thread_name" in meta:
                self.assertRegex(meta["thread_name"], r"^queue 0( lane \d+)?$")

    def test_c10_c11_ids_are_dense_and_named_whatever_the_system_has(self):
        """perfetto#935, #738, #886, #522; csmoe/tracing-perfetto#2; tracing-chrome#32."""
        trace = self.written("ids")
        self.assertEqual(sorted({one.tid for one in trace.slices}), [1, 2, 3, 4])
        self.assertEqual({one.pid for one in trace.slices}, {1, 2})
        self.assertIn("7168000000", trace.meta[1, None]["process_name"])
        self.assertEqual({meta["thread_name"] for meta in trace.meta.values() if "thread_name" in meta},
                         {"queue 0", "thread 140589156634432", "thread -136712896"})

    def test_c12_metadata_once_and_events_sorted(self):
        """perfetto#452, #363; viztracer#106; speedscope#255. Late spans go to lanes of their own."""
        for parts in (1, 13):
            trace = self.written("random", 5, parts)
            for (pid, tid), meta in trace.meta.items():
                wanted = {"process_name", "process_sort_index"} if tid is None else {"thread_name", "thread_sort_index"}
                self.assertEqual(set(meta), wanted, (pid, tid))
        order = [(meta["thread_sort_index"], meta["thread_name"]) for (pid, tid), meta in trace.meta.items()
                 if tid is not None and pid == 2]
        self.assertEqual(len({place for place, _ in order}), len(order))

    def test_c13_args_are_an_object_left_out_when_empty(self):
        """ilnytskyi/xdebug-to-chromium-trace-converter#2. (Trace asserts it for every event of every test.)"""
        trace = self.written("overlaps")
        self.assertTrue(all("args" not in one.event for one in trace.slices))
        with_args = self.written("random", 3)
        one = next(one.event for one in with_args.slices if one.event.get("args", {}).get("kernel") == "kernel_8")
        self.assertEqual(one["args"]["grid"], [8, 8000, 1])
        self.assertEqual(one["args"]["estimated_from"], "from its submit")


class AnyRecording(ChromeTest):
    def test_random_recordings_come_back_whole(self):
        for seed in range(1, 9):
            with self.subTest(seed=seed):
                self.written("random", seed, 1 + seed % 4)

    def test_small_buffer_loses_nothing(self):
        self.written("small_buffer", 2)

    def test_process_that_comes_again_is_another_one(self):
        expected = self.write("two_processes", 1)
        trace = self.trace()
        self.assertEqual(trace.badly_nested(), [])
        self.assertEqual(trace.spans(), sorted(expected + expected))
        names = [meta["process_name"] for meta in trace.meta.values() if "process_name" in meta]
        self.assertEqual(len(names), 4)
        self.assertTrue(any(name.startswith("second") for name in names))

    def test_object_says_base_and_counts_at_its_top(self):
        trace = self.written("object", 4)
        self.assertEqual(trace.top["displayTimeUnit"], "ns")
        self.assertEqual(trace.top["baseTimeNanoseconds"], trace.base)
        self.assertGreater(trace.base, 1_600_000_000_000_000_000)

    def test_empty_recording_is_a_trace(self):
        self.assertEqual(self.written("empty").slices, [])

    def test_statistics_of_the_recording_are_in_the_last_event(self):
        trace = self.written("random", 1)
        self.assertEqual(trace.counts["lost"], sum(v for k, v in trace.counts.items() if k.startswith("lost_")))
        self.assertGreater(trace.counts["begun"], 0)


class Bounds(ChromeTest):
    def test_full_file_counts_what_it_dropped(self):
        expected = self.write("full", 1)
        trace = self.trace()
        self.assertLess(self.path.stat().st_size, 200_000)
        self.assertGreater(self.path.stat().st_size, 150_000)
        self.assertEqual(trace.counts["spans"], len(trace.spans()))
        self.assertEqual(trace.counts["spans"] + trace.counts["dropped"], len(expected))
        self.assertGreater(trace.counts["dropped_size"], 0)
        self.assertGreater(trace.counts["dropped_steps"], 0)
        self.assertEqual(trace.badly_nested(), [])

    def test_more_overlap_than_lanes_is_counted(self):
        expected = self.write("lanes")
        trace = self.trace()
        self.assertEqual(len(trace.by_thread()), 2)
        self.assertEqual(trace.counts["dropped_lanes"], len(expected) - len(trace.spans()))
        self.assertGreater(trace.counts["dropped_lanes"], 0)

    def test_times_that_are_none_are_counted_and_not_written(self):
        self.write("damaged")
        trace = self.trace()
        self.assertEqual([one.begin for one in trace.slices], [1000])
        self.assertEqual(trace.counts["dropped_time"], 3)


class Killed(ChromeTest):
    """trace-viewer#145, not-perf#22, Unity#9: killed at any moment, the file is valid or can be recovered."""

    def kill(self, case, parts, call, part):
        expected = self.write(case, 6, parts, call, part, code=-9)
        text = self.path.read_bytes().decode("utf-8", errors="ignore")    # a character may be cut in two
        return expected, text

    def test_array_is_recovered_at_every_write_and_loses_no_earlier_one(self):
        complete_before = 0
        for call in range(1, 9):    # 1: the empty trace, 2 to 7: the parts, 8: stats
            for part in range(5):
                with self.subTest(call=call, part=part):
                    expected, text = self.kill("random", 6, call, part)
                    trace = Trace(recover(text)) if len(text) > 2 else None
                    if trace is None or not trace.slices:
                        continue
                    self.assertEqual(trace.badly_nested(), [])
                    found = collections.Counter(trace.spans())
                    self.assertEqual(found - collections.Counter(expected), collections.Counter())
                    # Parts that were flushed before are there whole.
                    flushed = (call - 2) * (len(expected) // 6 + 1)
                    self.assertGreaterEqual(sum(found.values()), min(flushed, len(expected)))
                    complete_before += flushed > 0
        self.assertGreater(complete_before, 20)

    def test_object_is_valid_after_each_flush(self):
        for call in range(2, 8):
            # Killed after the first byte of a write: what the flush before left is there but for that byte.
            _, text = self.kill("object", 6, call, 0)
            self.assertTrue(text.startswith("{"))
        self.written("object", 6, 6)


class Unwritable(ChromeTest):
    def test_folder_that_is_not_there_is_named(self):
        result = subprocess.run([WRITE_CHROME, "empty", self.path / "x"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(str(self.path / "x"), result.stderr)

    def test_pipe_is_refused_with_the_remedy(self):
        os.mkfifo(self.path)
        reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        result = subprocess.run([WRITE_CHROME, "empty", self.path], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("give a regular file", result.stderr)

    def test_full_disk_leaves_a_valid_trace_and_an_error(self):
        script = f"ulimit -f 400; trap '' XFSZ; exec {WRITE_CHROME} random {self.path} 1 20"
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        trace = self.trace()
        self.assertGreater(len(trace.slices), 100)
        self.assertEqual(trace.counts["spans"], len(trace.spans()))
        self.assertEqual(trace.badly_nested(), [])


if __name__ == "__main__":
    from lapwing_command import main
    sys.exit(main())
