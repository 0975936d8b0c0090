#!/usr/bin/env python3
"""lapwing tune and report --peaks on recordings: what they answer, their schemas, training, bad input."""
import json
import os
import unittest
from pathlib import Path

from lapwing_command import CommandTest, main

ROOT = Path(os.environ.get("LAPWING_SOURCE_DIR", Path(__file__).resolve().parents[2]))


def check_schema(test, name, document):
    """Follows docs/NAME.schema.json, and that schema would notice a key too many."""
    try:
        import jsonschema
    except ImportError:
        test.skipTest("python3-jsonschema is not installed for this Python")
    schema = json.loads((ROOT / f"docs/{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    with test.assertRaises(jsonschema.ValidationError):
        jsonschema.validate({**document, "surprise": 1}, schema)


class Recordings(CommandTest):
    def config(self, name, **changes):
        (self.folder / name).write_text(json.dumps({"schema": "lapwing.run_config/1", **changes}))

    def recording(self, name, step_ns, **config):
        self.write_recording(name, "--spans", "20", "--steps", "20", "--step-ns", str(step_ns))
        if config:
            self.config(name + ".config.json", **config)

    def peaks(self, **changes):
        device = {"device": "Scripted device", "api": "sim", "f32_flops": 1e12, "bytes_per_s": 1e11, **changes}
        (self.folder / "peaks.json").write_text(json.dumps({"schema": "lapwing.peaks/1", "devices": [device]}))

    def ok(self, *arguments):
        result = self.lapwing(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout


class Tune(Recordings):
    def test_measured_figures_come_from_the_recording_and_its_configuration(self):
        self.recording("x.pftrace", 2_000_000, batch_size=4)
        answer = json.loads(self.ok("tune", "x.pftrace", "--format", "json"))
        self.assertEqual(answer["throughput"]["basis"], "measured")
        self.assertAlmostEqual(answer["throughput"]["tokens_per_s"], 4 * 1e9 / 2_000_000)
        self.assertIsNone(answer["throughput"]["roofline_cap"])
        self.assertIsNone(answer["confidence_overall"])
        self.assertEqual(answer["profile"]["steps"], 20)
        self.assertAlmostEqual(answer["profile"]["gpu_share"], 0.6)
        self.assertEqual(answer["device"]["name"], "Scripted device")
        self.assertEqual(answer["kernel"]["kernel"], "BatchedQ4K")
        self.assertEqual(answer["kernel"]["basis"], "rule_of_thumb")
        self.assertEqual([each["kind"] for each in answer["experiments"]], ["EnableMultiKvCache"] if
                         answer["bottleneck"]["class"] != "MemoryBound" else ["TryKernel", "EnableMultiKvCache"])
        self.assertEqual(self.ok("tune", "x.pftrace", "--format", "json"),
                         self.ok("tune", "x.pftrace", "--format", "json"))
        check_schema(self, "tuner", answer)

    def test_text_says_what_is_a_rule_of_thumb(self):
        self.recording("x.pftrace", 2_000_000, batch_size=1)
        text = self.ok("tune", "x.pftrace")
        self.assertIn("500 tok/s (measured)", text)
        self.assertRegex(text, r"kernel +CoalescedQ4K \(rule of thumb, 0.82\)")
        self.assertRegex(text, r"try +batch_size 1 -> 4 \(rule of thumb\)")

    def test_peaks_give_a_cap_and_a_bottleneck(self):
        self.write_recording("x.pftrace", "--spans", "20", "--steps", "20", "--step-ns", "1000000", "--flops", "1000",
                             "--bytes", "30000000")
        self.config("x.pftrace.config.json", model_params_b=0.1)
        self.peaks()
        answer = json.loads(self.ok("tune", "x.pftrace", "--peaks", "peaks.json", "--format", "json"))
        self.assertAlmostEqual(answer["throughput"]["roofline_cap"], 100 / (0.1 * 0.5625))
        self.assertEqual(answer["bottleneck"]["class"], "MemoryBound")
        self.assertEqual(answer["bottleneck"]["basis"], "measured")
        self.assertAlmostEqual(answer["profile"]["roofline"]["share"], 0.5)
        check_schema(self, "tuner", answer)
        self.config("x.pftrace.config.json", model_params_b=10)
        text = self.ok("tune", "x.pftrace", "--peaks", "peaks.json")
        self.assertIn("above the 17.8 that the memory allows, so the bandwidth or the configuration is wrong", text)

    def test_compatible_rules_are_the_old_numbers(self):
        self.recording("x.pftrace", 2_000_000, batch_size=1)
        answer = json.loads(self.ok("tune", "x.pftrace", "--compatible", "--format", "json"))
        self.assertAlmostEqual(answer["throughput"]["tokens_per_s"], 459.88, places=2)
        self.assertAlmostEqual(answer["throughput"]["roofline_cap"], 1185.19, places=2)
        check_schema(self, "tuner", answer)

    def test_one_run_given_twice_is_refused(self):
        self.recording("x.pftrace", 2_000_000, batch_size=1)
        result = self.lapwing("tune", "--train", "m.lwt", "x.pftrace", f"{self.folder}/x.pftrace")
        self.assertEqual(result.returncode, 2)
        self.assertIn("x.pftrace is given twice: one run counts once", result.stderr)

    def test_training_states_its_error_and_predicts(self):
        for batch in range(1, 13):
            self.recording(f"{batch}.pftrace", 1_000_000 + 20_000 * batch, batch_size=batch)
        files = [f"{batch}.pftrace" for batch in range(1, 13)]
        result = self.lapwing("tune", *files, "--train", "m.lwt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"m.lwt: trained on 12 runs of 12 configurations; off by \d\.\d % on average "
                                        r"on held-out configurations")
        self.recording("new.pftrace", 1_130_000)
        self.config("new.json", batch_size=6)
        text = self.ok("tune", "new.pftrace", "--config", "new.json", "--model", "m.lwt")
        self.assertRegex(text, r"prediction +predicted 5\d\d\d\.\d tok/s, measured 5309\.7: off by \d\.\d %, excellent")
        self.config("one.json", batch_size=1)
        answer = json.loads(self.ok("tune", "new.pftrace", "--config", "one.json", "--model", "m.lwt", "--format",
                                    "json"))
        more = answer["experiments"][0]
        self.assertEqual((more["change"], more["basis"]), ("batch_size 1 -> 4", "trained"))
        self.assertAlmostEqual(more["predicted_tps"] / (4 * 1e9 / 1_080_000), 1, delta=0.05)
        check_schema(self, "tuner", answer)
        self.assertEqual(sorted(path.name for path in self.folder.glob("m.lwt*")), ["m.lwt"])

    def test_bad_models_are_refused(self):
        self.recording("x.pftrace", 1_000_000, batch_size=1)
        (self.folder / "m").write_bytes(b"APR1\x02\0\0\0{}")
        self.assert_refused(self.lapwing("tune", "x.pftrace", "--model", "m"), 2, "m: it is no tuner model")
        (self.folder / "m").write_bytes(b"LWT1\x02\0\0\0{}")
        self.assert_refused(self.lapwing("tune", "x.pftrace", "--model", "m"), 2, "m: it is torn: 10 of its 14 bytes")
        (self.folder / "m").write_bytes(b"LWT1\x02\0\0\0{}\0\0\0\0")
        self.assert_refused(self.lapwing("tune", "x.pftrace", "--model", "m"), 2, "checksum is wrong")
        self.assert_refused(self.lapwing("tune", "x.pftrace", "--model", "none"), 2, "cannot read none",
                            "lapwing tune --train")
        self.assert_refused(self.lapwing("tune", "x.pftrace", "--train", "m2"), 2, "at least 10 runs")
        self.assertFalse((self.folder / "m2").exists())

    def test_what_is_missing_is_named_with_how_to_get_it(self):
        self.recording("x.pftrace", 1_000_000)
        self.assert_refused(self.lapwing("tune", "x.pftrace"), 2, "x.pftrace.config.json", "--print-config")
        self.write_recording("empty.pftrace")
        self.config("c.json")
        self.assert_refused(self.lapwing("tune", "empty.pftrace", "--config", "c.json"), 2,
                            "empty.pftrace: the recording has no device time")
        self.write_recording("stepless.pftrace", "--spans", "5")
        self.assert_refused(self.lapwing("tune", "stepless.pftrace", "--config", "c.json"), 2, "no finished step",
                            "--step")
        self.config("c.json", batch_size=-1)
        self.assert_refused(self.lapwing("tune", "x.pftrace", "--config", "c.json"), 2, "c.json: batch_size is -1")
        self.config("c.json", batchsize=1)
        self.assert_refused(self.lapwing("tune", "x.pftrace", "--config", "c.json"), 2, '"batchsize" is no key')
        self.assert_refused(self.lapwing("tune"), 2, "name a recording")
        self.assert_refused(self.lapwing("tune", "missing.pftrace", "--config", "c.json"), 2)
        self.assert_refused(self.lapwing("tune", "x.pftrace", "--format", "xml"), 2, "text, json")

    def test_printed_configuration_is_taken_back(self):
        config = json.loads(self.ok("tune", "--print-config"))
        check_schema(self, "run_config", config)
        self.recording("x.pftrace", 1_000_000)
        (self.folder / "c.json").write_text(json.dumps(config))
        self.ok("tune", "x.pftrace", "--config", "c.json")


class Peaks(Recordings):
    def report(self, *arguments):
        return json.loads(self.ok("report", "x.pftrace", "--format", "json", *arguments))

    def test_shares_of_the_roof_are_in_every_format(self):
        # 600 000 ns a span: 30 MB are 50 GB/s, half of the peak.
        self.write_recording("x.pftrace", "--spans", "20", "--steps", "20", "--step-ns", "1000000", "--flops",
                             "60000000", "--bytes", "30000000")
        self.peaks()
        without = self.report()["rows"][0]["roofline"]
        self.assertAlmostEqual(without["gflops"], 100)
        self.assertAlmostEqual(without["gb_s"], 50)
        self.assertIsNone(without["share"])
        report = self.report("--peaks", "peaks.json")
        row = report["rows"][0]["roofline"]
        self.assertAlmostEqual(row["share"], 0.5)
        self.assertAlmostEqual(row["compute_share"], 0.1)
        self.assertEqual((row["bound"], row["model_error"], row["executions"]), ("memory", False, 20))
        self.assertEqual(report["peaks"]["devices"][0]["bytes_per_s"], 1e11)
        check_schema(self, "report", report)
        text = self.ok("report", "x.pftrace", "--peaks", "peaks.json")
        self.assertRegex(text, r"GFLOP/s +GB/s +of roof +bound by")
        self.assertRegex(text, r"MUL_MAT .* 100 +50 +50.0 % +memory")
        self.assertIn("| 100 | 50 | 50.0 % | memory |", self.ok("report", "x.pftrace", "--peaks", "peaks.json",
                                                                 "--format", "md"))
        header, line = self.ok("report", "x.pftrace", "--peaks", "peaks.json", "--format", "csv").splitlines()
        cells = dict(zip(header.split(","), line.split(",")))
        self.assertEqual((cells["roofline_share"], cells["bound"], cells["model_error"]), ("0.5", "memory", "0"))

    def test_above_the_roof_is_a_model_error_and_not_clamped(self):
        self.write_recording("x.pftrace", "--spans", "20", "--steps", "20", "--step-ns", "1000000", "--flops", "1",
                             "--bytes", "90000000")
        self.peaks()
        report = self.report("--peaks", "peaks.json")
        self.assertAlmostEqual(report["rows"][0]["roofline"]["share"], 1.5)
        self.assertTrue(report["rows"][0]["roofline"]["model_error"])
        self.assertTrue(any(note["warning"] and "faster than the f32 peaks allow" in note["text"]
                            for note in report["notes"]))
        self.assertIn("150.0 % !", self.ok("report", "x.pftrace", "--peaks", "peaks.json"))

    def test_peaks_of_another_device_give_no_share_and_a_note(self):
        self.write_recording("x.pftrace", "--spans", "2", "--steps", "2", "--step-ns", "1000000", "--bytes", "5")
        self.peaks(device="another")
        report = self.report("--peaks", "peaks.json")
        self.assertIsNone(report["rows"][0]["roofline"]["share"])
        self.assertIn("peaks", json.dumps(report["notes"]))

    def test_recordings_without_work_look_as_before(self):
        self.write_recording("x.pftrace", "--spans", "2", "--steps", "1")
        self.peaks()
        self.assertNotIn("roofline", json.dumps(self.report()["rows"]))
        self.assertNotIn("GFLOP/s", self.ok("report", "x.pftrace", "--peaks", "peaks.json"))

    def test_bad_peaks_are_refused(self):
        self.write_recording("x.pftrace", "--spans", "2", "--steps", "1")
        self.peaks(bytes_per_s=-1)
        self.assert_refused(self.lapwing("report", "x.pftrace", "--peaks", "peaks.json"), 2,
                            "peaks.json holds no peaks: devices[0]", "bytes_per_s is -1")
        self.peaks(f32_flops="fast")
        self.assert_refused(self.lapwing("report", "x.pftrace", "--peaks", "peaks.json"), 2,
                            "f32_flops must be a number")
        (self.folder / "peaks.json").write_text("{}")
        self.assert_refused(self.lapwing("report", "x.pftrace", "--peaks", "peaks.json"), 2, '"schema" is not')
        self.assert_refused(self.lapwing("report", "x.pftrace", "--peaks", "none"), 2, "cannot read none",
                            "lapwing bench --peaks")
        self.assert_refused(self.lapwing("report", "x.pftrace", "--arithmetic", "f8"), 2, "f32, f16, int8")


if __name__ == "__main__":
    main()
