#!/usr/bin/env python3
"""Reads telemetry's exports as others do: a strict parser of Prometheus text, JSON, OTLP. Usage: FILE DUMP_PROGRAM."""
import json
import math
import re
import subprocess
import sys
import unittest

DUMP = None
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"')
NO_BASE_UNIT = re.compile(r"_(ns|us|ms|nanoseconds|microseconds|milliseconds|kb|mb|kib|percent)(_|$)")


def dump(level, form):
    return subprocess.run([DUMP, level, form], check=True, capture_output=True).stdout.decode("utf-8")


def unescaped(text):
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found.group(1), found.group(1)), text)


class Exposition:
    """Prometheus text, format 0.0.4, read strictly: raises ValueError where it is not that."""

    def __init__(self, text):
        self.types, self.samples, helped, current = {}, {}, set(), None
        if text and not text.endswith("\n"):
            raise ValueError("no line break at the end")
        for line in text.splitlines():
            if line.startswith("# HELP "):
                current = line.split(" ", 3)[2]
                if current in helped or not line.split(" ", 3)[3]:
                    raise ValueError("HELP twice or empty: " + line)
                helped.add(current)
            elif line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                if name != current or name in self.types or kind not in ("counter", "gauge", "histogram"):
                    raise ValueError("TYPE not behind its HELP, twice or unknown: " + line)
                self.types[name] = kind
            else:
                self.sample(line, current)
        if helped != set(self.types):
            raise ValueError("HELP without TYPE")

    def sample(self, line, current):
        name = NAME.match(line).group(0)
        rest, labels = line[len(name):], []
        if rest.startswith("{"):
            rest = rest[1:]
            while not rest.startswith("}"):
                found = LABEL.match(rest)
                if not found:
                    raise ValueError("a label that is none: " + line)
                labels.append((found.group(1), unescaped(found.group(2))))
                rest = rest[found.end():]
                rest = rest[1:] if rest.startswith(",") else rest
            rest = rest[1:]
        kind = self.types.get(current)
        suffixes = ["_bucket", "_sum", "_count"] if kind == "histogram" else [""]
        if name not in [current + suffix for suffix in suffixes]:
            raise ValueError(f"a sample that is not of the metric declared before it: {line}")
        if not re.fullmatch(r" -?[0-9.]+(e[-+]?[0-9]+)?", rest):
            raise ValueError("a value that is no number: " + line)
        key = (name, tuple(sorted(labels)))
        if key in self.samples or len({label for label, _ in labels}) != len(labels):
            raise ValueError("a series or a label twice: " + line)
        self.samples[key] = float(rest)

    def get(self, name, **labels):
        return self.samples[(name, tuple(sorted(labels.items())))]

    def check_histograms(self):
        """Bounds rise, counts are cumulative, +Inf is there and is the count. Returns how many there are."""
        series = {}
        for (name, labels), value in self.samples.items():
            if name.endswith("_bucket"):
                others = tuple(label for label in labels if label[0] != "le")
                series.setdefault((name[:-7], others), []).append((float(dict(labels)["le"]), value))
        for (name, labels), buckets in series.items():
            bounds, counts = zip(*buckets)
            if list(bounds) != sorted(set(bounds)) or bounds[-1] != math.inf or list(counts) != sorted(counts):
                raise ValueError(f"{name}{labels} is not cumulative")
            if counts[-1] != self.samples[(name + "_count", labels)] or (name + "_sum", labels) not in self.samples:
                raise ValueError(f"{name}{labels}: +Inf is not the count")
        return len(series)


class Reader(unittest.TestCase):
    """The strict reader is strict."""

    def test_spoiled_texts_are_refused(self):
        good = "# HELP a_total A.\n# TYPE a_total counter\na_total{x=\"1\"} 1\n"
        Exposition(good)
        for bad in (good[:-1], good.replace("# HELP a_total A.\n", ""), good + "b 1\n", good.replace("} 1", "} one"),
                    good + 'a_total{x="1"} 2\n', good.replace('"1"', '"a"b"'),
                    good.replace("a_total{", "a_total_total{")):
            with self.assertRaises((ValueError, TypeError, AttributeError), msg=bad):
                Exposition(bad)
        histogram = ('# HELP h H.\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 3\nh_sum 4\nh_count 3\n')
        self.assertEqual(Exposition(histogram).check_histograms(), 1)
        for spoiled in (histogram.replace("h_count 3", "h_count 4"), histogram.replace('"1"} 2', '"1"} 9')):
            with self.assertRaises(ValueError):
                Exposition(spoiled).check_histograms()


