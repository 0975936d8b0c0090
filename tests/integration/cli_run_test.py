#!/usr/bin/env python3
"""lapwing run: the program it starts, and what the user is told afterwards."""
import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

from lapwing_command import LAPWING, WRITE_RECORDING, CommandTest, main


class Program(CommandTest):
    """The program runs as if it had been started without Lapwing."""

    def test_own_exit_code_is_passed_on(self):
        self.assertEqual(self.lapwing("run", "--", "sh", "-c", "exit 37").returncode, 37)

    def test_end_by_a_signal_is_128_plus_its_number(self):
        self.assertEqual(self.lapwing("run", "--", "sh", "-c", "kill -KILL $$").returncode, 128 + signal.SIGKILL)

    def test_program_that_does_not_exist_is_127(self):
        self.assert_refused(self.lapwing("run", "--", "./no-such-program"), 127, "./no-such-program", "no such program")

    def test_name_that_is_not_in_path_is_127(self):
        self.assert_refused(self.lapwing("run", "--", "no-such-program-anywhere"), 127, "PATH")

    def test_file_that_is_not_executable_is_126(self):
        (self.folder / "data").write_text("no program\n")
        self.assert_refused(self.lapwing("run", "--", "./data"), 126, "./data", "executable")

    def test_folder_is_126(self):
        self.assert_refused(self.lapwing("run", "--", str(self.folder)), 126, str(self.folder))

    def test_program_that_cannot_start_leaves_no_file(self):
        self.lapwing("run", "-o", "x.pftrace", "--", "./no-such-program")
        self.assertEqual(os.listdir(self.folder), [])

    def test_arguments_arrive_unchanged(self):
        wanted = ["-o", "two words", "--", "", "--level"]
        result = self.lapwing("run", "--", "printf", "%s|", *wanted)
        self.assertEqual(result.stdout, "".join(word + "|" for word in wanted))

    def test_separator_may_be_left_out(self):
        result = self.lapwing("run", "--every", "2", "printf", "%s|", "-o", "x")
        self.assertEqual(result.stdout, "-o|x|")

    def test_script_without_interpreter_line_runs_as_from_a_shell(self):
        script = self.folder / "script"
        script.write_text("exit 5\n")
        script.chmod(0o755)
        self.assertEqual(self.lapwing("run", "--", "./script").returncode, 5)

    def test_standard_input_and_output_are_the_programs(self):
        result = self.lapwing("run", "--", "tr", "a-z", "A-Z", input="hello\n")
        self.assertEqual(result.stdout, "HELLO\n")

    def test_working_folder_is_the_callers(self):
        self.assertEqual(self.lapwing("run", "--", "pwd", "-P").stdout.strip(), os.path.realpath(self.folder))

    def test_exit_code_survives_a_caller_that_ignores_sigchld(self):
        result = self.lapwing("run", "--", "sh", "-c", "exit 6",
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(result.returncode, 6)


class Signals(CommandTest):
    """Signals meant for the program reach it once."""

    COUNT = ("import signal, sys, time\n"
             "seen = []\n"
             "signal.signal(signal.SIGINT, lambda *_: seen.append('INT'))\n"
             "signal.signal(signal.SIGTERM, lambda *_: seen.append('TERM'))\n"
             "print('ready', flush=True)\n"
             "end = time.monotonic() + 20\n"
             "while not seen and time.monotonic() < end: time.sleep(0.02)\n"
             "time.sleep(0.3)\n"
             "print('seen', *seen, flush=True)\n"
             "sys.exit(9)\n")

    def test_sigterm_sent_to_lapwing_reaches_the_program_once(self):
        process = subprocess.Popen([LAPWING, "run", "--", sys.executable, "-c", self.COUNT], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
        self.assertEqual(out, "seen TERM\n")
        self.assertEqual(process.returncode, 9)

    def test_control_c_at_the_terminal_reaches_the_program_once(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execv(LAPWING, [LAPWING, "run", "--", sys.executable, "-c", self.COUNT])
        shown = b""
        typed = False
        while True:
            try:
                block = os.read(terminal, 4096)
            except OSError:    # Linux reports the end of a terminal as an error
                break
            if not block:
                break
            shown += block
            if b"ready" in shown and not typed:
                os.write(terminal, b"\x03")
                typed = True
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        self.assertIn(b"seen INT\r\n", shown)
        self.assertEqual(os.waitstatus_to_exitcode(status), 9)


class Environment(CommandTest):
    """Settings of the user's are added to, never replaced."""

    def settings(self, *options, **env):
        for name in ("VK_INSTANCE_LAYERS", "VK_LAYER_PATH", "VK_ADD_LAYER_PATH", "GGML_VK_DEBUG_MARKERS"):
            env.setdefault(name, None)
        out = self.lapwing("run", *options, "--", "env", env=env).stdout
        return dict(line.split("=", 1) for line in out.splitlines() if "=" in line)

    def test_layer_goes_in_front_of_the_users_layers(self):
        seen = self.settings(VK_INSTANCE_LAYERS="VK_LAYER_a:VK_LAYER_b")
        self.assertEqual(seen["VK_INSTANCE_LAYERS"], "VK_LAYER_LAPWING_timing:VK_LAYER_a:VK_LAYER_b")

    def test_layer_that_the_user_named_is_not_loaded_twice(self):
        seen = self.settings(VK_INSTANCE_LAYERS="VK_LAYER_a:VK_LAYER_LAPWING_timing")
        self.assertEqual(seen["VK_INSTANCE_LAYERS"], "VK_LAYER_a:VK_LAYER_LAPWING_timing")

    def test_layer_folder_is_added_behind_the_users_own(self):
        seen = self.settings(VK_ADD_LAYER_PATH="/a:/b")
        self.assertRegex(seen["VK_ADD_LAYER_PATH"], r"^/a:/b:/.+")
        self.assertNotIn("VK_LAYER_PATH", seen)

    def test_layer_path_that_replaces_all_others_gets_the_folder(self):
        seen = self.settings(VK_LAYER_PATH="/a", VK_ADD_LAYER_PATH="/b")
        self.assertRegex(seen["VK_LAYER_PATH"], r"^/a:/.+")
        self.assertEqual(seen["VK_ADD_LAYER_PATH"], "/b")

    def test_layer_folder_holds_the_manifest(self):
        folder = self.settings()["VK_ADD_LAYER_PATH"]
        manifests = [name for name in os.listdir(folder) if name.endswith(".json")]
        texts = [Path(folder, name).read_text(encoding="utf-8") for name in manifests]
        self.assertTrue(any('"VK_LAYER_LAPWING_timing"' in text for text in texts), manifests)

    def test_preloaded_libraries_stay(self):
        seen = self.settings(LD_PRELOAD="libm.so.6", ASAN_OPTIONS="verify_asan_link_order=0")
        self.assertEqual(seen["LD_PRELOAD"], "libm.so.6")

    def test_debug_markers_are_switched_on(self):
        self.assertEqual(self.settings()["GGML_VK_DEBUG_MARKERS"], "1")

    def test_debug_markers_of_the_user_stay(self):
        self.assertEqual(self.settings(GGML_VK_DEBUG_MARKERS="0")["GGML_VK_DEBUG_MARKERS"], "0")

    def test_output_is_handed_over_as_an_absolute_path(self):
        seen = self.settings("-o", "x.pftrace")
        self.assertEqual(seen["LAPWING_OUT"], os.path.join(os.path.realpath(self.folder), "x.pftrace"))

    def test_output_is_named_after_the_program_by_default(self):
        self.assertEqual(os.path.basename(self.settings()["LAPWING_OUT"]), "env.pftrace")

    def test_level_and_stride_are_handed_over(self):
        seen = self.settings("--level", "basic", "--every", "16")
        self.assertEqual((seen["LAPWING_LEVEL"], seen["LAPWING_EVERY"]), ("basic", "16"))

    def test_kernel_level_and_every_step_are_the_default(self):
        seen = self.settings(LAPWING_DURATION="left over", LAPWING_BUDGET="left over")
        self.assertEqual((seen["LAPWING_LEVEL"], seen["LAPWING_STEP"], seen["LAPWING_EVERY"]), ("kernel", "sync", "1"))
        self.assertEqual((seen["LAPWING_SKIP"], seen["LAPWING_DURATION"], seen["LAPWING_BUDGET"]), ("0", "", ""))

    def test_what_makes_a_step_and_which_are_timed_is_handed_over(self):
        seen = self.settings("--step", "label:^decode (a|b)$", "--skip", "3", "--duration", "500ms", "--budget", "0.5%")
        self.assertEqual(seen["LAPWING_STEP"], "label:^decode (a|b)$")
        self.assertEqual((seen["LAPWING_SKIP"], seen["LAPWING_DURATION"], seen["LAPWING_BUDGET"]), ("3", "500ms", "0.5%"))


class Outcome(CommandTest):
    """One line at the end says what was recorded."""

    def report(self, name):
        result = self.lapwing("report", name, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def run_writer(self, *arguments):
        return self.lapwing("run", "-o", "x.pftrace", "--", WRITE_RECORDING, *arguments)

    def test_summary_counts_spans_steps_and_losses(self):
        result = self.run_writer("--spans", "70", "--steps", "2")
        self.assertEqual(result.stderr,
                         "lapwing: x.pftrace: 70 spans, 2 steps, 0 lost; see: lapwing report x.pftrace\n")

    def test_summary_names_the_reason_of_losses(self):
        self.assert_one_line(self.run_writer("--spans", "7", "--lost", "3").stderr, "3 lost (ring_full 3)")

    def test_summary_says_when_the_recording_ends_early(self):
        self.assert_one_line(self.run_writer("--spans", "7", "--unfinished").stderr, "ends early")

    def run_with_child(self, *options, child="--spans 3"):
        script = f'"{WRITE_RECORDING}" --spans 7; LAPWING_OUT=$LAPWING_OUT.123 "{WRITE_RECORDING}" {child}'
        return self.lapwing("run", "-o", "x.pftrace", *options, "--", "sh", "-c", script)

    def test_recordings_of_child_processes_are_joined(self):
        result = self.run_with_child()
        self.assert_one_line(result.stderr, "x.pftrace: 10 spans of 2 processes, 0 steps, 0 lost; see")
        self.assertEqual(os.listdir(self.folder), ["x.pftrace"])
        report = self.report("x.pftrace")
        self.assertEqual((report["begun"], report["spans"], report["lost"]["total"]), (10, 10, 0))
        self.assertEqual(report["source"]["other_pids"], [42])
        self.assertEqual(len(report["source"]["devices"]), 2)
        self.assertTrue(report["final"])

    def test_child_that_was_killed_is_joined_up_to_its_last_packet(self):
        result = self.run_with_child(child='--spans 300; truncate -s -5 "$LAPWING_OUT.123"')
        self.assert_one_line(result.stderr, "x.pftrace: 307 spans of 2 processes", "ends early")
        self.assertFalse(self.report("x.pftrace")["final"])

    def test_children_of_a_bounded_recording_stay_apart_and_are_named(self):
        result = self.run_with_child("--max-size", "1MiB")
        self.assert_one_line(result.stderr, "x.pftrace: 7 spans, ", "child processes: x.pftrace.123;")

    def test_recording_of_another_run_is_no_child(self):
        result = self.run_with_child(child="--spans 3; true")
        self.assertIn("2 processes", result.stderr)
        script = f'"{WRITE_RECORDING}" --spans 7; LAPWING_RUN=5 LAPWING_OUT=$LAPWING_OUT.124 "{WRITE_RECORDING}" --spans 1'
        result = self.lapwing("run", "-o", "x.pftrace", "--", "sh", "-c", script)
        self.assert_one_line(result.stderr, "x.pftrace: 7 spans, ")
        self.assertEqual(sorted(os.listdir(self.folder)), ["x.pftrace", "x.pftrace.124"])

    def test_control_characters_in_names_are_shown_as_numbers(self):
        result = self.lapwing("run", "-o", "a\x1b[31m\nb.pftrace", "--", WRITE_RECORDING, "--spans", "7")
        self.assert_one_line(result.stderr, "lapwing: a\\x1b[31m\\x0ab.pftrace: 7 spans")

    def test_program_without_gpu_work_keeps_its_exit_code_and_gets_one_warning(self):
        result = self.lapwing("run", "--", "sh", "-c", "exit 3")
        self.assertEqual(result.returncode, 3)
        self.assert_one_line(result.stderr, "warning: sh used no GPU API that Lapwing can see", "Vulkan")

    def test_recording_of_an_earlier_run_is_not_passed_off_as_that_of_one_that_recorded_nothing(self):
        self.lapwing("run", "-o", "x.pftrace", "--", WRITE_RECORDING, "--spans", "7")
        before = (self.folder / "x.pftrace").read_bytes()
        result = self.lapwing("run", "-o", "x.pftrace", "--", "true")
        self.assert_one_line(result.stderr, "true used no GPU API", "; x.pftrace is still that of an earlier run")
        self.assertEqual((self.folder / "x.pftrace").read_bytes(), before)

    def test_vulkan_without_a_dispatch_gets_one_warning_that_names_the_remedy(self):
        result = self.run_writer()
        self.assertEqual(result.returncode, 0)
        self.assert_one_line(result.stderr, "warning: ", "dispatched nothing", "GGML_VK_VISIBLE_DEVICES")

    def test_steps_that_never_came_are_explained_here_and_in_the_report(self):
        for options, program, said in ((["--skip", "1000"], ["--steps", "12"], "there were only 12 steps; skip fewer"),
                                       (["--step", "label:tokn"], [], "no debug label matched 'tokn'")):
            result = self.lapwing("run", *options, "-o", "x.pftrace", "--", WRITE_RECORDING, "--executed", "30",
                                  *program)
            self.assert_one_line(result.stderr, said, "see: lapwing report x.pftrace")
            notes = [note["text"] for note in self.report("x.pftrace")["notes"] if note["warning"]]
            self.assertEqual(len(notes), 1, notes)
            self.assertIn(said, notes[0])

    def test_empty_recording_is_a_warning_and_does_not_stay(self):
        result = self.lapwing("run", "-o", "x.pftrace", "--", "sh", "-c", ': >"$LAPWING_OUT"')
        self.assert_one_line(result.stderr, "warning: ", "nothing could be written to x.pftrace")
        self.assertEqual(os.listdir(self.folder), [])

    def test_level_off_is_no_warning(self):
        result = self.lapwing("run", "--level", "off", "--", "true")
        self.assertEqual(result.stderr, "lapwing: level off: nothing was recorded\n")

    def test_full_disk_keeps_a_valid_prefix_and_the_exit_code(self):
        script = f"ulimit -f 64; trap '' XFSZ; \"{WRITE_RECORDING}\" --spans 200000 2>/dev/null; exit 4"
        result = self.lapwing("run", "-o", "x.pftrace", "--", "bash", "-c", script)
        self.assertEqual(result.returncode, 4)
        self.assert_one_line(result.stderr, "x.pftrace", " lost (unwritten ", "), ends early (File too large; raise the file size limit (ulimit -f))")
        self.assertLessEqual((self.folder / "x.pftrace").stat().st_size, 64 * 1024)
        report = self.report("x.pftrace")
        self.assertEqual(report["write_error"], "File too large")
        self.assertEqual((report["begun"], report["unaccounted"]), (200000, 0))
        self.assertEqual(report["lost"]["by_reason"], {"unwritten": 200000 - report["spans"]})
        self.assertIn("free some space", " ".join(note["text"] for note in report["notes"]))

    def test_disk_that_is_full_from_the_start_is_refused_before_the_program_starts(self):
        result = subprocess.run(["bash", "-c", f'ulimit -f 0; "{LAPWING}" run -o x.pftrace -- touch started'],
                                cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        self.assert_refused(result, 125, "cannot record to x.pftrace: File too large", "ulimit -f")
        self.assertEqual(os.listdir(self.folder), [])


class Output(CommandTest):
    """What is at the output path is only ever removed when it is a recording."""

    def run_true(self, output):
        return self.lapwing("run", "-o", output, "--", "true")

    def test_recording_of_an_earlier_run_is_replaced_by_a_new_one(self):
        self.write_recording("x.pftrace", "--spans", "9")
        result = self.lapwing("run", "-o", "x.pftrace", "--", WRITE_RECORDING, "--spans", "4")
        self.assert_one_line(result.stderr, "x.pftrace: 4 spans")
        self.assertEqual(os.listdir(self.folder), ["x.pftrace"])

    def test_recording_of_an_earlier_run_stays_where_nothing_is_recorded(self):
        self.write_recording("x.pftrace", "--spans", "9")
        before = (self.folder / "x.pftrace").read_bytes()
        self.run_true("x.pftrace")
        self.lapwing("run", "-o", "x.pftrace", "--", "no-such-program")
        self.assertEqual(os.listdir(self.folder), ["x.pftrace"])
        self.assertEqual((self.folder / "x.pftrace").read_bytes(), before)

    def test_numbered_files_of_others_are_neither_removed_nor_called_children(self):
        self.write_recording("x.pftrace.77", "--spans", "9")
        (self.folder / "x.pftrace.78").write_text("notes\n")
        result = self.lapwing("run", "-o", "x.pftrace", "--", WRITE_RECORDING, "--spans", "4")
        self.assertNotIn("child", result.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["x.pftrace", "x.pftrace.77", "x.pftrace.78"])

    def test_recording_that_another_run_is_writing_is_refused(self):
        self.write_recording("x.pftrace", "--spans", "9")
        with open(self.folder / "x.pftrace", "rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            result = self.run_true("x.pftrace")
        self.assertEqual(result.returncode, 125)
        self.assert_one_line(result.stderr, "x.pftrace", "another run is recording to it")

    def test_second_of_two_runs_at_one_moment_is_refused(self):
        wait = "echo ready; read line"
        first = subprocess.Popen([LAPWING, "run", "-o", "x.pftrace", "--", "sh", "-c", wait], cwd=self.folder,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(first.stdout.readline(), "ready\n")    # nothing is recorded yet
        result = self.lapwing("run", "-o", "x.pftrace", "--", "touch", "started")
        self.assertEqual(result.returncode, 125)
        self.assert_one_line(result.stderr, "x.pftrace", "another run is recording to it")
        self.assertFalse((self.folder / "started").exists())
        first.communicate("go\n", timeout=30)
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(self.run_true("x.pftrace").returncode, 0)

    def test_many_runs_at_one_moment_leave_one_winner_at_a_time(self):
        script = f'"{WRITE_RECORDING}" --spans 5; sleep 0.3'
        runs = [subprocess.Popen([LAPWING, "run", "-o", "x.pftrace", "--", "sh", "-c", script], cwd=self.folder,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(12)]
        said = [run.communicate(timeout=60)[1] for run in runs]
        for run, text in zip(runs, said):
            self.assertIn("x.pftrace: 5 spans, " if run.returncode == 0 else "another run is recording", text)
        self.assertIn(0, [run.returncode for run in runs])
        self.assertEqual(os.listdir(self.folder), ["x.pftrace"])

    def test_lock_of_a_run_that_was_killed_does_not_stay_in_the_way(self):
        (self.folder / "x.pftrace.lock").touch()
        self.assertEqual(self.run_true("x.pftrace").returncode, 0)
        self.assertEqual(os.listdir(self.folder), [])

    def test_parts_of_an_earlier_recording_go_with_it(self):
        self.write_recording("x.pftrace", "--spans", "200000", "--max-bytes", "1048576")
        self.assertGreater(len(os.listdir(self.folder)), 3)
        self.run_true("x.pftrace")
        self.assertGreater(len(os.listdir(self.folder)), 3)    # nothing was recorded
        self.lapwing("run", "-o", "x.pftrace", "--", WRITE_RECORDING, "--spans", "4")
        self.assertEqual(os.listdir(self.folder), ["x.pftrace"])

    def test_empty_file_is_replaced(self):
        (self.folder / "x.pftrace").touch()
        self.assertEqual(self.run_true("x.pftrace").returncode, 0)

    def test_any_other_file_is_refused_and_left_alone(self):
        other = self.folder / "model.gguf"
        other.write_bytes(b"GGUF precious weights")
        self.assert_refused(self.run_true("model.gguf"), 125, "model.gguf", "left alone", "-o")
        self.assertEqual(other.read_bytes(), b"GGUF precious weights")

    def test_refused_output_does_not_start_the_program(self):
        (self.folder / "notes").write_text("text\n")
        self.lapwing("run", "-o", "notes", "--", "touch", "started")
        self.assertFalse((self.folder / "started").exists())

    def test_folder_is_refused(self):
        self.assert_refused(self.run_true(str(self.folder)), 125, "folder", "-o")

    def test_device_is_refused_and_left_alone(self):
        self.assert_refused(self.run_true("/dev/full"), 125, "/dev/full", "-o")
        self.assertTrue(os.path.exists("/dev/full"))

    def test_output_of_the_program_itself_is_refused_and_left_alone(self):
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/stderr", "-"):
            with open(self.folder / "caught", "w", encoding="utf-8") as caught:
                caught.write("before\n")
                caught.flush()
                result = self.lapwing("run", "-o", name, "--", "echo", "after", capture_output=False, stdout=caught,
                                      stderr=subprocess.PIPE)
            self.assertEqual(result.returncode, 125, name)
            self.assert_one_line(result.stderr, f"cannot record to {name}: ", "a file of its own", "-o")
            self.assertEqual((self.folder / "caught").read_text(), "before\n")

    def test_missing_folder_is_named(self):
        self.assert_refused(self.run_true("nowhere/x.pftrace"), 125, "nowhere", "-o")

    def test_place_that_cannot_be_written_is_refused(self):
        self.assert_refused(self.run_true("/sys/x.pftrace"), 125, "/sys/x.pftrace", "-o")

    def test_folder_in_which_no_file_can_be_made_is_named(self):
        self.assert_refused(self.run_true("/proc/x.pftrace"), 125, "no file can be made in /proc", "-o")

    def test_empty_name_is_refused(self):
        self.assert_refused(self.run_true(""), 2, "-o")


class Options(CommandTest):
    """A value out of range is one line that names the accepted ones."""

    def refuse(self, *options, parts):
        self.assert_refused(self.lapwing("run", *options, "--", "touch", "started"), 2, *parts)
        self.assertFalse((self.folder / "started").exists())

    def test_level_that_is_none_is_refused(self):
        self.refuse("--level", "lanes", parts=("'lanes'", "off, basic, lane, kernel"))

    def test_levels_are_lower_case(self):
        self.refuse("--level", "Kernel", parts=("'Kernel'", "off, basic, lane, kernel"))

    def test_budget_where_nothing_is_timed_is_refused(self):
        self.refuse("--level", "basic", "--budget", "1%", parts=("--level basic times nothing", "lane or kernel"))

    def test_stride_of_zero_is_refused(self):
        self.refuse("--every", "0", parts=("'0'", "from 1 to 1000000"))

    def test_negative_stride_is_refused(self):
        self.refuse("--every=-1", parts=("'-1'", "from 1 to 1000000"))

    def test_stride_beyond_32_bits_is_refused(self):
        self.refuse("--every", "4294967296", parts=("'4294967296'", "from 1 to 1000000"))

    def test_fraction_is_no_stride(self):
        self.refuse("--every", "1.5", parts=("'1.5'",))

    def test_unknown_step_is_refused_with_the_ways_there_are(self):
        self.refuse("--step", "frame", parts=("--step 'frame'", "sync, label:REGEX, submits:N"))

    def test_broken_expression_is_refused_with_its_fault(self):
        self.refuse("--step", "label:a(b", parts=("--step 'a(b'", "regular expression", "("))

    def test_skip_is_a_whole_number(self):
        self.refuse("--skip", "some", parts=("--skip 'some'", "from 0 to 1000000000"))

    def test_duration_needs_its_unit(self):
        self.refuse("--duration", "10", parts=("--duration '10'", "500ms", "1ms to 1000h"))

    def test_budget_is_a_percentage(self):
        self.refuse("--budget", "0.01", parts=("--budget '0.01'", "0.01% to 100%", "1%"))

    def test_largest_stride_is_accepted(self):
        self.assertEqual(self.lapwing("run", "--every", "1000000", "--", "true").returncode, 0)

    def test_stride_above_the_largest_is_refused(self):
        self.refuse("--every", "1000001", parts=("'1000001'", "from 1 to 1000000"))

    def test_sizes_below_a_mebibyte_and_no_sizes_are_refused(self):
        for size in ("1023KiB", "0", "-1MiB", "many", "1.5GiB", "99999999999GiB"):
            self.refuse(f"--max-size={size}", parts=(f"--max-size '{size}'", "from 1MiB to 8000000000GB"))

    def test_number_of_files_kept_is_at_least_one(self):
        self.refuse("--max-size", "1MiB", "--keep", "0", parts=("--keep '0'", "1 to 1000000"))

    def test_files_are_kept_of_those_that_a_size_makes(self):
        self.refuse("--keep", "3", parts=("--keep", "--max-size"))

    def test_time_kept_is_at_least_a_second(self):
        for time in ("999ms", "0s", "30", "soon", "-5s", "1001h", "99999999999h"):
            self.refuse(f"--last={time}", parts=(f"--last '{time}'", "from 1s to 1000h"))

    def test_option_given_twice_is_named(self):
        self.refuse("--every", "2", "--every=3", parts=("--every is given twice", "give it once"))
        self.refuse("-o", "a", "--output", "b", parts=("-o is given twice",))

    def test_sizes_and_times_reach_the_layer_as_numbers(self):
        result = self.lapwing("run", "--max-size", "512MiB", "--keep", "8", "--last", "5min", "--compress", "--", "env")
        for line in ("LAPWING_MAX_BYTES=536870912", "LAPWING_KEEP=8", "LAPWING_LAST_NS=300000000000",
                     "LAPWING_COMPRESS=1"):
            self.assertIn(line + "\n", result.stdout)

    def test_unknown_option_is_named(self):
        self.refuse("--evry", "2", parts=("--evry",))

    def test_missing_program_is_said(self):
        self.assert_refused(self.lapwing("run"), 2, "-- CMD")


if __name__ == "__main__":
    main()
