"""Every command with each of its allocations failing, and with system calls failing: nothing lost, nothing wrong said.

Usage: check_faults.py --adept PROGRAM --shim fail_allocation.so [--all] [--only NAME,...] [--jobs N] [--for-good]
                       [--calls]
  --all       every allocation; without, one of each place in the code (its innermost five frames)
  --for-good  memory stays out once it is
  --calls     system calls instead, by strace: a full disk, a failing read, too many files, interrupted calls

After a fault a command ends in one of two ways:
  - 0, with the same output and the same files as without the fault;
  - otherwise with one line "adept: ..." on stderr. If an allocation failed, the code is 1 and the line speaks of memory.
    Files that were there are as they were, and no file is left that a good run does not leave.
Exit code 1: something else happened; each distinct place is printed once. 77: strace is missing.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLD = "what was there before\n"
# Name, arguments, files that are written. "@" is the source's folder.
COMMANDS = [
    ("predict", "predict @/tests/cli/data/mlp.profile.json --gpu a100", []),
    ("predict-json", "predict @/tests/cli/data/lengths.profile.json --gpu a100 --json", []),
    ("profile", "profile @/tests/cli/data/mlp.profile.json -o out.json", ["out.json"]),
    ("profile-layers", "profile @/tests/cli/data/mlp.profile.json --by layer", []),
    ("explain", "explain @/tests/cli/data/mlp.profile.json --gpu a100", []),
    ("diff", "diff @/tests/cli/data/mlp.profile.json @/tests/cli/data/lengths.profile.json --gpu a100", []),
    ("sweep", "sweep @/tests/cli/data/mlp.profile.json --gpu a100 --vary batch=1,2 -o out.csv", ["out.csv"]),
    ("sweep-shard", "sweep @/tests/cli/data/mlp.profile.json --gpu a100 --vary batch=1,2 --shard 1/2 -o out.csv", ["out.csv"]),
    ("gpus", "gpus a100 --json", []),
    ("handlers", "handlers", []),
    ("evaluate", "evaluate rows.csv --gpu a100", []),
    ("calibrate", "calibrate rows.csv --gpu a100 -o out.json", ["out.json"]),
    ("compare", "compare a.json b.json", []),
    ("measure", "measure --json -o out.json -- true", ["out.json"]),
    ("simulate", "simulate cluster.json jobs.json --policy fcfs,thrift --json -o out.json", ["out.json"]),
    ("help", "help predict", []),
]


# Where a library that adept calls does not bear it. Each: what the stack shows, and why it stays.
KNOWN = [
    ("print_help", "glibc's argp drops text, or aborts"),
    ("adept_information_solve", "GSL 2.7's SVD does not look at what its own allocation returned"),
    ("adept_nvml_open", "dlopen() fails; a note has what dlerror() says"),
]


class Case:
    """A command in folders of its own."""

    def __init__(self, options, name, words, written):
        self.options, self.name, self.written = options, name, written
        self.words = [w.replace("@", SOURCE) for w in words.split()]
        self.good = None

    def run(self, environment, wrap=()):
        """What happened: exit code, outputs, files."""
        with tempfile.TemporaryDirectory(prefix="adept-faults-") as folder:
            for name in os.listdir(self.options.inputs):
                shutil.copy(os.path.join(self.options.inputs, name), folder)
            for name in self.written:
                with open(os.path.join(folder, name), "w") as file:
                    file.write(OLD)
            before = set(os.listdir(folder))
            try:
                done = subprocess.run([*wrap, self.options.adept, *self.words], cwd=folder, capture_output=True, timeout=300,
                                      stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C", "HOME": folder, **environment})
            except subprocess.TimeoutExpired:
                return {"code": "timeout", "out": b"", "err": "", "files": {}, "new": set()}
            files = {}
            for name in self.written:
                path = os.path.join(folder, name)
                files[name] = open(path, "rb").read() if os.path.exists(path) else None
            return {"code": done.returncode, "out": done.stdout, "err": done.stderr.decode(errors="replace"),
                    "files": files, "new": set(os.listdir(folder)) - before}

    def steady(self, text):
        """Without what differs from run to run: times and folders; and without what is missing: notes say that a sensor cannot be read."""
        text = re.sub(rb'"missing":\s*\[[^]]*\]', b"", text)
        return re.sub(rb"adept-faults-\w+|\d+(\.\d+)?([eE][-+]?\d+)?( ?[munk]?[sWJB]\b)?|\d{4}-\d\d-\d\dT[\d:.]+Z", b"#", text) \
            if self.name in ("measure", "calibrate") else re.sub(rb"adept-faults-\w+", b"#", text)

    def complaint(self, result, is_memory):
        """What is wrong; None: nothing."""
        lines = [line for line in result["err"].splitlines() if line.startswith("adept: ")]
        if result["code"] == "timeout":
            return "hangs"
        if result["code"] < 0 or result["code"] >= 128 and result["code"] != 130:
            return f"ends by signal ({result['code']})"
        if result["code"] == self.good["code"]:
            if self.steady(result["out"]) != self.steady(self.good["out"]):
                return "exit 0 with other output"
            if any(self.steady(result["files"][n] or b"") != self.steady(self.good["files"][n]) for n in self.written):
                return "exit 0 with other files"
            return f"exit 0 and leaves {result['new']}" if result["new"] - self.good["new"] else None
        if any(content != OLD.encode() and self.steady(content or b"") != self.steady(self.good["files"][name])
               for name, content in result["files"].items()):
            return f"exit {result['code']}, and the old file is lost"
        if result["new"] - self.good["new"] - {"out.json.checkpoint"}: # which --resume goes on from
            return f"exit {result['code']}, and leaves {sorted(result['new'])}"
        if not lines:
            return f"exit {result['code']} without a message: {result['err'][:200]!r}"
        if is_memory and (result["code"] != 1 or "memory" not in lines[-1]):
            return f"exit {result['code']}: {lines[-1]}"
        return None


def allocations(case, folder):
    """The numbers of the allocations that are to fail."""
    report = os.path.join(folder, case.name + ".sites")
    environment = {"ADEPT_FAIL_ALLOCATION": "0", "ADEPT_FAIL_ALLOCATION_REPORT": report}
    if not case.options.all:
        environment["ADEPT_FAIL_ALLOCATION_FRAMES"] = "5"
    case.run(environment, ["setarch", "-R", "env", "LD_PRELOAD=" + case.options.shim])
    with open(report, "rb") as file:
        data = file.read()
    if not data:
        raise SystemExit(f"{case.name}: {case.options.shim} saw no allocation")
    sites = struct.unpack(f"<{len(data) // 8}Q", data)
    if case.options.all:
        return range(1, len(sites) + 1), len(sites)
    chosen = []
    for n, site in enumerate(sites, 1):
        if site not in case.options.seen:
            case.options.seen.add(site)
            chosen.append(n)
    return chosen, len(sites)


def stack_of(report):
    """The functions of a stack that are adept's, innermost first."""
    try:
        with open(report) as file:
            lines = file.read().splitlines()
    except OSError:
        return "not reached"
    addresses = [m[1] for m in (re.search(r"/adept\(\+(0x[0-9a-f]+)\)", line) for line in lines) if m]
    return addresses[:8]


