#!/usr/bin/env python3
"""Did a change of the source change what adept does? Some two thousand command lines, run by two programs and compared byte by byte.

    run.py --adept NEW --against OLD [--show ID]... [--except FILE]
    run.py --adept PROGRAM record FILE
    run.py --adept PROGRAM compare FILE

NEW, OLD and PROGRAM are programs of build trees, BUILD/tools/adept: their libadept, manual pages and Python package are compared as well.
Exit code 0: nothing differs but what --except lists; 1: something does. README.md beside this file says more; corpus.py has the commands.
"""
import argparse
import collections
import concurrent.futures
import datetime
import difflib
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading

import corpus

TIMEOUT_S = 600
MOST_LINES = 60  # of one difference that --show prints


class Program:
    """A program, and what its build tree has beside it; None where it is not there."""

    def __init__(self, path):
        self.adept = os.path.realpath(path)
        if not os.access(self.adept, os.X_OK):
            sys.exit("run.py: no program %s" % path)
        self.build = self.source = None
        folder = os.path.dirname(os.path.dirname(self.adept))
        cache = os.path.join(folder, "CMakeCache.txt")
        if os.path.exists(cache):
            with open(cache, encoding="utf-8") as lines:
                self.source = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", lines.read(), re.M).group(1)
            self.build = folder
        said = subprocess.run([self.adept, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
        self.version = said.split()[1]
        self.python, self.calls = sys.executable, os.path.join(corpus.HERE, "calls.py")
        self.library = self.beside("library/libadept.so")
        self.torch = self.beside("workload/import/torch/adept_torch.so")
        self.recordings = self.beside("tests/make_recording")

    def beside(self, name):
        path = os.path.join(self.build, name) if self.build else ""
        return path if os.path.exists(path) else None

    def normalise(self, work):
        """What two runs of one program, or two programs of one source, may differ in: (pattern, replacement), nothing else is touched."""
        texts = [(work, "WORK"), (self.adept, "ADEPT"), (self.build, "BUILD"), (self.source, "SOURCE")]
        rows = [(re.compile(re.escape(text.encode())), name.encode()) for text, name in texts if text]
        today = datetime.date.today()
        days = b"|".join((today - datetime.timedelta(days=n)).isoformat().encode() for n in (0, 1))
        return rows + [
            (re.compile(rb"\b%s\b" % re.escape(self.version.encode())), b"VERSION"),
            (re.compile(rb"\b(?:%s)(?:T[0-9:]+Z?)?" % days), b"TODAY"),
            (re.compile(rb"urn:uuid:[0-9a-f-]{36}"), b"UUID"),
            (re.compile(rb"^(Fit  .* in) .*$", re.M), rb"\1 TIME"),  # how long a search took
        ]


# What commands measure of this machine differs from run to run: of these cases (squash=True) numbers and the width of blanks are dropped.
SQUASH = [(re.compile(rb"[-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?"), b"N"), (re.compile(rb"null|unknown"), b"N"),
          (re.compile(rb"[ \t]+"), b" ")]


def environment(program, folder):
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "TZ": "UTC", "HOME": folder, "TMPDIR": folder,
            "XDG_CACHE_HOME": folder, "XDG_STATE_HOME": folder, "SOURCE_DATE_EPOCH": "1700000000", "PYTHONDONTWRITEBYTECODE": "1",
            "ADEPT_NVML_LIBRARY": "/nonexistent/libnvidia-ml.so.1", "ADEPT_PROGRAM": program.adept,
            **({"ADEPT_TORCH_MODULE": program.torch} if program.torch else {}),
            **({"ADEPT_LIBRARY": program.library, "PYTHONPATH": program.source + "/tools/python"} if program.library else {})}


class Runs:
    """Runs cases with one program, each in a folder of its own whose "in" is the folder of inputs."""

    def __init__(self, program, work, inputs):
        self.program, self.work, self.inputs = program, work, inputs
        self.rules = program.normalise(work)
        os.mkdir(work)

    def clean(self, case, data):
        for pattern, replacement in self.rules + (SQUASH if case.squash else []):
            data = pattern.sub(replacement, data)
        return data

    def run(self, case):
        """[(id, words, {"exit code", "stdout", "stderr", "file NAME": bytes})], or None where the program has not got what it needs"""
        folder = os.path.join(self.work, re.sub(r"[^A-Za-z0-9]", "_", case.id)[:60] + hashlib.sha256(case.id.encode()).hexdigest()[:8])
        private, here = folder + ".home", folder
        os.mkdir(private)
        os.mkdir(here)
        os.symlink(self.inputs, os.path.join(here, "in"))
        try:
            results = case.run(self.program, here, environment(self.program, private), TIMEOUT_S)
            return results and [(id_, words, {name: data if name == "exit code" else self.clean(case, data) for name,
                                              data in parts.items()}) for id_, words, parts in results]
        finally:
            shutil.rmtree(private, ignore_errors=True)
            shutil.rmtree(here, ignore_errors=True)


def hashed(parts):
    return {name: hashlib.sha256(data).hexdigest() for name, data in parts.items() if name != "exit code"}


def show(id_, words, old, new):
    print("\n==== %s: %s" % (id_, " ".join(words)))
    for name in sorted(set(old) | set(new)):
        if old.get(name) == new.get(name):
            continue
        sides = [side.get(name, b"").decode("utf-8", "backslashreplace").splitlines() for side in (old, new)]
        if max((len(line) for side in sides for line in side), default=0) > 400:  # JSON on one line
            sides = [[part for line in side for part in re.split(r"(?<=[,{\[>])", line)] for side in sides]
        lines = list(difflib.unified_diff(*sides, "old " + name, "new " + name, lineterm="", n=1))
        print("\n".join(lines[:MOST_LINES]))
        if len(lines) > MOST_LINES:
            print("... and %d lines" % (len(lines) - MOST_LINES))


def read_exceptions(path):
    """Lines REGEX REASON: differences that are meant."""
    rows = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            words = line.strip().split(None, 1)
            if not words or words[0].startswith("#"):
                continue
            if len(words) < 2:
                sys.exit("run.py: %s:%d: no reason" % (path, number))
            rows.append((re.compile(words[0] + r"\Z"), words[1]))
    return rows


def report(seen, differing, exceptions):
    """A table by command; exit code"""
    meant = collections.Counter()
    bad = []
    for id_, words, parts in differing:
        row = next((i for i, (pattern, _) in enumerate(exceptions) if pattern.match(id_)), None)
        if row is None:
            bad.append((id_, words, parts))
        meant[row] += 1
    for id_, words, parts in bad:
        print("%s: %s differ: %s" % (id_, ", ".join(parts), " ".join(words)))
    if bad:
        print()
    commands = collections.Counter(id_.split("/")[0] for id_ in seen)
    differ = collections.Counter(id_.split("/")[0] for id_, _, _ in differing)
    unmeant = collections.Counter(id_.split("/")[0] for id_, _, _ in bad)
    print("%-12s %8s %8s %8s" % ("", "run", "differ", "not meant"))
    for command in sorted(commands) + ["all"]:
        print("%-12s %8d %8d %8d" % ((command, commands[command], differ[command], unmeant[command]) if command != "all"
                                     else ("all", len(seen), len(differing), len(bad))))
    for i, (pattern, reason) in enumerate(exceptions):
        print("%4d meant: %s (%s)" % (meant[i], reason, pattern.pattern[:-2]))
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adept", metavar="PROGRAM", help="the program, BUILD/tools/adept")
    parser.add_argument("--against", metavar="OLD", help="the program to compare it with, run for run")
    parser.add_argument("--show", metavar="ID", action="append", default=[],
                        help="show how the outputs of this command differ; all: of every command (with --against)")
    parser.add_argument("--except", metavar="FILE", dest="exceptions", help="lines REGEX REASON: commands that are meant to differ")
    parser.add_argument("--only", metavar="REGEX", default="", help="only commands whose id begins so")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="commands at a time")
    parser.add_argument("--list", action="store_true", help="print the commands and run nothing")
    parser.add_argument("mode", nargs="?", choices=["record", "compare"])
    parser.add_argument("file", nargs="?")
    options = parser.parse_args()
    if not options.list and (not options.adept or bool(options.against) == bool(options.mode) or bool(options.mode) != bool(options.file)):
        parser.error("needs --adept, and one of --against OLD, record FILE, compare FILE")
    if options.show and not options.against:
        parser.error("--show needs --against OLD: a recording has no outputs")

    cases = [case for case in corpus.cases() if re.match(options.only, case.id)]
    if options.list:
        for case in cases:
            print(case.id, *map(shlex.join, case.commands))
        return 0
    exceptions = read_exceptions(options.exceptions) if options.exceptions else []
    programs = [Program(path) for path in (options.adept, options.against) if path]
    programs[-1].recordings = programs[0].recordings = programs[0].recordings or programs[-1].recordings
    work = tempfile.mkdtemp(prefix="adept-frozen-")
    try:
        inputs = os.path.join(work, "inputs")
        os.mkdir(inputs)
        corpus.make_inputs(inputs, programs[0])
        runs = [Runs(program, os.path.join(work, name), inputs) for program, name in zip(programs, ("new", "old"))]
        todo = sorted(cases, key=lambda case: not case.slow)
        done, lock = collections.Counter(), threading.Lock()

        def work_on(case):
            results = [run.run(case) for run in runs]
            with lock:
                done["cases"] += 1
                if sys.stderr.isatty():
                    print("\r%d of %d" % (done["cases"], len(todo)), end="", file=sys.stderr)
            return case, results

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            outcome = {case.id: results for case, results in pool.map(work_on, todo)}
        if sys.stderr.isatty():
            print(file=sys.stderr)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return judge(options, cases, outcome, exceptions)


