#!/usr/bin/env python3
"""What is installed works without the build tree, and the tree works inside another project."""
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from lapwing_command import CommandTest, main

SOURCE = Path(os.environ.get("LAPWING_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = os.environ.get("LAPWING_BINARY_DIR", "")
CMAKE = os.environ.get("CMAKE_COMMAND", "cmake")
CXX = os.environ.get("CXX", "g++")


class PackageTest(CommandTest):
    def call(self, *command, **options):
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=self.folder,
                                timeout=540, check=False, **options)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def install(self):
        prefix = self.folder / "a prefix"
        self.call(CMAKE, "--install", BUILD, "--prefix", prefix)
        return prefix

    def build_consumer(self, *settings):
        self.call(CMAKE, "-G", "Ninja", "-S", SOURCE / "tests/consumer", "-B", "consumer", f"-DCMAKE_CXX_COMPILER={CXX}",
                  *settings)
        self.call(CMAKE, "--build", "consumer", "--parallel", "2")
        return self.folder / "consumer/consumer"

    def assert_reads_a_recording(self, program):
        recording = self.write_recording("x.pftrace", "--spans", "3")
        out = self.call(program, recording)
        self.assertIn("level basic", out)
        self.assertIn("MUL_MAT 3", out)


class Libraries(PackageTest):
    def test_find_package_finds_what_was_installed(self):
        prefix = self.install()
        self.assert_reads_a_recording(self.build_consumer(f"-DCMAKE_PREFIX_PATH={prefix}"))

    def test_add_subdirectory_gives_the_same_targets(self):
        self.assert_reads_a_recording(self.build_consumer(f"-DLAPWING_SOURCE_DIR={SOURCE}"))

    def test_add_subdirectory_builds_no_test_and_no_command(self):
        self.call(CMAKE, "-G", "Ninja", "-S", SOURCE / "tests/consumer", "-B", "consumer",
                  f"-DLAPWING_SOURCE_DIR={SOURCE}")
        targets = self.call(CMAKE, "--build", "consumer", "--target", "help")
        self.assertNotIn("_test:", targets)
        self.assertNotIn("lapwing_cli", targets)

    def test_pkg_config_finds_what_was_installed(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("pkg-config is not installed")
        prefix = self.folder / "prefix"    # pkg-config splits its output at spaces
        self.call(CMAKE, "--install", BUILD, "--prefix", prefix)
        folder = next(prefix.glob("**/pkgconfig"))
        flags = self.call("pkg-config", "--cflags", "--libs", "lapwing",
                          env={**os.environ, "PKG_CONFIG_PATH": str(folder)})
        self.call(CXX, "-std=c++20", SOURCE / "tests/consumer/main.cpp", "-o", "consumer", *shlex.split(flags))
        self.assert_reads_a_recording(self.folder / "consumer")


class Command(PackageTest):
    def test_installed_command_finds_the_installed_layer(self):
        prefix = self.install()
        out = self.call(prefix / "bin/lapwing", "run", "--", "env")
        settings = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
        paths = settings.get("VK_LAYER_PATH") or settings["VK_ADD_LAYER_PATH"]
        folder = paths.split(":")[-1]
        self.assertTrue(folder.startswith(os.path.realpath(prefix)), folder)

    def test_installed_manifests_name_the_installed_library(self):
        prefix = self.install()
        layers = []
        for folder in ("lapwing/vulkan/explicit_layer.d", "vulkan/implicit_layer.d"):
            manifest, = (prefix / "share" / folder).glob("*.json")
            layers.append(json.loads(manifest.read_text(encoding="utf-8"))["layer"])
            library = layers[-1]["library_path"]
            self.assertTrue((manifest.parent / library).resolve().is_file(), library)
        explicit, implicit = layers
        self.assertEqual(explicit["name"], implicit["name"], "the loader takes a name once")
        self.assertNotIn("enable_environment", explicit)
        self.assertEqual(implicit["enable_environment"], {"LAPWING_VULKAN_LAYER": "1"})
        self.assertEqual(list(implicit["disable_environment"]), ["LAPWING_VULKAN_LAYER_DISABLE"])

    def test_project_around_lapwing_installs_nothing_of_it(self):
        self.call(CMAKE, "-G", "Ninja", "-S", SOURCE / "tests/consumer", "-B", "consumer",
                  f"-DLAPWING_SOURCE_DIR={SOURCE}", f"-DCMAKE_INSTALL_PREFIX={self.folder / 'prefix'}")
        rules = "".join(path.read_text() for path in (self.folder / "consumer").glob("**/cmake_install.cmake"))
        self.assertNotIn("lapwing_vulkan_layer", rules)


if __name__ == "__main__":
    sys.exit(main())