def fail_allocation(case, folder, n):
    report = os.path.join(folder, f"{case.name}.{n}")
    environment = {"LD_PRELOAD": case.options.shim, "ADEPT_FAIL_ALLOCATION": str(n), "ADEPT_FAIL_ALLOCATION_REPORT": report}
    if case.options.for_good:
        environment["ADEPT_FAIL_ALLOCATION_ON"] = "1"
    what = case.complaint(case.run(environment), True)
    addresses = stack_of(report)
    if os.path.exists(report):
        os.remove(report)
    return n, what, addresses


# Kinds of faults of system calls: call, what strace injects. Not close(): strace would leave the file open.
CALLS = [
    ("write", "error=ENOSPC"), ("write", "error=EINTR"), ("read", "error=EIO"), ("read", "error=EINTR"),
    ("openat", "error=EMFILE"), ("openat", "error=EINTR"), ("mmap", "error=ENOMEM"), 
    ("fsync", "error=EIO"), ("rename,renameat,renameat2", "error=EACCES"), ("newfstatat,fstat", "error=EIO"),
    ("clone,clone3", "error=EAGAIN"), ("pread64", "error=EIO"), ("linkat,link", "error=EPERM"), ("ftruncate", "error=EFBIG"),
]


def trace(case):
    """The names of a run's calls, and how many of them the dynamic loader makes: it ends by unmapping its cache."""
    with tempfile.NamedTemporaryFile() as log:
        case.run({}, ["strace", "-qq", "-o", log.name])
        with open(log.name, errors="replace") as file:
            calls = [m[1] for m in (re.match(r"(\w+)\(", line) for line in file) if m]
    return calls, calls.index("munmap") + 1 if "munmap" in calls else 0


