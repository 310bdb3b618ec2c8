"""Run the commands that README.md and docs/*.md show, as a stranger types them, and hold what they print against what the text shows.

usage: check_docs.py [--all] [--update] [--keep FOLDER] [DOCUMENT]...     environment: ADEPT (the program), ADEPT_LIBRARY
  --all    also what installs and builds, in a clone: for a fresh Debian, where check_readme.sh calls it; fails where a command
           does not run for want of what install_deps.sh installs
  --update put what is printed in the place of what differs; what cannot be placed, and numbers in sentences, are left to people
  --keep   make the documents' folders there, and leave them

Each document has a folder of its own with the source, and the models, profiles and measurements that its examples name (EXAMPLES).
In a block of code, what begins with "$ " or with the name of a program is a command; other lines after it are what it prints, as are
those of a block in fences behind it. "..." stands for what is left out, in a line or as a line. Numbers must be equal, to TOLERANCE;
VARIES is what another machine may print. A comment before a block says more:
  <!-- run: COMMAND -->   the block is what this prints     <!-- file: NAME -->   the block is this file
Blocks of Python run as well, where there is PyTorch. NOT_RUN lists what does not run, and why.
"""
import difflib
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

PROGRAMS = (r"(adept|build/tools/adept|cmake|ctest|cc|sh|python3?|pip|sudo|apt|docker|srun|sbatch|scontrol|curl|export|mkdir|for|cd"
            r"|DEB\w+=.*|\(cd)\s")

BUILDS = r"tools/(install_deps|demo)\.sh|\bcmake -|\bcpack"

# What a command needs (a test of READY, "all" for --all, or "never"), and the reason why it does not run without.
NOT_RUN = [
    (r"\b(MODEL|PROFILE|OUTDIR|BUILD|ROOT|ROWS)\b|\.\.\.$", "never", "a synopsis"),
    (r"campaign\.sh|measure_step\.py", "never", "measures a GPU; cli.test_campaign and cli.test_measure_step try it"),
    (r"^sh tools/test\.sh", "never", "builds and runs all tests; check_readme.sh runs it in fresh systems"),
    (r"build-no-torch", "never", "builds anew; check_readme.sh runs it in fresh systems"),
    (r"check_all\.sh|check_slurm\.sh", "never", "is such a check itself"),
    (r"--drive", "never", "sets the machine's power limits and clocks"),
    (r"^adept bench", "never", "takes minutes; cli.test_bench tries it"),
    (r"--watch |fleet\.json", "never", "waits for rows; cli.test_calibrate_watch and cli.test_serve try it"),
    (r"--counters", "never", "needs a processor with counters; unit.test_counters tries it"),
    (r"^docker|^srun|^sbatch|^scontrol|SLURM_ARRAY_TASK_ID|part\$k", "never", "needs containers or a Slurm; tests/slurm tries the plugin"),
    (r"--resume", "never", "needs a fit that was interrupted; cli.test_calibrate tries it"),
    (r"^sed .*/etc|systemctl", "never", "changes the system"),
    (r"adept measure (--repeat 5 )?(--json -o \w+\.json )?-- python3 train\.py|after\.json", "never",
     "an illustration, says the text: needs sensors"),
    (r"^pip install", "never", "needs the network; python.wheel builds and tries the wheel"),
    (r"python3 -c 'import torch; print", "never", "needs PyTorch of pip"),
    (r"echo .*ADEPT_MARKS|^read now", "never", "a part of a script"),
    (BUILDS.replace("|demo", ""), "all", "installs or builds"),
    (r"adept attribute|sacct", "never", "needs records of a node; tests/cli/test_attribute_*.sh try it"),
    (r"\.pt2|steps\.csv", "torch2", "needs PyTorch 2.1, for the .pt2"),
    (r"torch\.jit\.trace|\blinear\.pt\b", "torch", "needs PyTorch, also for linear.pt"),
    (r"--plot\b", "gnuplot", "needs gnuplot"),
    (r"^curl", "curl", "needs curl"),
    (r"adept serve|localhost:8787", "port", "the port 8787 is in use"),
]
# What install_deps.sh installs: in a fresh system with all package sets nothing is left out for want of it.
INSTALLED = ("torch", "torchvision", "gnuplot", "curl", "port")
# Blocks of Python likewise.
NOT_RUN_PYTHON = [
    (r'torch\.device\("meta"\)|torch\.export', "torch2", "needs PyTorch 2.1"),
    (r"torchvision", "torchvision", "needs torchvision"),
    (r"", "torch", "needs PyTorch"),
]
# Without --all, only the last command of what installs and builds before.
INSTEAD = {"sh tools/demo.sh": "$(sed -n 's/^exec //p' tools/demo.sh)"}
# Exit codes that a document shows otherwise than by a message of adept.
EXIT_CODES = [(r"--fail-above|--goal|--within ", (0, 7)), (r"--within-time", (0, 7))]

