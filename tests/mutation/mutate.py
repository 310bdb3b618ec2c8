#!/usr/bin/env python3
"""Mutation testing: changes one operator, constant or condition of the code at a time, and looks whether a test fails.

All mutants are compiled into one build, each behind a condition that an environment variable makes true, so that a mutant costs no
compilation. Every test is run once to see which mutants it reaches. Then each mutant meets the tests that reach it, those that found most
in least time first, until one fails. What is done is kept in the folder of --work: the same command goes on where it was stopped.

Drawn are places in functions and the values of #define. Not drawn are initialisers of static tables, case labels, sizes of arrays and what
only words a message. A mutant that no test reaches is replaced by the next of its folder, and counted apart. The exit status is 1 if fewer
than --least per cent are killed. Survivors that survivors.md names, with the reason why they change nothing, do not count.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import mutants as finder

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDERS = ["handlers", "model", "calibrate", "whatif"]
SPARE = 1.6  # as many are built as are wanted: some are not reached, some do not compile


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build-mutation", help="folder for the build and what is done")
    parser.add_argument("--mutants", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", action="append", choices=FOLDERS, help="only this one; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--tests", default=r"^(unit|cli)\.", help="regular expression of tests that may kill")
    parser.add_argument("--seconds", type=float, default=10, help="of processor time: tests that take longer are left out")
    parser.add_argument("--cmake", action="append", default=[], help="an option for cmake; may be repeated")
    parser.add_argument("--least", type=float, default=90, help="per cent to be killed")
    parser.add_argument("--again", action="store_true", help="survivors once more, with the tests as they are now")
    parser.add_argument("--list", action="store_true", help="only say how each mutant fared")
    return parser.parse_args()


# ---- what to mutate ----

def sources(folder):
    return [str(p.relative_to(ROOT)) for p in sorted((ROOT / folder).rglob("*.c"))]


def draw(options):
    """Mutants in the order in which they are tried, folder by folder; no two on one line of a file."""
    chance = random.Random(options.seed)
    folders = options.folder or FOLDERS
    lines = {f: sum(len((ROOT / s).read_text().splitlines()) for s in sources(f)) for f in folders}
    quota = {f: round(options.mutants * lines[f] / sum(lines.values())) for f in folders}
    drawn = []
    for folder in folders:
        found = [m for s in sources(folder) for m in finder.find_mutants(s, (ROOT / s).read_text())]
        chance.shuffle(found)
        taken, kept = set(), []
        for mutant in found:
            place = {(mutant.file, n) for n in range(mutant.line, mutant.last_line + 1)}
            if not place & taken and len(kept) < SPARE * quota[folder]:
                taken |= place
                kept.append(mutant)
        drawn += kept
    seen = collections.Counter()
    rows = []
    for n, m in enumerate(drawn, 1):
        seen[m.key] += 1
        key = m.key if seen[m.key] == 1 else f"{m.key} ({seen[m.key]})"
        rows.append(dict(n=n, key=key, file=m.file, line=m.line, last_line=m.last_line, start=m.start, end=m.end, new=m.new, pure=m.pure))
    return {"quota": quota, "mutants": rows}


def identified(name, text):
    """((what it changes in which function, which of several), mutant)"""
    seen = collections.Counter()
    for m in finder.find_mutants(name, text):
        what = m.key, m.new
        seen[what] += 1
        yield (*what, seen[what]), m


def mutated(text, rows):
    """The file with every mutant in it, on the same lines as before."""
    for row in sorted(rows, key=lambda r: -r["start"]):
        old = text[row["start"]:row["end"]]
        asked = f"adept_mutant_differs({row['n']}, ({old}) != ({row['new']}))" if row["pure"] else f"ADEPT_MUTANT({row['n']})"
        asked, new = " ".join(asked.split()), " ".join(row["new"].split())
        text = text[:row["start"]] + f"({asked} ? ({new}) : ({old}))" + text[row["end"]:]
    return f'#include "{HERE / "chosen.h"}"\n#line 1\n' + text


# ---- the build ----

def write_if_new(path, data):
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return True
    return False


class Build:
    def __init__(self, options):
        self.options, self.source, self.build = options, options.work / "source", options.work / "build"
        self.originals = options.work / "originals"
        self.state_file = options.work / "drawn.json"
        options.work.mkdir(parents=True, exist_ok=True)
        self.fresh = not self.state_file.exists()
        self.state = draw(options) if self.fresh else json.loads(self.state_file.read_text())

    def save(self):
        self.state_file.write_text(json.dumps(self.state, indent=0))

    def of_file(self, file):
        return [m for m in self.state["mutants"] if m["file"] == file and not m.get("refused")]

    def copy(self):
        """The source as it is now. Mutants of a file that changed since are looked up again in it."""
        files = set(m["file"] for m in self.state["mutants"])
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True,
                                capture_output=True, text=True)
        for name in filter(None, listed.stdout.split("\0")):
            origin = ROOT / name
            if not origin.is_file():
                continue
            if name in files:
                self.follow(name, origin.read_text())
            elif write_if_new(self.source / name, origin.read_bytes()):
                shutil.copymode(origin, self.source / name)

    def follow(self, name, text):
        kept = self.originals / name
        if kept.exists() and kept.read_text() != text:
            now = {identity: m for identity, m in identified(name, text)}
            places = {(m.start, m.new): identity for identity, m in identified(name, kept.read_text())}
            for row in self.of_file(name):
                m = now.get(places.get((row["start"], row["new"])))
                if m:
                    row.update(line=m.line, last_line=m.last_line, start=m.start, end=m.end)
                else:
                    row["refused"] = True
            self.save()
        write_if_new(kept, text.encode())
        self.write(name)

    def write(self, name):
        text = (self.originals / name).read_text()
        write_if_new(self.source / name, mutated(text, self.of_file(name)).encode())

    def configure(self):
        subprocess.run(["cmake", "-G", "Ninja", "-S", self.source, "-B", self.build, "-DADEPT_WITH_STATIC=OFF",
                        f"-DADEPT_SHARED_DIR={ROOT.parent / 'shared'}", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                        "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1", *self.options.cmake], check=True, stdout=subprocess.DEVNULL)

    def refuse_what_does_not_compile(self, command):
        """Errors name lines, and a line has one mutant."""
        file = os.path.relpath(command["file"], self.source)
        while True:
            words = command["command"].split(" -o ")[0] + f" -fsyntax-only -w {command['file']}"
            done = subprocess.run(words, shell=True, cwd=command["directory"], capture_output=True, text=True)
            if done.returncode == 0:
                return
            lines = {int(n) for n in re.findall(re.escape(file) + r":(\d+):\d+: error", done.stderr)}
            refused = [m for m in self.of_file(file) if any(m["line"] <= n <= m["last_line"] for n in lines)]
            refused = refused or [m for m in self.of_file(file) if " #define: " in m["key"]]
            if not refused:
                raise SystemExit(f"{file} does not compile:\n{done.stderr}")
            for mutant in refused:
                mutant["refused"] = True
            self.write(file)

    def make(self):
        self.copy()
        self.configure()
        commands = json.loads((self.build / "compile_commands.json").read_text())
        files = {m["file"] for m in self.state["mutants"]}
        unique = {c["file"]: c for c in commands if os.path.relpath(c["file"], self.source) in files}
        if self.fresh:
            with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
                list(pool.map(self.refuse_what_does_not_compile, unique.values()))
            self.save()
        subprocess.run(["ninja", "-C", self.build, f"-j{self.options.jobs}"], check=True, stdout=subprocess.DEVNULL)


# ---- tests ----

class Test:
    def __init__(self, row, build):
        properties = {p["name"]: p["value"] for p in row.get("properties", [])}
        self.name, self.command = row["name"], row["command"]
        self.environment = dict(os.environ, **dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])))
        names = [w for w in self.command if os.path.isfile(w) and w.startswith(str(build.parent))]
        self.stamp = [os.path.getmtime(n) for n in names]
        self.cpu_s = self.wall_s = None

    def run(self, **environment):
        """(status, processor seconds, wall seconds); a test that hangs fails."""
        processor_s = 3 + int(3 * self.cpu_s) if self.cpu_s is not None else 60
        wall_s = 30 + 10 * self.wall_s if self.wall_s is not None else 300
        with tempfile.TemporaryDirectory() as folder:
            def limit():
                resource.setrlimit(resource.RLIMIT_CPU, (processor_s, processor_s))
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
            started = time.monotonic()
            child = subprocess.Popen(self.command, cwd=folder, env=dict(self.environment, TMPDIR=folder, **environment),
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     start_new_session=True, preexec_fn=limit)
            pid, pause, status = 0, 0.002, -1
            while pid == 0 and time.monotonic() - started < wall_s:
                pid, status, used = os.wait4(child.pid, os.WNOHANG)
                time.sleep(0 if pid else pause)
                pause = min(0.05, 1.5 * pause)
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            if pid == 0:
                pid, status, used = os.wait4(child.pid, 0)
                status = -1
            child.returncode = status
            return status, used.ru_utime + used.ru_stime, time.monotonic() - started


def find_tests(build, pattern):
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, text=True)
    return [Test(row, build) for row in json.loads(listed.stdout)["tests"] if re.search(pattern, row["name"]) and "command" in row]


def see_what_is_reached(tests, options):
    """The tests that can kill, each with what it reaches and where it makes a difference; and all that any test known reaches. Kept until
    the test's program or script changes."""
    path = options.work / "tests.json"
    known = json.loads(path.read_text()) if path.exists() else {}

    def see(test):
        row = known.get(test.name)
        if not row or row["stamp"] != test.stamp:
            with tempfile.TemporaryDirectory() as seen:
                status, cpu_s, wall_s = test.run(ADEPT_MUTANTS_SEEN=seen)
                names = os.listdir(seen)
            row = {"stamp": test.stamp, "status": status, "cpu_s": cpu_s, "wall_s": wall_s,
                   "reached": [int(n.rstrip("d")) for n in names], "differs": [int(n[:-1]) for n in names if n.endswith("d")]}
        return test.name, row
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        known.update(pool.map(see, tests))
    path.write_text(json.dumps(known))
    used = []
    for test in tests:
        row = known[test.name]
        test.cpu_s, test.wall_s = row["cpu_s"], row["wall_s"]
        test.reached, test.differs = set(row["reached"]), set(row["differs"])
        if os.waitstatus_to_exitcode(row["status"]) == 77 or row["cpu_s"] > options.seconds or not test.reached:
            continue
        if row["status"] != 0:
            print(f"{test.name} fails without a mutant and is left out", flush=True)
            continue
        used.append(test)
    passed = [row for row in known.values() if row["status"] == 0 and row["cpu_s"] <= options.seconds]
    return used, set().union(*(row["reached"] for row in passed))


