"""What measuring costs: the processor time of the sampler and the paired difference of a command's time, by period.

usage: bench_measure.py ADEPT [PAIRS]
A fixed piece of work runs with and without `adept measure`, in turns, PAIRS times (default 20). Sensors are eight files of a fake powercap
tree, as two packages with cores, uncore and DRAM would be, unless the machine has sensors of its own. Printed are the CPU share of
the sampler, and the mean difference of the run time with its 95 % interval; beside them the same of `perf stat`, where there is one.
"""
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

WORK = [sys.executable, "-S", "-c", "s = 0\nfor i in range(6000000): s += i * i"]
ADEPT, PAIRS = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20


def fake_tree(root):
    for package in range(2):
        for zone, name in (("", "package-%d" % package), (":%d:0" % package, "core"), (":%d:1" % package, "uncore"), (":%d:2" % package, "dram")):
            folder = os.path.join(root, "sys/class/powercap/intel-rapl" + (zone or ":%d" % package))
            os.makedirs(folder)
            for file, text in (("name", name), ("max_energy_range_uj", "262143328850"), ("energy_uj", "%012d" % 123456789)):
                with open(os.path.join(folder, file), "w", encoding="ascii") as out:
                    out.write(text + "\n")


def seconds(command):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


def compare(title, wrap, share=None):
    ratios = []
    for pair in range(PAIRS):
        order = (wrap + WORK, WORK) if pair % 2 else (WORK, wrap + WORK)
        first, second = seconds(order[0]), seconds(order[1])
        ratios.append(first / second if pair % 2 else second / first)
    mean, half = statistics.mean(ratios) - 1, 1.96 * statistics.stdev(ratios) / math.sqrt(PAIRS)
    cpu = "" if share is None else "%9.4f %%" % (100 * share())
    print("%-28s %12s   run time %+.2f %% (95 %%: %+.2f to %+.2f)" % (title, cpu, 100 * mean, 100 * (mean - half), 100 * (mean + half)), flush=True)


def main():
    with tempfile.TemporaryDirectory() as root:
        listed = json.loads(subprocess.run([ADEPT, "measure", "--list", "--json"], check=True, stdout=subprocess.PIPE).stdout)
        tree = [] if listed["sensors"] else ["--sysroot", root]
        if tree:
            fake_tree(root)
        report = os.path.join(root, "report.json")
        print("%d pairs; sensors: %s" % (PAIRS, "eight files of a fake tree" if tree else "the machine's %d" % len(listed["sensors"])))
        print("%-28s %12s" % ("", "sampler CPU"))
        for period in ("1s", "100ms", "10ms", "1ms"):
            def share():
                with open(report, encoding="utf-8") as file:
                    result = json.load(file)
                return result["sampler_cpu_s"] / result["time_s"]
            compare("adept measure --period " + period, [ADEPT, "measure", "--period", period, "--json", "-o", report] + tree + ["--"], share)
        if shutil.which("perf"):
            compare("perf stat -e task-clock", ["perf", "stat", "-e", "task-clock", "--"])
        compare("env (nothing but a fork)", ["env"])


main()