# Examples' files: a pattern, and the model that is copied, or that `adept profile` makes it of. {0} is the first group.
EXAMPLES = [
    (r"(?:my_)?model\.pt|new\.pt", "data/models/resnet50.pt"),
    (r"old\.pt", "data/models/vgg16.pt"),
    (r"my\.pt", "tests/cli/data/unsupported.pt"),
    (r"([\w.]+)\.pt", "data/models/{0}.pt"),
    (r"vit(?:\.profile)?\.json", "data/models/vit_b_16.pt"),
    (r"([\w.]+)\.profile\.json", "data/models/{0}.pt"),
]


def steps_csv(gpu):
    """Measured steps, made up; columns that are left empty mean the defaults"""
    rows = [("resnet50", 64, 0.0166), ("resnet50", 256, 0.0174), ("neumf", 1024, 0.0024), ("neumf", 4096, 0.0026)]
    left = "gpus,precision,mode,optimizer,optimizer_impl,grad_accum,attention,memory_format,execution,power_limit_w,avg_power_w"
    return "model,batch_size,gpu,step_time_s,%s\n" % left + "".join(
        "%s,%d,%s,%g%s\n" % (model, batch, gpu, time_s, "," * (left.count(",") + 1)) for model, batch, time_s in rows)


def kernels_csv():
    """Measured products, made up: 12 TFLOP/s"""
    sizes = [(b, m, n, k) for b in (1, 8, 96) for m in (512, 1024, 2048) for n in (512, 1024, 4096) for k in (512, 1024, 4096)]
    rows = ["bmm,%d,%d,%d,%d,%.4f\n" % (b, m, n, k, 0.02 + b * m * n * k / 6e9) for b, m, n, k in sizes]
    return "op,B,M,N,K,latency_ms\n" + "".join(rows)


def layouts_csv(source):
    """Measured steps of a small Llama on eight boards, made up"""
    rows = [("0.61", "tp 8"), ("0.55", "tp 4"), ("0.52", "tp 2")]
    return ("model,gpu,gpus,precision,step_time_s,peak_memory_bytes,source,stack,layers,hidden,heads,kv_heads,ffn,vocab,seq_length,micro_batch,"
            "global_batch,tp\n") + "".join("llama_1b,a100-sxm-80gb,8,bf16,%s,3e10,%s,torch,16,2048,32,8,8192,128256,2048,1,32,%s\n" %
                                          (time_s, source, tp.split()[1]) for time_s, tp in rows)


TEXTS = {
    "layouts.csv": layouts_csv("ours"), "others.csv": layouts_csv("theirs"),
    "runs.csv": steps_csv(""), "other-runs.csv": steps_csv(""), "v100.csv": steps_csv("v100-pcie-32gb"), "t4.csv": steps_csv("t4"),
    "k.csv": kernels_csv(), "v100-pcie-32gb.csv": kernels_csv(), "k/t4.csv": kernels_csv(),
    "nccl.csv": "op,gpus,size_bytes,time_us\nall_reduce,8,1048576,60\nall_reduce,8,16777216,140\nall_reduce,8,268435456,1088\n",
    "near.csv": "model,power_limit,step_time_s\nneumf,200,1\n",
    "bad.csv": "model,batch_size,step_time_s\nneumf,1024,abc\n",
    "s.csv": "model,batch_size,step_time_s,avg_power_w\nneumf,1024,0.0024,450\n",
    "old.profile.json": '{"schema_version": 2, "kind": "adept-profile"}',
}