# ---- mutants against tests ----

class Judge:
    def __init__(self, tests, state, results):
        self.tests, self.lock = tests, threading.Lock()
        self.tried, self.killed = collections.Counter(), collections.Counter()
        for mutant in state["mutants"]:
            if results.by.get(mutant["n"], "-") != "-":
                self.count(results.by[mutant["n"]], mutant["file"], True)

    def count(self, name, file, killed):
        for at in ((name, file), name):
            self.tried[at] += 1
            self.killed[at] += killed

    def worth(self, test, file):
        """How likely it is to kill a mutant of that file, a second."""
        at = test.name, file
        anywhere = (self.killed[test.name] + 0.3) / (self.tried[test.name] + 1)
        return (self.killed[at] + 2 * anywhere) / (self.tried[at] + 2) / (test.cpu_s + 0.05)

    def try_mutant(self, mutant):
        """The name of a test that kills it, or None."""
        waiting = [t for t in self.tests if mutant["n"] in t.differs]
        while waiting:
            with self.lock:
                test = max(waiting, key=lambda t: self.worth(t, mutant["file"]))
            waiting.remove(test)
            status = test.run(ADEPT_MUTANT=str(mutant["n"]))[0]
            with self.lock:
                self.count(test.name, mutant["file"], status != 0)
            if status != 0:
                return test.name
        return None


