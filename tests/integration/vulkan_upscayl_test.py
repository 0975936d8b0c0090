#!/usr/bin/env python3
"""upscayl-bin (ncnn) with a trained network on lavapipe: an image is four times as large, the same with Lapwing."""
import struct
import zlib

from foreign_program import ForeignProgramTest, main

SIZE = 32


def png(size):
    """A small colour gradient as a PNG file."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(value % 256 for x in range(size) for value in (8 * x, 8 * y, x * y))
                    for y in range(size))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Upscayl(ForeignProgramTest):
    def test_every_command_of_a_trained_network_is_measured_and_the_image_is_the_same(self):
        program = self.need_workload("upscayl/upscayl-bin")
        (self.folder / "in.png").write_bytes(png(SIZE))
        run = self.run_both(program, "-i", "in.png", "-o", "out.png", "-m", self.need_workload("upscayl/models"), "-n",
                            "realesrgan-x4fast", "-s", "4", "-z", "4", "-g", "0", writes=["out.png"])
        self.assert_every_command_measured(run)
        self.assertGreaterEqual(run.executed["dispatches"], 172)
        self.assertEqual(struct.unpack(">II", run.files[0][16:24]), (4 * SIZE, 4 * SIZE))
        # ncnn names nothing: entry point and hash of code and constants tell its kernels apart.
        kernels = self.dispatched_kernels(run)
        self.assertGreater(len(kernels), 8)
        for kernel in kernels:
            self.assertRegex(kernel, r"^main@[0-9a-f]{8}$")


if __name__ == "__main__":
    main()
