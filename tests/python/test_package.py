"""The Python package: predictions of files and modules, sweeps, fits, and steps measured in a loop. environment: ADEPT_SOURCE_DIR"""
import collections
import csv
import importlib.util
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

import adept
from adept import _callback, _measure, _program

try:
    import torch
    from torch import nn
except ImportError:
    torch = None

Outputs = collections.namedtuple("Outputs", "scores mean")
PROFILE = os.path.join(os.environ["ADEPT_SOURCE_DIR"], "tests/cli/data/mlp.profile.json")
GPU = "v100-pcie-32gb"


def said(*arguments):
    """What the program prints as JSON."""
    return json.loads(subprocess.run([_program.path()] + list(arguments) + ["--json"], check=True, stdout=subprocess.PIPE).stdout.decode())


class Files(unittest.TestCase):
    def test_bundled_name(self):
        self.assertEqual(adept.predict("resnet50", gpu=GPU, batch=64).json, said("predict", "resnet50", "--gpu", GPU, "--batch", "64", "--by", "layer"))
        self.assertEqual(adept.Workload.open("resnet50", batch_size=64).describe().params, 25557032)
        self.assertEqual(adept.Workload.open("adept:llama?layers=80&hidden=8192").describe().params, 70553706496)
        self.assertEqual(adept.predict("bert-base", gpu=GPU, batch=8).json, said("predict", "bert-base", "--gpu", GPU, "--batch", "8", "--by", "layer"))
        with self.assertRaisesRegex(adept.Error, "did you mean resnet50") as raised:
            adept.predict("resnet5O", gpu=GPU)
        self.assertEqual(raised.exception.status, adept.E_INVALID)

    def test_words_of_refusals(self):
        """Keywords, not options; a command in backquotes is one to type, and keeps its own."""
        for keywords, words in (
            ({"gpu": GPU, "batchsize": 3}, "unknown keyword 'batchsize'; did you mean batch?"),
            ({"gpu": "nope"}, "unknown GPU 'nope'; `adept gpus` lists all; for another, edit what `adept gpus NAME --json` prints and pass gpu FILE.json"),
            ({"gpu": GPU, "gpus": 2, "nodes": 2}, "several nodes need the bandwidth between them: internode_bandwidth"),
        ):
            with self.assertRaises(adept.Error) as raised:
                adept.predict("resnet50", **keywords)
            self.assertEqual(str(raised.exception), words)

    def test_equals_the_program(self):
        r = adept.predict(PROFILE, gpu=GPU, batch=64, precision=adept.Precision.FP16, power_limit_w=200, clock_hz=1.2e9, grad_accum=2)
        expected = said("predict", PROFILE, "--gpu", GPU, "--batch", "64", "--precision", "fp16", "--power-limit", "200", "--clock", "1200",
                        "--grad-accum", "2", "--by", "layer")
        self.assertEqual(r.json, expected)
        self.assertEqual((r.step_time_s, r.power_avg_w, r.energy_j), tuple(expected[n] for n in ("step_time_s", "power_avg_w", "energy_step_j")))
        self.assertEqual((r.interval, r.warnings, r["mfu"]), (expected["interval"], expected["warnings"], expected["mfu"]))
        self.assertEqual({row["path"] for row in r["layers"]}, {"body.fc1", "body.act", "head"})
        self.assertTrue(math.isclose(sum(row["time_s"] for row in r["layers"]), r["time"]["pass_s"], rel_tol=1e-9))
        self.assertEqual((r.memory, r.fits, r.bound, r.throughput), (r["memory"], True, r["bound"], r["samples_per_s"]))
        self.assertEqual(len(r.layers), len(r["layers"]))
        shared = adept.predict("adept:gpt2?layers=2", gpu="h100-sxm-80gb", tp=2, activation_checkpoint="full")
        self.assertTrue(math.isclose(sum(row["time_s"] for row in shared["layers"]), shared["time"]["pass_s"], rel_tol=1e-9))
        self.assertIn("<svg", r._repr_html_())
        self.assertIn("forward, backward", r._repr_html_())

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "needs pandas")
    def test_data_frames(self):
        r = adept.predict(PROFILE, gpu=GPU, batch=64)
        self.assertEqual(r.layers.to_dict("records"), r["layers"])
        grid = adept.sweep(PROFILE, gpu=GPU, vary={"batch": [16, 64]})
        self.assertEqual((len(grid.table), list(grid.table["batch"])), (2, [16, 64]))
        self.assertEqual(list(adept.plan("adept:gpt2?layers=2", gpu="h100", gpus=2, global_batch=4).table["step_time_s"])[0] > 0, True)

    def test_sigchld_ignored(self):
        before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # then subprocess.run() says 0, whatever happened
        try:
            with self.assertRaises(adept.Error):
                _program.run("predict", ["/nonexistent.profile.json"], {"gpu": GPU})
            self.assertEqual(_program.run("predict", [PROFILE], {"gpu": GPU})["gpu"], said("predict", PROFILE, "--gpu", GPU)["gpu"])
            self.assertEqual(signal.getsignal(signal.SIGCHLD), signal.SIG_IGN)
        finally:
            signal.signal(signal.SIGCHLD, before)

    def test_unknown_power_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            sheet = os.path.join(folder, "gpu.json")
            with open(os.path.join(os.environ["ADEPT_SOURCE_DIR"], "hwprofiles/l4.json")) as file:
                profile = json.load(file)
            del profile["specs"]["tdp_w"]
            for name in ("power_limit_min_w", "power_limit_max_w"):
                profile["specs"].pop(name, None)
            with open(sheet, "w") as file:
                json.dump(profile, file)
            r = adept.predict(PROFILE, gpu=sheet)
        self.assertIsNone(r.power_avg_w)
        self.assertIsNone(r.energy_j)
        self.assertIn("mean power unknown", repr(r))

    def test_notebook(self):
        r = adept.predict(PROFILE, gpu=GPU)
        r.json["model"]["path"] = "<script>"
        page = r._repr_html_()
        self.assertIn("predicted, not measured", page)
        self.assertIn("&lt;script&gt;", page)
        for text in r.warnings:
            self.assertIn(adept._predict.html.escape(text), page)

    def test_every_word(self):
        for option, words in (("mode", adept.Mode), ("precision", adept.Precision), ("optimizer", adept.Optimizer),
                              ("execution", adept.Execution), ("framework", adept.Framework), ("attention", adept.Attention), ("memory_format", adept.MemoryFormat)):
            for word in words:
                if word is adept.Mode.GENERATE:
                    continue # of a model with a cache: test_generate
                got = adept.predict(PROFILE, gpu="b200", **{option: word})["config"][option]
                self.assertEqual(got, "nchw" if word is adept.MemoryFormat.AUTO else word.value)

    def test_generate(self):
        r = adept.predict("adept:gpt2?layers=1", gpu="h100-sxm-80gb", mode=adept.Mode.GENERATE, prompt=9, tokens=3, weights="fp8", kv_cache="int8")
        g = r.json["generate"]
        self.assertEqual((r.json["config"]["weights"], r.json["config"]["kv_cache"], g["kv_bytes"]), ("fp8", "int8", 12 * 2 * 768))
        self.assertAlmostEqual(r.json["step_time_s"], g["ttft_s"] + 3 * g["tpot_s"], delta=1e-12)
        shared = adept.predict("adept:gpt2?layers=2", gpu="h100-sxm-80gb", mode="generate", prompt=9, tokens=3, tp=2)
        self.assertEqual((shared.json["layout"]["tp"], shared.layers), (2, None))
        mix = [(9, 3, 0.5), (20, 8, 0.5)]
        r = adept.predict("adept:gpt2?layers=1", gpu="h100-sxm-80gb", mode="generate", execution="graphs", batch=4, mix=mix, rate="50/s", requests=500)
        workload = adept.Workload.open("adept:gpt2?layers=1", mode="generate", execution="graphs", batch_size=4, prompt=1, tokens=1)
        oracle = adept.Oracle(workload, adept.Gpu.open("h100-sxm-80gb"))
        self.assertEqual(oracle.predict_mix(mix, 50, requests=500), r.json["mix"])
        with self.assertRaisesRegex(adept.Error, "there are no rows"):
            oracle.predict_mix([], 50)
        trace = [(5.0, 9, 3), (5.0, 20, 8), (6.5, 9, 3)]
        r = adept.predict("adept:gpt2?layers=1", gpu="h100-sxm-80gb", mode="generate", execution="graphs", batch=4, mix=trace)
        self.assertEqual(oracle.predict_mix(trace), r.json["mix"])
        self.assertEqual((r.json["mix"]["requests"], r.json["mix"]["trace"], r.json["mix"]["rate_per_s"]), (3, True, 2))
        with self.assertRaisesRegex(adept.Error, "row 1 is not"):
            oracle.predict_mix([(1.0, 9, 3), (0.0, 9, 3)])

    def test_every_unit(self):
        r = adept.predict(PROFILE, gpu=GPU, gpus=8, nodes=2, internode_bytes_per_s=25e9, internode_latency_s=1e-5, bucket_bytes=1e6,
                          host_launch_s=2e-5, host_step_s=4e-3, host_sample_s=1e-6)
        expected = said("predict", PROFILE, "--gpu", GPU, "--gpus", "8", "--nodes", "2", "--internode-bandwidth", "25GB/s",
                        "--internode-latency", "1e-5s", "--bucket-bytes", "1MB", "--host-launch", "2e-5s", "--host-step", "4e-3s", "--host-sample", "1e-6s", "--by", "layer")
        self.assertEqual(r.json, expected)

    def test_host(self):
        r = adept.predict(PROFILE, gpu=GPU, host="torch2")
        self.assertEqual(r.json, said("predict", PROFILE, "--gpu", GPU, "--host", "torch2", "--by", "layer"))
        self.assertEqual(r["config"]["host"], "torch2")

    def test_errors(self):
        for status, keywords in ((adept.E_UNKNOWN_GPU, {"gpu": "a1000"}), (adept.E_USAGE, {"gpu": GPU, "colour": 1}),
                                 (adept.E_USAGE, {"gpu": GPU, "precision": "bf17"})):
            with self.assertRaises(adept.Error) as caught:
                adept.predict(PROFILE, **keywords)
            self.assertEqual(caught.exception.status, status)
            self.assertNotIn("adept: ", str(caught.exception))
        with self.assertRaises(adept.Error) as caught:
            adept.predict("--help", gpu=GPU)
        self.assertEqual(caught.exception.status, adept.E_INVALID)
        with self.assertRaises(TypeError):
            adept.predict(PROFILE, [1], gpu=GPU)

    def test_the_command_does_not_run_itself(self):
        """What stands on the PATH may be this package's own command, or a script that runs it."""
        with tempfile.TemporaryDirectory() as folder:
            command, real = os.path.join(folder, "adept"), os.path.dirname(_program.path())
            for code, found in (("-c 'from adept._program import run_as_command; run_as_command()'", True), ("-m adept", False)):
                with open(command, "w") as file:
                    file.write("#!/bin/sh\nexec %s -B %s \"$@\"\n" % (sys.executable, code))
                os.chmod(command, 0o755)
                environment = {name: value for name, value in os.environ.items() if name != "ADEPT_PROGRAM"}
                for path, code in ((folder, 2), (folder + ":" + real, 0 if found else 2)):
                    environment["PATH"] = path + ":/usr/bin:/bin"
                    if shutil.which("adept", path="/usr/bin:/bin"):
                        self.skipTest("there is another adept")
                    done = subprocess.run([command, "--version"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
                    self.assertEqual(done.returncode, code, done.stderr.decode())
                    self.assertTrue(done.stdout.startswith(b"adept ") if code == 0 else b"is not found" in done.stderr, done.stderr.decode())

    def test_save_profile(self):
        with tempfile.TemporaryDirectory() as folder:
            r = adept.predict(PROFILE, gpu=GPU, batch=32, mode="infer", gpus=2)
            again = adept.predict(r.save_profile(os.path.join(folder, "kept.json")), gpu=GPU, gpus=2)
        self.assertEqual(again.step_time_s, r.step_time_s)

    def test_sweep(self):
        s = adept.sweep(PROFILE, vary={"gpu": [GPU, "t4"], "batch": range(32, 97, 32)}, samples=1e6, within_time_s=1e4, minimise="energy")
        self.assertEqual({(p["gpu"], p["batch"]) for p in s.points}, {(g, b) for g in (GPU, "t4") for b in (32, 64, 96)})
        for point in s.points:
            self.assertEqual(point["step_time_s"], adept.predict(PROFILE, gpu=point["gpu"], batch=point["batch"]).step_time_s)
        self.assertEqual(s.best["step_time_s"], s.points[s.best["index"]]["step_time_s"])
        self.assertEqual(s.job["minimise"], "energy")
        self.assertLessEqual(s.job["best"]["time_s"], 1e4)
        self.assertIsNone(adept.sweep(PROFILE, gpu=GPU, vary={"batch": [1]}).job)

    def test_plan(self):
        model, words = "adept:llama?layers=4&hidden=512&heads=8&ffn=1024&vocab=1000", dict(gpus=8, global_batch=16, minimise="energy", top=3)
        p = adept.plan(model, gpu="h100", seq_length=256, precision="bf16", limits=2, **words)
        self.assertEqual([row["layout"]["gpus"] for row in p.layouts], [8] * 3)
        self.assertIs(p.best, p.layouts[0])
        self.assertEqual(len(p.table), 3)
        self.assertIn("3 shown", repr(p))
        own = adept.Workload.open(model, seq_length=256, precision="bf16").plan_json(adept.Gpu.open("h100"), limits=2, **words)
        own = json.loads(own)
        self.assertEqual((own["layouts"], own["front"]), (p.layouts, p.front))
        self.assertIn("minimise", adept.plan_words())
        with self.assertRaises(adept.Error):
            adept.plan(model, gpu="h100", tp=2, **words)
        with self.assertRaises(ValueError):
            adept.Workload.open(model).plan_json(adept.Gpu.open("h100"), maximise="time")

    def test_calibrate(self):
        with tempfile.TemporaryDirectory() as folder:
            runs, fitted = os.path.join(folder, "runs.csv"), os.path.join(folder, "fit.json")
            with open(runs, "w") as file:
                file.write("model,batch_size,step_time_s\n")
                for batch in (64, 128, 256, 512, 1024):
                    file.write("%s,%d,%r\n" % (PROFILE, batch, 1.5 * adept.predict(PROFILE, gpu="t4", batch=batch).step_time_s))
            try:
                report = adept.calibrate(runs, gpu="t4", output=fitted, restarts=0, leave_out="none")
            except adept.Error as error:
                self.skipTest(str(error)) if "built without" in str(error) else self.fail(str(error))
            self.assertEqual(report["schema_version"], 1)
            slow, before = (adept.predict(PROFILE, gpu=g, batch=256).step_time_s for g in (fitted, "t4"))
            self.assertGreater(slow, 1.1 * before)


@unittest.skipIf(torch is None, "no PyTorch")
class Examples(unittest.TestCase):
    def test_notebook(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/examples/choose.ipynb"), encoding="utf-8") as file:
            cells = json.load(file)["cells"]
        names = {}
        for cell in cells:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)
        self.assertTrue(names["r"].fits)
        self.assertEqual(names["s"].best["power_limit_w"], 200)
        self.assertIn("<svg", names["s"]._repr_html_())


class Modules(unittest.TestCase):
    def predict(self, model, inputs, **keywords):
        try:
            return adept.predict(model, inputs, gpu=GPU, **keywords)
        except adept.Error as error:
            if "adept_torch.so" in str(error):
                self.skipTest("PyTorch %s traces, and this program has no libtorch" % torch.__version__)
            raise

    def test_counts(self):
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10))
        for batch in (1, 8, 32): # 1 would be a constant for PyTorch
            for asked in (None, 5):
                r = self.predict(model, torch.zeros(batch, 64), mode="infer", batch=asked)
                used = asked or batch
                self.assertEqual(r["config"]["batch_size"], used)
                self.assertEqual(r["macs_forward"], used * (64 * 128 + 128 * 10))
                self.assertEqual(r["model"]["params"], 64 * 128 + 128 + 128 * 10 + 10)
        self.assertEqual([row["path"] for row in r["layers"] if row["flops"] > 1000], ["0", "3"])
        self.assertIn("model Sequential;", repr(r))

    def test_convolutions_and_outputs(self):
        class Tokens(nn.Module):
            """A token that is expanded to the batch, and outputs of a class of their own."""
            def __init__(self):
                super().__init__()
                self.patch, self.norm = nn.Conv2d(3, 16, 4, stride=4), nn.BatchNorm2d(16)
                self.token, self.head = nn.Parameter(torch.zeros(1, 1, 16)), nn.Linear(16, 10)

            def forward(self, x):
                x = self.norm(self.patch(x)).flatten(2).transpose(1, 2)
                x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
                return Outputs(self.head(x), x.mean(1))

        for mode in ("infer", "train"):
            r = self.predict(Tokens(), torch.zeros(3, 3, 32, 32), batch=7, mode=mode)
            self.assertEqual(r["macs_forward"], 7 * (64 * 16 * 3 * 16 + 65 * 16 * 10))
            self.assertEqual(r["flops"]["conv"], 2 * 7 * 64 * 16 * 3 * 16 * (1 if mode == "infer" else 2)) # the input has no gradient
        self.assertEqual({row["path"] for row in r["layers"]}, {"", "patch", "norm", "head"})

    def test_the_module_stays(self):
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Dropout(0.5)).eval()
        before = {name: t.clone() for name, t in model.state_dict().items()}
        state = torch.random.get_rng_state()
        self.predict(model, torch.zeros(4, 3, 16, 16))
        self.assertFalse(model.training or model[1].training)
        for name, tensor in model.state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]), name)
        self.assertTrue(torch.equal(torch.random.get_rng_state(), state))

    def test_mode_decides(self):
        model = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.Dropout(0.1))
        train, infer = (self.predict(model.train(flag), torch.zeros(8, 64), mode=mode) for mode in ("fwbw", "infer") for flag in (True,))
        again = self.predict(model.eval(), torch.zeros(8, 64), mode="fwbw")
        self.assertEqual(train["kernels"], again["kernels"])
        self.assertGreater(train["kernels"], infer["kernels"])

    def test_weights_that_do_not_exist(self):
        model = nn.TransformerEncoder(nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, device="meta"), 4)
        r = self.predict(model, torch.zeros(2, 8, 512, device="meta"), batch=4, precision="fp16")
        self.assertEqual(r["model"]["params"], 4 * (4 * 512 * 512 + 4 * 512 + 2 * 512 * 2048 + 2048 + 512 + 4 * 512))
        self.assertEqual(r["config"]["batch_size"], 4)
        self.assertLess(os.path.getsize(r._model.path), 1 << 20) # 12.6 M parameters are 50 MB

    def test_tied_and_keywords(self):
        class Language(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.head = nn.Embedding(100, 32), nn.Linear(32, 100, bias=False)
                self.head.weight = self.embed.weight

            def forward(self, ids, mask=None, labels=None):
                x = self.head(self.embed(ids))
                return x if mask is None else x * mask.unsqueeze(-1)

        inputs = {"ids": torch.zeros(2, 16, dtype=torch.long), "mask": torch.zeros(2, 16)}
        r = self.predict(Language(), inputs, batch=8)
        self.assertEqual((r["model"]["params"], r["macs_forward"]), (3200, 8 * 16 * 3200))
        self.assertEqual(self.predict(Language(), tuple(inputs.values()), batch=8).step_time_s, r.step_time_s)

    def test_temporary_file_goes(self):
        r = self.predict(nn.Linear(8, 8), torch.zeros(2, 8))
        path = r._model.path
        self.assertTrue(os.path.exists(path))
        del r
        self.assertFalse(os.path.exists(os.path.dirname(path)))

    def test_export(self):
        model, x = nn.Linear(8, 8), torch.zeros(2, 8)
        with tempfile.TemporaryDirectory() as folder:
            for name in ["m.pt"] + (["m.pt2"] if hasattr(torch, "export") else []):
                path = adept.export(model, x, os.path.join(folder, name))
                self.assertGreater(os.path.getsize(path), 0)
            for name, keywords in (("m.onnx", {}), ("m.pt", {"dynamic_shapes": ()})) + ((("m.pt2", {}),) if not hasattr(torch, "export") else ()):
                with self.assertRaises(ValueError):
                    adept.export(model, x, os.path.join(folder, name), **keywords)
        for wrong in (None, torch.zeros(())):
            with self.assertRaises((TypeError, ValueError)):
                adept.predict(model, wrong, gpu=GPU)

    def test_sweep(self):
        self.predict(nn.Linear(8, 8), torch.zeros(2, 8)) # skips
        s = adept.sweep(nn.Linear(8, 8), torch.zeros(2, 8), gpu=GPU, vary={"batch": [2, 4]})
        self.assertEqual([p["batch"] for p in s.points], [2, 4])

    def test_measured(self):
        model, x = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)), torch.zeros(4, 64)
        prediction = self.predict(model, x)
        with tempfile.TemporaryDirectory() as folder:
            runs = os.path.join(folder, "runs.csv")
            for _ in range(2):
                with adept.Callback(prediction, runs, report=None, warmup=1) as callback:
                    for _ in range(5):
                        model(x).sum().backward()
                        callback.step()
            with open(runs, newline="") as file:
                rows = list(csv.DictReader(file))
            profile = os.path.join(folder, rows[0]["model"])
            self.assertEqual(sorted(os.listdir(folder)), sorted([os.path.basename(profile), "runs.csv"]))
            self.assertEqual(adept.predict(profile, gpu=GPU).step_time_s, prediction.step_time_s)
            self.assertTrue(0 < float(rows[0]["step_time_s"]) < 10)
            self.assertEqual(rows[0]["torch"], torch.__version__)