class Results:
    """One line a mutant; the last one for a mutant counts."""

    def __init__(self, work):
        self.path, self.by = work / "results.txt", {}
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            n, killer = line.split(" ", 1)
            self.by[int(n)] = killer

    def add(self, n, killer):
        self.by[n] = killer or "-"
        with self.path.open("a") as file:
            file.write(f"{n} {killer or '-'}\n")

    def survived(self, n):
        return self.by.get(n) == "-"


def count_those(state, reached):
    """The first of each folder that a test reaches, as many as are wanted. How many were passed over, too. Tests written since change
    neither."""
    if "counted" in state:
        by_folder = collections.defaultdict(list)
        for mutant in state["mutants"]:
            if mutant["n"] in state["counted"]:
                by_folder[mutant["file"].split("/")[0]].append(mutant)
        return by_folder, collections.Counter(state["unreached"])
    counted, unreached = collections.defaultdict(list), collections.Counter()
    for mutant in state["mutants"]:
        folder = mutant["file"].split("/")[0]
        if len(counted[folder]) < state["quota"][folder] and not mutant.get("refused"):
            if mutant["n"] in reached:
                counted[folder].append(mutant)
            else:
                unreached[folder] += 1
    state.update(counted=[m["n"] for rows in counted.values() for m in rows], unreached=unreached)
    return counted, unreached