class Prometheus(unittest.TestCase):
    def test_off_is_empty(self):
        self.assertEqual(dump("empty", "prometheus"), "")
        self.assertEqual(dump("off", "prometheus"), "")

    def test_every_level_is_an_exposition_with_clean_names(self):
        for level in ("basic", "lane", "kernel"):
            text = Exposition(dump(level, "prometheus"))
            self.assertGreater(text.check_histograms(), 5)
            for name, kind in text.types.items():
                self.assertTrue(name.startswith("lapwing_"), name)
                self.assertEqual(name.endswith("_total"), kind == "counter", name)
                self.assertNotIn("_total_total", name)
                self.assertNotIn("total", name[:-6] if kind == "counter" else name)
                self.assertIsNone(NO_BASE_UNIT.search(name), name)

    def test_lanes_and_kernels_come_with_their_levels(self):
        names = {level: set(Exposition(dump(level, "prometheus")).types) for level in ("basic", "lane", "kernel")}
        self.assertFalse([name for name in names["basic"] if "gpu" in name])
        self.assertIn("lapwing_gpu_lane_seconds", names["lane"])
        self.assertFalse([name for name in names["lane"] if "kernel" in name and "graph" not in name])
        self.assertIn("lapwing_gpu_kernel_seconds_total", names["kernel"])
        self.assertTrue(names["basic"] < names["lane"] < names["kernel"])

    def test_values_are_in_base_units_and_exact(self):
        text = dump("kernel", "prometheus")
        self.assertIn('lapwing_gpu_kernel_seconds_total{kernel="gemm"} 0.0000015\n', text)
        self.assertIn("lapwing_stream_sync_seconds_sum 0.0000015\n", text)
        self.assertIn('lapwing_stream_sync_seconds_bucket{le="0.000001024"} 0\n', text)
        self.assertIn('lapwing_stream_sync_seconds_bucket{le="68.719476736"} 1\n', text)
        self.assertIn('lapwing_tokens_total{kind="generated"} 9007199254740993\n', text)
        read = Exposition(text)
        self.assertEqual(read.get("lapwing_gpu_lane_seconds_count", device="1", lane="decode"), 10)
        self.assertEqual(read.get("lapwing_gpu_lane_seconds_sum", device="1", lane="decode"), 0.02)
        self.assertEqual(read.get("lapwing_gpu_lane_seconds_count", device="2", lane="decode"), 1)
        self.assertEqual(read.get("lapwing_gpu_kernel_launches_total", kernel="gemm"), 10)
        self.assertEqual(read.get("lapwing_gpu_kernel_estimated_seconds", kernel="gemm"), 0.000015)
        self.assertEqual(read.get("lapwing_gpu_kernel_samples_total", kernel="fn@1f40"), 1)
        self.assertAlmostEqual(read.get("lapwing_gpu_kernel_estimated_seconds", kernel="rope"), 1.2e-6, 12)
        self.assertAlmostEqual(read.get("lapwing_gpu_kernel_estimate_error_seconds", kernel="rope"),
                               4.303 * 6 * math.sqrt(0.5 * 100 ** 2 / 3) / 1e9, 12)
        self.assertEqual(read.get("lapwing_blocking_copy_bytes_total", direction="device_to_host"), 4096)
        self.assertEqual(read.get("lapwing_telemetry_refused_total", what="duration"), 1)

    def test_names_are_escaped_and_come_back(self):
        read = Exposition(dump("kernel", "prometheus"))
        self.assertEqual(read.get("lapwing_phase_seconds_count", phase='sched"ule'), 1)
        kernels = {dict(labels)["kernel"] for name, labels in read.samples
                   if name == "lapwing_gpu_kernel_seconds_total"}
        self.assertIn('void k<char const*>("a\\b")\\x0anext\\xff', kernels)
        lanes = {dict(labels)["lane"] for name, labels in read.samples if name == "lapwing_gpu_lane_seconds_count"}
        self.assertIn('pre"fill\\\\x0a', lanes)

    def test_what_is_not_known_is_absent(self):
        text = dump("kernel", "prometheus")
        self.assertNotIn("waiting_requests", text)
        self.assertNotIn("gpu_spans", text)    # no stream was ever installed
        self.assertNotIn('lane="admit"', text)
        self.assertNotIn('launches_total{kernel="fn@1f40"}', text)
        self.assertNotIn("NaN", text)

    def test_lost_spans_are_in_it_and_add_up(self):
        read = Exposition(dump("streams", "prometheus"))
        self.assertEqual(read.get("lapwing_gpu_spans_dropped_total"), 2)
        self.assertEqual(read.get("lapwing_gpu_span_failures_total"), 1)
        lost = sum(value for (name, _), value in read.samples.items() if name == "lapwing_gpu_spans_lost_total")
        self.assertEqual(read.get("lapwing_gpu_spans_total"),
                         read.get("lapwing_gpu_spans_recorded_total") + lost + read.get("lapwing_gpu_spans_in_flight"))
        self.assertEqual(read.get("lapwing_gpu_lane_misuse_total", what="begun_twice"), 3)

    def test_the_official_client_reads_it_too(self):
        try:
            from prometheus_client.parser import text_string_to_metric_families
        except ImportError:
            self.skipTest("prometheus_client is not installed")
        text = dump("kernel", "prometheus")
        families = list(text_string_to_metric_families(text))
        mine = Exposition(text)
        self.assertEqual(len(families), len(mine.types))
        self.assertEqual(sum(len(family.samples) for family in families), len(mine.samples))


