#!/usr/bin/env python3
"""Every dispatch, copy and fill that a program executes becomes one span, under its own name, or a counted loss."""
from vulkan_product import ABOVE, BELOW, COUNT, RUDE, VALIDATION, VulkanTest, main


class Spans(VulkanTest):
    """The witness stands below Lapwing, so it also sees what Lapwing would drop or add."""

    def test_every_dispatch_copy_and_fill_of_a_sequence_is_measured(self):
        run = self.measure(self.program("vk_run"), "sequence", below=[COUNT])
        self.assertGreater(run.executed["timestamps"], 0, "the witness stands below Lapwing")
        self.assert_all_measured(run, run.said["dispatches"])
        for kind, plural in (("dispatch", "dispatches"), ("copy", "copies"), ("fill", "fills")):
            self.assertEqual(run.executed[plural], run.said[plural], f"{plural} that reached the driver")
            self.assertEqual(run.spans(kind), run.said[plural], f"{plural} measured")

    def test_ops_layers_and_kernels_are_the_programs(self):
        run = self.measure(self.program("vk_run"), "sequence")
        ops = {name for name, row in run.rows("op").items() if row["kind"] == "dispatch"}
        self.assertEqual(ops, {"MUL_MAT", "RMS_NORM+MUL"})
        kernels = {name for name, row in run.rows("kernel").items() if row["kind"] == "dispatch"}
        self.assertEqual(kernels, {"mul_mat_f32", "rms_norm_f32"})
        layers = run.rows("layer")
        self.assertLessEqual({str(layer) for layer in range(run.said["layers"])}, set(layers))

    def test_each_wait_ends_a_step(self):
        run = self.measure(self.program("vk_run"), "resubmit", "--rounds", "6")
        self.assertEqual(run.report()["steps"]["count"], 6)

    def test_buffer_resubmitted_after_a_wait_is_measured_each_time(self):
        run = self.measure(self.program("vk_run"), "resubmit", "--rounds", "6", below=[COUNT])
        self.assertEqual(run.executed["dispatches"], 60)
        self.assert_all_measured(run, 60)

    def test_buffers_never_submitted_are_reclaimed(self):
        run = self.measure(self.program("vk_run"), "neversubmit", "--rounds", "2000", above=[ABOVE], below=[BELOW])
        report = run.report()
        self.assertEqual(run.spans("dispatch"), 3)
        self.assertEqual(report["begun"], report["spans"] + report["lost"]["total"])
        self.assertLessEqual(set(report["lost"]["by_reason"]), {"abandoned"})
        pools = run.shims["functions"].get("vkCreateQueryPool", {"own": {"calls": 0}})["own"]["calls"]
        self.assertLessEqual(pools, 8, "20,000 dispatches that never ran must not hold queries")

    def test_no_barrier_is_added_between_the_programs_commands(self):
        # llama.cpp's own logger puts one behind each op and so takes the overlap away (field case E7).
        run = self.measure(self.program("vk_run"), "sequence", above=[ABOVE], below=[BELOW])
        for call in ("vkCmdPipelineBarrier", "vkCmdPipelineBarrier2"):
            self.assertEqual(run.shims["functions"].get(call, {"own": {"calls": 0}})["own"]["calls"], 0, call)
        self.assertGreater(run.shims["functions"]["vkCmdPipelineBarrier"]["application"]["calls"], 0)


class Ends(VulkanTest):
    """However a program ends, what it saw complete is there."""

    def test_exit_without_destroying_keeps_what_was_seen_complete(self):
        run = self.measure(self.program("vk_run"), "exit-without-destroy", "--rounds", "20")
        self.assert_all_measured(run, 20)
        self.assertTrue(run.report()["final"])

    def test_exit_while_busy_loses_only_what_was_running(self):
        run = self.measure(self.program("vk_run"), "exit-while-busy", "--rounds", "20")
        report = run.report()
        self.assertGreaterEqual(report["spans"], run.said["seen_complete"])
        self.assertEqual(report["spans"] + report["lost"]["total"], run.said["dispatches"])
        self.assertLessEqual(set(report["lost"]["by_reason"]), {"abandoned"})

    def test_program_that_dispatches_nothing_gets_one_warning_and_its_own_exit_code(self):
        run = self.measure(self.program("vk_run"), "nothing", returncode=3)
        lines = [line for line in run.stderr.splitlines() if line.startswith("lapwing:")]
        self.assertEqual(len(lines), 1, run.stderr)
        self.assertIn("warning", lines[0])
        self.assertIn("dispatched nothing", lines[0])


class Lives(VulkanTest):
    """The lives of a command buffer, from vk_life: every execution of every dispatch is a span."""

    def assert_whole(self, run):
        self.assertEqual(run.executed["dispatches"], run.said["dispatches"])
        self.assert_all_measured(run, run.said["dispatches"])

    def test_each_life_alone(self):
        for name in self.run_plain(self.program("vk_life")).said["scenarios"]:
            with self.subTest(life=name):
                self.assert_whole(self.measure(self.program("vk_life"), name, below=[COUNT]))

    def test_all_lives_in_one_program(self):
        self.assert_whole(self.measure(self.program("vk_life"), below=[COUNT]))


class Validation(VulkanTest):
    """Khronos validation, below Lapwing, finds no fault with what reaches the driver."""

    def measured_messages(self, *command):
        return self.validation_messages(lambda *words, **more: self.measure(*words, below=[VALIDATION, COUNT], **more), *command)

    def test_sees_what_a_layer_does_wrong(self):
        text = self.validation_messages(lambda *words, **more: self.run_plain(*words, layers=[RUDE, VALIDATION], **more),
                             self.program("vk_run"), "resubmit", RUDE="invalid")
        self.assertIn("VUID-vkGetQueryPoolResults", text)

    def test_is_silent_about_every_life(self):
        # Left out: in 1.3.239 the validation layer locks a secondary twice, and throws, when a primary that executes it
        # is submitted again while pending and the secondary writes any query (QUEUE_STATE::Retire, UpdatesQuery).
        self.assertNotIn("VUID", self.measured_messages(self.program("vk_life"), "all", "primary_with_secondaries"))

    def test_is_silent_about_a_sequence(self):
        self.assertNotIn("VUID", self.measured_messages(self.program("vk_run"), "sequence"))


if __name__ == "__main__":
    main()
