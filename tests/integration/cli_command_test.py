#!/usr/bin/env python3
"""lapwing, lapwing report on bad input, and lapwing devices."""
import json
import os
import shutil
import subprocess
from pathlib import Path

from lapwing_command import LAPWING, CommandTest, main


class Command(CommandTest):
    def test_version_is_one_line(self):
        result = self.lapwing("--version")
        self.assertRegex(result.stdout, r"^lapwing \d+\.\d+\.\d+\n$")
        self.assertEqual(result.returncode, 0)

    def test_help_lists_what_works_and_nothing_else(self):
        lines = self.lapwing("--help").stdout.split("Subcommands:\n")[1].split("\n\n")[0].splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["run", "report", "graph", "divergence", "tune", "devices", "bench"])

    def test_help_of_run_shows_where_the_program_goes(self):
        self.assertIn("-- CMD ...", self.lapwing("run", "--help").stdout)

    def test_no_subcommand_is_bad_use(self):
        self.assert_refused(self.lapwing(), 2, "--help")

    def test_unknown_subcommand_is_answered_with_those_that_there_are(self):
        self.assert_refused(self.lapwing("frobnicate", "x"), 2, "there is no command 'frobnicate'",
                            "run, report, graph, divergence, tune, devices and bench", "see: lapwing --help")
        self.assert_refused(self.lapwing("--frobnicate"), 2, "lapwing does not know '--frobnicate'")

    def test_what_is_too_much_or_missing_is_named(self):
        for arguments, said in ((["report", "a", "b"], "report does not take 'b': it takes one file"),
                                (["report"], "report needs a file: lapwing report FILE"),
                                (["report", "a", "--by", "op", "--by=name"], "--by is given twice: give it once"),
                                (["report", "a", "--by"], "--by needs a value behind it"),
                                (["report", "--top", "--by", "op", "a"], "--top '--by' is not a whole number"),
                                (["report", "a", "--width", "wide"], "--width 'wide' is not a whole number"),
                                (["devices", "x"], "devices does not take 'x': it takes options only"),
                                (["divergence", "a", "b", "c"],
                                 "divergence does not take 'c': it takes A B and options"),
                                (["divergence", "a"], "divergence needs two files: lapwing divergence REFERENCE "),
                                (["bench", "--format"], "--format needs a value behind it")):
            self.assert_refused(self.lapwing(*arguments), 2, said, f"see: lapwing {arguments[0]} --help")

    def test_bad_option_names_the_help_of_its_own_subcommand(self):
        self.assert_refused(self.lapwing("report", "x.pftrace", "--frobnicate"), 2, "see: lapwing report --help")
        self.assert_refused(self.lapwing("devices", "--frobnicate"), 2, "see: lapwing devices --help")

    def test_separator_before_a_recording_that_looks_like_an_option(self):
        self.write_recording("x.pftrace", "--spans", "3").rename(self.folder / "-x")
        self.assertEqual(self.lapwing("report", "--", "-x").returncode, 0)