class JsonLines(unittest.TestCase):
    def test_a_snapshot_is_one_line_and_one_schema(self):
        for level in ("empty", "off", "basic", "lane", "kernel"):
            text = dump(level, "json")
            self.assertNotIn("\n", text)
            line = json.loads(text)
            self.assertEqual((line["schema"], line["schema_version"]), ("lapwing.telemetry/1", 1))

    def test_all_keys_are_always_there(self):
        empty, full = json.loads(dump("empty", "json")), json.loads(dump("kernel", "json"))
        self.assertEqual(list(empty), list(full))
        self.assertEqual(list(json.loads(dump("streams", "json"))["gpu"]), list(empty["gpu"]))
        for key in ("gpu", "scheduler", "tokens", "stream_sync", "copies", "graphs", "speculation", "requests",
                    "misuse"):
            self.assertEqual(list(empty[key]), list(full[key]), key)
        self.assertEqual(list(full["lanes"][0]), list(full["lanes"][-1]))

    def test_unknown_is_null_and_zero_is_zero(self):
        empty = json.loads(dump("empty", "json"))
        for key in ("time_unix_ns", "kernel_span_every", "steps"):
            self.assertIsNone(empty[key], key)
        self.assertIsNone(empty["gpu"]["begun"])
        self.assertIsNone(empty["scheduler"]["running"])
        self.assertEqual(empty["tokens"]["generated"], 0)
        full = json.loads(dump("kernel", "json"))
        self.assertEqual(full["scheduler"]["running"], 3)
        self.assertIsNone(full["scheduler"]["waiting"])
        admit = next(lane for lane in full["lanes"] if lane["lane"] == "admit" and lane["device"] == 1)
        self.assertIsNone(admit["count"])
        self.assertTrue(admit["reason"])

    def test_spans_are_in_it(self):
        full = json.loads(dump("kernel", "json"))
        decode = next(lane for lane in full["lanes"] if lane["lane"] == "decode" and lane["device"] == 1)
        self.assertEqual((decode["count"], decode["total_ns"], decode["reason"]), (10, 20_000_000, None))
        self.assertEqual(decode["cumulative"][-1], 10)
        gemm = next(row for row in full["kernels"] if row["kernel"] == "gemm")
        self.assertEqual((gemm["samples"], gemm["total_ns"], gemm["launches"]), (1, 1500, 10))
        self.assertEqual(gemm["estimated_total_ns"], 15000)
        self.assertIsNone(gemm["estimated_error_ns"])
        self.assertEqual(full["tokens"]["generated"], 9007199254740993)

    def test_lost_spans_are_in_it(self):
        gpu = json.loads(dump("streams", "json"))["gpu"]
        self.assertEqual((gpu["begun"], gpu["recorded"], gpu["in_flight"], gpu["lost"]["total"]), (10, 6, 1, 3))
        self.assertEqual(gpu["lost"]["by_reason"]["ring_full"], 2)
        self.assertEqual(gpu["unsupported"], ['device 2, stream 1: no "timestamps"'])


