"""Every command with each of its allocations failing, and with system calls failing: nothing lost, nothing wrong said.

Usage: check_faults.py --adept PROGRAM [--shim SHIM.so] --make-recording PROGRAM [--gpu NAME] [--every K] [--stacks] [--brief]
                       [--only NAME,...] [--jobs N] [--calls] [--ends | --serve | --torch MODEL.pt]
  --shim      what fail_allocation.c was built to; with --calls, fail_call.c
  --gpu NAME  of all predictions, "a100"; without, a small fit, whose file is read by few allocations
  --every K   only every Kth allocation or call
  --stacks    of the places that one stack of functions reaches, only the 1st, 4th, 16th, 64th, ...
  --brief     only every Kth of what is long (BRIEFLY)
  --calls     system calls instead: short reads and writes, a full disk, what may not be written, too many files, interruptions,
              sockets, processes and threads that do not start; with --torch, libtorch's process too
  --ends      nothing fails, but it ends early: signals at any time, standard output full, closed, or without a reader
  --serve     what requests cost a server, which lives on (faulty_server.py); with --calls, its system calls
  --torch     allocations of libtorch's process instead, a sample of 200, while it loads this model

Each allocation fails twice: alone, and with all that follow. The program forks there (walk.h); where it has threads or
children, it is run anew for that fault.

After a fault a command ends in one of two ways:
  - 0, with the same output and the same files as without the fault;
  - otherwise with one line "adept: ..." on stderr. If an allocation failed, the code is 1 and the line speaks of memory.
    Files that were there are as they were, and no file is left that a good run does not leave.
A short read or write is no fault: the result is whole. Exit code 1: something else happened; each distinct place is printed
once.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import glob
import gzip
import json
import os
import random
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import faulty_server

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLD = "what was there before\n"
# Of a recorder, which needs the real /proc, whatever sensors this machine has.
NO_SENSORS = "--devices node"
# Name, arguments, files that are written. "@": the tests' data. "%": the GPU.
COMMANDS = [
    ("predict", "predict @/mlp.profile.json --gpu %", []),
    ("predict-json", "predict @/lengths.profile.json --gpu % --json", []),
    ("profile", "profile @/mlp.profile.json -o out.json", ["out.json"]),
    ("profile-layers", "profile @/mlp.profile.json --by layer", []),
    ("profile-config", "profile adept:deepseek_v3?layers=4&first_k_dense_replace=3 -o out.json", ["out.json"]),
    ("generate", "predict adept:gpt2?layers=1 --mode generate --prompt 9 --tokens 3 --gpu % --json", []),
    ("generate-mix", "predict adept:gpt2?layers=1 --mode generate --batch 2 --mix @/mix.csv --requests 100 --rate 2/s --gpu %", []),
    ("inferences", "predict adept:gpt2?layers=1 --steps 9 --inferences 99 --prompt 9 --tokens 3 --gpu % --label out.md", ["out.md"]),
    ("explain", "explain @/mlp.profile.json --gpu %", []),
    ("predict-layout", "predict adept:gpt2?layers=2 --gpu h100 --gpus 2 --pp 2 --batch 1 --global-batch 4 --by layer --timeline out.json", ["out.json"]),
    ("plan", "plan adept:gpt2?layers=1 --gpu h100 --gpus 2 --batch 1 --global-batch 2 --top 1", []),
    ("diff", "diff @/mlp.profile.json @/lengths.profile.json --gpu %", []),
    ("sweep", "sweep @/mlp.profile.json --gpu % --vary batch=1,2 -o out.csv", ["out.csv"]),
    ("sweep-shard", "sweep @/mlp.profile.json --gpu % --vary batch=1,2 --shard 1/2 -o out.csv", ["out.csv"]),
    ("report", "report @/mlp.profile.json --gpu % -o out.html", ["out.html"]),
    ("gpus", "gpus % --json", []),
    ("handlers", "handlers", []),
    ("evaluate", "evaluate rows.csv --gpu %", []),
    ("evaluate-operator", "evaluate rows.csv --gpu a100", []),
    ("calibrate", "calibrate rows.csv --gpu % --threads 1 -o out.json", ["out.json"]),
    ("compare", "compare a.json b.json", []),
    ("measure", "measure --sysroot machine --json -o out.json -- true", ["out.json"]),
    ("measure-marks", "measure --sysroot machine --json -o out.json -- sh marks.sh", ["out.json"]),
    ("measure-samples", "measure --sysroot machine --samples new.samples --dram-dimms '1x8GB DDR4' --duration 200ms", []),
    ("measure-counters", "measure --sysroot counters --json -o out.json --duration 200ms", ["out.json"]),
    ("measure-read", "measure --read run.samples --json", []),
    ("attribute-record", f"attribute record {NO_SENSORS} --without-meter --source proc --duration 300ms --period 100ms -o new.adept", []),
    ("attribute-fit", "attribute fit node.adept -o out.json", ["out.json"]),
    ("attribute-report", "attribute report node.adept --model model.json --json", []),
    ("attribute-slurm", "attribute --slurm node.adept --sacct jobs.txt --csv", []),
    ("simulate-trace", "simulate cluster.json trace.csv.gz --templates jobs.json --policy fcfs --json -o out.json", ["out.json"]),
    ("simulate", "simulate cluster.json jobs.json --policy fcfs,thrift --json -o out.json", ["out.json"]),
    ("simulate-vary", "simulate jobs.json --policy fcfs --vary cluster=cluster.json --vary cap=2kW,3kW --csv -o out.csv", ["out.csv"]),
    ("help", "help predict", []),
    ("serve", "serve @/mlp.profile.json --socket s --listen 127.0.0.1:0", []), # it begins, and finds that SIGTERM has come
]


# Of the system calls that only these make.
CALLS_ONLY = [
    ("attribute-record-bpf", f"attribute record {NO_SENSORS} --without-meter --source bpf --duration 300ms --period 100ms -o new.adept", []),
    ("attribute-record-command", f"attribute record {NO_SENSORS} --without-meter --source proc --period 100ms -o new.adept -- sleep 0.1", []),
    ("sweep-drive", "sweep --drive --sysroot root --vary governor=performance --period 10ms -o out.csv -- true", ["out.csv"]),
    ("serve-threads", "serve @/mlp.profile.json --socket s --threads 3", []),
    ("attribute-record-taskstats", f"attribute record {NO_SENSORS} --without-meter --source taskstats --duration 300ms --period 100ms -o new.adept", []),
    ("measure-plot", "measure --sysroot machine --plot out.svg --duration 200ms --dram-dimms '1x8GB DDR4'", ["out.svg"]),
    ("calibrate-threads", "calibrate rows.csv --gpu % --granularity model --leave-out none --max-generations 20 --threads 3 -o out.json", ["out.json"]),
    ("simulate-threads", "simulate cluster.json jobs.json --policy fcfs,thrift --threads 3 --json -o out.json", ["out.json"]),
]

# They need libmicrohttpd, root, and a kernel that has what they ask for.
OPTIONAL = ("serve", "serve-threads", "attribute-record-bpf", "attribute-record-taskstats")

# With --brief, only every Kth allocation of what is much as another.
BRIEFLY = {"serve-profile": 13}
# With --calls, only every Kth of what reads all of /proc, or is long.
LONG = {"attribute-record": 97, "attribute-record-bpf": 97, "attribute-record-taskstats": 97, "attribute-record-command": 97,
        "calibrate": 3, "calibrate-threads": 97, "simulate-threads": 97, "torch": 29, "sweep-drive": 1 << 40}
# What they change is not put back by the walk: each fault is a run of its own. Of its reads and writes none: those of /sys
# are whole or change nothing, those of the files that stand in for it are not.
NO_WALK = ("sweep-drive",)
GOVERNOR = "root/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
# Always only every Kth allocation: a server reads all GPUs at its start, one as the other, with 350,000 of them. Its last
# ones, of sockets and threads, are all tried.
MANY = {"serve": 997}
LAST = {"serve": 15}

# What is below the --sysroot of measure-counters: powercap has the package, which the PMU "power" has too, with the DRAM of two.
# The type is that of the kernel's own clock (tests/unit/test_sensor_perf.c), for which fail_call.c opens `count`: 1 mJ a reading.
PMU, ZONE = "sys/bus/event_source/devices/power/", "sys/class/powercap/intel-rapl:0/"
COUNTERS = {PMU + "type": "1\n", PMU + "cpumask": "0,0\n", ZONE + "name": "package-0\n", ZONE + "energy_uj": "1000\n",
            ZONE + "max_energy_range_uj": "262143328850\n", "proc/sys/kernel/perf_event_paranoid": "2\n",
            "count": "".join(chr(n % 128) + chr(n // 128) + 6 * "\0" for n in range(2000)),
            **{f"{PMU}events/energy-{event}{file}": text for event in ("pkg", "ram")
               for file, text in (("", "event=0x00\n"), (".scale", "1e-3\n"), (".unit", "Joules\n"))}}

# What other measuring commands find, instead of what this machine has: a meter of its power, a battery, memory.
MACHINE = {"sys/class/hwmon/hwmon0/name": "power_meter\n", "sys/class/hwmon/hwmon0/power1_average": "345000000\n",
           "sys/class/power_supply/BAT0/type": "Battery\n", "sys/class/power_supply/BAT0/status": "Discharging\n",
           "sys/class/power_supply/BAT0/power_now": "12000000\n",
           "proc/meminfo": "MemTotal: 8000000 kB\nMemFree: 3000000 kB\nMemAvailable: 4000000 kB\n"}

# How --ends ends a command early, so many times.
WAYS = ["full", "closed", "no reader", signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGKILL]
ENDS = 42

# They keep what they measured until the fault, which cannot be had again, and end with the fault's code.
MEASURING = ("measure", "measure-counters", "measure-marks", "measure-samples", "measure-plot", "attribute-record", "attribute-record-bpf",
             "attribute-record-taskstats", "attribute-record-command", "sweep-drive")

# Where a library that adept calls does not bear it. Each: what the stack or the complaint shows, and why it stays.
KNOWN = [
    ("print_help", "glibc's argp drops text, or aborts"),
    ("take (options.c:?)", "the same in a Release build, which has no name of print_help()"),
    ("adept_information_solve", "GSL 2.7's SVD does not look at what its own allocation returned"),
    ("nlopt_vsprintf", "NLopt 2.7 aborts where it has no memory for a message"),
    ("luksan_plis", "NLopt 2.7's L-BFGS goes on with less memory, and may end elsewhere"),
    ("MHD_start_daemon_va", "libmicrohttpd 1.0 closes what it has, and says EBADF, not ENOMEM"),
    ("pthread_create", "it says EAGAIN, not ENOMEM, where it has no memory"),
    ("adept_nvml_open", "dlopen() fails; a note has what dlerror() says"),
    ("thread-local data", "when `adept serve` is over, gnutls behind libmicrohttpd wants a thread's variables to tear down: glibc aborts"),
]


class Case:
    """A command in folders of its own."""

    def __init__(self, options, name, words, written, request=None):
        self.options, self.name, self.written, self.request = options, name, written, request
        self.words = [w.replace("@", SOURCE + "/tests/cli/data").replace("%", options.gpu) for w in shlex.split(words)]
        self.good, self.tried, self.is_server = None, set(), name.startswith("serve")
        brief = MANY.get(name, 1) * ((options.brief and BRIEFLY.get(name, 1)) or 1)
        self.every = options.every * (LONG.get(name, 1) if options.calls else brief)

    @contextlib.contextmanager
    def folder(self):
        """Where it runs: the inputs, and what it is to replace."""
        with tempfile.TemporaryDirectory(prefix="adept-faults-") as folder:
            shutil.copytree(self.options.inputs, folder, dirs_exist_ok=True)
            for name in self.written:
                with open(os.path.join(folder, name), "w") as file:
                    file.write(OLD)
            yield folder

    def start(self, folder, environment, is_closed=False, is_asked=False, **outputs):
        ends_at_once = self.is_server and not is_asked

        def prepare():
            if ends_at_once: # the signal has come, and waits until it is asked for
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
                os.kill(os.getpid(), signal.SIGTERM)
            if is_closed:
                os.close(1)

        path = folder + "/bin:" + os.environ["PATH"]
        return subprocess.Popen([self.options.adept, *self.words], cwd=folder, stdin=subprocess.DEVNULL, **outputs,
                                preexec_fn=prepare if ends_at_once or is_closed else None,
                                env={**os.environ, "LC_ALL": "C", "HOME": folder, "XDG_STATE_HOME": folder, "TMPDIR": folder, "PATH": path,
                                     "ADEPT_NVML_LIBRARY": "no-nvml", **environment})

    def run(self, environment):
        """What happened: exit code, outputs, files."""
        with self.folder() as folder:
            before = set(os.listdir(folder))
            process = self.start(folder, environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                out, err = process.communicate(timeout=900)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                return {"code": "timeout", "out": b"", "err": "", "files": {}, "new": set()}
            files = {}
            for name in self.written:
                path = os.path.join(folder, name)
                files[name] = open(path, "rb").read() if os.path.exists(path) else None
            with open(os.path.join(folder, GOVERNOR)) as file: # what was set is as before, or listed for the next run
                is_lost = file.read() != OLD and not glob.glob(folder + "/adept/restore-*.json")
            return {"code": process.returncode, "out": out, "err": err.decode(errors="replace"),
                    "files": files, "new": set(os.listdir(folder)) - before, "is_lost": is_lost}

    def walk(self, shim):
        """For each fault its number, its kind, the result, and the stack; None: it could not be tried by a fork."""
        with self.folder() as folder, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            before = set(os.listdir(folder))
            read_end, write_end = os.pipe()
            # Functions of libraries are looked up once, and not by every child anew.
            environment = {"LD_PRELOAD": self.options.shim, "LD_BIND_NOW": "1", shim: "walk", shim + "_EVERY": str(self.every),
                           shim + "_REPORT": f"/proc/self/fd/{write_end}", **({"ADEPT_WALK_ALONE": "1"} if self.name in NO_WALK else {}),
                           **({"ADEPT_WALK_STACKS": "1"} if self.options.stacks else {})}
            process = self.start(folder, environment, stdout=out, stderr=err, pass_fds=[write_end])
            os.close(write_end)
            with os.fdopen(read_end, "rb") as records:
                while head := records.read(RECORD.size):
                    number, kind, status, *sizes = RECORD.unpack(head)
                    texts = [records.read(size) for size in sizes]
                    if status == -1:
                        yield number, kind, None, ""
                        continue
                    changed = dict(changes(texts[2]))
                    files = {name: changed.get(name, OLD.encode()) for name in self.written}
                    result = {"code": os.waitstatus_to_exitcode(status), "out": texts[0],
                              "err": texts[1].decode(errors="replace"), "files": files,
                              "new": {name for name in changed if changed[name] is not None} - before}
                    yield number, kind, result, texts[3].decode(errors="replace")
            if process.wait() != self.good["code"]:
                err.seek(0)
                raise SystemExit(f"{self.name}: the walk ended with {process.returncode}: {err.read().decode()[-300:]}")

    def steady(self, text):
        """Without what differs from run to run: times, folders, widths; and without what is missing: notes say that a sensor cannot be read."""
        text = re.sub(rb'"missing":\s*\[[^]]*\]|(?m:^Not measured\n(  .*\n)*)', b"", text)
        if self.name in MEASURING: # columns are as wide as their numbers
            text = re.sub(rb" +", b" ", text)
        text = re.sub(rb"\d+ (min|h) \d\d (s|min)\b", b"0 s", text) # of a fit, whose time counts the faults tried in it
        return re.sub(rb"adept-faults-\w+|\d+(\.\d+)?([eE][-+]?\d+)?( ?[munk]?[sWJB]\b)?|\d{4}-\d\d-\d\dT[\d:.]+Z", b"#", text) \
            if self.name in (*MEASURING, "calibrate", "calibrate-threads") else re.sub(rb"adept-faults-\w+", b"#", text)

    def complaint_of_sensors(self, text):
        """A sensor that is neither measured nor missing by its name or its source's, is measured twice, or counts more than there was."""
        measured = json.loads(text or '{"sensors": [], "missing": []}')
        names = [sensor["name"] for sensor in measured["sensors"]]
        missing = [note["name"] for note in measured["missing"]]
        lost = [good["name"] for good in json.loads(self.good["files"]["out.json"])["sensors"]
                if good["name"] not in names + missing and not any(name in good["source"] for name in missing)]
        much = [sensor["name"] for sensor in measured["sensors"] if (sensor["energy_j"] or 0) > 1e-3 * sensor["readings"]]
        if self.name == "measure-counters" and self.options.calls and much: # without fail_call.c the kernel counts
            return f"exit 0, and too much of {much}"
        regions = [[region["name"] for region in of.get("regions", [])] for of in (measured, json.loads(self.good["files"]["out.json"]))]
        return f"exit 0, and not a word of {lost}" if lost else "exit 0, and a sensor twice" if len(set(names)) < len(names) else \
            "exit 0 with other regions" if regions[0] != regions[1] else None

    def complaint(self, result, is_memory):
        """What is wrong; None: nothing."""
        lines = [line for line in result["err"].splitlines() if line.startswith("adept: ")]
        if result["code"] == "timeout":
            return "hangs"
        if result["code"] < 0 or result["code"] >= 128 and result["code"] != 130:
            return f"ends by signal ({result['code']})"
        if self.is_server and "cannot allocate memory for thread-local data: ABORT" in result["err"]: # only gnutls has such
            return "glibc has no thread-local data"
        if result.get("is_lost"):
            return f"exit {result['code']}, and the setting is lost: {result['err'][-200:]!r}"
        if result["code"] == self.good["code"]:
            if self.name in ("measure", "measure-marks", "measure-counters"):
                return self.complaint_of_sensors(result["files"]["out.json"])
            if self.name in ("measure-samples", "measure-plot"): # what is not measured, they list: by this name, or by its source's
                lost = [name for name in re.findall(rb"(?m)^([a-z]+(?:-[a-z]+)*-\d+) ", self.good["out"])
                        if not re.search(name + {b"battery-0": b"|power_supply|BAT0", b"power-meter-0": b"|hwmon"}.get(name, b""), result["out"])]
                return f"exit 0, and not a word of {lost}" if lost else None
            if self.name in MEASURING and any(re.search(rb"out of memory|Cannot allocate memory|gone after |No sensor answered", text or b"")
                                              for text in (result["out"], *result["files"].values())):
                return None # a sensor was lost, and the result says so
            if self.steady(result["out"]) != self.steady(self.good["out"]):
                return "exit 0 with other output"
            if any(self.steady(result["files"][n] or b"") != self.steady(self.good["files"][n]) for n in self.written):
                return "exit 0 with other files"
            return f"exit 0 and leaves {result['new']}" if result["new"] - self.good["new"] else None
        if self.name not in MEASURING and any(
                content != OLD.encode() and self.steady(content or b"") != self.steady(self.good["files"][name])
                for name, content in result["files"].items()):
            return f"exit {result['code']}, and the old file is lost"
        if result["new"] - self.good["new"] - {"out.json.checkpoint"}: # which --resume goes on from
            return f"exit {result['code']}, and leaves {sorted(result['new'])}"
        if not lines:
            return f"exit {result['code']} without a message: {result['err'][:200]!r}"
        if is_memory and (result["code"] != 1 or "memory" not in lines[-1]):
            return f"exit {result['code']}: {lines[-1]}"
        return None