TOLERANCE = 1e-9      # of a number with more than six digits; a shorter one is equal
FIT_TOLERANCE = 0.05  # of what a fit prints: its search ends elsewhere with another GSL, NLopt or processor
FITS = r"adept (calibrate|evaluate)|cpu\.json"
VARIES = [r"generations in [\d.]+ m?s", r"adept \d+\.\d+\.\d+"]

# What blocks of Python take for given: what a reader has.
READER = """
import os, shutil, torch, adept
os.makedirs("models", exist_ok=True)
for name in ("resnet50", "neumf"):
    shutil.copy("data/models/%s.pt" % name, "models")
if hasattr(torch, "export"):
    mlp = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 10))
    adept.export(mlp, torch.zeros(8, 1024), "mlp.pt2")
class MyModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = torch.nn.Conv2d(3, 8, 3), torch.nn.Linear(8, 10)
    def forward(self, x):
        return self.head(self.conv(x).relu().mean((2, 3)))
model, example = MyModel().train(), torch.zeros(2, 3, 224, 224)
x, r, loader = example, adept.predict("data/models/resnet50.pt", gpu="v100-pcie-32gb"), range(8)
"""
DRIVER = """
import json, os, sys, traceback
asked, answers, names = sys.stdin, os.fdopen(os.dup(1), "w"), {}
os.dup2(2, 1)
for line in asked:
    try:
        exec(compile(json.loads(line), "block", "exec"), names)
        answer = ""
    except BaseException:
        answer = traceback.format_exc()
    print(json.dumps(answer), file=answers, flush=True)
"""


def first_that(pythons, code):
    for python in pythons:
        if python and subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0:
            return python
    return None


def port_is_free():
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", 8787)) != 0


class Machine:
    """What is there to run commands with; asked once each."""

    def __init__(self, everything):
        self.program = os.path.abspath(os.environ["ADEPT"])
        self.python = first_that([sys.executable, "/usr/bin/python3"], "import torch")
        self.profiles = {} # model: the profile made of it
        self.done = {}     # command: exit code, what it printed, the file that it wrote
        self.known = {"all": everything, "never": False, "torch": self.python is not None}

    def has(self, what):
        if what not in self.known:
            self.known[what] = {
                "torch2": lambda: bool(first_that([self.python], "import torch; torch.export.Dim; torch.device('meta').__enter__")),
                "torchvision": lambda: bool(first_that([self.python], "import torchvision")),
                "port": port_is_free,
            }.get(what, lambda: shutil.which(what) is not None)()
        return self.known[what]

    def missing(self, table, text):
        """The reason why this does not run here, or None"""
        for pattern, need, reason in table:
            if re.search(pattern, text, re.M) and not self.has(need):
                return reason
        return None


# Documents.

class Line(str):
    """A line of a block, and its place in the document"""
    at = 0


class Block:
    def __init__(self, line, language, lines, note):
        self.line, self.language, self.lines, self.note = line, language, [Line(text) for text in lines], note
        for i, text in enumerate(self.lines):
            text.at = line - 1 + i + (language != "indent")


def blocks_of(text):
    """The blocks of code of a document, and its headings as blocks without lines"""
    found, lines, at, last = [], text.split("\n"), 0, ""
    while at < len(lines):
        line, begin = lines[at], at
        if re.match(r" *```", line):
            indent = len(line) - len(line.lstrip())
            end = next((i for i in range(at + 1, len(lines)) if lines[i].strip() == "```"), len(lines))
            found.append(Block(begin + 1, line.strip()[3:] or "fence", [part[indent:] for part in lines[at + 1:end]], last))
            at = end
        elif re.match(r" {4,}\S", line) and (at == 0 or not lines[at - 1].strip()):
            while at < len(lines) and (not lines[at].strip() or lines[at].startswith("    ")):
                at += 1
            found.append(Block(begin + 1, "indent", textwrap.dedent("\n".join(lines[begin:at])).rstrip().split("\n"), last))
            at -= 1
        elif line.startswith("#"):
            found.append(Block(begin + 1, "heading", [], ""))
        if lines[min(at, len(lines) - 1)].strip():
            last = lines[min(at, len(lines) - 1)].strip()
        at += 1
    return found