def equivalent_keys():
    path = HERE / "survivors.md"
    text = path.read_text() if path.exists() else ""
    return set(re.findall(r"^- equivalent: `` (.*) ``$", text, re.M))


def report(counted, unreached, results, options):
    equivalent = equivalent_keys()
    totals = collections.Counter()
    print(f"{'folder':10} {'mutants':>8} {'killed':>7} {'survived':>9} {'equivalent':>11} {'killed %':>9} {'unreached':>10}")
    for folder, rows in [*counted.items(), ("all", None)]:
        sums = totals
        if rows is not None:
            tried = [m for m in rows if m["n"] in results.by]
            alive = [m for m in tried if results.survived(m["n"])]
            same = sum(m["key"] in equivalent for m in alive)
            sums = collections.Counter(mutants=len(tried), killed=len(tried) - len(alive), survived=len(alive) - same, equivalent=same,
                                       unreached=unreached[folder])
            totals += sums
        share = 100 * sums["killed"] / max(1, sums["killed"] + sums["survived"])
        print(f"{folder:10} {sums['mutants']:8} {sums['killed']:7} {sums['survived']:9} {sums['equivalent']:11} {share:9.1f} "
              f"{sums['unreached']:10}")
    for rows in counted.values():
        for m in rows:
            killer = results.by.get(m["n"], "not tried")
            if options.list or (killer == "-" and m["key"] not in equivalent):
                print(f"{m['n']:5} line {m['line']:<4} {'SURVIVED' if killer == '-' else killer}: {m['key']}")
    return 100 * totals["killed"] >= options.least * (totals["killed"] + totals["survived"])


def main():
    options = arguments()
    build = Build(options)
    results = Results(options.work)
    if options.list:
        if "counted" not in build.state:
            sys.exit("nothing was tried yet")
        counted, unreached = count_those(build.state, set())
    else:
        build.make()
        tests, reached = see_what_is_reached(find_tests(build.build, options.tests), options)
        counted, unreached = count_those(build.state, reached)
        build.save()
        judge = Judge(tests, build.state, results)
        waiting = [m for rows in counted.values() for m in rows
                   if m["n"] not in results.by or (options.again and results.survived(m["n"]))]
        random.Random(0).shuffle(waiting)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            tried = {pool.submit(judge.try_mutant, mutant): mutant for mutant in waiting}
            for done in concurrent.futures.as_completed(tried):
                results.add(tried[done]["n"], done.result())
    return 0 if report(counted, unreached, results, options) else 1


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, subprocess takes every end for success
    sys.exit(main())