RECORD = struct.Struct("<qiiIIII") # of walk.h


def changes(data):
    """Names and contents of files; None: gone."""
    at = 0
    while at < len(data):
        end = data.index(0, at)
        size, = struct.unpack_from("<q", data, end + 1)
        yield data[at:end].decode(), data[end + 9:end + 9 + size] if size >= 0 else None
        at = end + 9 + max(size, 0)


def stack_of(text):
    """Addresses of a stack that are adept's, innermost first, after the function of a library that they called."""
    frames = [(m[1], m[2]) for m in (re.search(r"/([^/]+)\((\w*\+0x[0-9a-f]+)\)", line) for line in text.splitlines()) if m]
    own = [address[1:] for name, address in frames if name == "adept"]
    called = [address.split("+")[0] for name, address in frames[:10] if name.startswith("lib") and not name.startswith("libfail_") and not address.startswith("+")]
    return called[:3], own[:8]


def walked(case, shim, complaint):
    """How many faults there are, those to be tried by runs of their own, and the complaints of the others with their places."""
    faults, alone, bad = 0, [], []
    for n, kind, result, stack in case.walk(shim):
        faults += 1
        case.tried.add(kind)
        if result is None:
            alone.append((n, kind))
        elif what := complaint(result, kind):
            bad.append((n, kind, what, stack_of(stack)))
    return faults, alone, bad