def is_open(command):
    """Does the command go on in the next line?"""
    bare = re.sub(r"(^|\s)#\s.*$", "", command, flags=re.M)
    single = re.sub(r'"[^"]*"', "", bare).count("'")
    return bare.rstrip().endswith("\\") or single % 2 == 1


def steps_of(text):
    """(line, kind, what, shown) in the order of the document. kind: run, prints, python, file, heading."""
    steps = []
    for block in blocks_of(text):
        note = re.match(r"<!-- (run|file): (.*) -->$", block.note)
        if block.language == "heading":
            steps.append([block.line, "heading", "", []])
        elif note and note[1] == "file":
            steps.append([block.line, "file", note[2], block.lines])
        elif note:
            steps.append([block.line, "run", note[2], block.lines])
        elif block.language == "python":
            steps.append([block.line, "python", "\n".join(block.lines), []])
        elif block.language in ("indent", "fence", "console", "sh"):
            first, at = len(steps), 0
            while at < len(block.lines):
                line, begin = block.lines[at], at
                if re.match(r"\$ |" + PROGRAMS, line):
                    command = re.sub(r"^\$ ", "", line)
                    while is_open(command) and at + 1 < len(block.lines):
                        at += 1
                        command += "\n" + block.lines[at]
                    steps.append([block.line + begin + (block.language != "indent"), "run", command, []])
                elif len(steps) > first:
                    steps[-1][3].append(line)
                elif line.startswith("adept: "):
                    steps.append([block.line, "message", line, []])
                    break
                elif block.language == "fence":
                    steps.append([block.line, "prints", "", block.lines])
                    break
                at += 1
    return steps


# What is shown against what is printed.

NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"


def plain(line):
    for pattern in VARIES:
        line = re.sub(pattern, "#", line)
    return " ".join(line.split())


def same_line(shown, printed, tolerance):
    shown, printed = plain(shown), plain(printed)
    if shown == printed:
        return True
    pattern, values = "", []
    for part in re.split(r"(\.\.\.|%s)" % NUMBER, shown):
        if part == "...":
            pattern += ".*?"
        elif re.fullmatch(NUMBER, part):
            pattern += "(%s)" % NUMBER
            values.append(part)
        else:
            pattern += re.escape(part).replace(r"\ ", " +")
    match = re.fullmatch(pattern, printed)
    if not match:
        return False
    for text, value in zip(values, match.groups()):
        near = tolerance if len(text) > 6 else tolerance if tolerance > TOLERANCE else 0
        if text != value and abs(float(text) - float(value)) > near * abs(float(value)):
            return False
    return True


def longest_match(shown, printed, tolerance):
    """How many of the shown lines are in what was printed, in order and without a gap that "..." does not show"""
    shown = [line for line in shown if line.strip()]
    printed = [line for line in printed if line.strip()]

    def from_here(i, j, gap):
        best = i
        while i < len(shown):
            if shown[i].strip() == "...":
                i, gap, best = i + 1, True, i + 1
                continue
            if gap:
                for k in range(j, len(printed)):
                    if same_line(shown[i], printed[k], tolerance):
                        best = max(best, from_here(i + 1, k + 1, False))
                        if best == len(shown):
                            return best
                return best
            if j >= len(printed) or not same_line(shown[i], printed[j], tolerance):
                return i
            i, j = i + 1, j + 1
        return i

    return shown, from_here(0, 0, True)


def nearest(line, printed):
    """The printed line that shares most words with this one"""
    words = set(plain(line).split())
    return max((p for p in printed if p.strip()), key=lambda p: len(words & set(plain(p).split())), default="(nothing)")


def kind_of(line):
    return re.sub(NUMBER, "#", plain(line))


def without_ends(lines):
    """Without blank lines in front and behind"""
    full = [i for i, line in enumerate(lines) if line.strip()]
    return lines[full[0]:full[-1] + 1] if full else []


def likeness(line, other):
    return difflib.SequenceMatcher(None, kind_of(line).split(), kind_of(other).split(), False).ratio()


