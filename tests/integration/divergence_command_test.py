#!/usr/bin/env python3
"""lapwing divergence on recordings of examples/divergence.cpp: verdicts, exit codes, schema, bad input."""
import json
import os
import subprocess
import unittest
from pathlib import Path

from lapwing_command import CommandTest, main

ROOT = Path(os.environ.get("LAPWING_SOURCE_DIR", Path(__file__).resolve().parents[2]))
EXAMPLE = os.environ.get("DIVERGENCE_EXAMPLE", "example_divergence")


class Divergence(CommandTest):
    def record(self, name, *arguments):
        subprocess.run([EXAMPLE, self.folder / name, *arguments], check=True, timeout=60)

    def compare(self, code, *arguments):
        result = self.lapwing("divergence", *arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout

    def validator(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed for this Python")
        schema = json.loads((ROOT / "docs/divergence.schema.json").read_text(encoding="utf-8"))
        jsonschema.Draft7Validator.check_schema(schema)
        return jsonschema.Draft7Validator(schema)

    def test_runs_that_computed_the_same_agree(self):
        self.record("a.pftrace")
        self.record("b.pftrace")
        text = self.compare(0, "a.pftrace", "b.pftrace")
        self.assertIn("\nagrees\n", text)
        self.assertIn("24 bricks compared: 0 diverge, 0 only in the reference, 0 only in the candidate\n", text)
        self.assertEqual(self.compare(0, "a.pftrace", "b.pftrace", "--exact"), "no divergence\n")
        self.assertEqual(self.compare(0, "a.pftrace", "b.pftrace", "--format", "json"),
                         self.compare(0, "a.pftrace", "b.pftrace", "--format", "json"))

    def test_one_wrong_element_is_named_by_brick_and_layer(self):
        self.record("a.pftrace")
        self.record("b.pftrace", "2")
        text = self.compare(1, "a.pftrace", "b.pftrace")
        self.assertIn("diverges first at FeedForward, layer 2, position 0 (values): NMSE ", text)
        self.assertIn("|a - b| is about 0.5: where one element is wrong", text)
        report = json.loads(self.compare(1, "a.pftrace", "b.pftrace", "--format", "json"))
        self.assertEqual(report["verdict"], "diverges")
        self.assertEqual((report["first"]["name"], report["first"]["layer"], report["first"]["position"]),
                         ("FeedForward", 2, 0))
        self.assertAlmostEqual(report["first"]["distance"], 0.5, places=5)
        self.assertGreater(report["first"]["nmse"], report["first"]["limit"])
        self.assertEqual(report["first"], report["findings"][0])
        # The fault is in element 1234, so the hash of the first 64 sees it only once another brick has mixed it in.
        exact = self.compare(1, "a.pftrace", "b.pftrace", "--exact")
        self.assertRegex(exact, r"^Divergence at RmsNorm layer 3 position 0: expected 0x[0-9A-F]{16}, got 0x[0-9A-F]{16}\n$")

    def test_json_follows_its_schema(self):
        self.record("a.pftrace")
        self.record("b.pftrace", "0")
        validator = self.validator()
        for other, code in (("a.pftrace", 0), ("b.pftrace", 1)):
            report = json.loads(self.compare(code, "a.pftrace", other, "--format", "json"))
            self.assertEqual([error.message for error in validator.iter_errors(report)], [])
        report["first"]["surprise"] = 1
        self.assertFalse(validator.is_valid(report))
        report["first"] = None
        report["verdict"] = "perhaps"
        self.assertFalse(validator.is_valid(report))

    def test_recordings_without_fingerprints_say_how_to_get_them(self):
        self.record("a.pftrace")
        self.write_recording("none.pftrace", "--spans", "3")
        for pair in (("a.pftrace", "none.pftrace"), ("none.pftrace", "a.pftrace")):
            self.assert_refused(self.lapwing("divergence", *pair), 2, "none.pftrace: no fingerprints in it",
                                "SpanSink::fingerprint()")

    def test_torn_foreign_and_missing_files_are_refused_by_name(self):
        self.record("a.pftrace")
        whole = (self.folder / "a.pftrace").read_bytes()
        (self.folder / "torn.pftrace").write_bytes(whole[:-40])
        self.assert_refused(self.lapwing("divergence", "a.pftrace", "torn.pftrace"), 2, "torn.pftrace: torn at byte ")
        (self.folder / "other.json").write_text('{"traceEvents": []}', encoding="utf-8")
        self.assert_refused(self.lapwing("divergence", "a.pftrace", "other.json"), 2, "other.json")
        self.assert_refused(self.lapwing("divergence", "gone.pftrace", "a.pftrace"), 2, "gone.pftrace")

    def test_the_bound_can_be_given(self):
        self.record("a.pftrace")
        self.record("b.pftrace", "2")
        nmse = json.loads(self.compare(1, "a.pftrace", "b.pftrace", "--format", "json"))["worst"]["nmse"]
        self.compare(0, "a.pftrace", "b.pftrace", "--nmse", str(nmse / 1.9))
        self.compare(1, "a.pftrace", "b.pftrace", "--nmse", str(nmse / 2.1))

    def test_bad_use_is_refused(self):
        self.record("a.pftrace")
        for bound in ("0", "-1", "nan", "some"):
            self.assertEqual(self.lapwing("divergence", "a.pftrace", "a.pftrace", "--nmse", bound).returncode, 2)
        self.assertEqual(self.lapwing("divergence", "a.pftrace").returncode, 2)
        self.assertEqual(self.lapwing("divergence", "a.pftrace", "a.pftrace", "--format", "yaml").returncode, 2)
        self.assertEqual(
            self.lapwing("divergence", "a.pftrace", "a.pftrace", "--format", "json", "--exact").returncode, 2)


if __name__ == "__main__":
    main()
