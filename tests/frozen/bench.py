#!/usr/bin/env python3
"""Is a program as fast as it was? The benches of two build trees in turns, and the ratio of each figure's medians.

    bench.py NEW_BUILD OLD_BUILD [--rounds N] [--only NAME,...] [--limit 1.25] [--build]

Figures are all numbers that a bench prints and that are not the same in every round; those "/s" are better high, all others low. --build
also times the whole build of each tree's source from clean, without a compiler cache. Exit code 1: a figure is worse than the limit.
Needs a machine that does nothing else; the least of all rounds stands beside the medians, since what else runs only adds to it.
"""
import argparse
import collections
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\.(?:json|pt))")
MODELS = ("resnet50", "tinyllama_1.1b", "vit_b_16", "bert_base_qa", "gpt2_xl", "shufflenetv2_cifar100")


class Tree:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        with open(os.path.join(self.build, "CMakeCache.txt"), encoding="utf-8") as lines:
            self.source = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", lines.read(), re.M).group(1)
        self.figures = collections.defaultdict(list)

    def command(self, name):
        profiles = [os.path.join(self.source, "data/models", model + ".profile.json") for model in MODELS]
        bench = os.path.join(self.build, "tests/bench/bench_" + name)
        return {"graph": [bench], "evaluate": [bench], "operator": [bench] + profiles[:2], "sweep": [bench] + profiles[:2], "fit": [bench],
                "plan": [bench, "plan.json"] + profiles,
                "library": [bench, os.path.join(self.build, "tests/embed/embed_client")] + profiles[:2],
                "simulate": [sys.executable, "-B", os.path.join(self.source, "tests/bench/bench_simulate.py"),
                             os.path.join(self.build, "tools/adept"), self.source]}[name]

    def run(self, name, folder):
        done = subprocess.run(self.command(name), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        text = done.stdout.decode("utf-8", "replace").replace(self.source, "").replace(self.build, "")
        if done.returncode:
            print("%s: bench_%s ended with %d: %s" % (self.build, name, done.returncode, text.strip().split("\n")[-1]), file=sys.stderr)
        seen = collections.Counter()
        for line in text.splitlines():
            label = " ".join(NUMBER.sub("#", line).split())
            seen[label] += 1
            for i, number in enumerate(NUMBER.findall(line)):
                self.figures[name, "%s%s" % (label, " (%d)" % seen[label] if seen[label] > 1 else ""), i].append(float(number))


def build_time(tree):
    """Seconds of the wall and of processors"""
    env = {key: value for key, value in os.environ.items() if not key.endswith("_COMPILER_LAUNCHER")}
    env["CCACHE_DISABLE"] = "1"
    with tempfile.TemporaryDirectory(prefix="adept-build-") as folder:
        begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["sh", os.path.join(tree.source, "tools/build.sh"), folder, "-DADEPT_TESTS=ON"], env=env, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.perf_counter() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("new")
    parser.add_argument("old")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="plan,fit,sweep,simulate,graph,operator,library")
    parser.add_argument("--limit", type=float, default=1.25)
    parser.add_argument("--build", action="store_true")
    options = parser.parse_args()
    new, old = Tree(options.new), Tree(options.old)
    worse = []
    print("%7s %7s %12s %12s  what, the number at [#]" % ("median", "least", "new", "old"))
    for name in options.only.split(","):
        with tempfile.TemporaryDirectory(prefix="adept-bench-") as folder:
            for turn in range(options.rounds):
                for tree in (new, old) if turn % 2 else (old, new):
                    tree.run(name, folder)
        for key in [key for key in new.figures if key[0] == name]:
            _, label, i = key
            a, b = new.figures[key], old.figures.get(key)
            at = [m.start() for m in re.finditer("#", label)][i] if label.count("#") > i else len(label)
            what = "%s: %s[#]%s" % (name, label[:at], label[at + 1:])
            if not b:
                print("%43s %s" % ("in one only", what))
                continue
            if len(set(a + b)) == 1 or min(a + b) <= 0:
                continue  # it is not measured
            high = re.match(r"\S*\s*(?:[a-z]+/s|per s)", label[at + 1:].lstrip()) is not None
            turn = (lambda x, y: y / x) if high else (lambda x, y: x / y)
            best = max if high else min
            median, least = turn(statistics.median(a), statistics.median(b)), turn(best(a), best(b))
            mark = ""
            if median > options.limit:
                worse.append(what)
                mark = "  WORSE"
            print("%7.2f %7.2f %12.6g %12.6g  %s%s" % (median, least, statistics.median(a), statistics.median(b), what, mark), flush=True)
        for key in [key for key in old.figures if key[0] == name and key not in new.figures]:
            print("%43s %s: %s" % ("in one only", name, key[1]))
    if options.build:
        (new_s, new_cpu_s), (old_s, old_cpu_s) = build_time(new), build_time(old)
        print("%7.2f %7s %12.6g %12.6g  build from clean, s" % (new_s / old_s, "", new_s, old_s))
        print("%7.2f %7s %12.6g %12.6g  build from clean, s of processors" % (new_cpu_s / old_cpu_s, "", new_cpu_s, old_cpu_s))
    print("%d figures worse than %g" % (len(worse), options.limit))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