def numbers_of(calls, n_loader, call):
    """Which calls of this kind, counted from 1, are the program's own."""
    kinds = call.split(",")
    return range(sum(c in kinds for c in calls[:n_loader]) + 1, sum(c in kinds for c in calls) + 1)


def fail_call(case, call, fault, n):
    wrap = ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={n}"]
    return n, case.complaint(case.run({}, wrap), False)


def functions(program, addresses):
    """Names of the functions at these addresses."""
    if not addresses or isinstance(addresses, str):
        return str(addresses)
    done = subprocess.run(["addr2line", "-f", "-s", "-e", program, *addresses], capture_output=True, text=True)
    names = done.stdout.splitlines()
    return " < ".join(f"{names[i]} ({names[i + 1].split(' ')[0]})" for i in range(0, len(names) - 1, 2))


CLUSTER = {"schema_version": 1, "name": "small", "nodes": [
    {"name": "a", "gpu": "a100-sxm-40gb", "gpus": 4, "host_idle_w": 150, "host_busy_w": 100}]}
JOBS = {"schema_version": 1, "name": "small", "templates": [
    {"name": "short", "model": SOURCE + "/tests/cli/data/mlp.profile.json", "gpus": [1, 2], "batches": [64],
     "samples_for_s": {"seconds": 120, "gpu": "a100-sxm-40gb"}}], "arrivals": {"rate_per_s": 0.02, "horizon_s": 600}}


def prepare(adept, folder):
    """Inputs of the commands, small."""
    model = SOURCE + "/tests/cli/data/mlp.profile.json"
    with open(os.path.join(folder, "rows.csv"), "w") as file:
        file.write("model,gpu,precision,mode,batch,step_time_s\n")
        for batch, time_s in ((1, 0.0002), (8, 0.00022), (64, 0.0004), (256, 0.001), (512, 0.0019), (1024, 0.0037)):
            file.write(f"{model},a100,fp32,train,{batch},{time_s}\n")
    for name, content in (("cluster", CLUSTER), ("jobs", JOBS)):
        with open(os.path.join(folder, name + ".json"), "w") as file:
            json.dump(content, file)
    for name, batch in (("a", "64"), ("b", "256")):
        with open(os.path.join(folder, name + ".json"), "w") as file:
            subprocess.run([adept, "predict", model, "--gpu", "a100", "--batch", batch, "--json"], stdout=file, check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--adept", required=True)
    parser.add_argument("--shim")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--for-good", action="store_true")
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.adept, options.shim = (path and os.path.abspath(path) for path in (options.adept, options.shim))
    if options.calls and not shutil.which("strace"):
        print("strace is missing")
        return 77
    options.seen, faults, found, known = set(), 0, collections.OrderedDict(), {}
    with tempfile.TemporaryDirectory(prefix="adept-faults-in-") as options.inputs, tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        prepare(options.adept, options.inputs)
        for name, words, written in COMMANDS:
            if options.only and name not in options.only.split(","):
                continue
            case = Case(options, name, words, written)
            case.good = case.run({})
            if case.good["code"] != 0:
                print(f"{name}: without a fault it ends with {case.good['code']}: {case.good['err'][:300]}")
                return 1
            jobs = []
            if options.calls:
                calls, n_loader = trace(case)
                for call, fault in CALLS:
                    jobs += [(pool.submit(fail_call, case, call, fault, n), f"{call} {fault}")
                             for n in numbers_of(calls, n_loader, call)]
                total = len(jobs)
            else:
                chosen, total = allocations(case, folder)
                jobs = [(pool.submit(fail_allocation, case, folder, n), None) for n in chosen]
            bad = 0
            for job, call in jobs:
                n, what, *stack = job.result()
                if what:
                    place = call or functions(options.adept, stack[0])
                    reason = next((why for name, why in KNOWN if name in place), None)
                    if reason:
                        known[reason] = known.get(reason, 0) + 1
                        continue
                    bad += 1
                    found.setdefault((name, what[:120], place), n)
            faults += len(jobs)
            print(f"{name}: {len(jobs)} faults of {total}, {bad} bad", flush=True)
    for reason, n in known.items():
        print(f"{n} known: {reason}")
    for (name, what, place), n in found.items():
        print(f"{name}, number {n}: {what}\n    {place}")
    print(f"{faults} faults injected, {len(found)} distinct complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