class Otlp(unittest.TestCase):
    def metrics(self, level):
        body = json.loads(dump(level, "otlp"))
        (resource,) = body["resourceMetrics"]
        self.assertEqual(resource["resource"]["attributes"],
                         [{"key": "service.name", "value": {"stringValue": "lapwing"}}])
        (scope,) = resource["scopeMetrics"]
        self.assertEqual(scope["scope"]["name"], "lapwing")
        return {metric["name"]: metric for metric in scope["metrics"]}

    @staticmethod
    def points(metric):
        return {tuple((a["key"], a["value"]["stringValue"]) for a in point["attributes"]): point
                for kind in ("sum", "gauge", "histogram") if kind in metric for point in metric[kind]["dataPoints"]}

    def test_off_has_no_metrics(self):
        self.assertEqual(self.metrics("off"), {})

    def test_sums_are_cumulative_and_integers_are_strings(self):
        for name, metric in self.metrics("kernel").items():
            self.assertRegex(name, r"^lapwing\.[a-z_.]+$")
            self.assertIn(metric["unit"], ("1", "s", "By"))
            (kind,) = set(metric) & {"sum", "gauge", "histogram"}
            if kind != "gauge":
                self.assertEqual(metric[kind]["aggregationTemporality"], 2)
            if kind == "sum":
                self.assertIs(metric[kind]["isMonotonic"], True)
            self.assertTrue(metric[kind]["dataPoints"])
            for point in metric[kind]["dataPoints"]:
                self.assertEqual(point["timeUnixNano"], "1700000000000000001")
                self.assertEqual(point["startTimeUnixNano"], "1")
                if kind == "histogram":
                    self.assertIsInstance(point["count"], str)
                    self.assertEqual(len(point["bucketCounts"]), len(point["explicitBounds"]) + 1)
                    self.assertEqual(sum(int(count) for count in point["bucketCounts"]), int(point["count"]))
                    self.assertEqual(point["explicitBounds"], sorted(point["explicitBounds"]))
                else:
                    self.assertTrue(isinstance(point.get("asInt"), str) != isinstance(point.get("asDouble"), float))

    def test_it_says_what_prometheus_says(self):
        read = Exposition(dump("kernel", "prometheus"))
        metrics = self.metrics("kernel")
        self.assertEqual(len(metrics), len(read.types))
        tokens = self.points(metrics["lapwing.tokens"])[(("kind", "generated"),)]
        self.assertEqual(tokens["asInt"], "9007199254740993")
        lane = self.points(metrics["lapwing.gpu.lane.duration"])[(("device", "1"), ("lane", "decode"))]
        self.assertEqual((lane["count"], lane["sum"]), ("10", 0.02))
        total = self.points(metrics["lapwing.gpu.kernel.time"])[(("kernel", "gemm"),)]
        self.assertEqual(total["asDouble"], read.get("lapwing_gpu_kernel_seconds_total", kernel="gemm"))
        self.assertIn("lapwing.gpu.kernel.table_full", metrics)
        lost = self.points(self.metrics("streams")["lapwing.gpu.spans.lost"])
        self.assertEqual({key[0][1]: point["asInt"] for key, point in lost.items()},
                         {"ring_full": "2", "driver_error": "1"})
        self.assertFalse([name for name in metrics if name.startswith("gen_ai")])


if __name__ == "__main__":
    DUMP = sys.argv.pop(1)
    unittest.main()