class FakeClock:
    """Time that passes where the test says so, and boards of 200 W together, which are measured."""

    def __init__(self, test):
        self.now_s, self.watts, self.boards = 0.0, 200.0, 2
        for name, what in (("_now_s", lambda: self.now_s), ("_measure_boards", self.begin)):
            patch = mock.patch.object(_callback, name, what)
            patch.start()
            test.addCleanup(patch.stop)

    def begin(self, gpus):
        self.regions = []
        return self

    def _enter(self, name):
        self.regions.append([name, self.now_s, None])
        return len(self.regions) - 1

    def _leave(self, entered):
        self.regions[entered][2] = self.now_s

    def stop(self):
        for region in self.regions:
            region[2] = region[2] or self.now_s

    def read(self, component, region):
        time_s = sum(end_s - begin_s for name, begin_s, end_s in self.regions if (component, name) == ("gpu", region))
        return adept.Measured(count=len(self.regions), time_s=time_s, energy_j=time_s * self.watts, avg_power_w=self.watts)

    def json(self):
        return {"sensors": self.boards * [{"device": "NVIDIA A100 00000000:07:00.0, driver 550.54"}]}


class Callbacks(unittest.TestCase):
    def setUp(self):
        self.clock, self.said = FakeClock(self), []
        old = getattr(sys.modules.get("torch"), "__version__", "").startswith("1.")
        self.prediction = adept.predict(PROFILE, gpu=GPU, precision="fp16", gpus=2, power_limit_w=200, optimizer="sgd",
                                        framework="torch1" if old else "torch2")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.runs = os.path.join(self.folder.name, "runs.csv")

    def callback(self, **keywords):
        return adept.Callback(self.prediction, self.runs, report=self.said.append, **keywords)

    def rows(self):
        with open(self.runs, newline="") as file:
            return list(csv.DictReader(file))

    def test_loop(self):
        for _ in range(2):
            with self.callback(warmup=3) as callback:
                for i in range(23):
                    self.clock.now_s += 5.0 if i < 3 else 0.25
                    callback.step()
            callback.finish() # once
        first, second = self.rows()
        self.assertEqual(first, second)
        expected = {"model": os.path.relpath(PROFILE, self.folder.name), "batch_size": "256", "gpu": GPU, "gpus": "2", "precision": "fp16",
                    "mode": "train", "optimizer": "sgd", "power_limit_w": "200", "step_time_s": "0.25", "avg_power_w": "200.0",
                    "power_scope": "gpu", "input": "", "execution": "eager"}
        self.assertEqual({name: first[name] for name in expected}, expected)
        self.assertEqual(len(self.said), 2)
        self.assertIn("20 steps: 250 ms measured", self.said[0])
        compared = callback.comparison()["step_time_s"]
        self.assertTrue(math.isclose(compared["error_percent"], 100 * (self.prediction.step_time_s / 0.25 - 1)))
        self.assertFalse(compared["inside"])
        self.assertEqual((first["driver"], first["board"]), ("", "")) # of two
        self.clock.boards = 1
        with self.callback(warmup=0) as callback:
            self.clock.now_s += 1
            callback.step()
        self.assertEqual(self.rows()[-1]["driver"], "550.54")
        self.assertTrue(self.rows()[-1]["board"].endswith(" 00000000:07:00.0"))
        # The row is one that adept reads, under the same configuration.
        try:
            row = said("evaluate", self.runs, "--gpu", GPU)["rows"][0]
        except subprocess.CalledProcessError:
            self.skipTest("a program without evaluate")
        self.assertTrue(math.isclose(row["predicted"]["step_time_s"] if "predicted" in row else row["step_time_s"]["predicted"],
                                     self.prediction.step_time_s, rel_tol=1e-9), row)

    def test_power_that_is_not_known_is_empty(self):
        def run(step_s, gap_s, n):
            callback = self.callback(warmup=1)
            for _ in range(n):
                callback.begin()
                self.clock.now_s += step_s
                callback.end()
                self.clock.now_s += gap_s
            callback.finish()
            return self.rows()[-1]

        self.assertEqual(run(0.5, 0.0, 10)["avg_power_w"], "200.0")
        self.assertEqual(run(0.1, 0.0, 10)["avg_power_w"], "") # too short
        self.assertEqual(run(0.5, 0.5, 10)["avg_power_w"], "") # half of it is no step
        with self.callback(warmup=1) as callback:
            for _ in range(10):
                self.clock.now_s += 0.5
                callback.step()
            self.clock.now_s += 1 # no step ends here
        self.assertEqual(self.rows()[-1]["avg_power_w"], "")
        self.clock.boards = 1 # of two
        self.assertEqual(run(0.5, 0.0, 10)["avg_power_w"], "")
        self.clock.boards, self.clock.watts = 2, math.nan
        row = run(0.5, 0.0, 10)
        self.assertEqual((row["avg_power_w"], row["power_scope"], row["step_time_s"]), ("", "", "0.5"))

    def test_nothing_measured(self):
        with self.callback() as callback:
            callback.step()
        self.assertFalse(os.path.exists(self.runs))
        self.assertIn("none after 5 of warm-up", self.said[0])
        with self.assertRaises(ZeroDivisionError):
            with self.callback(warmup=0) as callback:
                callback.step()
                1 / 0
        self.assertFalse(os.path.exists(self.runs))
        with self.assertRaises(ValueError):
            callback.end() or callback.end()

    def test_other_columns(self):
        with open(self.runs, "w") as file:
            file.write("model,step_time_s\nx,1\n")
        with self.assertRaisesRegex(ValueError, "has no column .*precision"):
            self.callback()
        columns = "note," + ",".join(reversed(_callback._COLUMNS))
        with open(self.runs, "w") as file:
            file.write(columns + "\n")
        with self.callback(warmup=0, model="mine") as callback:
            self.clock.now_s += 1
            callback.step()
        row = self.rows()[0]
        self.assertEqual((row["note"], row["model"], row["step_time_s"]), ("", "mine", "1.0"))
        self.prediction = adept.predict(PROFILE, gpu=GPU, clock="1.2GHz", gpus=4, tp=2, sp=True, nodes=2, internode_bandwidth="200Gbit/s")
        with self.assertRaisesRegex(ValueError, "has no column .*clock_hz"):
            self.callback()
        os.remove(self.runs) # a new file has a column for each word that is said
        with self.callback(warmup=0) as callback:
            self.clock.now_s += 1
            callback.step()
        row = self.rows()[0]
        self.assertEqual([row[name] for name in ("clock_hz", "tp", "sp", "nodes", "internode_bytes_per_s")],
                         ["1200000000", "2", "true", "2", "25000000000"])
        self.assertNotIn("fsdp", row)

    def test_hugging_face(self):
        # transformers.TrainerCallback's events, called by name as CallbackHandler.call_event() does
        callback = self.callback(warmup=1)

        def call(event):
            self.assertIsNone(getattr(callback, event)("args", "state", "control", model=None, optimizer=None))

        for event in ("on_init_end", "on_train_begin", "on_epoch_begin"):
            call(event)
        for _ in range(4):
            call("on_step_begin")
            call("on_substep_end")
            self.clock.now_s += 2
            call("on_pre_optimizer_step")
            call("on_step_end")
            call("on_log")
        for event in ("on_epoch_end", "on_evaluate", "on_save", "on_train_end"):
            call(event)
        self.assertEqual([(r["step_time_s"], r["avg_power_w"]) for r in self.rows()], [("2.0", "200.0")])
        self.assertFalse(hasattr(callback, "state_key"))

    def test_lightning(self):
        base = type("Callback", (), {})
        modules = {"lightning": types.ModuleType("lightning"), "lightning.pytorch": types.ModuleType("lightning.pytorch")}
        modules["lightning.pytorch"].Callback = base
        with mock.patch.dict(sys.modules, modules):
            made = self.callback(warmup=0).lightning()
        self.assertIsInstance(made, base)
        trainer = types.SimpleNamespace(accumulate_grad_batches=2)
        for i in range(6):
            made.on_train_batch_start(trainer, None, "batch", i)
            self.clock.now_s += 1.5
            made.on_train_batch_end(trainer, None, "outputs", "batch", i)
        made.on_train_end(trainer, None)
        self.assertEqual(self.rows()[0]["step_time_s"], "3.0")

    def test_other_processes_are_silent(self):
        with mock.patch.object(_callback, "_is_first_process", lambda: False):
            with self.callback(warmup=0) as callback:
                self.clock.now_s += 1
                callback.step()
        self.assertFalse(os.path.exists(self.runs) or self.said)


