"""Cases that strangers and attackers found: each is run, and what comes of it held against what its README says should.

usage: run.py [--adept PROGRAM] [--only TEXT] [--keep] [FOLDER]
  FOLDER   of cases: 01_*, attack/01_*, measure/01_*; else $ADEPT_CASES, or cases in $ADEPT_SHARED_DIR or beside the source
  --only   cases whose name has this text
  --keep   leave the copies of the cases, and say where
environment: ADEPT (the program), ADEPT_LIBRARY, ADEPT_MAKE_RECORDING, as the other tests have them

A case runs in a copy of its folder, with the source's tools, tests and data beside it, as the cases' scripts take for granted. A case
that needs what is not here (root and a mount namespace, PyTorch, a compiler) is skipped and says so. Exit code 1: a case differs; 77: there
are no cases, or none could run.
"""
import argparse
import csv
import glob
import gzip
import io
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE_S = 120  # what takes longer hangs; all cases take seconds where the processors are free
CHECKS = {}       # the beginning of a case's folder: its check, and what it needs


class Skipped(Exception):
    pass


def case(prefix, *needs):
    def add(check):
        CHECKS[prefix] = (check, needs)
        return check
    return add


def expect(truth, what):
    if not truth:
        raise AssertionError(what)


class Result:
    def __init__(self, code, out, err, time_s, most_kb):
        self.code, self.out, self.err, self.time_s, self.most_kb = code, out, err, time_s, most_kb
        self.said = out + err

    def last(self):
        lines = [line for line in self.said.splitlines() if line.strip()]
        return "exit %s: %s" % (self.code, lines[-1][:150] if lines else "")


