#!/usr/bin/env python3
"""ffmpeg's Vulkan filters: images, frames uploaded and downloaded, command buffers and fences used again and again."""
from foreign_program import DRIVER, ForeignProgramTest, main

FRAMES = 10


class Ffmpeg(ForeignProgramTest):
    def filter(self, vulkan_filter, pixels="rgba", **options):
        """Filters FRAMES frames on the device and prints a checksum of each."""
        run = self.run_both(self.need_command("ffmpeg"), "-v", "error", "-nostdin", "-init_hw_device", "vulkan=vk:0",
                            "-filter_hw_device", "vk", "-f", "lavfi", "-i", f"testsrc2=s=256x128:d=1:r={FRAMES}", "-vf",
                            f"format={pixels},hwupload,{vulkan_filter},hwdownload,format={pixels}", "-f", "framemd5",
                            "-", **options)
        self.assertEqual(len([line for line in run.stdout.splitlines() if line.startswith("0,")]), FRAMES)
        self.assert_every_command_measured(run)
        return run

    def test_avgblur(self):
        run = self.filter("avgblur_vulkan=sizeX=9")
        self.assertEqual(run.executed["dispatches"], 2 * FRAMES)
        self.assertGreaterEqual(run.executed["copies"], 2 * FRAMES, "frames go to the device and back")
        self.assertEqual(run.report()["steps"]["count"], FRAMES)

    def test_gblur(self):
        self.assertEqual(self.filter("gblur_vulkan=sigma=2").executed["dispatches"], 2 * FRAMES)

    def test_scale(self):
        self.assertEqual(self.filter("scale_vulkan=w=128:h=64").executed["dispatches"], FRAMES)

    def test_several_filters_and_images_of_several_planes(self):
        # On SwiftShader each run of ffmpeg prints other checksums for such images, with no layer at all.
        run = self.filter("avgblur_vulkan,scale_vulkan=w=128:h=64,gblur_vulkan", "yuv420p",
                          same_output=DRIVER == "lavapipe")
        self.assertEqual(run.executed["dispatches"], 5 * FRAMES)
        self.assertGreaterEqual(run.executed["copies"], 6 * FRAMES, "three planes there and back")


if __name__ == "__main__":
    main()
