#!/usr/bin/env python3
"""How the layer gets into a process: by name, by the environment alone, by both at once, or not at all."""
import json
import os
from pathlib import Path

from vulkan_product import COUNT, OURS, VulkanTest, folder_of, main

SUBMITS = 2
DISPATCHES = 10 * SUBMITS
# Where the loader looks for implicit layers: below XDG_DATA_HOME. The build tree has the layout of an installed share/.
IMPLICIT = {"XDG_DATA_HOME": folder_of(OURS), "LAPWING_VULKAN_LAYER": "1"}


class Loading(VulkanTest):
    def run_program(self, layers, env):
        self.recording = self.folder / "x.pftrace"
        run = self.run_plain(self.program("vk_run"), "resubmit", "--rounds", str(SUBMITS),
                             layers=[*layers, COUNT], env={"LAPWING_OUT": str(self.recording), **env})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.executed["dispatches"], DISPATCHES)
        return run

    def assert_recorded_once(self, run):
        self.assertEqual(run.stderr, "")
        report = json.loads(self.lapwing("report", self.recording, "--format", "json").stdout)
        self.assertEqual((report["begun"], report["spans"]), (DISPATCHES, DISPATCHES))
        # The witness stands below: a layer that is there twice takes every stamp twice.
        # A submit has one more than its dispatches, and the recording's empty pair.
        self.assertEqual(run.executed["timestamps"], DISPATCHES + 2 * SUBMITS)

    def assert_not_loaded(self, run):
        self.assertEqual(run.stderr, "")
        self.assertFalse(self.recording.exists())

    def test_explicit_layer_is_loaded_by_its_name(self):
        self.assert_recorded_once(self.run_program([OURS], {}))

    def test_implicit_layer_is_loaded_where_the_environment_asks(self):
        self.assert_recorded_once(self.run_program([], IMPLICIT))

    def test_implicit_layer_is_not_loaded_without_the_variable(self):
        # vllm#54087, rocm-systems#4326: nothing that is only installed may act on a program.
        self.assert_not_loaded(self.run_program([], {**IMPLICIT, "LAPWING_VULKAN_LAYER": None}))

    def test_implicit_layer_is_not_loaded_where_it_is_disabled(self):
        self.assert_not_loaded(self.run_program([], {**IMPLICIT, "LAPWING_VULKAN_LAYER_DISABLE": "1"}))

    def test_explicit_layer_is_silent_where_it_is_disabled(self):
        self.assert_not_loaded(self.run_program([OURS], {"LAPWING_VULKAN_LAYER_DISABLE": "1"}))
        run = self.measure(self.program("vk_run"), "nothing", env={"LAPWING_VULKAN_LAYER_DISABLE": "1"}, returncode=3)
        self.assert_one_line(run.stderr, "LAPWING_VULKAN_LAYER_DISABLE is set: nothing was recorded")
        self.assertFalse(self.recording.exists())

    def test_second_run_by_hand_says_where_it_records(self):
        self.assert_recorded_once(self.run_program([OURS], {}))
        first = self.recording.read_bytes()
        run = self.run_program([OURS], {})
        self.assert_one_line(run.stderr, "x.pftrace is there already: recording to ")
        self.assertEqual(self.recording.read_bytes(), first)
        self.recording = run.stderr.rpartition(" ")[2].strip()
        run.stderr = ""
        self.assert_recorded_once(run)

    def test_recording_that_is_a_folder_is_refused(self):
        run = self.run_program([OURS], {"LAPWING_OUT": str(self.folder)})
        self.assert_one_line(run.stderr, "Vulkan layer off: ", "is a folder; name a file in it")
        self.assertEqual(list(self.folder.parent.glob(self.folder.name + ".*")), [])

    def test_explicit_and_implicit_at_once_are_one_layer(self):
        self.assert_recorded_once(self.run_program([OURS], IMPLICIT))

    def test_implicit_layer_under_lapwing_run_is_one_layer(self):
        run = self.measure(self.program("vk_run"), "resubmit", "--rounds", str(SUBMITS), env=IMPLICIT)
        self.assert_all_measured(run, DISPATCHES)

    def test_copies_from_two_places_are_one_layer(self):
        # As with an installed Lapwing beside a build tree: another manifest of the same name, another file.
        other = self.folder / "other/vulkan/implicit_layer.d"
        other.mkdir(parents=True)
        manifest = Path(folder_of(OURS)) / "vulkan/implicit_layer.d/lapwing_vulkan_layer_implicit.json"
        layer = json.loads(manifest.read_text())
        library = self.folder / "other/liblapwing_vulkan_layer.so"
        library.write_bytes((manifest.parent / layer["layer"]["library_path"]).read_bytes())
        layer["layer"]["library_path"] = str(library)
        (other / manifest.name).write_text(json.dumps(layer))
        env = {**IMPLICIT, "XDG_DATA_DIRS": os.pathsep.join([str(self.folder / "other"), "/usr/share"])}
        self.assert_recorded_once(self.run_program([OURS], env))

    def test_layer_without_a_recording_to_write_does_nothing(self):
        self.assert_not_loaded(self.run_program([OURS], {**IMPLICIT, "LAPWING_OUT": None}))


if __name__ == "__main__":
    main()