class Types(unittest.TestCase):
    @unittest.skipUnless(shutil.which("mypy"), "no mypy")
    def test_mypy(self):
        package = os.path.dirname(adept.__file__)
        self.assertTrue(os.path.exists(os.path.join(package, "py.typed")))
        done = subprocess.run(["mypy", "--cache-dir", os.devnull, "--no-site-packages", "--ignore-missing-imports", "--check-untyped-defs", package],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout.decode())


class Boards(unittest.TestCase):
    """Which boards a callback measures, and what it says of them, with a library that stands in for NVIDIA's."""

    def setUp(self):
        played = {"ADEPT_NVML_LIBRARY": os.environ["ADEPT_FAKE_NVML"], "FAKE_NVML": "boards=4 power=constant:100"}
        patch = mock.patch.dict(os.environ, played)
        patch.start()
        self.addCleanup(patch.stop)

    def torch(self, count, current=0):
        cuda = types.SimpleNamespace(is_available=lambda: True, device_count=lambda: count, current_device=lambda: current,
                                     synchronize=lambda: None)
        return mock.patch.dict(sys.modules, {"torch": types.SimpleNamespace(cuda=cuda)})

    def names(self, gpus, count, visible):
        """`visible`: the boards that CUDA shows, as NVML counts them."""
        with self.torch(count, current=1), mock.patch.object(_callback, "cuda_address", lambda i: "0000:%02x:00.0" % (visible[i] + 1)):
            boards = _callback._measure_boards(gpus)
            if boards is None:
                return None
            boards.stop()
            return [sensor["name"] for sensor in boards.json()["sensors"]]

    def test_boards(self):
        self.assertEqual(self.names(1, 4, [0, 1, 2, 3]), ["gpu-1"])
        self.assertEqual(self.names(2, 4, [0, 1, 2, 3]), ["gpu-0", "gpu-1"])
        self.assertEqual(self.names(1, 2, [3, 2]), ["gpu-2"])
        self.assertIsNone(self.names(2, 1, [0])) # the second is another process's
        with mock.patch.dict(sys.modules, {"torch": None}):
            self.assertIsNone(_callback._measure_boards(1))
        with self.torch(1), mock.patch.object(_callback, "cuda_address", mock.Mock(side_effect=OSError)):
            self.assertIsNone(_callback._measure_boards(1))

    def test_address(self):
        class Driver:
            @staticmethod
            def cuInit(flags):
                return 0

            @staticmethod
            def cuDeviceGet(device, index):
                device._obj.value = index + 7
                return 101 if index > 1 else 0

            @staticmethod
            def cuDeviceGetPCIBusId(text, size, device):
                text.value = b"0000:%02X:00.0" % (device.value + 3)
                return 0

        with mock.patch("ctypes.CDLL", lambda name: Driver):
            self.assertEqual([_measure.cuda_address(i) for i in (0, 1)], ["0000:0A:00.0", "0000:0B:00.0"])
            with self.assertRaisesRegex(OSError, "address of GPU 2"):
                _measure.cuda_address(2)

    def test_power(self):
        prediction = adept.predict(PROFILE, gpu=GPU, gpus=2)
        with self.torch(2), mock.patch.object(_callback, "cuda_address", lambda i: "0000:%02x:00.0" % (i + 1)):
            with adept.Callback(prediction, report=None, warmup=1) as callback:
                for _ in range(12):
                    time.sleep(0.2)
                    callback.step()
                self.assertIsNone(callback.power_avg_w)
        self.assertAlmostEqual(callback.power_avg_w, 300, delta=3)


if __name__ == "__main__":
    unittest.main()