def anew(shown, printed, tolerance):
    """What is printed in the place of the shown lines, where their first and last lines and those beside "..." are found; or None"""
    result, at, parts = [], 0, [[]]
    for line in shown:
        if line.strip() == "...":
            parts += [line], []
        else:
            parts[-1].append(line)
    for part in parts:
        if not [line for line in part if line.strip() not in ("", "...")]:
            result += part
            continue
        if at >= len(printed):
            return None
        first = max(range(at, len(printed)), key=lambda k: (likeness(part[0], printed[k]), -k))
        near = first + len(part) - 1
        last = max(range(first, len(printed)), key=lambda k: (likeness(part[-1], printed[k]), -abs(k - near)))
        if likeness(part[-1], printed[last]) < 0.7:
            last = min(near, len(printed) - 1)
        if likeness(part[0], printed[first]) < 0.5:
            return None
        for line in printed[first:last + 1]:
            old = next((old for old in part if same_line(old, line, tolerance)), None)
            result.append(line.rstrip() if old is None else old)
        at = last + 1
    lost = [line for line in shown if "..." in line and line not in result] # "..." within a line
    return None if lost else result


def update(name, changes):
    """Put lines in the place of shown ones"""
    path = os.path.join(TOP, name)
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for shown, new in sorted(changes, key=lambda change: -change[0][0].at):
        first, last = shown[0].at, shown[-1].at
        indent = lines[first][:len(lines[first]) - len(shown[0])]
        lines[first:last + 1] = [(indent + line).rstrip() for line in new]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


# Running.

