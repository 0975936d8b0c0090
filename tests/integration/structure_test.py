#!/usr/bin/env python3
"""The tree keeps its shape: includes follow the arrows, names say what a thing is."""
import os
import re
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("LAPWING_SOURCE_DIR", Path(__file__).resolve().parents[2]))

# Area -> areas that it may include from, beside itself. "backends" stands for each backend by itself.
ARROWS = {
    "core": [],
    "backends": ["core"],
    "views": ["core"],
    "telemetry": ["core", "views"],
    "trace": ["core"],
    "export": ["core", "views", "telemetry", "trace"],
    "attach": ["core", "backends", "trace"],
    "cli": ["core", "backends", "views", "telemetry", "trace", "export", "attach"],
}
NAMELESS = re.compile(r"(^|[_.-])(utils?|common|misc|helpers?)([_.-]|$)")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


def area_of(path):
    """("backends", "vulkan") of src/backends/vulkan/x.cpp, ("core", "") of src/core/x.cpp."""
    parts = path.parts
    if parts[0] == "cli":
        return "cli", ""
    if parts[0] == "src" and len(parts) > 2:
        return parts[1], parts[2] if parts[1] in ("backends", "attach") and len(parts) > 3 else ""
    return None


def header_areas(root):
    """Which area each public header belongs to: the one whose CMake files list it."""
    areas = {}
    for build_file in sorted([*root.glob("src/**/CMakeLists.txt"), *root.glob("src/**/*.cmake")]):
        area = area_of(build_file.relative_to(root))
        if area is None:
            continue
        for header in re.findall(r"lapwing/[a-z0-9_/]+\.hpp", build_file.read_text(encoding="utf-8")):
            areas[header] = area
    return areas


def broken_arrows(root):
    """One sentence for each #include that goes against an arrow."""
    headers = header_areas(root)
    files = [(path, area_of(path.relative_to(root)))
             for folder in ("src", "cli") for path in root.glob(folder + "/**/*.[ch]pp")]
    files += [(root / "include" / name, area) for name, area in headers.items() if (root / "include" / name).exists()]
    found = []
    for path, area in sorted(files, key=lambda entry: str(entry[0])):
        if area is None:
            continue
        for include in INCLUDE.findall(path.read_text(encoding="utf-8")):
            if include.startswith("lapwing/"):
                target = headers.get(include)
                if include == "lapwing/lapwing.hpp":
                    found.append(f"{path.relative_to(root)} includes the header of everything")
                    continue
                if target is None:
                    found.append(f"{path.relative_to(root)} includes {include}, which no library lists")
                    continue
            elif (root / "src" / include).exists():
                target = area_of(Path("src") / include)
            else:
                continue
            if target == ("attach", "session") and area[0] == "attach":
                continue    # what every layer shares
            if target != area and target[0] not in ARROWS[area[0]]:
                found.append(f"{path.relative_to(root)} ({area[0]}) includes {include} ({target[0]})")
    return found


class Checker(unittest.TestCase):
    """The check itself sees what it is there for."""

    def check(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            files = {"src/core/CMakeLists.txt": "HEADERS lapwing/level.hpp",
                     "src/views/CMakeLists.txt": "HEADERS lapwing/report.hpp",
                     "src/backends/sim/CMakeLists.txt": "HEADERS lapwing/sim.hpp",
                     "include/lapwing/level.hpp": "", "src/backends/cpu/CMakeLists.txt": "", **files}
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            return broken_arrows(root)

    def test_include_along_an_arrow_is_fine(self):
        self.assertEqual(self.check({"src/views/a.cpp": '#include "lapwing/level.hpp"\n#include <vector>\n'}), [])

    def test_core_including_a_view_is_found(self):
        self.assertEqual(len(self.check({"src/core/a.cpp": '#include "lapwing/report.hpp"\n'})), 1)

    def test_backend_including_another_is_found(self):
        self.assertEqual(len(self.check({"src/backends/cpu/a.cpp": '#include "lapwing/sim.hpp"\n'})), 1)

    def test_private_header_of_another_area_is_found(self):
        self.assertEqual(len(self.check({"src/core/a.cpp": '#include "views/b.hpp"\n', "src/views/b.hpp": ""})), 1)

    def test_public_header_against_an_arrow_is_found(self):
        self.assertEqual(len(self.check({"include/lapwing/level.hpp": '#include "lapwing/report.hpp"\n'})), 1)

    def test_header_that_no_library_lists_is_found(self):
        self.assertEqual(len(self.check({"src/core/a.cpp": '#include "lapwing/lost.hpp"\n'})), 1)


class Tree(unittest.TestCase):
    def test_includes_follow_the_arrows(self):
        self.assertEqual(broken_arrows(ROOT), [])

    def test_every_public_header_belongs_to_a_library(self):
        listed = set(header_areas(ROOT)) | {"lapwing/lapwing.hpp"}
        there = {str(path.relative_to(ROOT / "include")) for path in (ROOT / "include").glob("**/*.hpp")}
        self.assertEqual(there - listed, set())

    def test_every_file_has_a_name(self):
        nameless = [str(path.relative_to(ROOT))
                    for folder in ("src", "include", "cli", "tests", "bench", "examples", "cmake", "scripts", "docs")
                    for path in (ROOT / folder).glob("**/*") if NAMELESS.search(path.name)]
        self.assertEqual(nameless, [])


class Readme(unittest.TestCase):
    def test_code_is_the_examples(self):
        example = (ROOT / "examples" / "spans.cpp").read_text(encoding="utf-8")
        region = re.search(r"// \[readme\]\n(.*?)\n *// \[/readme\]", example, re.DOTALL).group(1)
        code = re.search(r"```cpp\n(.*?)\n```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL).group(1)
        self.assertEqual(textwrap.dedent(region).strip(), code.strip())


if __name__ == "__main__":
    from lapwing_command import main
    sys.exit(main())
