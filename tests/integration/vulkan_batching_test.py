#!/usr/bin/env python3
"""llama-parallel on lavapipe: continuous batching, two clients decoded together, prompts and tokens in one batch.

Minutes with a cold shader cache: batches of two compile other shaders than single tokens do.
"""
import re

from foreign_program import WORKLOADS, ForeignProgramTest, main

SEQUENCES = 3


def answers(text):
    return sorted(re.findall(r"Response: .*", text))


class Batching(ForeignProgramTest):
    def test_every_command_of_continuous_batching_is_measured(self):
        run = self.run_both(self.need_workload("run-vulkan/llama-parallel"), "-m", str(WORKLOADS / "15m.gguf"), "-np",
                            "2", "-ns", str(SEQUENCES), "-n", "8", "-ngl", "99", "-t", "1", "-s", "1", "--temp", "0",
                            env={"GGML_VK_VISIBLE_DEVICES": "0"}, part=answers, timeout=850)
        self.assertEqual(len(answers(run.stdout + run.stderr)), SEQUENCES)
        self.assertGreater(run.executed["dispatches"], 2000)
        self.assert_every_command_measured(run)
        self.assertGreater(run.report()["steps"]["count"], 8)


if __name__ == "__main__":
    main()
