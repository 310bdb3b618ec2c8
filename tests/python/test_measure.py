"""What adept measures from Python, and what a program marks for `adept measure`, with a library that stands in for NVIDIA's.
environment: ADEPT, ADEPT_FAKE_NVML, ADEPT_SOURCE_DIR"""
import csv
import ctypes
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import adept

try:
    import torch
except ImportError:
    torch = None

SOURCE, NVML = os.environ["ADEPT_SOURCE_DIR"], os.environ["ADEPT_FAKE_NVML"]
GPU = "v100-pcie-32gb"
WATTS = 200
# On a busy machine the thread that reads may be late by tenths of a second, and be held up between looking and taking the time. How
# exact a recording is, tests/unit/test_recording.c and test_sensor_nvml.c say, whose clock is virtual.
HELD_UP = 0.2


def board(play):
    """What the stand-in plays, here and in processes that are started."""
    return mock.patch.dict(os.environ, {"ADEPT_NVML_LIBRARY": NVML, "FAKE_NVML": play})


def examples():
    """The blocks of Python in the section of docs/LIBRARY.md on measuring."""
    with open(os.path.join(SOURCE, "docs/LIBRARY.md"), encoding="utf-8") as file:
        section = re.search(r"^### Joules of what runs\n(.*?)^##", file.read(), re.S | re.M).group(1)
    return re.findall(r"^```python\n(.*?)^```", section, re.S | re.M)


