#!/usr/bin/env python3
"""outside_reader_test.py WRITER PROTO: recordings as readers that share no code with ours see them.

A reader of the wire format in plain Python rebuilds every slice as a viewer does (all events of a track ordered by
time, nested by a stack) and recounts spans, nanoseconds, names and tracks; protoc decodes each file with the described
subset and must find no unknown field.
"""
import collections
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

WRITER, PROTO = sys.argv[1:3]
COMPRESSED = 50


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "field runs off its message"
        else:
            raise AssertionError(f"wire type {wire}")
        yield number, value


def packets(data):
    """Every packet as a list of fields, compressed ones unpacked."""
    for number, packet in fields(data):
        assert number == 1, number
        packet = list(fields(packet))
        if packet[0][0] == COMPRESSED:
            assert len(packet) == 1
            yield from packets(zlib.decompress(packet[0][1]))
        else:
            yield packet


class Viewer:
    """What a viewer makes of a trace, from Perfetto's public fields alone (and our loose spans)."""

    def __init__(self, data):
        self.sequences = {}
        self.tracks = {}
        self.threads = []
        self.processes = []
        self.events = collections.defaultdict(list)
        self.loose = []
        self.sites = {}
        self.track_names = {}
        for packet in packets(data):
            self.packet(packet)

    def packet(self, packet):
        one = dict(packet)
        assert len(one) == len(packet), "a field appears twice"
        number = one.get(10, 0)
        if 2000 in one:
            self.own(dict(fields(one[2000])))
        sequence = self.sequences.get(number)
        if one.get(13, 0) & 1:
            assert one.get(87) == 1 and sequence is None
            sequence = self.sequences[number] = {"names": {}, "clocks": {3: 0}, "incremental": set(), "clock": 0, "track": 0}
        if 59 in one:
            defaults = dict(fields(one[59]))
            sequence["clock"] = defaults[58]
            if 11 in defaults:
                sequence["track"] = dict(fields(defaults[11]))[11]
        if 12 in one:
            for kind, entry in fields(one[12]):
                assert kind == 2
                entry = dict(fields(entry))
                assert entry[1] > 0 and entry[1] not in sequence["names"]
                sequence["names"][entry[1]] = entry[2].decode("utf-8")
        if 6 in one:
            snapshot = list(fields(one[6]))
            assert dict(snapshot)[2] == 3, "the clock of the trace is CLOCK_MONOTONIC"
            for kind, clock in snapshot:
                if kind == 1:
                    clock = dict(fields(clock))
                    sequence["clocks"][clock[1]] = clock[2]
                    if clock.get(3):
                        sequence["incremental"].add(clock[1])
        if 60 in one:
            self.descriptor(dict(fields(one[60])))
        if 11 in one:
            self.event(sequence, one, dict(fields(one[11])))

    def descriptor(self, track):
        assert track[1] != 0
        self.tracks[track[1]] = track[2].decode("utf-8") if 2 in track else ""
        if 3 in track:
            process = dict(fields(track[3]))
            process[6].decode("utf-8")
            self.processes.append(process[1])
        if 4 in track:
            thread = dict(fields(track[4]))
            self.threads.append((thread[1], thread[2]))

    def event(self, sequence, packet, event):
        clock = packet.get(58, sequence["clock"])
        if clock in sequence["incremental"]:
            sequence["clocks"][clock] += packet[8]
            at = sequence["clocks"][clock]
        else:
            assert clock == 3, clock
            at = packet[8]
        assert at < 2**63, "a delta that goes backwards"
        name = None
        if event[9] == 1:
            name = event[23].decode("utf-8") if 23 in event else sequence["names"][event[10]]
        self.events[event.get(11, sequence["track"])].append((at, event[9], name))

    def own(self, message):
        if 6 in message:
            site = dict(fields(message[6]))
            kind = ["dispatch", "copy", "fill", "render", "host"][site.get(6, 0)].encode()
            raw = site.get(2) or site.get(3) or site.get(4) or kind
            self.sites[site[1]] = raw.decode("utf-8", errors="replace")
        if 4 in message:
            track = dict(fields(message[4]))
            self.track_names[track[1]] = track[4].decode()
        if 10 in message:
            self.loose.append(dict(fields(message[10])))

    def slices(self):
        """(track name, name, begin, duration), after ordering each track by time as an importer does."""
        for uuid, events in self.events.items():
            events.sort(key=lambda event: event[0])
            stack = []
            for at, kind, name in events:
                if kind == 1:
                    stack.append((at, name))
                else:
                    assert kind == 2 and stack, "an end without a begin"
                    begin, name = stack.pop()
                    yield self.tracks[uuid], name, begin, at - begin
            assert not stack, "a slice that never ends"


