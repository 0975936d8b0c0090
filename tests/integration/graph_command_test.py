#!/usr/bin/env python3
"""lapwing graph on a recording: its forms, its schema, what Graphviz makes of it, bad use."""
import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

from lapwing_command import CommandTest, main

ROOT = Path(os.environ.get("LAPWING_SOURCE_DIR", Path(__file__).resolve().parents[2]))


class Graph(CommandTest):
    def setUp(self):
        super().setUp()
        self.write_recording("x.pftrace", "--spans", "30", "--steps", "1")

    def graph(self, *arguments):
        result = self.lapwing("graph", "x.pftrace", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_critical_path_is_the_default_and_says_which_step_it_is_of(self):
        result = self.lapwing("graph", "x.pftrace")
        self.assertIn("step 0, the last one", result.stderr)
        self.assertRegex(result.stdout, r"^Critical Path: \d+\.\d\dms \(\d+ nodes\)\n─{50}\n")
        self.assertEqual(result.stdout, self.graph("--critical-path", "--step", "0"))

    def test_json_follows_its_schema_and_adds_up(self):
        graph = json.loads(self.graph("--json", "--step", "0"))
        self.assertGreater(len(graph["nodes"]), 0)
        self.assertTrue(all(edge["from"] < len(graph["nodes"]) and edge["to"] < len(graph["nodes"])
                            for edge in graph["edges"]))
        for node in graph["critical_path"]:
            self.assertEqual(graph["nodes"][node]["slack_ns"], 0)
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed for this Python")
        schema = json.loads((ROOT / "docs/graph.schema.json").read_text(encoding="utf-8"))
        jsonschema.Draft7Validator.check_schema(schema)
        jsonschema.validate(graph, schema)
        graph["nodes"][0]["surprise"] = 1
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(graph, schema)

    @unittest.skipIf(shutil.which("dot") is None, "graphviz is not installed")
    def test_graphviz_renders_the_dot(self):
        svg = subprocess.run(["dot", "-Tsvg"], input=self.graph("--dot"), text=True, capture_output=True, timeout=120)
        self.assertEqual((svg.returncode, svg.stderr), (0, ""))
        nodes = len(json.loads(self.graph("--json"))["nodes"])
        self.assertEqual(svg.stdout.count('class="node"'), nodes)

    def test_tree_names_the_ops(self):
        self.assertIn("── ", self.graph("--tree"))

    def test_bad_use_says_what_to_do(self):
        result = self.lapwing("graph", "x.pftrace", "--step", "77")
        self.assertEqual(result.returncode, 2)
        self.assertIn("x.pftrace: step 77 has no device spans: the newest that has some is 0", result.stderr)
        self.assertEqual(self.lapwing("graph", "x.pftrace", "--dot", "--tree").returncode, 2)
        self.assertEqual(self.lapwing("graph", "missing.pftrace").returncode, 2)


if __name__ == "__main__":
    main()