def failing(case, n, kind, report):
    """The environment of a run whose nth allocation fails; with a kind, all that follow as well."""
    environment = {"LD_PRELOAD": case.options.shim, "ADEPT_FAIL_ALLOCATION": str(n), "ADEPT_FAIL_ALLOCATION_REPORT": report}
    return {**environment, "ADEPT_FAIL_ALLOCATION_ON": "1"} if kind else environment


def fail_allocation(case, n, kind):
    """One allocation failing in a run of its own: what is wrong, and the stack."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "stack")
        what = case.complaint(case.run(failing(case, n, kind, report)), True)
        return what, stack_of(open(report).read() if os.path.exists(report) else "")


def run_by_order(case, variable, at, kind, more):
    """What happened where the shim had this order, and how many such places there were until the end."""
    with tempfile.NamedTemporaryFile() as order:
        order.write(faulty_server.ORDER.pack(at, kind, 0))
        order.flush()
        result = case.run({"LD_PRELOAD": case.options.shim, variable: "order", variable + "_REPORT": "/dev/null", "ADEPT_FAIL_ORDER": order.name, **more})
        order.seek(0)
        return result, faulty_server.ORDER.unpack(order.read())[2]


def fail_allocations(case, pool):
    """Faults, how many of them by runs of their own, and the complaints with their places."""
    faults, alone, bad = walked(case, "ADEPT_FAIL_ALLOCATION", lambda result, kind: case.complaint(result, True))
    if case.name in LAST:
        _, n = run_by_order(case, "ADEPT_FAIL_ALLOCATION", 1 << 60, 0, {})
        alone += [(n - i, kind) for i in range(LAST[case.name]) for kind in (0, 1)]
        faults += 2 * LAST[case.name]
    for n, kind, job in [(n, kind, pool.submit(fail_allocation, case, n, kind)) for n, kind in alone]:
        what, stack = job.result()
        if what:
            bad.append((n, kind, what, stack))
    return faults, len(alone), bad


def kinds_of_calls():
    """The rows of fail_call.c: call, what is wrong with it, and whether it goes on."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "fail_call.c")) as file:
        return re.findall(r"\{SYS_(\w+), (\w+), (true|false)\}", file.read())