class Run:
    """A copy of a case's folder, and how commands run in it."""

    def __init__(self, setting, folder, work):
        self.setting, self.work = setting, work
        shutil.copytree(folder, work)
        subprocess.run(["chmod", "-R", "u+rwX", work], check=True)
        for name in ("tools", "tests", "data", "docs"):
            os.symlink(os.path.join(SOURCE, name), os.path.join(work, name))
        os.makedirs(work + "/.bin")
        os.symlink(setting.adept, work + "/.bin/adept")
        self.environment = dict(os.environ, LC_ALL="C", A=setting.adept, PATH=work + "/.bin:" + os.environ["PATH"], HOME=work, XDG_STATE_HOME=work,
                                PYTHONPATH=SOURCE + "/tools/python", PYTHONDONTWRITEBYTECODE="1", ADEPT_LIBRARY=setting.library,
                                ADEPT_PROGRAM=setting.adept)

    def run(self, *words, timeout_s=PATIENCE_S, memory_bytes=None, **environment):
        """memory_bytes bounds the address space; code "hangs" after the time"""
        def limit():
            if memory_bytes:
                resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        began_s = time.monotonic()
        # a group of its own, so that what a hanging command started goes with it; its output to files, which none of them holds open
        with open(self.work + "/.out", "w+b") as out, open(self.work + "/.err", "w+b") as err:
            child = subprocess.Popen(words, cwd=self.work, env={**self.environment, **environment}, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                     start_new_session=True, preexec_fn=limit)
            code, most_kb = "hangs", 0
            while time.monotonic() - began_s < timeout_s:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid:
                    code, most_kb = os.waitstatus_to_exitcode(status), usage.ru_maxrss
                    break
                time.sleep(0.02)
            if code == "hangs":
                os.killpg(child.pid, 9)
                os.waitpid(child.pid, 0)
            child.returncode = 0  # it was waited for here
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        return Result(code, *texts, time.monotonic() - began_s, most_kb)

    def adept(self, *words, **more):
        return self.run(self.setting.adept, *words, **more)

    def json(self, *words, **more):
        """What the command prints as JSON, which it is to do."""
        done = self.adept(*words, "--json", **more)
        expect(done.code == 0, done.last())
        return json.loads(done.out)

    def totals(self, model, *words):
        return self.json("profile", model, *words)["totals"]

    def in_namespace(self, *words, **more):
        """As root in a mount namespace, where the case's scripts put a /sys of their own."""
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/sys/class"], stdin=subprocess.DEVNULL,
                                               capture_output=True).returncode != 0:
            raise Skipped("not root, or no mount namespace")
        return self.run("unshare", "-m", *words, **more)

    def torch(self, *words):
        """A script of the case, by a Python that has PyTorch."""
        if not self.setting.torch_python:
            raise Skipped("no Python with PyTorch")
        return self.run(self.setting.torch_python, *words)

    def profile_of(self, model):
        """A saved profile of a bundled model, by the name that the cases' scripts know"""
        name = model + ".profile.json"
        done = self.adept("profile", "data/models/%s.pt" % model, "-o", name)
        expect(done.code == 0, "no profile of %s: %s" % (model, done.last()))
        return name

    def library(self, source):
        """A C file of the case as a library."""
        compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")
        if not compiler:
            raise Skipped("no C compiler")
        name = self.work + "/lib%s.so" % os.path.splitext(os.path.basename(source))[0]
        done = self.run(compiler, "-shared", "-fPIC", "-o", name, source, "-lm", "-ldl")
        expect(done.code == 0, "cannot compile %s: %s" % (source, done.last()))
        return name

    def put(self, name, text):
        path = os.path.join(self.work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def empty_machine(self):
        self.put("empty/proc/meminfo", "MemTotal: 8000000 kB\nMemFree: 4000000 kB\nMemAvailable: 4000000 kB\n")
        return "empty"

    def measured(self, *words, **environment):
        """`adept measure --json` as JSON, with what the same says as text to find warnings in"""
        done = self.adept("measure", "--json", "-o", "measured.json", *words, **{"ADEPT_NVML_LIBRARY": "/none", **environment})
        expect(done.code == 0, done.last())
        with open(self.work + "/measured.json", encoding="utf-8") as file:
            report = json.load(file)
        report["sensor"] = {sensor["name"]: sensor for sensor in report["sensors"]}
        report["notes"] = {note["name"]: note["why"] for note in report["missing"]}
        return report

    def measured_text(self, *words, **environment):
        return self.adept("measure", *words, **{"ADEPT_NVML_LIBRARY": "/none", **environment}).said


def within(value, truth, factor, what):
    expect(truth / factor <= value <= truth * factor, "%s: %g instead of %g" % (what, value, truth))
    return "%s %.3g (%.3g)" % (what, value, truth)


# ---- from public bug reports ----

@case("01")
def per_sample_host_cost(c):
    said = []
    for mode, batch, gpu, precision, measured_s in (("infer", 65536, "a100-sxm-40gb", "tf32", 1.295e-3), ("infer", 1048576, "a100-sxm-40gb", "tf32", 18.2e-3),
                                                    ("train", 1048576, "a100-sxm-40gb", "tf32", 46.4e-3), ("infer", 65536, "v100-sxm2-16gb", "fp32", 2.37e-3),
                                                    ("infer", 1048576, "v100-sxm2-16gb", "fp32", 35.9e-3), ("train", 1048576, "v100-sxm2-16gb", "fp32", 101e-3)):
        step_s = c.json("predict", "data/models/neumf.pt", "--gpu", gpu, "--batch", str(batch), "--mode", mode, "--optimizer", "adam", "--precision",
                        precision)["step_time_s"]
        said.append(within(1e3 * step_s, 1e3 * measured_s, 2, "%s of %d on %s, ms" % (mode, batch, gpu.split("-")[0])))
    return "; ".join(said)


@case("02")
def complex_in_place(c):
    """One product of the weight's size each way: 2 * 2 * 4 * 4 * 5 multiply-adds, of complex numbers 4 times as many FLOPs."""
    real = c.totals("real.pt", "--input", "2x4x16")
    got = c.totals("complex.pt", "--input", "2x4x16")
    expect(real["gemm_flops_forward"] == real["gemm_flops_backward"] == 320, "real: %s" % real)
    expect(got["gemm_flops_forward"] == got["gemm_flops_backward"] == 4 * 320,
           "products %d forward, %d backward instead of 1280 and 1280" % (got["gemm_flops_forward"], got["gemm_flops_backward"]))
    return "1280 FLOPs forward and backward"


@case("03", "torch")
def complex_products(c):
    expect(c.torch("make.py").code == 0, "make.py")
    step = c.json("predict", "c64.pt", "--gpu", "a100", "--input", "c64:8192x2048", "--mode", "fwbw")
    done = c.totals("c64.pt", "--input", "c64:8192x2048", "--mode", "fwbw")
    flops = done["gemm_flops_forward"] + done["gemm_flops_backward"]
    expect(flops == 2 * 8 * 8192 * 2048 * 2048, "%.4g FLOPs instead of 549.8e9" % flops)
    expect(step["step_time_s"] >= 28.2e-3, "%.3g ms, below the 28.2 of the peak" % (1e3 * step["step_time_s"]))
    return "550 GFLOP, %.1f ms" % (1e3 * step["step_time_s"])


def joules_in(text):
    """Of `adept measure`'s table: sensor (or "total"), joules; None: unknown"""
    unit = {"nJ": 1e-9, "uJ": 1e-6, "mJ": 1e-3, "J": 1, "kJ": 1e3, "MJ": 1e6}
    rows = re.findall(r"(?m)^ *([a-z]+(?:-[a-z0-9]+)*) +(?:([\d.]+) ([a-zA-Z]*J)|(unknown))\b", text)
    return [(name, None if unknown else float(value) * unit[its_unit]) for name, value, its_unit, unknown in rows]


@case("04")
def mirrored_dies(c):
    said = []
    for scenario in ("mirror", "dup"):
        text = c.in_namespace("bash", "rapl.sh", scenario).said
        rows = joules_in(text)
        dies = [j for name, j in rows if name.startswith("cpu")]
        total = dict(rows).get("total", dies[0] if len(dies) == 1 else None) # of one sensor there is none
        expect(dies and max(j or 0 for j in dies) > 0, "nothing measured: %s" % text[-300:])
        most = max(j or 0 for j in dies)
        is_said = re.search(r"(?i)mirror|same (counter|energy)|twice|count once|counts once", text)
        expect(total is not None and (total <= 1.1 * most or is_said), "%s: the total is %s J, of dies %s" % (scenario, total, dies))
        said.append("%s: total %.3g J of %s" % (scenario, total, dies))
    return "; ".join(said)


@case("05")
def still_counter(c):
    text = c.in_namespace("bash", "rapl0.sh", "0.8").said
    rows = dict(joules_in(text))
    expect("cpu-0" in rows and rows["cpu-0"] is None and rows.get("total") is None, "cpu-0 %s J, total %s J" % (rows.get("cpu-0", "absent"), rows.get("total")))
    expect(not re.search(r'"energy_j":\s*0\b', text), "0 J in the JSON")
    return "unknown"


@case("06")
def meter_without_libcurl(c):
    c.put("m.json", '{"power":24.5}')
    meter = "file://%s/m.json /power W m1 node" % c.work
    said = []
    for words in (["--meter", meter, "--", "sleep", "1"], ["--list", "--meter", meter]):
        done = c.adept("measure", *words)
        is_measured = done.code == 0 and re.search(r"(?m)^ *m1 ", done.said)
        is_refused = done.code == 2 and re.search(r"--meter", done.err) and re.search(r"built without|libcurl", done.err)
        expect(is_measured or is_refused, "dropped: %s" % done.last())
        said.append("measured, by libcurl" if is_measured else "refused")
    return ", ".join(said)


@case("07")
def packed_sequence(c):
    done = c.adept("profile", "packed.pt", "--input", "3x5x6", "--input", "i64:3", "--json")
    expect(done.code == 0, done.last())
    flops, wanted = json.loads(done.out)["totals"]["gemm_flops_forward"], 2 * 15 * (6 * 32 + 8 * 32) + 2 * 15 * 8 * 3
    expect(flops == wanted, "%d FLOPs instead of %d" % (flops, wanted))
    warnings = json.dumps(json.loads(done.out).get("warnings", ""))
    expect("length" in warnings, "no warning about lengths: %s" % warnings[:200])
    return "%d FLOPs" % flops


@case("08", "torch")
def sizes_in_tensors(c):
    done = c.torch("make.py", c.setting.adept)
    forms = re.findall(r"(?m)^(\w+(?: \(works\))?) (\d+) (.*)$", done.out)
    expect(len(forms) >= 12, "make.py: %s" % done.last())
    failed = [name for name, code, _ in forms if code != "0"]
    expect(not failed, "%d of %d forms are refused: %s" % (len(failed), len(forms), ", ".join(failed)))
    return "%d forms" % len(forms)


@case("09")
def optimize_for_mobile(c):
    done = c.adept("profile", "mob.ptl", "--input", "1x3x8x8", "--mode", "infer", "--json")
    if done.code != 0:
        expect(re.search("optimize_for_mobile|INSERT_FOLD_PREPACK_OPS", done.err), done.last())
        return "says what to do"
    totals = json.loads(done.out)["totals"]
    got = totals["conv_flops_forward"], totals["gemm_flops_forward"]
    expect(got == (31104 // 2, 2 * 288 * 10), "%s FLOPs instead of 15552 and 5760" % (got,))
    return "%d and %d FLOPs" % got


@case("10")
def several_results(c):
    never = c.adept("profile", "two_results.pt", "--input", "2x4")
    expect(never.code == 0 or (never.code == 4 and "mylib::least" in never.err), "never called: %s" % never.last())
    for model in ("always_s.pt", "always_t.pt"):
        plain = c.adept("profile", model, "--input", "2x4")
        expect(plain.code == 4 and "mylib::least" in plain.err, "%s: %s" % (model, plain.last()))
        assumed = c.adept("profile", model, "--input", "2x4", "--assume", "mylib::least=4,i64:4")
        expect(assumed.code == 0, "%s with --assume: %s" % (model, assumed.last()))
    return "named, and assumed"


@case("11")
def inputs_no_tensors(c):
    """Any form that is documented will do: what is asked for is a way."""
    ways = {("dict.pt", "gemm_flops_forward", 2 * 2 * 5 * 8 * 4): (("batch.ids=i64:2x5", "batch.mask=2x5"), ("i64:2x5", "2x5")),
            ("number.pt", "gemm_flops_forward", 3 * 2 * 2 * 4 * 4): (("2x4", "n=3", "on=true"), ("x=2x4", "n=3", "on=true")),
            ("list.pt", "conv_flops_forward", 2 * 4 * 27 * (6 * 6 + 8 * 10)): (("3x8x8", "3x10x12"), ("xs=3x8x8,3x10x12",), ("xs.0=3x8x8", "xs.1=3x10x12"))}
    said = []
    for (model, key, flops), specs in ways.items():
        tried = [c.adept("profile", model, *[word for spec in way for word in ("--input", spec)], "--mode", "infer", "--json") for way in specs]
        done = next((t for t in tried if t.code == 0), None)
        expect(done, "%s: %s" % (model, tried[0].last()))
        got = json.loads(done.out)["totals"][key]
        expect(got == flops, "%s: %d FLOPs instead of %d" % (model, got, flops))
        said.append("%s %d FLOPs" % (model, got))
    return ", ".join(said)


@case("12")
def window_functions(c):
    got = c.totals("mel.pt", "--input", "2x800")["gemm_flops_forward"]
    expect(got == 53856, "%d FLOPs instead of 53856" % got)
    return "53856 FLOPs"


@case("13")
def complex_constants(c):
    conv = c.totals("conv.pt", "--input", "c64:2x4x8x8")["conv_flops_forward"]
    real = 2 * 2 * 6 * 6 * 6 * 4 * 9
    expect(conv in (3 * real, 4 * real), "%d FLOPs, neither three nor four real convolutions of %d" % (conv, real))
    scalar = c.totals("scalar.pt", "--input", "2x8")
    expect(scalar["gemm_flops_forward"] == 2 * 2 * 8 * 8, "%s" % scalar)
    return "a convolution is %d real ones" % (conv // real)


@case("14")
def control_flow(c):
    """Of 3 x 4: one layer of 4 to 4, or one of 4 to 8 and one back; a layer of 4 to 4 for each of 5; a layer of 8 to 8; one of 4 to 4 a trip."""
    cond = c.adept("profile", "cond.pt2")
    expect(cond.code == 0 or "--assume-branch" in cond.err, "cond: %s" % cond.last())
    for model, words, wanted in (("cond.pt2", ("--assume-branch", "true"), 2 * 3 * 4 * 4), ("cond.pt2", ("--assume-branch", "false"), 2 * 2 * 3 * 4 * 8),
                                 ("map_hop.pt2", (), 5 * 2 * 3 * 4 * 4), ("autocast_region.pt2", (), 2 * 3 * 8 * 8)):
        flops = c.totals(model, *words)["gemm_flops_forward"]
        expect(flops == wanted, "%s %s: %d FLOPs instead of %d" % (model, " ".join(words), flops, wanted))
    loop = c.adept("profile", "while_hop.pt2")
    option = re.search(r"--assume-[a-z]+", loop.err)
    expect(loop.code == 0 or (loop.code == 4 and option), "while_loop: %s" % loop.last())
    if option: # the count that it needs
        counted = [c.totals("while_hop.pt2", option[0], n)["gemm_flops_forward"] for n in ("1", "3")]
        expect(counted == [96, 288], "while_loop: %d FLOPs of a trip, %d of three" % tuple(counted))
    return "cond, map, while_loop and autocast, to the FLOP"


@case("15", "torch")
def lengths_from_data(c):
    expect(c.torch("make.py").code == 0, "make.py")
    tried = [c.adept("profile", "mask.pt", "--input", "2x5x4", "--input", spec, "--json") for spec in ("i64:2", "i64:2=5", "n=i64:2=5")]
    done = next((t for t in tried if t.code == 0), None)
    expect(done, tried[0].last())
    got = json.loads(done.out)["totals"]["gemm_flops_forward"]
    expect(got == 2 * 2 * 5 * 4 * 4, "%d FLOPs instead of 320" % got)
    return "320 FLOPs"


@case("16")
def small_ones(c):
    int_mm = c.adept("profile", "int_mm.pt2")
    expect(int_mm.code == 0, "_int_mm: %s" % int_mm.last())
    uint16 = c.adept("profile", "uint16.pt2")
    expect(uint16.code == 0 or (uint16.code == 4 and "uint16" in uint16.err), "uint16: %s" % uint16.last())
    c.put("lfs.pt", "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 102530333\n" % (64 * "a"))
    lfs = c.adept("profile", "lfs.pt")
    expect(lfs.code == 3 and re.search("(?i)lfs", lfs.err), "a pointer of Git LFS: %s" % lfs.last())
    launch = c.adept("predict", "data/models/neumf.pt", "--gpu", "a100", "--host-launch", "0us")
    expect(launch.code == 2 and re.search(r"out of range.*\d.*[a-z]?s\b|\d+ ?[num]?s to", launch.err.replace("'0us'", "")), "--host-launch: %s" % launch.last())
    for name, text in (("name", "package-0\n"), ("energy_uj", "1000\n"), ("max_energy_range_uj", "262143328850\n")):
        c.put("mmio/sys/class/powercap/intel-rapl-mmio:0/" + name, text)
    c.put("mmio/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n")
    mmio = c.adept("measure", "--list", "--sysroot", "mmio", ADEPT_NVML_LIBRARY="/none")
    expect("mmio" in mmio.said, "intel-rapl-mmio alone: not a word of it")
    region = os.path.join(c.setting.cases, glob.glob(c.setting.cases + "/14_*")[0], "autocast_region.pt2")
    autocast = c.adept("profile", region, "--allow-unsupported")
    expect(autocast.code == 0 or (autocast.code == 4 and "autocast" in autocast.err), "--allow-unsupported of a region: %s" % autocast.last())
    if not c.setting.make_recording:
        return "all but sacct's (no make_recording)"
    c.run(c.setting.make_recording, "node.adept", "3", "100", "0.01", "1.5", "3")
    c.put("wide.txt", "JobID           JobIDRaw            State\n------------ ------------ ------------\n2   2  COMPLETED\n")
    wide = c.adept("attribute", "--slurm", "node.adept", "--sacct", "wide.txt")
    expect(wide.code == 3 and re.search(r" -P\b|--parsable", wide.err), "sacct without -P: %s" % wide.last())
    return "all"


@case("17")
def checkpointing(c):
    with open(os.path.join(SOURCE, "docs", "TUTORIAL.md"), encoding="utf-8") as file:
        expect(re.search(r"(?i)torch\.utils\.checkpoint|activation[ -]checkpoint|gradient[ -]checkpoint", file.read()),
               "TUTORIAL does not say that a traced file does not keep it")
    return "docs/TUTORIAL.md says so"


# ---- attacks ----

@case("attack/01")
def sigchld_ignored(c):
    ignoring = (sys.executable, "sigchld.py", c.setting.adept)
    codes = []
    for words, code in ((["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -SEGV $$"], 139)):
        done = c.run(*ignoring, "measure", "--", *words)
        codes.append(re.match(r"rc (-?\d+)", done.out)[1])
        expect(codes[-1] == str(code), "exit code %s instead of %d" % (codes[-1], code))
    cpu = "root/sys/devices/system/cpu/cpu0/cpufreq/"
    c.put(cpu + "scaling_governor", "schedutil\n")
    c.put(cpu + "scaling_available_governors", "performance powersave schedutil\n")
    done = c.run(*ignoring, "sweep", "--drive", "--sysroot", "root", "--journal", "j", "--vary", "governor=performance,powersave", "--csv", "--", "false")
    codes.append(re.match(r"rc (-?\d+)", done.out)[1])
    expect(codes[-1] == "1", "sweep --drive -- false: exit code %s" % codes[-1])
    return "exit codes " + ", ".join(codes)


@case("attack/02", "root")
def attach_zombie(c):
    zombie = c.run(sys.executable, "zombie.py", c.setting.adept)
    took = re.match(r"ended after ([\d.]+)", zombie.out)
    expect(took, zombie.last())
    reused = c.run(sys.executable, "pidreuse.py", c.setting.adept)
    if "ns_last_pid" in reused.out or "second None" in reused.out:
        return "a zombie ends it after %s s; pids cannot be chosen here" % took[1]
    attached = re.search(r"attach ended after ([\d.]+) s", reused.out)
    expect(attached and float(attached[1]) < 3.5, "another process of the same pid is measured: %s" % reused.last())
    return "a zombie ends it after %.1f s, a reused pid after %s s" % (float(took[1]), attached[1])


@case("attack/03")
def restore_overread(c):
    done = c.run("sh", "run.sh")
    size = re.search(r"bytes in scaling_governor: (\d+)", done.out)
    expect(size and size[1] == "10" and not re.search(r"(?m)^exit 0", done.out), "%s bytes written; %s" % (size and size[1], done.last()))
    return "refused"


@case("attack/04")
def restore_unchecked(c):
    done = c.run("sh", "run.sh")
    ends = re.findall(r"(?s)exit (\d+) limit: (.*?) governor: (.*?)\n", done.out)
    expect(len(ends) == 7, "%d journals tried: %s" % (len(ends), done.last()))
    bad = [end for end in ends if end[0] == "0" or end[1:] != ("125000000", "schedutil")]
    expect(not bad, "%d of 7 are written: %s" % (len(bad), bad[0] if bad else ""))
    return "7 journals refused"


@case("attack/05")
def smuggle(c):
    name = c.profile_of("neumf")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([c.setting.adept, "serve", name, "--listen", "127.0.0.1:%d" % port], cwd=c.work, env=c.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        while "listening" not in (line := server.stderr.readline()):
            expect(line, "the server does not start")
        done = c.run(sys.executable, "smuggle.py", str(port))
    finally:
        server.terminate()
        server.wait()
    bad, n = [], 0
    for what, said in re.findall(r"(?ms)^(?=.{52} \[)(.{52}) (.*?)(?=^.{52} \[|\Z)", done.out):
        statuses, what = re.findall(r"b'(\d+)'", said), what.strip()
        # a header of another name, a request line that is only untidy, and a whole request that is refused: nothing is hidden there
        if re.match("CL with underscore|two spaces|tab in request|space in URI|pipelined after", what):
            continue
        n += 1
        if statuses != ["400"] or "CLOSED" not in said:
            bad.append("%s: %s" % (what, " ".join(said.split())))
    expect(n >= 12, "%d requests: %s" % (n, done.last()))
    expect(not bad, "%d of %d are not 400 and closed; %s" % (len(bad), n, "; ".join(bad[:3])))
    return "%d requests: 400, and closed" % n


@case("attack/06")
def marks_fifo(c):
    done = c.run("sh", "run.sh", timeout_s=60)
    expect(done.code != "hangs" and "still there" not in done.out, done.last())
    return "ends"


@case("attack/07", "cmake")
def bpf_off(c):
    build = c.work + "/b"
    first = c.run("cmake", "-S", SOURCE, "-B", build, "-G", "Ninja", "-DADEPT_TESTS=OFF", "-DADEPT_WITH_TORCH=OFF", timeout_s=600)
    expect(first.code == 0, first.last())
    plan = c.run("ninja", "-C", build, "-n", "-v").out
    if "counts.bpf" not in plan:
        raise Skipped("no libbpf or no clang: nothing to leave out")
    c.run("cmake", "-S", SOURCE, "-B", build, "-DADEPT_WITH_BPF=OFF", timeout_s=600)
    expect("counts.bpf" not in c.run("ninja", "-C", build, "-n", "-v").out, "still compiles counts.bpf.c")
    return "left out"


def python_ends(c, script, *words):
    done = c.run(sys.executable, script, *words)
    expect(isinstance(done.code, int) and done.code >= 0 and "double free" not in done.err, "ends by a signal: %s" % done.last())
    return done


@case("attack/08", "library")
def python_copies(c):
    return python_ends(c, "run.py", c.profile_of("neumf")).last()


@case("attack/09", "library")
def python_swapped(c):
    done = python_ends(c, "run.py", c.profile_of("neumf"))
    expect(done.code == 1 and re.search(r"(?m)^\w+(\.\w+)*Error", done.err), "no exception: %s" % done.last())
    return done.last()


@case("attack/10")
def fifo_inputs(c):
    done = c.run("sh", "run.sh")
    codes = re.findall(r"rc (\d+) \(124: hung\) (.*)|rc (\d+) (measure.*)", done.out)
    hung = [a or b for rc, a, other, b in codes if (rc or other) == "124"]
    expect(len(codes) == 5, "%d tried: %s" % (len(codes), done.last()))
    expect(not hung, "hangs: %s" % ", ".join(hung))
    c.put("ok.s", '{"host":"h","started":"x","command":["x"]}\n{"schema_version":1,"kind":"samples","period_s":0.1,"begin_s":1,"sensors":[]}\n{"end_s":2}\n')
    os.symlink("/dev/zero", c.work + "/ok.s.marks")
    for name in ("ok.s", "/dev/zero"):
        read = c.adept("measure", "--read", name, memory_bytes=4 << 30, timeout_s=60)
        expect(read.code != "hangs" and read.most_kb < 500000, "%s: %d MB, %s" % (name, read.most_kb / 1000, read.last()))
    return "bounded"


@case("attack/11")
def job_of_cgroup(c):
    done = c.run("sh", "run.sh")
    expect("not found" in done.out, "the cgroup of a user is job 4242: %s" % done.last())
    return "no job's"


@case("attack/12")
def job_name(c):
    done = c.run("sh", "run.sh")
    expect("nvidia-smi" in done.said and re.search(r"\b150\b", done.said) and not re.search(r"\b700\b", done.said), done.last())
    return "150 W"


@case("attack/13", "library")
def exec_loop(c):
    c.put(".loop/adept", "#!/bin/sh\nexec %s -c 'import sys; sys.argv[0]=\"adept\"; from adept._program import run_as_command; run_as_command()' \"$@\"\n" % sys.executable)
    os.chmod(c.work + "/.loop/adept", 0o755)
    del c.environment["ADEPT_PROGRAM"]
    done = c.run(c.work + "/.loop/adept", "--version", timeout_s=30, PATH=c.work + "/.loop:/usr/bin:/bin")
    expect(done.code not in ("hangs", 0), done.last() if done.code != "hangs" else "starts itself for ever")
    return done.last()


@case("attack/14", "library")
def fork_measure(c):
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        raise Skipped("no C compiler")
    includes = ["-I%s/%s" % (SOURCE, folder) for folder in ("library/include", "model/public", "base/public")]
    built = c.run(compiler, "-o", "f", "f.c", *includes, c.setting.library, "-Wl,-rpath," + os.path.dirname(c.setting.library))
    expect(built.code == 0, built.last())
    zone = "root/sys/class/powercap/intel-rapl:0/"
    for name, text in (("name", "package-0\n"), ("energy_uj", "1000\n"), ("max_energy_range_uj", "262143328850\n")):
        c.put(zone + name, text)
    c.put("root/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n")
    done = c.run("./f", "root")
    expect("0 of 20 hung" in done.out, done.last())
    return "0 of 20 hang"


@case("attack/15")
def attach_truncated(c):
    for pid in ("4294967297", "99999999999", "2147483648"):
        done = c.adept("measure", "--attach", pid, timeout_s=20)
        expect(done.code == 2 and "1215752191" not in done.err and "needs a COMMAND" not in done.err, "%s: %s" % (pid, done.last()))
    return "refused"


@case("attack/16")
def csv_escape(c):
    done = c.adept("attribute", "report", "esc.adept", "--csv")
    expect(done.code == 0, done.last())
    bad = sorted(set(re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", done.out)))
    expect(not bad, "control characters: %s" % ", ".join("U+%04X" % ord(character) for character in bad))
    cells = [cell for row in csv.reader(io.StringIO(done.out)) for cell in row]
    formulas = [cell for cell in cells if cell[:1] in "=@" and cell or re.match(r"[-+](?![\d.]|inf|nan)", cell)]
    expect(not formulas, "a spreadsheet's formula: %s" % formulas[:1])
    return "%d cells" % len(cells)


@case("attack/17")
def trace_bomb(c):
    lines = b"1,1,1\n" * 1000
    with gzip.open(c.work + "/bomb.csv.gz", "wb", 6) as file:
        file.write(b"submit_s,gpus,gpu_seconds\n")
        for _ in range(13000):
            file.write(lines)
    done = c.adept("simulate", "c1.json", "bomb.csv.gz", "--templates", "j1.json", "--policy", "fcfs", timeout_s=900, memory_bytes=8 << 30)
    expect(done.code in (2, 3) or done.most_kb < 1500000, "%d MB, %s" % (done.most_kb / 1000, done.last()))
    return "%d MB, %s" % (done.most_kb / 1000, done.last())


@case("attack/18")
def serve_starved(c):
    name = c.profile_of("resnet50")
    os.mkdir(c.work + "/prof")
    shutil.copy(os.path.join(c.work, name), c.work + "/prof")
    done = c.run(sys.executable, "starve.py", c.setting.adept)
    health, big = re.search(r"health after ([\d.]+)", done.out), re.search(r"big answered after ([\d.]+)", done.out)
    expect(health, done.last())
    expect(not big or float(health[1]) < 0.5 * float(big[1]), "health waits %s s of the %s s of another's request" % (health[1], big and big[1]))
    return "health after %s s, beside %s s" % (health[1], big[1] if big else "more")


# ---- meters ----

@case("measure/01")
def call_hangs(c):
    nvml, root = c.library("nvh.c"), c.empty_machine()
    done = c.adept("measure", "--json", "-o", "hang.json", "--sysroot", root, "--", "sleep", "1", timeout_s=60, ADEPT_NVML_LIBRARY=nvml, NV="boards=1 hang=0.5")
    expect(done.code == 0, "after the command: %s" % done.last())
    with open(c.work + "/hang.json", encoding="utf-8") as file:
        report = json.load(file)
    lost = [sensor["lost"] for sensor in report["sensors"] if sensor["name"] == "gpu-0"] or [note["why"] for note in report["missing"] if note["name"] == "gpu-0"]
    expect(lost and lost[0], "gpu-0 is not lost")
    first = c.adept("measure", "--sysroot", root, "--", "sh", "-c", "echo started", timeout_s=60, ADEPT_NVML_LIBRARY=nvml, NV="boards=1 hang=0")
    expect("started" in first.out and first.code == 0, "the first call: %s" % first.last())
    record = c.adept("attribute", "record", "--duration", "2s", "--source", "proc", "-o", "r.adept", "--sysroot", root, timeout_s=60, ADEPT_NVML_LIBRARY=nvml,
                     NV="boards=1 hang=1")
    expect(record.code == 0, "attribute record: %s" % record.last())
    return "ends after %.1f s: %s" % (done.time_s, lost[0])


@case("measure/02")
def partitions(c):
    folder = c.work + "/rocm"
    os.mkdir(folder)
    os.rename(c.library("rocm.c"), folder + "/librocm_smi64.so")
    os.makedirs(c.work + "/amd/sys/module/amdgpu", exist_ok=True) # the driver is loaded
    said = []
    for energy in ("", " energy=2"):
        report = c.measured("--sysroot", "amd", "--", "sleep", "1", LD_LIBRARY_PATH=folder, RS="boards=8 partitions=1" + energy)
        total_j, true_j = report["total"]["energy_j"], 136 * report["time_s"]
        expect(report["sensors"], "no board is found: %s" % report["notes"])
        expect(total_j is not None and abs(total_j - true_j) < 0.15 * true_j, "%s J instead of %.0f" % (total_j, true_j))
        said.append("%.0f J of %.0f" % (total_j, true_j))
    return ", ".join(said)


def unknown_or_warned(text, names=r"\w+"):
    return re.search(r"(?m)^ *(%s)[-\w]* +unknown|^Warnings" % names, text) or re.search(r"(?m)^Not measured\n(  .*\n)*  (%s)" % names, text)


@case("measure/04")
def impossible_powers(c):
    bad = []
    for root in ("acpi429", "acpi65535", "renoir", "bat_max"):
        text = c.measured_text("--sysroot", root, "--", "sleep", "1.3")
        if not unknown_or_warned(text, "power-meter|gpu|battery"):
            bad.append("%s: %s" % (root, " ".join(text.split("\n")[2].split())))
    text = c.measured_text("--sysroot", c.empty_machine(), "--", "sleep", "2", ADEPT_NVML_LIBRARY=c.library("nv.c"), NV="boards=1 estatus=3 from=0.9 for=0.15 then=3700000")
    if not unknown_or_warned(text, "gpu"):
        bad.append("NVML: %s" % " ".join(text.split("\n")[2].split()))
    text = c.measured_text("--sysroot", "ip", "--", "sleep", "1.1", LD_PRELOAD=c.library("ipmi.c"), DCMI="00 dc ff ff ff ff ff ff ff ff 00 00 00 00 00 00 00 00 40")
    if not unknown_or_warned(text, "node|ipmi|dcmi|bmc|power"):
        bad.append("IPMI: %s" % " ".join(text.split("\n")[2].split()))
    expect(not bad, "%d of 6 taken for measured; %s" % (len(bad), "; ".join(bad)))
    return "unknown, or with a warning"


@case("measure/05")
def zero_no_reading(c):
    bad = []

    def zeros(what, text):
        rows = [(name, joules) for name, joules in joules_in(text) if joules == 0 and name != "total"]
        if rows:
            bad.append("%s: %s 0 J" % (what, rows[0][0]))

    for root in ("acpi0", "bat_zero", "input_zero"):
        zeros(root, c.measured_text("--sysroot", root, "--", "sleep", "1.3"))
    report = c.measured("--sysroot", "bat_zero_curr", "--", "sleep", "1.3")
    power_w = [sensor["avg_power_w"] for sensor in report["sensors"] if sensor["component"] == "battery"]
    if not power_w or not power_w[0] or abs(power_w[0] - 12.1) > 0.1:
        bad.append("current times voltage: %s W instead of 12.1" % power_w)
    zeros("IPMI", c.measured_text("--sysroot", os.path.join(glob.glob(c.setting.cases + "/measure/04_*")[0], "ip"), "--", "sleep", "1.1",
                                  LD_PRELOAD=c.library("ipmi.c"), DCMI="00 dc 00 00 81 00 82 01 c6 00 6f 7a a4 58 80 51 43 44 40"))
    zeros("a frozen counter", c.measured_text("--sysroot", c.empty_machine(), "--", "sleep", "0.6", ADEPT_NVML_LIBRARY=c.library("nv.c"), NV="boards=1 frozen=1"))
    expect(not bad, "; ".join(bad))
    return "unknown, or by another way"


@case("measure/07")
def boards_not_used(c):
    nvml, root = c.library("nv.c"), c.empty_machine()
    os.unlink(c.work + "/rows.csv")
    done = c.adept("measure", "--sysroot", root, "--steps-from-marks", "rows.csv", "--row", "model=resnet50,batch_size=32,gpu=a100", "--", "sh", "marks.sh",
                   CUDA_VISIBLE_DEVICES="3", NV="boards=8 power=60 power3=350", ADEPT_NVML_LIBRARY=nvml)
    expect(done.code == 0, done.last())
    with open(c.work + "/rows.csv", newline="", encoding="utf-8") as file:
        [row] = csv.DictReader(file)
    is_right = row["gpus"] == "1" and abs(float(row["avg_power_w"]) - 350) < 35
    expect(is_right or "CUDA_VISIBLE_DEVICES" in done.err, "gpus %s, %s W" % (row["gpus"], row["avg_power_w"]))
    unknown = c.adept("measure", "--sysroot", root, "--devices", "GPU-99999999-0000-0000-0000-000000000000", "--", "true", NV="boards=8", ADEPT_NVML_LIBRARY=nvml)
    expect(unknown.code == 2, "--devices of an unknown UUID: %s" % unknown.last())
    return "gpus %s, %s W" % (row["gpus"], row["avg_power_w"])


def beside(c, driver, *words):
    """A driver of the case in the background, which says "ready"; ended by the caller"""
    process = subprocess.Popen([sys.executable, "-u", driver, *words], cwd=c.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


@case("measure/08")
def amd_core_zone(c):
    driver = beside(c, "drv2.py", "root", "600", "amdcore")
    try:
        text = c.measured_text("--sysroot", "root", "--", "sleep", "2")
    finally:
        driver.kill()
        driver.wait()
    expect("cpu-0" in text, "the package is not measured: %s" % text[-200:])
    row = re.search(r"(?m)^ *cores-0 .*", text)
    expect(not row or re.search(r"(?i)\bone core|single core|per core", text), "measured as all cores: %s" % (row and " ".join(row[0].split())))
    return "left out, or named"


@case("measure/10")
def mig_slices(c):
    os.symlink(os.path.join(SOURCE, "data/models/resnet50.pt"), c.work + "/resnet50.pt")
    done = c.adept("simulate", "c.json", "mig_sacct.txt", "--templates", "t.json", "--policy", "fcfs")
    expect(done.code == 0, done.last())
    expect(re.search(r"(?i)\bMIG\b|slice|1g\.5gb", done.said) and re.search(r"(?i)shard|share of a GPU", done.said), "no word of slices and shards: %s" % done.last())
    return "named"


@case("measure/11")
def pids_of_another_namespace(c):
    nvml = c.library("nv.c")
    c.put("root/.keep", "")
    shutil.copy(c.work + "/procs.json", c.work + "/root/procs.json")
    driver = beside(c, "drive.py", "root", "600")
    try:
        done = c.adept("attribute", "record", "--sysroot", "root", "-o", "ns2.adept", "--duration", "3s", "--source", "proc", ADEPT_NVML_LIBRARY=nvml, NV="boards=2",
                       PROCS="0:645400:-1:60")
    finally:
        driver.kill()
        driver.wait()
    expect(done.code == 0, done.last())
    c.put("jobs.txt", "JobID|JobIDRaw|User|Account|State|Partition|Start|End|ElapsedRaw|AllocTRES|NodeList\n"
          "201|201|ada|lab|COMPLETED|gpu|1|9999999999|60|cpu=1,gres/gpu=1,node=1|%s\n" % socket.gethostname())
    text = c.adept("attribute", "--slurm", "ns2.adept", "--sacct", "jobs.txt").said
    expect("645400" in text + done.said or re.search(r"(?i)not (seen|visible) here|another (pid )?namespace", text + done.said), "not a word of process 645400")
    return "named"


@case("measure/13")
def amdgpu_zero(c):
    text = c.measured_text("--sysroot", "idle_zero", "--", "sleep", "1.3")
    expect(re.search(r"gpu|amdgpu", text), "not a word of the board: %s" % text[:200])
    expect(not any(joules == 0 for _, joules in joules_in(text)), "0 J measured")
    return "named"


@case("measure/14", "calibrate")
def milliseconds(c):
    done = c.adept("calibrate", "ms2.csv", "--gpu", "a100-sxm-40gb", "--models", "data/models", "-o", "m.json", timeout_s=600)
    expect(done.code == 5 or re.search("(?i)suspect", done.said), "exit %s, and no row is suspect" % done.code)
    return done.last()


@case("measure/15")
def small_meters(c):
    bundled = c.adept("profile", "bundled.pt")
    expect(bundled.code == 0, "bundled inputs: %s" % bundled.last())
    c.put("c.json", '{"schema_version":1,"name":"small","nodes":[{"name":"a","gpu":"a100-sxm-40gb","gpus":8,"count":2,"host_idle_w":300,"host_busy_w":200}]}')
    c.put("t.json", json.dumps({"schema_version": 1, "name": "mine", "users": 2, "rigid": {"gpus": 1, "batch": 64}, "templates": [
        {"name": "r50", "model": os.path.join(SOURCE, "data/models/resnet50.pt"), "precision": "fp32", "gpus": [1, 2, 4, 8], "batches": [64], "weight": 1,
         "samples": 100000}]}))
    epoch = c.adept("simulate", "c.json", "sacct_epoch.txt", "--templates", "t.json", "--policy", "fcfs")
    expect(epoch.code == 0, "sacct's seconds since 1970: %s" % epoch.last())
    philly = c.adept("simulate", "c.json", "philly.json", "--templates", "t.json", "--policy", "fcfs")
    expect(philly.code == 0 or "JSON" in philly.err, "Philly's log: %s" % philly.last())
    return "bundled inputs, seconds of sacct, JSON"


# ---- running ----

class Setting:
    def __init__(self, options):
        self.adept = os.path.abspath(options.adept)
        build = os.path.dirname(os.path.dirname(self.adept))
        self.library = os.environ.get("ADEPT_LIBRARY") or os.path.join(build, "library/libadept.so")
        self.make_recording = os.environ.get("ADEPT_MAKE_RECORDING")
        self.cases = options.cases
        self.torch_python = next((python for python in (sys.executable, "/usr/bin/python3")
                                  if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0), None)

    def missing(self, needs):
        there = {"torch": lambda: self.torch_python, "root": lambda: os.geteuid() == 0, "cmake": lambda: shutil.which("cmake") and shutil.which("ninja"),
                 "library": lambda: os.path.exists(self.library),
                 "calibrate": lambda: subprocess.run([self.adept, "calibrate", "--help"], capture_output=True).returncode == 0}
        return next((need for need in needs if not there[need]()), None)


def folders(cases):
    """Names of cases, in order: "01_...", "attack/01_...", "measure/01_..." """
    found = [os.path.relpath(path, cases) for pattern in ("[0-9]*", "attack/[0-9]*", "measure/[0-9]*") for path in sorted(glob.glob(os.path.join(cases, pattern)))]
    return [name for name in found if os.path.isdir(os.path.join(cases, name))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--adept", default=os.environ.get("ADEPT"))
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("cases", nargs="?", default=os.environ.get("ADEPT_CASES") or
                        os.path.join(os.environ.get("ADEPT_SHARED_DIR") or os.path.join(SOURCE, "../shared"), "cases"))
    options = parser.parse_args()
    if not options.adept or not os.path.isdir(options.cases):
        print("skipped: no folder of cases: %s" % options.cases if options.adept else "usage: run.py --adept PROGRAM")
        return 77 if options.adept else 2
    options.cases = os.path.abspath(options.cases)
    setting, counts = Setting(options), {"right": 0, "DIFFERS": 0, "skipped": 0, "no check": 0}
    work = tempfile.mkdtemp(prefix="adept-cases-")
    try:
        for number, name in enumerate(folders(options.cases)):
            if options.only not in name:
                continue
            check, needs = CHECKS.get(name.split("_")[0], (None, ()))
            lacks = check and setting.missing(needs)
            began_s = time.monotonic()
            try:
                if not check:
                    verdict, what = "no check", "this script does not know it"
                elif lacks:
                    verdict, what = "skipped", "needs " + lacks
                else:
                    verdict, what = "right", check(Run(setting, os.path.join(options.cases, name), os.path.join(work, str(number))))
            except Skipped as why:
                verdict, what = "skipped", str(why)
            except (AssertionError, KeyError, TypeError, ValueError, IndexError, OSError) as wrong:
                verdict, what = "DIFFERS", "%s%s" % ("" if isinstance(wrong, AssertionError) else type(wrong).__name__ + ": ", wrong)
            counts[verdict] += 1
            print("%-38s %-8s %5.1f s  %s" % (name, verdict, time.monotonic() - began_s, " ".join(str(what).split())[:300]), flush=True)
    finally:
        if options.keep:
            print("kept: " + work)
        else:
            shutil.rmtree(work, ignore_errors=True)
    print(", ".join("%d %s" % (n, verdict) for verdict, n in counts.items()))
    return 1 if counts["DIFFERS"] or counts["no check"] else 0 if counts["right"] else 77


if __name__ == "__main__":
    sys.exit(main())
