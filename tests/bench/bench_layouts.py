#!/usr/bin/env python3
"""A search of more than 100,000 layouts of a 70B model, and the graph of a 405B model from its config.json: processor time and memory of the
program, beside the bars of the project. usage: bench_layouts.py ADEPT; exit code 1 if one is missed"""
import json
import os
import subprocess
import sys

H100 = "--gpu h100 --precision bf16 --execution compile".split()


def run(name, most_s, most_mb, arguments):
    process = subprocess.Popen([sys.argv[1]] + arguments, stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    taken_s, peak_mb = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{name}: exit code {os.waitstatus_to_exitcode(status)}")
    answer = json.loads(out)
    told = f"{answer['searched'] + answer['pruned']:.0f} layouts, " if "searched" in answer else f"{answer['totals']['params']:.0f} parameters, "
    print(f"{name}: {told}{taken_s:.2f} s of a processor (bar {most_s:g}), {peak_mb:.0f} MB (bar {most_mb:g})")
    return taken_s <= most_s and peak_mb <= most_mb


if __name__ == "__main__":
    search = ["plan", "llama-3-70b"] + H100 + "--gpus 64 --global-batch 256 --seq-length 8192 --limits 5 --json".split()
    graph = ["profile", "llama-3.1-405b", "--seq-length", "8192", "--json"]
    sys.exit(not all([run("search", 5, 200, search), run("graph", 1, 200, graph)]))
