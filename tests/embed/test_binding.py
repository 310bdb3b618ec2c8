"""tools/python/adept/_lib.py against the C compiler, the program and brute force. usage: test_binding.py LAYOUT ADEPT PROFILE SOURCE"""
import copy
import ctypes
import gc
import json
import math
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
import unittest

import adept

LAYOUT, ADEPT, PROFILE, SOURCE = sys.argv[1:5]
CLASSES = {"adept_error": adept._lib._Error, "adept_model_options": adept._lib._ModelOptions, "adept_workload_info": adept.WorkloadInfo,
           "adept_gpu_info": adept.GpuInfo, "adept_request": adept.Request, "adept_estimate": adept.Estimate,
           "adept_limit_estimate": adept.LimitEstimate, "adept_best_limits": adept.BestLimits, "adept_goal": adept._lib._Goal,
           "adept_query_row": adept._lib._QueryRow, "adept_queries": adept._lib._Queries, "adept_verdict": adept.Verdict, "adept_choice": adept.Choice, "adept_measure_options": adept._lib._MeasureOptions,
           "adept_measured": adept.Measured}


class Binding(unittest.TestCase):
    def setUp(self):
        self.workload = adept.Workload.open(PROFILE)
        self.oracle = adept.Oracle(self.workload, adept.Gpu.open("v100-pcie-32gb"))

    def test_layout(self):
        seen = set()
        for line in subprocess.run([LAYOUT], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout.splitlines():
            name, number = line.split()
            struct, _, member = name.partition(".")
            of = CLASSES[struct]  # texts are properties over bytes
            got = getattr(of, "_" + member, getattr(of, member, None)).offset if member else ctypes.sizeof(of)
            self.assertEqual(got, int(number), name)
            seen.add(struct)
        self.assertEqual(seen, set(CLASSES))

    def test_functions_and_constants(self):
        text = ""
        for name in ("error", "version", "workload", "estimate", "predict", "choose", "measure"):
            folder = {"error": "base/public", "estimate": "model/public"}.get(name, "library/include")
            with open("%s/%s/adept/%s.h" % (SOURCE, folder, name), encoding="utf-8") as header:
                text += header.read()
        declared = set(re.findall(r"ADEPT_API[^;(]*?\badept_(\w+)\(", text))
        self.assertEqual(declared, set(adept._lib._FUNCTIONS))
        self.assertIn("#define ADEPT_ABI_VERSION %d\n" % adept.ABI_VERSION, text)
        statuses = re.findall(r"^    X\((\w+), \d+, \"", text, re.M)
        for number, name in enumerate(n for n in statuses if n == "OK" or n.startswith("E_")):
            self.assertEqual(getattr(adept, name), number, name)
        for names in re.findall(r"^(?:typedef )?enum [a-z_]*\s?\{\s+(ADEPT_[A-Z_,\s]+?)\s+\}", text, re.M):
            for number, name in enumerate(re.split(r",\s+", names)):
                self.assertEqual(getattr(adept, name[6:]), number, name)
        bits = re.findall(r"ADEPT_(NOTE_\w+) = (\d+)", text)
        constraints = re.search(r"#define ADEPT_CONSTRAINT_LIST(.*?)\nenum", text, re.S).group(1)
        bits += [("CONSTRAINT_" + name, bit) for name, bit in re.findall(r"X\((\w+), (\d+),", constraints)]
        self.assertEqual(len(bits), 12)
        for name, bit in bits:
            self.assertEqual(getattr(adept, name), int(bit), name)

    def test_measures_known_joules(self):
        """A package counter that goes on by 10 J in each of three regions, however long they take: what ctypes hands over is that, and
        what the library says as JSON. (Energy over time: tests/unit/test_recording.c.)"""
        with tempfile.TemporaryDirectory() as root:
            zone = os.path.join(root, "sys/class/powercap/intel-rapl:0")
            os.makedirs(zone)
            for name, text in (("name", "package-0"), ("max_energy_range_uj", "262143328850"), ("energy_uj", "%020d" % 0)):
                with open(os.path.join(zone, name), "w", encoding="ascii") as file:
                    file.write(text + "\n")
            with open(os.path.join(zone, "energy_uj"), "r+", encoding="ascii") as counter:
                with adept.measure(period_s=0.01, sysroot=root, devices=["cpu"]) as m:
                    for step in range(3):
                        with m.region("step"):
                            time.sleep(0.1)
                            counter.seek(0)
                            counter.write("%020d\n" % (10e6 * (step + 1)))
                            counter.flush()
                            time.sleep(0.1)
        whole, steps, said = m.read("cpu"), m.read("cpu", "step"), m.json()
        self.assertAlmostEqual(whole.energy_j, 30, delta=1e-4)
        self.assertAlmostEqual(whole.avg_power_w, whole.energy_j / whole.time_s, delta=1e-9 * whole.avg_power_w)
        self.assertTrue(whole.low_j <= whole.energy_j <= whole.high_j)
        self.assertEqual(steps.count, 3)
        self.assertGreaterEqual(steps.time_mean_s, 0.2)
        [region] = said["regions"]
        self.assertEqual((region["name"], region["count"]), ("step", 3))
        self.assertAlmostEqual(steps.time_mean_s, region["time_s"]["mean"])
        self.assertAlmostEqual(steps.energy_mean_j, region["energy_j"]["mean"]) # of all that is summed: the package
        self.assertTrue(0 < steps.energy_mean_j <= 10 + 1e-4)
        self.assertTrue(math.isnan(m.read("gpu").energy_j))
        self.assertEqual(m.json()["sensors"][0]["name"], "cpu-0")
        with self.assertRaisesRegex(adept.Error, "'soul' is not known"):
            m.read("soul")
        with self.assertRaisesRegex(adept.Error, "never entered"):
            m.read("cpu", "stepp")
        with self.assertRaisesRegex(adept.Error, "stop it first"):
            adept.measure(sysroot=root).read()

    def test_equals_the_program(self):
        for keywords, options in (({}, []), ({"gpus": 4}, ["--gpus", "4"]), ({"power_limit_w": 150}, ["--power-limit", "150"]),
                                  ({"host": "torch2"}, ["--host", "torch2"])):
            out = subprocess.run([ADEPT, "predict", PROFILE, "--gpu", "v100-pcie-32gb", "--json"] + options, check=True,
                                 stdout=subprocess.PIPE).stdout
            expected = json.loads(out.decode())
            estimate = self.oracle.predict(**keywords)
            for key in ("step_time_s", "power_avg_w", "energy_step_j", "edp_js", "samples_per_s"):
                self.assertTrue(math.isclose(getattr(estimate, key), expected[key], rel_tol=1e-9), key)
            got = json.loads(self.oracle.predict_json(**keywords))
            for key in ("step_time_s", "interval"):
                self.assertEqual(got[key], expected[key])
            self.assertEqual(got["config"]["host"], keywords.get("host"))
        hosts = [None] + adept.host_names()[1:]
        requests = [self.oracle.request(host=host) for host in hosts]
        self.assertEqual([r.host for r in requests], hosts)
        request = self.oracle.request()
        request.host = "torch2"
        self.assertEqual(adept.predict_many([request])[0].kernel_launch_s, self.oracle.predict(host="torch2").kernel_launch_s)
        launches = [e.kernel_launch_s for e in adept.predict_many(requests)]
        self.assertEqual(launches, [self.oracle.predict(host=host).kernel_launch_s for host in hosts])
        fast = adept.Oracle(self.workload.at(batch_size=1), adept.Gpu.open("h100"))  # which waits for every host
        launches = [fast.predict(host=host).kernel_launch_s for host in hosts]
        # without a name it is the profile's, which has torch2's; of the thesis's only the watts are known
        self.assertEqual(len(set(launches)), len(hosts) - 2)
        self.assertIn("dgx-h100", adept.node_names())
        self.assertIn("thesis-a100", hosts)
        best = self.oracle.predict_best_limits()
        self.assertTrue(best.low_w <= best.energy_optimal.limit_w <= best.high_w)
        self.assertLessEqual(best.energy_optimal.energy_step_j, best.unset.energy_step_j)

    def test_how_it_runs(self):
        for keywords, options in (({"optimizer_impl": "fused"}, ["--optimizer-impl", "fused"]),
                                  ({"optimizer_extras": "ema,clip"}, ["--optimizer-extras", "ema,clip"]),
                                  ({"memory_format": "channels_last"}, ["--memory-format", "channels_last"]),
                                  ({"execution": "compile"}, ["--execution", "compile"])):
            out = subprocess.run([ADEPT, "predict", PROFILE, "--gpu", "v100-pcie-32gb", "--json"] + options, check=True,
                                 stdout=subprocess.PIPE).stdout
            oracle = adept.Oracle(self.workload.at(**keywords), adept.Gpu.open("v100-pcie-32gb"))
            got, expected = json.loads(oracle.predict_json()), json.loads(out.decode())
            self.assertEqual(got["step_time_s"], expected["step_time_s"])
            for key in ("memory_format", "optimizer_impl", "optimizer_extras", "execution"):
                self.assertEqual(got["config"][key], expected["config"][key])

    def test_other_sizes(self):
        workload = adept.Workload.open(os.path.join(os.path.dirname(PROFILE), "lengths.profile.json"))
        info = workload.describe()
        self.assertEqual((info.batch_size, info.seq_length), (4, 16))
        other = workload.at(batch_size=3, seq_length=33)
        again = other.at(5, mode="infer", precision="bf16").at(3, mode="train", precision="fp32")
        self.assertEqual(workload.at(3, 33, optimizer="sgd", grad_accum=2).describe().optimizer, "sgd")
        self.assertEqual((other.describe().batch_size, other.describe().seq_length), (3, 33))
        self.assertEqual(other.to_json(), again.to_json())
        gpu = adept.Gpu.open("v100-pcie-32gb")
        out = subprocess.run([ADEPT, "predict", os.path.join(os.path.dirname(PROFILE), "lengths.profile.json"), "--gpu", "v100-pcie-32gb",
                              "--batch", "3", "--seq-length", "33", "--json"], check=True, stdout=subprocess.PIPE).stdout
        expected = json.loads(out.decode())
        self.assertEqual(expected["config"]["seq_length"], 33)
        self.assertTrue(math.isclose(adept.Oracle(other, gpu).predict().step_time_s, expected["step_time_s"], rel_tol=1e-9))
        with self.assertRaisesRegex(adept.Error, "position 100 lies beyond the table of 100"):
            workload.at(seq_length=101)

    def test_choose(self):
        requests = [self.oracle.request(gpus=g, power_limit_w=w) for g in (1, 2, 4) for w in range(100, 251, 10)]
        estimates = adept.predict_many(requests)
        job = [(math.ceil(1e5 / e.samples), e) for e in estimates]
        edp = [n * e.step_time_s * n * e.energy_step_j for n, e in job]
        choice = adept.choose(estimates, adept.LEAST_EDP, samples=1e5)
        self.assertTrue(math.isclose(edp[choice.best], min(edp), rel_tol=1e-12))
        self.assertEqual(choice.n_feasible, len(requests))
        budget = 300
        feasible = [i for i, e in enumerate(estimates) if e.power_avg_w <= budget]
        choice = adept.choose(estimates, adept.LEAST_TIME, samples=1e5, power_budget_w=budget)
        self.assertEqual(choice.n_feasible, len(feasible))
        self.assertTrue(math.isclose(choice.verdict.time_s, min(job[i][0] * job[i][1].step_time_s for i in feasible), rel_tol=1e-12))
        self.assertEqual([v.violated != 0 for v in choice.verdicts], [i not in feasible for i in range(len(requests))])
        with self.assertRaises(adept.Infeasible) as caught:
            adept.choose(list(estimates), power_budget_w=1)
        self.assertEqual(caught.exception.choice.binding, adept.CONSTRAINT_POWER)
        self.assertIn("power budget of 1 W", str(caught.exception))

    def test_memory_and_description(self):
        text = self.workload.to_json()
        again = adept.Workload.read(text)
        self.assertEqual(again.to_json(), text)
        info = adept.Workload.read(text.encode()).describe()
        self.assertEqual((info.mode, info.precision, info.batch_size, info.params), ("train", "fp32", 256, 4239370))
        self.assertEqual(again.at().to_json(), text)
        self.assertNotEqual(again.at(255).to_json(), text)
        names = adept.Gpu.names()
        self.assertIn("a100-sxm-80gb", names)
        self.assertEqual(names, sorted(names))
        gpu = adept.Gpu.open("a100-sxm-80gb").describe()
        self.assertEqual((gpu.name, gpu.tdp_w), ("a100-sxm-80gb", 400))
        self.assertRegex(adept.version_text(), r"^\d+\.\d+\.\d+$")

    def test_errors(self):
        with self.assertRaises(adept.Error) as caught:
            adept.Gpu.open("a1000")
        self.assertEqual(caught.exception.status, adept.E_UNKNOWN_GPU)
        with self.assertRaises(adept.Error) as caught:
            adept.Workload.open(PROFILE, precision="bf17")
        self.assertEqual(caught.exception.status, adept.E_USAGE)
        with self.assertRaises(adept.Error):
            adept.Workload.read("{}")
        with self.assertRaises(adept.Error):
            self.oracle.predict(gpus=-1)
        with self.assertRaisesRegex(adept.Error, "host 'torch9' is not one of profile, torch1, "):
            self.oracle.predict(host="torch9")
        estimates = adept.predict_many([self.oracle.request(), self.oracle.request(gpus=-1)], strict=False)
        self.assertEqual([e.status for e in estimates], [adept.OK, adept.E_USAGE])
        self.assertTrue(math.isnan(estimates[1].step_time_s))
        with self.assertRaises(TypeError):
            self.oracle.request(gpu=3)
        with self.assertRaises(TypeError):
            adept.choose([self.oracle.predict()], deadline=3)
        self.oracle.close()
        self.oracle.close()
        with self.assertRaises(ValueError):
            self.oracle.predict()

    def test_handles_are_not_copied(self):
        for handle in (self.workload, self.oracle, self.oracle.gpu, adept.measure(devices=[])):
            for copied in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "cannot be copied"):
                    copied(handle)

    def test_handles_of_another_kind(self):
        gpu = adept.Gpu.open("t4")
        for wrong in ((gpu, self.workload), (self.workload, None), (self.oracle, gpu), (self.workload, "t4"), (1, 2)):
            with self.assertRaises(TypeError):
                adept.Oracle(*wrong)
        for call in (lambda: adept.predict_many((adept.Estimate * 1)()), lambda: adept.choose((adept.Request * 1)()),
                     lambda: adept.predict_many([1]), lambda: adept.Workload.to_json(gpu)):
            with self.assertRaises(TypeError):
                call()

    def test_what_is_used_stays(self):
        expected = self.oracle.predict().step_time_s
        request, info, gpu_info = self.oracle.request(), self.workload.describe(), self.oracle.gpu.describe()
        texts = repr(info), repr(gpu_info)
        array = (adept.Request * 2)(self.oracle.request(), adept.Oracle(adept.Workload.open(PROFILE), adept.Gpu.open("v100-pcie-32gb")).request())
        derived = self.workload.at(batch_size=3)
        for handle in (self.oracle, self.oracle.workload, self.oracle.gpu):
            handle.close()
        del handle, self.oracle, self.workload
        gc.collect()
        [adept.Workload.open(PROFILE).at(batch_size=i + 1) for i in range(20)]  # would take the place of what was freed
        self.assertEqual([e.step_time_s for e in adept.predict_many([request])] + [e.step_time_s for e in adept.predict_many(array)], [expected] * 3)
        self.assertEqual((repr(info), repr(gpu_info)), texts)
        self.assertEqual(derived.describe().batch_size, 3)

    def test_numbers_and_texts_are_not_cut(self):
        for call in (lambda: adept.Request(gpus=2**64 + 1), lambda: self.oracle.request(nodes=-2**63 - 1), lambda: self.oracle.request(allreduce=2**32),
                     lambda: adept.Workload.open(PROFILE, batch_size=2**64 + 8), lambda: self.workload.at(seq_length=2**64),
                     lambda: adept.choose([self.oracle.predict()], objective=2**32), lambda: setattr(self.oracle.request(), "gpus", 2**63)):
            with self.assertRaises(OverflowError):
                call()
        for call in (lambda: adept.Workload.open(PROFILE + "\0x"), lambda: adept.Gpu.open("a100\0"), lambda: self.oracle.request(host="torch2\0x")):
            with self.assertRaises(ValueError):
                call()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
