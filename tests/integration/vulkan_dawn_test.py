#!/usr/bin/env python3
"""Dawn for Node.js on SwiftShader (lavapipe is refused by it): WebGPU's own submits, and its labels where it sends them."""
import json

from foreign_program import SCRIPTS, ForeignProgramTest, main


class Dawn(ForeignProgramTest):
    def axpy(self, *options):
        run = self.run_both(self.need_command("node"), str(SCRIPTS / "axpy.mjs"),
                            self.need_workload("node_modules/webgpu"), *options)
        self.assertEqual(json.loads(run.stdout)["rounds"], run.executed["dispatches"])
        self.assertEqual(json.loads(run.stdout)["last"], 8190)
        self.assert_every_command_measured(run)
        return run

    def test_every_command_is_measured_and_the_result_is_the_same(self):
        run = self.axpy()
        kernels = self.dispatched_kernels(run)
        self.assertEqual(len(kernels), 1)
        self.assertRegex(kernels.pop(), r"^dawn_entry_point@[0-9a-f]{8}$")

    def test_labels_that_dawn_hands_on_name_the_kernels(self):
        self.assertEqual(self.dispatched_kernels(self.axpy("labels")), {"axpy module"})


if __name__ == "__main__":
    main()