class OutsideReader(unittest.TestCase):
    def write(self, seed):
        path = os.path.join(self.folder.name, f"{seed}.pftrace")
        expected = subprocess.run([WRITER, path, str(seed)], check=True, capture_output=True, text=True).stdout
        with open(path, "rb") as file:
            return path, file.read(), [line.split() for line in expected.splitlines()]

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_viewer_finds_every_span_with_its_time_name_and_track(self):
        for seed in range(1, 9):
            with self.subTest(seed=seed):
                _, data, expected = self.write(seed)
                viewer = Viewer(data)
                names = collections.defaultdict(lambda: [0, 0, 0])
                tracks = collections.Counter()
                steps = 0
                for track, name, begin, duration in viewer.slices():
                    track = re.sub(r" lane \d+$", "", track)
                    if track == "steps":
                        steps += 1
                        self.assertRegex(name, r"^step \d+$")
                        continue
                    names[name][0] += 1
                    names[name][1] += duration
                    names[name][2] += begin
                    tracks[track] += 1
                gpu = {i: n if n.startswith("thread") else f"GPU {n} (llvmpipe (LLVM 15))" for i, n in viewer.track_names.items()}
                for span in viewer.loose:
                    name = viewer.sites[span[2]] if 2 in span else "unknown"
                    names[name][0] += 1
                    names[name][1] += span.get(4, 0)
                    names[name][2] += span.get(3, 0)
                    tracks[gpu[span[1]]] += 1
                want_names = collections.defaultdict(lambda: [0, 0, 0])
                for kind, *values in expected:
                    if kind == "site":
                        name = bytes.fromhex(values[0]).decode("utf-8", errors="replace")
                        want_names[name][0] += int(values[1])
                        want_names[name][1] += int(values[2])
                        want_names[name][2] += int(values[3])
                for sums in (names, want_names):
                    for row in sums.values():
                        row[2] %= 2**64
                self.assertEqual(dict(names), dict(want_names))
                want_tracks = {bytes.fromhex(v[0]).decode(): int(v[1]) for k, *v in expected if k == "track"}
                self.assertEqual(dict(tracks), {name: count for name, count in want_tracks.items() if count})
                count, total, want_steps = map(int, expected[-1][1:])
                self.assertEqual(sum(n for n, _, _ in names.values()), count)
                self.assertEqual(sum(ns for _, ns, _ in names.values()), total)
                self.assertEqual(steps, want_steps)
                if seed % 4 != 1:
                    self.assertLess(len(viewer.loose), count // 20)

    def test_ids_are_dense_unique_and_never_zero(self):
        _, data, _ = self.write(3)
        viewer = Viewer(data)
        self.assertEqual(sorted(viewer.sequences), list(range(1, len(viewer.sequences) + 1)))
        self.assertEqual(len(viewer.threads), len(set(viewer.threads)))
        self.assertEqual(viewer.processes, [4711])
        for pid, tid in viewer.threads:
            self.assertTrue(0 < pid < 2**31 and 0 < tid < 2**31)
        named = [name for name in viewer.tracks.values() if name]
        self.assertEqual(len(named), len(set(named)), "two tracks of one name are merged by viewers")

    def test_protoc_knows_every_field(self):
        protoc = shutil.which("protoc")
        if not protoc:
            self.skipTest("protoc is not installed (protobuf-compiler)")
        for seed in (1, 2, 3):    # plain ones
            _, data, expected = self.write(seed)
            decoded = subprocess.run(
                [protoc, "--decode=lapwing.trace.Trace", "-I", os.path.dirname(PROTO), os.path.basename(PROTO)],
                input=data, capture_output=True, check=True).stdout.decode()
            unknown = re.findall(r"^\s*\d+(?:: | \{).*", decoded, re.M)
            self.assertEqual(unknown, [])
            self.assertEqual(decoded.count("\n  lapwing {\n    lane {"), len(Viewer(data).sequences) - 1)
            begun = len(re.findall(r"^    type: TYPE_SLICE_BEGIN$", decoded, re.M))
            loose = decoded.count("    loose_span {")
            self.assertEqual(begun + loose, int(expected[-1][1]) + int(expected[-1][3]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
