#!/usr/bin/env python3
"""lapwing, lapwing report on bad input, and lapwing devices."""
import json
import os
import shutil
import subprocess

from lapwing_command import LAPWING, CommandTest, main


class Command(CommandTest):
    def test_version_is_one_line(self):
        result = self.lapwing("--version")
        self.assertRegex(result.stdout, r"^lapwing \d+\.\d+\.\d+\n$")
        self.assertEqual(result.returncode, 0)

    def test_help_lists_what_works_and_nothing_else(self):
        lines = self.lapwing("--help").stdout.split("Subcommands:\n")[1].split("\n\n")[0].splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["run", "report", "devices"])

    def test_help_of_run_shows_where_the_program_goes(self):
        self.assertIn("-- CMD ...", self.lapwing("run", "--help").stdout)

    def test_no_subcommand_is_bad_use(self):
        self.assert_refused(self.lapwing(), 2, "--help")

    def test_unknown_subcommand_is_bad_use(self):
        self.assert_refused(self.lapwing("frobnicate"), 2, "--help")

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
        self.assertEqual([backend["name"] for backend in backends], ["cpu", "sim", "vulkan"])

    def test_host_clock_is_described(self):
        cpu = json.loads(self.lapwing("devices", "--format", "json").stdout)["backends"][0]
        self.assertGreater(cpu["devices"][0]["clock"]["resolution_ns"], 0)

    def test_missing_driver_is_a_reason_and_no_failure(self):
        result = self.lapwing("devices", "--format", "json", env={"VK_ICD_FILENAMES": "/nowhere.json"})
        self.assertEqual(result.returncode, 0, result.stderr)
        vulkan = json.loads(result.stdout)["backends"][2]
        self.assertEqual(vulkan["devices"], [])
        self.assertTrue(vulkan["reason"])

    def test_text_names_every_backend(self):
        result = self.lapwing("devices")
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("cpu", "sim", "vulkan"):
            self.assertIn(name, result.stdout)

    def test_unknown_format_is_refused(self):
        self.assert_refused(self.lapwing("devices", "--format", "xml"), 2, "text, json")


if __name__ == "__main__":
    main()