def complaint_of_call(case, result, kind):
    call, error, _ = kind
    if error == "SHORT" and result["code"] != case.good["code"]:
        return f"exit {result['code']}, though nothing failed: {result['err'][-200:]!r}"
    if call in ("clone", "clone3", "vfork") and result["code"] != case.good["code"] and not re.search("cannot start|memory", result["err"]):
        return f"exit {result['code']}, and not what could not be started: {result['err'][-200:]!r}"
    if call == "newfstatat" and case.is_server: # a file that it cannot see to be its socket stays: the next one replaces it
        result["new"].discard("s")
    return case.complaint(result, False)


def fail_threads_of_child(case, kinds):
    """libtorch's process starts threads: for each that fails its number, kind, and what is wrong. libpthreadpool waits for ever
    for its own, until adept ends it."""
    kind = kinds.index(("clone3", "EAGAIN", "false"))
    for n in range(1, 100):
        result, seen = run_by_order(case, "ADEPT_FAIL_CALL", n, kind, {"ADEPT_FAIL_CALL_CHILD": "1"})
        if seen < n:
            return
        yield n, kind, None if "libtorch did not finish loading" in result["err"] else complaint_of_call(case, result, kinds[kind])


def fail_calls(case, pool):
    """Faults of system calls, as fail_allocations()."""
    kinds = kinds_of_calls()
    faults, alone, bad = walked(case, "ADEPT_FAIL_CALL", lambda result, kind: complaint_of_call(case, result, kinds[kind]))
    case.options.tried |= case.tried
    runs = [(n, kind, {"ADEPT_FAIL_CALL": str(n), "ADEPT_FAIL_CALL_KIND": str(kind)}) for n, kind in alone]
    if case.name not in NO_WALK:
        runs.append((0, kinds.index(("read", "SHORT", "true")), {"ADEPT_FAIL_CALL": "short"}))
    for n, kind, job in [(n, kind, pool.submit(case.run, {"LD_PRELOAD": case.options.shim, **more})) for n, kind, more in runs]:
        what = complaint_of_call(case, job.result(), kinds[kind])
        if what:
            bad.append((n, kind, what, ([], [])))
    of_child = list(fail_threads_of_child(case, kinds)) if case.name == "torch" else []
    bad += [(n, kind, "in libtorch's process: " + what, ([], [])) for n, kind, what in of_child if what]
    named = [(n, kinds[kind][2] == "true", f"{kinds[kind][0]} {kinds[kind][1]}: {what}", stack) for n, kind, what, stack in bad]
    return faults + len(runs) - len(alone) + len(of_child), len(runs) + len(of_child), named