def judge(options, cases, outcome, exceptions):
    new, old, left_out = {}, {}, []
    for case in cases:
        for into, results in zip((new, old), outcome[case.id]):
            if results is None:
                left_out.append(case.id)
            for id_, words, parts in results or []:
                into[id_] = words, parts
    if left_out:
        print("left out, as a program has no build tree or was built without what they need: %s" % ", ".join(sorted(set(left_out))))
    if options.mode == "record":
        with open(options.file, "w", encoding="utf-8") as file:
            for id_, (words, parts) in new.items():
                file.write(json.dumps([id_, words, parts["exit code"].decode(), hashed(parts)]) + "\n")
        print("%d command lines recorded in %s" % (len(new), options.file))
        return 0
    if options.mode == "compare":
        with open(options.file, encoding="utf-8") as lines:
            recorded = [json.loads(line) for line in lines]
        old = {id_: (words, dict(hashes, **{"exit code": code})) for id_, words, code, hashes in recorded if re.match(options.only, id_)}
        compared = {id_: (words, dict(hashed(parts), **{"exit code": parts["exit code"].decode()})) for id_, (words, parts) in new.items()}
    else:
        compared = new
    differing = []
    for id_ in list(compared) + [id_ for id_ in old if id_ not in compared]:
        if id_ not in old or id_ not in compared:
            differing.append((id_, (compared.get(id_) or old[id_])[0], ["is in one only"]))
            continue
        (words, a), (_, b) = compared[id_], old[id_]
        parts = [name for name in sorted(set(a) | set(b)) if a.get(name) != b.get(name)]
        if parts:
            differing.append((id_, words, parts))
            if id_ in options.show or "all" in options.show:
                show(id_, words, b, a)
    return report(list(dict.fromkeys(list(compared) + list(old))), differing, exceptions)


if __name__ == "__main__":
    sys.exit(main())