class BadRecording(CommandTest):
    """lapwing report: one line that names the file, exit code 2."""

    def test_missing_file(self):
        self.assert_refused(self.lapwing("report", "none.pftrace"), 2, "none.pftrace")

    def test_empty_file(self):
        (self.folder / "empty.pftrace").touch()
        self.assert_refused(self.lapwing("report", "empty.pftrace"), 2, "empty.pftrace")

    def test_file_that_is_no_trace(self):
        (self.folder / "letter.txt").write_text("Dear reader,\n" * 100)
        self.assert_refused(self.lapwing("report", "letter.txt"), 2, "letter.txt")

    def test_folder(self):
        self.assert_refused(self.lapwing("report", str(self.folder)), 2, str(self.folder))

    def test_file_that_may_not_be_read(self):
        path = self.write_recording("x.pftrace", "--spans", "3")
        path.chmod(0)
        command = [LAPWING, "report", str(path)]
        if os.geteuid() == 0:
            if shutil.which("setpriv") is None:
                self.skipTest("root may read everything, and there is no setpriv to be someone else with")
            self.folder.chmod(0o755)
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
            if subprocess.run([*command[:4], LAPWING, "--version"], capture_output=True, check=False).returncode != 0:
                self.skipTest("root may read everything, and another user may not start this build")
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assert_refused(result, 2, "x.pftrace")

    def test_torn_recording_shows_what_is_whole_and_says_so(self):
        path = self.write_recording("x.pftrace", "--spans", "40000")
        whole = path.read_bytes()
        path.write_bytes(whole[:len(whole) // 2])
        result = self.lapwing("report", "x.pftrace")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("MUL_MAT", result.stdout)
        self.assertRegex(result.stdout, "warning: the file ends inside a packet")

    def test_unknown_grouping_lists_the_known_ones(self):
        self.write_recording("x.pftrace", "--spans", "3")
        self.assert_refused(self.lapwing("report", "x.pftrace", "--by", "colour"), 2, "colour", "kernel")

    def test_unknown_format_is_refused(self):
        self.write_recording("x.pftrace", "--spans", "3")
        self.assert_refused(self.lapwing("report", "x.pftrace", "--format", "pdf"), 2, "json")

    def test_full_standard_output_is_reported(self):
        self.write_recording("x.pftrace", "--spans", "3")
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = self.lapwing("report", "x.pftrace", stdout=full, stderr=subprocess.PIPE, capture_output=False)
        self.assertEqual(result.returncode, 2)
        self.assert_one_line(result.stderr, "standard output")

    def test_report_of_a_recording_names_its_ops(self):
        self.write_recording("x.pftrace", "--spans", "3", "--steps", "1")
        result = self.lapwing("report", "x.pftrace", "--format", "json")
        report = json.loads(result.stdout)
        self.assertEqual([(row["name"], row["count"]) for row in report["rows"]], [("MUL_MAT", 3)])


class Devices(CommandTest):
    def test_every_backend_is_listed(self):
        backends = json.loads(self.lapwing("devices", "--format", "json").stdout)["backends"]
        self.assertEqual([backend["name"] for backend in backends], ["cpu", "sim", "vulkan", "opencl", "cuda"])

    def test_host_clock_is_described(self):
        cpu = json.loads(self.lapwing("devices", "--format", "json").stdout)["backends"][0]
        self.assertGreater(cpu["devices"][0]["clock"]["resolution_ns"], 0)

    def test_missing_driver_is_a_reason_and_no_failure(self):
        result = self.lapwing("devices", "--format", "json", env={"VK_ICD_FILENAMES": "/nowhere.json"})
        self.assertEqual(result.returncode, 0, result.stderr)
        vulkan = json.loads(result.stdout)["backends"][2]
        self.assertEqual(vulkan["devices"], [])
        self.assertTrue(vulkan["reason"])

    def test_missing_opencl_driver_is_a_reason_and_no_failure(self):
        result = self.lapwing("devices", "--format", "json", env={"OCL_ICD_VENDORS": "/nowhere"})
        self.assertEqual(result.returncode, 0, result.stderr)
        opencl = json.loads(result.stdout)["backends"][3]
        self.assertEqual(opencl["devices"], [])
        self.assertTrue(opencl["reason"])

    def test_cuda_has_devices_or_a_reason_that_says_what_to_do(self):
        result = self.lapwing("devices", "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        cuda = json.loads(result.stdout)["backends"][4]
        self.assertEqual(bool(cuda["devices"]), not cuda["reason"])
        if not cuda["devices"]:
            self.assertRegex(cuda["reason"], "install|/dev/nvidia|restart|LAPWING_BACKEND_CUDA|code [0-9]")

    def test_text_names_every_backend(self):
        result = self.lapwing("devices")
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("cpu", "sim", "vulkan", "cuda"):
            self.assertIn(name, result.stdout)

    def test_unknown_format_is_refused(self):
        self.assert_refused(self.lapwing("devices", "--format", "xml"), 2, "text, json")


class Bench(CommandTest):
    """lapwing bench. Figures are not compared: what is tested is that each is there, or says why not."""

    def bench(self, *arguments):
        result = self.lapwing("bench", "--quick", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "", "no progress bar where stderr is no terminal")
        return result.stdout

    def test_every_figure_has_a_value_or_a_reason(self):
        document = json.loads(self.bench("--format", "json"))
        self.assertEqual((document["schema"], document["rounds"]), ("lapwing.bench/1", 3))
        rows = {row["what"]: row for row in document["rows"]}
        for row in rows.values():
            self.assertEqual(row["value"] is None, row["reason"] is not None, row)
        for name in ("host span, begin + end", "span while off", "writing a recording", "a recorded span"):
            self.assertGreater(rows[name]["value"], 0)
        self.assertIsNone(rows["a recorded span"]["ratio"], "what has no floor has no ratio")
        self.assertTrue(any(name.startswith("a pair of stamps on the device") for name in rows), rows.keys())
        start = rows.get("the layer at a program's start")    # absent in a build without Vulkan
        if start and start["value"] is not None:
            self.assertGreater(start["value"], 0, "the layer's own meter, from its recording")
            self.assertGreater(start["floor_value"], 0)

    def test_text_has_a_line_for_every_row(self):
        lines = self.bench().splitlines()
        self.assertTrue(lines[0].startswith("what "), lines[0])
        self.assertTrue(any(line.startswith("span while off") for line in lines), lines)

    def test_readme_shows_the_table_that_bench_prints(self):
        """The README's figures are those of another day; its rows are these. Devices differ from machine to machine."""
        def table(text):
            lines = [line for line in text.splitlines() if line.startswith("|")]
            names = [line.split("|")[1].strip() for line in lines]
            return [name for name in names if "a pair of stamps" not in name and "around nothing" not in name], lines[0]
        readme = (Path(os.environ["LAPWING_SOURCE_DIR"]) / "README.md").read_text()
        section = readme.split("## Cost\n")[1].split("\n## ")[0]
        rows, head = table(self.bench("--format", "md"))
        in_readme, readme_head = table(section)
        self.assertEqual(readme_head, head)
        self.assertEqual(in_readme, rows)

    def test_bad_options_are_refused(self):
        self.assert_refused(self.lapwing("bench", "--format", "xml"), 2, "'xml'", "text, json, md")
        self.assert_refused(self.lapwing("bench", "--folder", "/nowhere/at/all"), 2, "/nowhere/at/all")


if __name__ == "__main__":
    main()
