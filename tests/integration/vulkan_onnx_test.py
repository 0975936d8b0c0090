#!/usr/bin/env python3
"""ONNX Runtime's WebGPU provider (Dawn) on SwiftShader with trained networks: spans, values, and its own query pools."""
import json
import math

from foreign_program import SCRIPTS, ForeignProgramTest, main


class OnnxTest(ForeignProgramTest):
    def infer(self, model, *arguments, provider="webgpu", run=None, **options):
        self.need_workload("node_modules/onnxruntime-node")
        return (run or self.run_both)(self.need_command("node"), str(SCRIPTS / "onnx.cjs"),
                                      self.need_workload("node_modules"), self.need_workload(f"onnx/{model}"), provider,
                                      *arguments, **options)

    def assert_measured(self, run, at_least):
        self.assert_every_command_measured(run)
        self.assertGreaterEqual(run.executed["dispatches"], at_least)

    def assert_close_to_cpu(self, run, model, *arguments, tolerance):
        """The device computed what ONNX Runtime's own processor code computes."""
        expected = self.infer(model, *arguments, provider="cpu", run=self.run_plain).said
        self.assertEqual(run.said.keys(), expected.keys())
        for name, tensor in expected.items():
            self.assertEqual(run.said[name]["dims"], tensor["dims"])
            for got, wanted in zip(run.said[name]["data"], tensor["data"], strict=True):
                self.assertTrue(math.isclose(got, wanted, abs_tol=tolerance), f"{name}: {got} is not {wanted}")


    def assert_profile_is_whole(self, run, kernels):
        """The runtime's own profiler worked: it has timestamps and query pools of its own beside Lapwing's."""
        self.assertGreater(run.executed["timestamps"], 0)
        self.assertGreater(run.executed["query_copies"], 0)
        traces = list(self.folder.glob("own*.json"))
        self.assertEqual(len(traces), 2, "one without Lapwing, one with it")
        for trace in traces:
            events = [event for event in json.loads(trace.read_text()) if event.get("cat") == "Api"]
            self.assertGreaterEqual(len(events), kernels)
            self.assertTrue(all(0 <= event["dur"] < 600e6 for event in events), "durations of whole events, in us")


class Network(OnnxTest):
    def test_speech_detection_beside_the_runtimes_own_profiler(self):
        # Some of its operators run on the processor, in between.
        run = self.infer("silero_vad.onnx", "2", "input=1,576", "state=2,1,128", env={"PROFILE": "own"})
        self.assert_measured(run, 60)
        self.assert_profile_is_whole(run, 40)


class LargeNetworks(OnnxTest):
    def test_text_direction_beside_the_runtimes_own_profiler(self):
        arguments = ("ch_ppocr_mobile_v2.0_cls_infer.onnx", "1", "x=1,3,48,192")
        run = self.infer(*arguments, env={"PROFILE": "own"})
        self.assert_measured(run, 150)
        self.assert_profile_is_whole(run, 100)
        self.assert_close_to_cpu(run, *arguments, tolerance=1e-4)

    def test_text_recognition(self):
        arguments = ("ch_PP-OCRv4_rec_infer.onnx", "3", "x=1,3,48,96")
        run = self.infer(*arguments)
        self.assert_measured(run, 900)
        self.assert_close_to_cpu(run, *arguments, tolerance=1e-3)


if __name__ == "__main__":
    main()