class InThisProcess(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.nvml = ctypes.CDLL(NVML)  # held open, so that its clock can be asked
        for name in ("fake_nvml_begin_s", "fake_nvml_energy_j"):
            getattr(cls.nvml, name).restype = ctypes.c_double

    def integral_j(self, begin_s, end_s):
        return self.until_j(end_s) - self.until_j(begin_s)

    def until_j(self, time_s):
        return self.nvml.fake_nvml_energy_j(ctypes.c_double(time_s - self.nvml.fake_nvml_begin_s()))

    def test_region_is_the_integral(self):
        times = {"outer": [], "inner": []}

        def visit(m, name, work):
            """Its times as seen from without and from within, between which those of the region are."""
            without_s = time.monotonic()
            with m.region(name):
                within_s = time.monotonic()
                work()
                ended_s = time.monotonic()
            times[name].append((without_s, within_s, ended_s, time.monotonic()))

        def work(m, pause_s):
            visit(m, "outer", lambda: [visit(m, "inner", lambda: time.sleep(pause_s)) for _ in range(2)])

        with board("power=ramp:100,400,3"), adept.measure(period_s=0.01, devices=["gpu"]) as m:
            threads = [threading.Thread(target=work, args=(m, 0.15 + 0.05 * i)) for i in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        for name, count in (("outer", 3), ("inner", 6)):
            measured = m.read("gpu", name)
            self.assertEqual((measured.count, len(times[name])), (count, count))
            self.assertGreaterEqual(measured.time_s, sum(t[2] - t[1] for t in times[name]))
            self.assertLessEqual(measured.time_s, sum(t[3] - t[0] for t in times[name]))
            self.assertGreaterEqual(measured.energy_j, (1 - HELD_UP) * sum(self.integral_j(t[1], t[2]) for t in times[name]))
            self.assertLessEqual(measured.energy_j, (1 + HELD_UP) * sum(self.integral_j(t[0], t[3]) for t in times[name]))
        self.assertEqual([region["name"] for region in m.json()["regions"]], ["outer", "inner"])

    def test_interval_holds_the_integral(self):
        """A counter that is new ten times a second."""
        for play in ("power=ramp:100,400,1 update=0.1", "power=square:60,300,0.7 update=0.1", "power=constant:250 update=0.1"):
            with board(play), adept.measure(period_s=0.01, devices=["gpu"]) as m:
                time.sleep(0.9)
            run, measured = m.json(), m.read("gpu")
            expected_j = self.integral_j(run["begin_s"], run["begin_s"] + run["time_s"])
            self.assertTrue((1 - HELD_UP) * measured.low_j <= expected_j <= (1 + HELD_UP) * measured.high_j, (play, measured, expected_j))
            self.assertTrue(measured.low_j <= measured.energy_j <= measured.high_j, play)
            self.assertAlmostEqual(measured.time_s, run["time_s"])
            m.close()  # the stand-in learns what to play when it is opened

    def test_no_counter(self):
        with board("power=ramp:100,400,3 counter=0"), adept.measure(period_s=0.01, devices=["gpu"]) as m:
            time.sleep(0.5)
        run, measured = m.json(), m.read("gpu")
        expected_j = self.integral_j(run["begin_s"], run["begin_s"] + run["time_s"])
        self.assertFalse(run["sensors"][0]["by_counter"])
        self.assertAlmostEqual(measured.energy_j, expected_j, delta=HELD_UP * expected_j)

    def test_board_that_is_lost_is_not_known(self):
        with board("lost=0.2"), adept.measure(period_s=0.01, devices=["gpu"]) as m:
            time.sleep(0.4)
        self.assertTrue(math.isnan(m.read("gpu").energy_j))
        self.assertIn("GPU is lost", m.json()["sensors"][0]["lost"])

    def test_no_board_is_not_known(self):
        with mock.patch.dict(os.environ, {"ADEPT_NVML_LIBRARY": "libno-such-thing.so"}), adept.measure(devices=["gpu"]) as m:
            pass
        self.assertTrue(math.isnan(m.read("gpu").energy_j))
        self.assertIn("libno-such-thing.so", [note["why"] for note in m.json()["missing"] if note["name"] == "nvml"][0])

    def test_a_child_of_fork_does_not_wait_for_threads(self):
        with board(""), adept.measure(devices=["gpu"]) as m:
            child = os.fork()
            if child == 0:
                signal.alarm(300)
                m.stop()
                m.close()
                os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertAlmostEqual(m.read("gpu").avg_power_w, WATTS, delta=HELD_UP * WATTS)

    def test_example(self):
        names = {}
        with board(""):
            exec(examples()[0], names)
        self.assertEqual(names["steps"].count, 3)
        self.assertAlmostEqual(names["steps"].avg_power_w, WATTS, delta=HELD_UP * WATTS)


class UnderTheProgram(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_under(self, script, *options):
        """What the script prints."""
        with open(self.path("script.py"), "w", encoding="utf-8") as file:
            file.write(script)
        with board("power=constant:%d" % WATTS):
            done = subprocess.run([os.environ["ADEPT"], "measure", "--devices", "gpu", "--period", "10ms"] + list(options) +
                                  ["--", sys.executable, "-B", self.path("script.py")], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def test_marks_arrive(self):
        said = self.run_under("""
import adept, json, os, threading, time
times = {"epoch": [0, 0], "step": [0, 0], "load": [0, 0]} # as seen from within and from without
lock = threading.Lock()

def passes(name, seconds, inside=lambda: None):
    without_s = time.monotonic()
    try:
        with adept.mark(name):
            within_s = time.monotonic()
            time.sleep(seconds)
            ended_s = time.monotonic()
            inside()
    finally:
        with lock:
            times[name][0] += ended_s - within_s
            times[name][1] += time.monotonic() - without_s

def steps():
    for _ in range(3):
        passes("step", 0.1)

threads = [threading.Thread(target=lambda: [passes("load", 0.02) for _ in range(5)]) for _ in range(4)]
for thread in threads:
    thread.start()
passes("epoch", 0.05, steps)
try:
    passes("step", 0.1, lambda: 1 / 0)
except ZeroDivisionError:
    pass
for thread in threads:
    thread.join()
if os.fork() == 0:
    with adept.mark("of a child, and with words"):
        os._exit(0) # it does not end its mark
os.wait()
print(json.dumps(times))
""", "--json", "-o", self.path("r.json"))
        with open(self.path("r.json"), encoding="utf-8") as file:
            regions = {region["name"]: region for region in json.load(file)["regions"]}
        self.assertEqual({name: region["count"] for name, region in regions.items()},
                         {"epoch": 1, "step": 4, "load": 20, "of a child, and with words": 1})
        for name, (within_s, without_s) in json.loads(said).items():
            time_s = regions[name]["time_s"]["total"]
            self.assertTrue(within_s <= time_s <= without_s, (name, within_s, time_s, without_s))
            self.assertAlmostEqual(regions[name]["gpu"]["energy_j"]["total"], WATTS * time_s, delta=HELD_UP * WATTS * time_s)

    def test_processes_in_a_region_at_the_same_time(self):
        self.run_under("""
import adept, os, time
for delay_s in (0, 0.2):
    if os.fork() == 0:
        time.sleep(delay_s)
        with adept.mark("step"):
            time.sleep(0.4)
        os._exit(0)
""", "--json", "-o", self.path("r.json"))
        with open(self.path("r.json"), encoding="utf-8") as file:
            [region] = json.load(file)["regions"]
        self.assertEqual(region["count"], 2)
        self.assertGreaterEqual(region["time_s"]["least"], 0.4)  # the first's end is not the second's, 0.2 s after that began

    def test_decorators(self):
        """Each call of a function is a region, under either name; what it returns is left alone."""
        with board("power=constant:%d" % WATTS), adept.measure(period_s=0.01, devices=["gpu"]) as m:
            @m.region("step")
            def step(x):
                time.sleep(0.05)
                return 2 * x

            self.assertEqual([step(i) for i in range(3)], [0, 2, 4])
        self.assertEqual(m.read("gpu", "step").count, 3)
        self.run_under("""
import adept
@adept.mark("step")
def step():
    pass
for _ in range(4):
    step()
""", "--json", "-o", self.path("r.json"))
        with open(self.path("r.json"), encoding="utf-8") as file:
            [region] = json.load(file)["regions"]
        self.assertEqual((region["name"], region["count"]), ("step", 4))

    def test_marks_without_it_are_nothing(self):
        self.assertNotIn("ADEPT_MARKS", os.environ)
        with adept.mark("step"):
            pass

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_steps_become_a_row_that_is_evaluated(self):
        """From a training script to a prediction's error: the script is that of docs/LIBRARY.md."""
        rows = self.path("rows.csv")
        shutil.copy(os.path.join(SOURCE, "tests/cli/data/mlp.profile.json"), self.folder.name)
        self.run_under(examples()[1], "--steps-from-marks", rows, "--skip-steps", "5", "--row",
                       "model=mlp.profile.json,batch_size=8,optimizer=sgd,gpu=" + GPU)
        with open(rows, newline="", encoding="utf-8") as file:
            [row] = csv.DictReader(file)
        self.assertEqual([row[name] for name in ("model", "batch_size", "optimizer", "gpu", "gpus", "power_scope")],
                         ["mlp.profile.json", "8", "sgd", GPU, "1", "gpu"])
        self.assertAlmostEqual(float(row["avg_power_w"]), WATTS, delta=HELD_UP * WATTS)
        self.assertTrue(0 < float(row["step_time_s"]))
        self.assertIn("mean of 20 steps", row["source"])
        done = subprocess.run([os.environ["ADEPT"], "evaluate", rows, "--gpu", GPU, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if b"built without" in done.stderr:
            self.skipTest("a program without evaluate")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        [evaluated] = json.loads(done.stdout.decode())["rows"]
        self.assertAlmostEqual(evaluated["measured"]["step_time_s"], float(row["step_time_s"]))
        self.assertAlmostEqual(evaluated["measured"]["power_avg_w"], float(row["avg_power_w"]))
        self.assertGreater(evaluated["predicted"]["step_time_s"], 0)


if __name__ == "__main__":
    unittest.main()