def functions(program, called, addresses):
    """Names of the functions of a stack."""
    done = subprocess.run(["addr2line", "-f", "-s", "-e", program, *addresses], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    names = done.stdout.splitlines()
    return " < ".join(called + [f"{names[i]} ({names[i + 1].split(' ')[0]})" for i in range(0, len(names) - 1, 2)])


def inputs(options):
    """Small ones of the commands; without --gpu, a small fit as well."""
    def adept(*words, **more):
        subprocess.run([options.adept, *words], cwd=options.inputs, check=True, stderr=subprocess.DEVNULL,
                       **{"stdout": subprocess.DEVNULL, **more})

    def write(name, content):
        with open(os.path.join(options.inputs, name), "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))

    model = SOURCE + "/tests/cli/data/mlp.profile.json"
    rows = ((1, 0.0002), (8, 0.00022), (64, 0.0004), (256, 0.001), (512, 0.0019), (1024, 0.0037))
    write("rows.csv", "model,gpu,precision,mode,batch_size,step_time_s\n" +
          "".join(f"{model},a100,fp32,train,{batch},{time_s}\n" for batch, time_s in rows))
    if options.gpu == "fitted.json":
        adept("calibrate", "rows.csv", "--gpu", "a100", "--granularity", "model", "-o", "fitted.json")
    write("cluster.json", {"schema_version": 1, "name": "small", "nodes": [
        {"name": "a", "gpu": options.gpu, "gpus": 4, "host_idle_w": 150, "host_busy_w": 100}]})
    write("jobs.json", {"schema_version": 1, "name": "small", "arrivals": {"rate_per_s": 0.02, "horizon_s": 600}, "templates": [
        {"name": "short", "model": model, "gpus": [1, 2], "batches": [64], "samples_for_s": {"seconds": 120, "gpu": options.gpu}}]})
    with gzip.open(os.path.join(options.inputs, "trace.csv.gz"), "wt") as file:
        file.write("submit_s,gpus,gpu_seconds\n1,1,20\n5,2,30\n")
    write("jobs.txt", "JobID|JobIDRaw|User|Account|State|Partition|Start|End|ElapsedRaw|AllocTRES|NodeList|AdminComment\n"
          "2|2|ada|lab|COMPLETED|cpu|1000|1020|20|cpu=4,node=1|n1|\n")
    for name, batch in (("a", "64"), ("b", "256")):
        with open(os.path.join(options.inputs, name + ".json"), "w") as file:
            adept("predict", model, "--gpu", options.gpu, "--batch", batch, "--json", stdout=file)
    subprocess.run([options.make_recording, "node.adept", "3", "100", "0.01", "1.5", "3"], cwd=options.inputs, check=True,
                   stdout=subprocess.DEVNULL)
    adept("attribute", "fit", "node.adept", "-o", "model.json")
    write("marks.sh", "for what in begin end; do echo $(date +%s.%N) $$ $what step >>$ADEPT_MARKS; done\n")
    for root, files in (("machine", MACHINE), ("counters", COUNTERS)):
        for name, content in files.items():
            os.makedirs(os.path.dirname(os.path.join(options.inputs, root, name)), exist_ok=True)
            write(os.path.join(root, name), content)
    adept("measure", "--sysroot", "machine", "--samples", "run.samples", "--dram-dimms", "1x8GB DDR4", "--duration", "200ms")
    os.makedirs(os.path.dirname(os.path.join(options.inputs, GOVERNOR)))
    write(GOVERNOR, OLD)
    write(os.path.dirname(GOVERNOR) + "/scaling_available_governors", "performance powersave\n")
    os.mkdir(os.path.join(options.inputs, "bin")) # a gnuplot that takes no time
    write("bin/gnuplot", "#!/bin/sh\ncat >/dev/null\necho '<svg></svg>'\n")
    os.chmod(os.path.join(options.inputs, "bin/gnuplot"), 0o755)


def fail_serve(case, pool):
    """Every Kth allocation, or each system call of each kind, that a request costs a server."""
    kinds, is_call = kinds_of_calls(), case.options.calls
    shim = "ADEPT_FAIL_CALL" if is_call else "ADEPT_FAIL_ALLOCATION"
    codes = collections.Counter()

    def judge(answer, good, kind):
        error = kinds[kind][1] if is_call else "ENOMEM"
        what = "whole" if answer == good else "503" if faulty_server.is_without_memory(answer) else answer if isinstance(answer, str) else "in part"
        codes[what] += 1
        if what == "whole" or (error not in ("SHORT", "EINTR") and what == "closes the connection") or \
                (error == "ENOMEM" and (what == "503" or faulty_server.is_list_of_both(answer, good))):
            return None
        return str(answer)
    orders = [(kind, 1) for kind in range(len(kinds))] if is_call else [(0, case.every), (1, case.every)]
    with case.folder() as folder, open(SOURCE + "/tests/cli/data/mlp.profile.json") as profile:
        def start(folder, environment, **outputs):
            return case.start(folder, {**environment, "LD_PRELOAD": case.options.shim}, is_asked=True, **outputs)
        server = faulty_server.Server(folder, start, shim)
        faults, bad = faulty_server.walk(server, case.request, profile.read(), orders, judge)
    print(f"{case.name}: " + ", ".join(f"{n} times {what}" for what, n in codes.items()))
    named = [(n, kinds[kind][2] == "true", f"{kinds[kind][0]} {kinds[kind][1]}: {what}", stack) if is_call else (n, kind, what, stack) for n, kind, what, stack in bad]
    return faults, 0, [(n, kind, what, stack_of(stack)) for n, kind, what, stack in named]


def end(case, n):
    """What is wrong after one way to end it early: nobody takes its output, or a signal comes at some time."""
    way, code, share = WAYS[n % len(WAYS)], None, random.Random(n).random()
    with case.folder() as folder:
        before = set(os.listdir(folder))
        outputs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        read_end, no_reader = os.pipe()
        os.close(read_end)
        if way == "full":
            outputs["stdout"] = open("/dev/full", "w")
        elif way == "no reader":
            outputs["stdout"] = no_reader
        process = case.start(folder, {}, is_closed=way == "closed", **outputs)
        os.close(no_reader)
        if isinstance(way, signal.Signals):
            time.sleep(share * case.seconds)
            process.send_signal(way)
            code = {signal.SIGINT: 130, signal.SIGTERM: 143}.get(way, -way)
        try:
            out, err = process.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            process.kill()
            return str(way), "hangs"
        files = {name: open(os.path.join(folder, name), "rb").read() for name in case.written}
        result = {"code": process.returncode, "out": out or b"", "err": err.decode(errors="replace"), "files": files,
                  "new": set(os.listdir(folder)) - before}
    if way == signal.SIGKILL: # the next run removes them
        result["new"] = {name for name in result["new"] if not name.endswith(".tmp") and not name.startswith("adept-marks-") and name != "s"}
    if code and case.name == "calibrate" and result["code"] == code: # the best so far is a result
        result["files"] = {}
    if result["code"] in (code, -way if code else -signal.SIGPIPE): # as it says, or before it asked for signals
        result["code"], result["err"] = 1, "adept: ended"
    if way == "no reader" and result["code"] == 1 and not result["err"]: # what `head` leaves behind is nobody's news
        result["err"] = "adept: ended"
    if code is None and result["code"] == 0: # it had nothing to print, or closed is as good as /dev/null to it
        return (str(way), "exit 0 and lost its output") if case.good["out"] else (str(way), None)
    return str(way), case.complaint(result, False)


def end_early(case, pool):
    started = time.monotonic()
    case.run({})
    case.seconds = time.monotonic() - started
    jobs = [(n, pool.submit(end, case, n)) for n in range(ENDS)]
    results = [(n, *job.result()) for n, job in jobs]
    return ENDS, ENDS, [(n, False, f"{way}: {what}", ([], [])) for n, way, what in results if what]


def fail_torch(case, pool):
    """A sample of the allocations of libtorch's process: near one another at first."""
    numbers = sorted({int(1.07 ** k) + k for k in range(200)})
    bad = []

    def run(n, kind):
        result = case.run({**failing(case, n, kind, "/dev/null"), "ADEPT_FAIL_ALLOCATION_CHILD": "1"})
        is_said = result["code"] == 3 and re.search("--memory-limit|libtorch (crashed|ended) while loading", result["err"])
        return None if is_said else case.complaint(result, True), result["code"]
    jobs = [(n, n % 2, pool.submit(run, n, n % 2)) for n in numbers]
    codes = collections.Counter()
    for n, kind, job in jobs:
        what, code = job.result()
        codes[code] += 1
        if what:
            bad.append((n, kind, what, ([], [])))
    print("exit codes: " + ", ".join(f"{n} times {code}" for code, n in codes.items()))
    return len(jobs), len(jobs), bad


def cases_of(options):
    if options.serve:
        # libmicrohttpd without memory for its poll() looks at an answer only when a connection times out
        return [Case(options, request[0], "serve @/mlp.profile.json --socket s --cache 1 --timeout 1", [], request) for request in faulty_server.REQUESTS]
    torch = [("torch", f"profile {shlex.quote(os.path.abspath(options.torch))} -o out.json", ["out.json"])] if options.torch else []
    return [Case(options, *c) for c in (COMMANDS + CALLS_ONLY + torch if options.calls else torch or COMMANDS)]


def check(case, pool):
    without_fault = {"LD_PRELOAD": case.options.shim, "ADEPT_FAIL_CALL": "0"} if case.options.calls else {}
    case.good = {"code": 0} if case.options.serve else case.run(without_fault)
    if case.good["code"] != 0 and case.name in OPTIONAL:
        print(f"{case.name}: not here: {case.good['err'].splitlines()[-1]}")
        return 0, 0, []
    if case.good["code"] != 0:
        raise SystemExit(f"{case.name}: without a fault it ends with {case.good['code']}: {case.good['err'][:300]}")
    if case.options.serve:
        return fail_serve(case, pool)
    if case.options.ends:
        return end_early(case, pool)
    if case.options.torch and not case.options.calls:
        return fail_torch(case, pool)
    return (fail_calls if case.options.calls else fail_allocations)(case, pool)


def timed(case, pool):
    started = time.monotonic()
    return (*check(case, pool), time.monotonic() - started)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--adept", required=True)
    parser.add_argument("--shim", default="")
    parser.add_argument("--make-recording", required=True)
    parser.add_argument("--gpu", default="fitted.json")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--stacks", action="store_true")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--ends", action="store_true")
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--torch", metavar="MODEL.pt")
    parser.add_argument("--only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    for name in ("adept", "shim", "make_recording"):
        setattr(options, name, getattr(options, name) and os.path.abspath(getattr(options, name)))
    options.tried = set() # of --calls: rows of fail_call.c that were reached
    total, found, known = 0, collections.OrderedDict(), collections.Counter()
    walkers = options.jobs * (4 if options.serve else 1) # servers without memory wait for their timeouts
    with tempfile.TemporaryDirectory(prefix="adept-faults-in-") as options.inputs, \
            concurrent.futures.ThreadPoolExecutor(walkers) as walks, concurrent.futures.ThreadPoolExecutor(3 * options.jobs) as pool: # many of the runs sleep
        inputs(options)
        cases = [case for case in cases_of(options) if not options.only or case.name in options.only.split(",")]
        for case, walk in [(case, walks.submit(timed, case, pool)) for case in cases]:
            faults, alone, complaints, seconds = walk.result()
            bad = 0
            for n, kind, what, stack in complaints:
                place = functions(options.adept, *stack)
                reason = next((why for name, why in KNOWN if name in place + what), None)
                if reason:
                    known[reason] += 1
                else:
                    bad += 1
                    found.setdefault((case.name, what[:300], place), (n, kind))
            total += faults
            print(f"{case.name}: {faults} faults, {alone} by runs of their own, {bad} bad, {seconds:.0f} s", flush=True)
    if options.calls and not options.serve and not options.only:
        never = [f"{call} {error}" for i, (call, error, _) in enumerate(kinds_of_calls()) if i not in options.tried]
        print("never reached: " + ", ".join(never))
    for reason, n in known.items():
        print(f"{n} known: {reason}")
    for (name, what, place), (n, kind) in found.items():
        print(f"{name}, number {n}{' and all that follow' if kind else ''}: {what}\n    {place}")
    print(f"{total} faults injected, {len(found)} distinct complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