class Folder:
    """A document's folder, and what runs in it."""

    def __init__(self, machine, path, clone):
        self.machine, self.path, self.exports, self.talk, self.groups = machine, path, "", None, []
        if clone:
            subprocess.run(["git", "clone", "-q", "--no-hardlinks", TOP, path], check=True)
        os.makedirs(os.path.join(path, "bin"))
        if not clone:
            for name in os.listdir(TOP):
                if name not in ("docs", "data") and not name.startswith((".", "build")):
                    os.symlink(os.path.join(TOP, name), os.path.join(path, name))
            shutil.copytree(os.path.join(TOP, "docs"), os.path.join(path, "docs")) # reports are drawn into it
            os.symlink(os.path.join(TOP, "data"), os.path.join(path, "data"))
            os.makedirs(os.path.join(path, "build/tools"))
            os.symlink(machine.program, os.path.join(path, "build/tools/adept"))
            os.symlink(os.path.join(os.path.dirname(machine.program), "../library"), os.path.join(path, "build/library"))
        os.symlink(machine.program, os.path.join(path, "bin/adept"))
        with open(os.path.join(path, ".curlrc"), "w", encoding="ascii") as file:
            file.write("silent\nshow-error\n") # as on a terminal
        scripts = {name: machine.python for name in ("python", "python3") if machine.python}
        if os.geteuid() == 0 and not shutil.which("sudo"):
            scripts["sudo"] = ""
        for name, program in scripts.items():
            with open(os.path.join(path, "bin", name), "w", encoding="utf-8") as file:
                file.write('#!/bin/sh\nexec %s "$@"\n' % program)
            os.chmod(os.path.join(path, "bin", name), 0o755)
        self.environment = dict(os.environ, PATH=os.path.join(path, "bin") + ":" + os.environ["PATH"], LC_ALL="C", HOME=path,
                                XDG_CACHE_HOME=os.path.join(os.path.dirname(path), "cache"), ADEPT_PROGRAM=machine.program,
                                PYTHONPATH=os.path.join(TOP, "tools/python"), PYTHONDONTWRITEBYTECODE="1")

    def provide(self, command):
        """Makes the example files that the command names and the document has not made"""
        outputs = r"(?:>|-o|--label|--plot|--html|--steps-from-marks|--out)\s*[\w./-]+"
        for name in re.findall(r"[\w./-]+\.(?:pt|json|csv)\b", re.sub(outputs, "", command)):
            path = os.path.join(self.path, name)
            if os.path.exists(path):
                continue
            if name in TEXTS:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(TEXTS[name])
            for pattern, source in EXAMPLES:
                match = re.fullmatch(pattern, os.path.basename(name))
                source = match and os.path.join(TOP, source.format(*match.groups()))
                if source and os.path.exists(source):
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    if name.endswith(".json"):
                        made = self.machine.profiles.setdefault(source, path)
                        if made == path:
                            subprocess.run([self.machine.program, "profile", source, "-o", path], check=True, capture_output=True)
                        source = made
                    if source != path:
                        shutil.copy(source, path)
                    break

    def run(self, command):
        """(exit code, lines printed); what goes on in the background does so until the folder is left"""
        if not self.machine.has("all"):
            command = INSTEAD.get(command, command)
        key = " ".join(command.replace("\\\n", " ").replace("build/tools/adept", "adept").split("  #")[0].split())
        if key in self.machine.done:
            code, printed, name, written = self.machine.done[key]
            with open(os.path.join(self.path, name), "wb") as file:
                file.write(written)
            return code, printed
        self.provide(command)
        log = os.path.join(self.path, ".printed")
        with open(log, "w", encoding="utf-8") as out:
            child = subprocess.Popen(["sh", "-c", self.exports + command], cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        self.groups.append(child.pid)
        try:
            code = child.wait(3600 if self.machine.has("all") else 600)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            code = 124
        if re.match(r"export ", command):
            self.exports += command + "\n"
        until = time.time() + 30
        while command.rstrip().endswith("&") and time.time() < until:
            time.sleep(0.05)
            with open(log, encoding="utf-8") as file:
                if "listening" in file.read():
                    break
        with open(log, encoding="utf-8", errors="replace") as file:
            printed = file.read().split("\n")
        output = re.fullmatch(r"adept (?:calibrate|profile) data/\S+ .*-o (\S+)", key)
        if output and code == 0: # made of the bundled data alone: the same in every document
            with open(os.path.join(self.path, output[1]), "rb") as file:
                self.machine.done[key] = code, printed, output[1], file.read()
        return code, printed

    def python(self, code):
        """What went wrong in a block of Python, or nothing"""
        if not self.talk:
            self.talk = subprocess.Popen([self.machine.python, "-c", DRIVER], cwd=self.path, env=self.environment, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.python(READER)
        self.talk.stdin.write(json.dumps(code) + "\n")
        self.talk.stdin.flush()
        return json.loads(self.talk.stdout.readline() or '"Python ended"')

    def leave(self):
        for group in self.groups:
            try:
                os.killpg(group, signal.SIGTERM)
            except ProcessLookupError:
                pass
        if self.talk:
            self.talk.stdin.close()
            self.talk.wait()
        self.exports, self.talk, self.groups = "", None, []


class Report:
    def __init__(self):
        self.ran, self.blocks, self.compared, self.differences, self.not_run, self.changes = 0, 0, 0, [], [], []

    def leaves_out(self, machine, where, what, reason):
        """With --all, a package set of install_deps.sh has what is missing, or should."""
        self.not_run.append((where, what, reason))
        if machine.has("all") and reason in (why for _, need, why in NOT_RUN + NOT_RUN_PYTHON if need in INSTALLED):
            self.differs(where, "did not run: " + reason)

    def differs(self, where, what):
        self.differences.append((where, what))
        print("%s: %s" % (where, what.replace("\n", "\n    ")), flush=True)


def check(report, where, shown, outputs):
    """Are the shown lines what one of the outputs has? The first is the nearest one."""
    best = (-1, None, None)
    for command, printed in outputs:
        lines, n = longest_match(shown, printed, FIT_TOLERANCE if re.search(FITS, command) else TOLERANCE)
        if n == len(lines):
            report.compared += 1
            return
        if n > best[0]:
            best = (n, command, nearest(lines[n], printed))
    if best[1] is None:
        return
    report.compared += 1
    lines = [line for line in shown if line.strip()]
    kinds = [kind_of(line) for line in lines]
    command, printed = max(outputs, key=lambda output: sum(kind_of(line) in kinds for line in output[1]))
    shown = without_ends(shown)
    new = anew(shown, without_ends(printed), FIT_TOLERANCE if re.search(FITS, command) else TOLERANCE)
    if new:
        report.changes.append((shown, new))
    report.differs(where, "shown:   %s\nprinted: %s\nby: %s" % (lines[best[0]], best[2], best[1]))


def before_block(steps, line):
    """Is a block of what is printed the next of the document?"""
    return next((step[1] for step in steps if step[0] > line), "") == "prints"


def check_document(machine, report, name, steps, folder):
    outputs, section, skipped = [], [], [] # what ran so far, and in this section; what did not, of the commands before a block
    before = ""
    for line, kind, what, shown in steps:
        where = "%s:%d" % (name, line)
        if kind == "run" and before == "prints":
            skipped = []
        before = kind
        if kind == "heading":
            section, skipped = [], []
        elif kind == "file":
            with open(os.path.join(folder.path, what), "w", encoding="utf-8") as file:
                file.write("\n".join(shown) + "\n")
        elif kind == "prints":
            if skipped: # its own command's output is not there, and another's is no measure of it
                report.not_run.append((where, "output of " + skipped[-1], "not compared, its command did not run"))
            elif section: # a block in fences in a section without commands is none of ours
                check(report, where, shown, section[::-1] + outputs[::-1])
        elif kind == "message":
            report.differs(where, "says nothing of the command that prints it (<!-- run: COMMAND -->): " + what)
        elif kind == "python":
            reason = machine.missing(NOT_RUN_PYTHON, what)
            if reason:
                report.leaves_out(machine, where, "Python", reason)
                continue
            report.blocks += 1
            folder.provide(what)
            wrong = folder.python(what)
            if wrong:
                report.differs(where, wrong)
        else:
            reason = machine.missing(NOT_RUN, what)
            code, printed = (0, []) if reason else folder.run(what)
            if any("built without" in text for text in printed):
                reason = "this build is without it"
            if reason:
                report.leaves_out(machine, where, what, reason)
                skipped.append(what)
                continue
            report.ran += 1
            if before_block(steps, line): # a block directly behind it is of it, whatever did not run before
                skipped = []
            right = next((codes for pattern, codes in EXIT_CODES if re.search(pattern, what)), (0,))
            if code not in right and not any(text.startswith("adept: ") for text in shown):
                report.differs(where, "exit code %d: %s\n%s" % (code, what, "\n".join(printed[-6:]).strip()))
            if shown:
                check(report, where, shown, [(what, printed)])
            for claim in re.findall(r"\d[\d.]* (?:ms|W|J|%)(?= |,|$)", (re.findall(r"\s#\s(.*)$", what) or [""])[0]):
                if code == 0 and not any(claim in " ".join(text.split()) for text in printed):
                    report.differs(where, "the comment's %s is not printed: %s" % (claim, what))
            outputs.append((what, printed))
            section.append((what, printed))


def main(arguments):
    everything, updates = "--all" in arguments, "--update" in arguments
    keep = arguments[arguments.index("--keep") + 1] if "--keep" in arguments else None
    named = [a for a in arguments if a.endswith(".md")]
    names = named or ["README.md"] + sorted(os.path.relpath(p, TOP) for part in ("docs", "docs/examples")
                                          for p in glob.glob(os.path.join(TOP, part, "*.md")))
    machine, report = Machine(everything), Report()
    work, built = keep or tempfile.mkdtemp(), None
    try:
        for name in names:
            with open(os.path.join(TOP, name), encoding="utf-8") as file:
                steps = steps_of(file.read())
            if not any(kind in ("run", "python", "message") for _, kind, _, _ in steps):
                continue
            if everything and any(re.search(BUILDS, what) for _, _, what, _ in steps): # one after another, as in a reader's clone
                built = folder = built or Folder(machine, os.path.join(work, "clone"), True)
            else:
                folder = Folder(machine, os.path.join(work, name.replace("/", "_")), False)
            before, ran, found = os.times(), report.ran, len(report.differences)
            try:
                check_document(machine, report, name, steps, folder)
            finally:
                folder.leave()
            if updates:
                update(name, report.changes)
            report.changes = []
            after = os.times()
            print("%-24s %3d commands, %d differences, %.1f s of a processor" %
                  (name, report.ran - ran, len(report.differences) - found, after[2] + after[3] - before[2] - before[3]), flush=True)
    finally:
        if not keep:
            shutil.rmtree(work, ignore_errors=True)
    print("not run:")
    for where, what, reason in report.not_run:
        print("  %s: %s: %s" % (where, reason, what.split("\n")[0]))
    print("%d documents, %d commands and %d blocks of Python run, %d outputs compared, %d differing, %d not run" %
          (len(names), report.ran, report.blocks, report.compared, len(report.differences), len(report.not_run)))
    return 1 if report.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
