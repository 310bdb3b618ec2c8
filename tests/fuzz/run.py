#!/usr/bin/env python3
"""Run every libFuzzer target for a number of executions, in turns, and keep the tally.

  CC=clang cmake -B build-fuzz -G Ninja -DADEPT_FUZZ=ON -DADEPT_WITH_TORCH=OFF \\
        -DADEPT_SANITIZE=fuzzer-no-link,address,undefined && cmake --build build-fuzz
  python3 tests/fuzz/run.py build-fuzz work --runs 10000000

WORK keeps the grown corpora, the findings and tally.json: a run that was stopped goes on where it
ended, and a rebuilt target may be put in its place meanwhile. Exit 1 if anything was found.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, subprocess takes every end for success

HERE = pathlib.Path(__file__).resolve().parent
# Inputs of these targets are short by nature, or longer than libFuzzer's 4096 bytes; short ones are fast.
MAX_LEN = {"vary": 80, "gpu_name": 100, "slurm": 400, "batch_jobs": 800, "smbios": 512, "json": 512, "node": 512, "meter": 512,
           "pickle": 1024, "csv": 1024, "activity": 1024, "simulate": 1024, "checkpoint": 1500, "graph_stream": 1500,
           "walk": 1500, "hwprofile": 8000, "config": 1500, "result": 8000, "profile": 6000, "library": 6000}
FINDING = re.compile(r"(crash|leak|timeout|oom|slow-unit)-")
FINDINGS_MAX = 20  # a target that fails at once again and again waits for a new build


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="a build folder with -DADEPT_FUZZ=ON")
    parser.add_argument("work", type=pathlib.Path, help="folder for corpora, findings and the tally")
    parser.add_argument("--runs", type=int, default=10**7, help="executions of each target, earlier ones counted in")
    parser.add_argument("--turn", type=int, default=60, metavar="S", help="seconds of a turn; a quarter of it for the slower half of the targets")
    parser.add_argument("--only", default="", metavar="NAME,NAME", help="these targets, not all")
    parser.add_argument("--table", action="store_true", help="print the table and end")
    return parser.parse_args()


def sanitizers(build):
    """Which ones the build has: runs under each set are counted apart."""
    found = re.search(r"^ADEPT_SANITIZE:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)
    return found[1].replace("fuzzer-no-link", "").strip(",") or "none"


class Tally:
    def __init__(self, work, kind):
        self.work, self.kind, self.path = work, kind, work / "tally.json"
        self.targets = json.loads(self.path.read_text()) if self.path.exists() else {}

    def entry(self, name):
        new = {"runs": 0, "seconds": 0.0, "features": 0}
        return self.targets.setdefault(name, {}).setdefault(self.kind, new)

    def seconds_left(self, name, runs):
        entry = self.entry(name)
        return (runs - entry["runs"]) * entry["seconds"] / max(entry["runs"], 1)

    def findings(self, name):
        folder = self.work / "found" / name
        return [f.name for f in folder.iterdir() if FINDING.match(f.name)] if folder.exists() else []

    def save(self):
        for path, text in ((self.path, json.dumps(self.targets, indent=1)), (self.work / "tally.txt", self.table())):
            part = path.with_suffix(".part")
            part.write_text(text)
            os.replace(part, path)

    def table(self):
        lines = [f"{'target':18} {'sanitizers':20} {'executions':>12} {'exec/s':>8} {'features':>8} {'findings':>8}\n"]
        for name, kinds in sorted(self.targets.items()):
            for kind, e in sorted(kinds.items()):
                speed = e["runs"] / e["seconds"] if e["seconds"] else 0
                lines.append(f"{name:18} {kind:20} {e['runs']:12} {speed:8.0f} {e['features']:8}"
                             f" {len(self.findings(name)):8}\n")
        return "".join(lines)


def turn(binary, name, args, tally, seconds):
    corpus, found = args.work / "corpus" / name, args.work / "found" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    entry = tally.entry(name)
    command = [binary.resolve(), f"-max_total_time={seconds}", f"-runs={args.runs - entry['runs']}",
               f"-max_len={MAX_LEN.get(name, 4096)}", "-timeout=10", "-rss_limit_mb=1024", "-report_slow_units=5",
               "-print_final_stats=1", "-verbosity=1", f"-artifact_prefix={found.resolve()}/",
               corpus.resolve(), HERE / "corpus" / name]
    dictionary = HERE / f"{name}.dict"
    if dictionary.exists():
        command.insert(1, f"-dict={dictionary}")
    began = time.monotonic()
    done = subprocess.run([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=found,
                          errors="replace")
    entry["seconds"] += time.monotonic() - began
    runs = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    entry["runs"] += int(runs[1]) if runs else 0
    features = re.findall(r"cov: \d+ ft: (\d+)", done.stderr)
    if features:
        entry["features"] = int(features[-1])
    if done.returncode:
        (found / "log").write_text(done.stderr[-20000:])
        print(f"{name}: exit {done.returncode}, see {found}/log", flush=True)
    tally.save()


def main():
    args = arguments()
    args.work.mkdir(parents=True, exist_ok=True)
    tally = Tally(args.work, sanitizers(args.build))
    folder = args.build / "tests" / "fuzz"
    names = args.only.split(",") if args.only else sorted(f.name[5:] for f in folder.glob("fuzz_*") if f.is_file())
    if not all((folder / f"fuzz_{name}").exists() for name in names) or not names:
        sys.exit(f"{folder}: no such targets; build with -DADEPT_FUZZ=ON")

    def wanting():
        """Targets that are not done, the one that will be done first at the head."""
        left = [n for n in names if tally.entry(n)["runs"] < args.runs and len(tally.findings(n)) < FINDINGS_MAX]
        return sorted(left, key=lambda n: tally.seconds_left(n, args.runs))

    while not args.table and (round := wanting()):
        for i, name in enumerate(round):
            turn(folder / f"fuzz_{name}", name, args, tally, args.turn if 2 * i < len(round) else max(1, args.turn // 4))
    print(tally.table(), end="")
    sys.exit(1 if any(tally.findings(name) for name in names) else 0)


main()
