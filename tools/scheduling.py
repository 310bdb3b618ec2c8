#!/usr/bin/env python3
"""Which scheduler saves energy? The ADEPT thesis's comparison of policies run again, its claims beside ours, and the same on real traces.

    python3 tools/scheduling.py --adept BUILD/tools/adept [--traces DIR] [--seeds 10] [-o docs/SCHEDULING.md]

DIR holds adaptdl/, gavel/ and openb/ as their authors published them (docs/SCHEDULING.md names the sources). Without it the parts on
traces are left out and say so. Every number comes from `adept simulate --json`; nothing here simulates. Needs Python 3.9.
"""
import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile

import markdown
import stamps

signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, subprocess takes every end for success

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLUSTERS = ROOT / "data" / "clusters"
THESIS = ["pollux", "zeus", "themis", "hades", "chronos", "charon", "aurachronos"]
ALL = THESIS + ["fcfs", "easy", "min-energy", "thrift"]


class Runs:
    def __init__(self, adept, seeds):
        self.adept, self.seeds = adept, seeds

    def simulate(self, cluster, jobs, policies, *options, windows=None):
        repeats = ("--windows", windows) if windows else ("--seeds", self.seeds)
        command = [self.adept, "simulate", cluster, jobs, "--policy", ",".join(policies), *repeats, "--json", *options]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(str(word) for word in command)}: exit {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)


def outcome(result, policy, metric):
    [found] = [p for p in result["policies"] if p["name"] == policy]
    return found["outcome"][metric]


def mean(result, policy, metric):
    return outcome(result, policy, metric)["mean"]


def pair(result, a, b, metric):
    """b against a: percent of a, with the interval, in which a is resampled too where `adept` says so."""
    for p in result["pairs"]:
        if p["metric"] == metric and (p["a"], p["b"]) == (a, b) and p["percent_interval95"]:
            return p["percent"], *p["percent_interval95"]
        if p["metric"] == metric and {p["a"], p["b"]} == {a, b}:
            sign = 1 if p["a"] == a else -1
            base = mean(result, a, metric)
            low, high = sorted(sign * 100 * end / base for end in p["interval95"]) if p["interval95"] and base else (None, None)
            difference = sign * 100 * p["difference"] / base if base and p["difference"] is not None else None
            return difference, low, high
    return None, None, None


def points(result, a, b, metric):
    """b less a, both shares, in points of a hundred, with the interval."""
    for p in result["pairs"]:
        if p["metric"] == metric and {p["a"], p["b"]} == {a, b} and p["difference"] is not None:
            sign = 100 if p["a"] == a else -100
            low, high = sorted(sign * end for end in p["interval95"] or (0, 0))
            return f"{sign * p['difference']:+.1f}" + (f" ({low:+.1f} to {high:+.1f})" if p["interval95"] else "")
    return "-"


def text(value, digits=1, scale=1.0):
    return "-" if value is None else f"{value * scale:.{digits}f}"


def pm(result, policy, metric, digits=1, scale=1.0):
    o = outcome(result, policy, metric)
    spread = f" +- {o['sd'] * scale:.{digits}f}" if o["sd"] is not None else ""
    return text(o["mean"], digits, scale) + spread


def change(values, digits=1):
    difference, low, high = values
    if difference is None:
        return "-"
    return f"{difference:+.{digits}f} %" + (f" ({low:+.{digits}f} to {high:+.{digits}f})" if low is not None else "")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


HEAD = ["policy", "jobs/h", "energy kWh", "kWh a job", "done", "completion s", "censored s", "missed %", "Jain", "used %", "peak W"]


def policy_row(result, policy, name=None):
    return [name or policy, pm(result, policy, "throughput_per_h", 2), pm(result, policy, "energy_j", 1, 1 / 3.6e6),
            text(mean(result, policy, "energy_per_job_j"), 3, 1 / 3.6e6),
            f"{text(mean(result, policy, 'n_finished'), 0)} of {text(mean(result, policy, 'n_jobs'), 0)}",
            text(mean(result, policy, "mean_completion_s"), 0), text(mean(result, policy, "censored_completion_s"), 0),
            text(mean(result, policy, "miss_rate"), 1, 100), text(mean(result, policy, "jain"), 3), text(mean(result, policy, "utilisation"), 1, 100),
            text(mean(result, policy, "peak_power_w"), 0)]


def verdict(holds):
    return "holds" if holds else "does not hold"


# ---- the thesis's own scenario ----

OVERLOAD_PER_S = 0.015


def at_rate(folder, rate_per_s):
    spec = json.loads((CLUSTERS / "thesis_jobs.json").read_text(encoding="utf-8"))
    spec["arrivals"]["rate_per_s"] = rate_per_s
    path = pathlib.Path(folder) / f"jobs-{rate_per_s}.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    return path


def claims_of(base, rigid, capped):
    """What the thesis says, what it prints, what we find, and whether that holds."""
    energy, served, each = (pair(base, "pollux", "zeus", metric) for metric in ("energy_j", "throughput_per_h", "energy_per_job_j"))
    ratio = mean(base, "pollux", "throughput_per_h") / mean(rigid, "pollux", "throughput_per_h")
    missed = {p: mean(base, p, "miss_rate") for p in ("pollux", "zeus", "aurachronos")}
    over_s = mean(capped, "charon", "over_cap_s")
    charon = 100 * (mean(capped, "charon", "energy_j") / mean(base, "pollux", "energy_j") - 1)
    return [
        ("malleable Pollux serves 2.2 to 2.3 times the jobs of rigid Pollux", "2.32", f"{ratio:.2f}", ratio > 2),
        ("Zeus against Pollux, energy", "-10.5 %", change(energy), energy[2] is not None and energy[2] < -8),
        ("Zeus against Pollux, jobs/h", "+0.9 %", change(served), served[2] is not None and served[2] >= 0),
        ("Zeus against Pollux, energy a job", "-11.3 %", change(each), each[2] is not None and each[2] < -8),
        ("missed deadlines: AuraChronos below 1 %, Pollux 15 %, Zeus 9 %", "<1, 15, 9",
         ", ".join(text(missed[p], 1, 100) for p in ("aurachronos", "pollux", "zeus")), missed["aurachronos"] < 0.01 < missed["pollux"]),
        ("AuraChronos misses 20 times fewer than Pollux", ">20", text(missed["pollux"] / missed["aurachronos"], 1) if missed["aurachronos"] else "no miss",
         missed["pollux"] > 20 * missed["aurachronos"]),
        ("Charon never draws more than 4500 W", "0 s over", f"{over_s:.1f} s over", over_s == 0),
        ("Charon uses more than 50 % less energy than Pollux", "<-50 %", f"{charon:+.1f} %", charon < -50),
    ]


def thesis_part(runs, out):
    cluster, jobs = CLUSTERS / "thesis.json", CLUSTERS / "thesis_jobs.json"
    base = runs.simulate(cluster, jobs, ALL)
    rigid = runs.simulate(cluster, jobs, ["pollux", "themis", "chronos"], "--rigid")
    capped = runs.simulate(cluster, jobs, ["charon", "thrift", "zeus"], "--cap", "4.5kW")
    noisy = runs.simulate(cluster, jobs, ["pollux", "zeus", "thrift"], "--noise", "10%")
    printed = runs.simulate(cluster, jobs, ["themis", "hades"], "--fairness", "printed")
    no_idle = runs.simulate(cluster, jobs, ["pollux", "zeus", "thrift"], "--no-idle")

    rows = [policy_row(base, p) for p in ALL]
    rows += [policy_row(rigid, p, p + ", rigid") for p in ("pollux", "themis", "chronos")]
    rows += [policy_row(capped, p, p + ", cap 4500 W") for p in ("charon", "thrift")]
    out.append("## The thesis's scenario\n\n"
               "Eight A100-40GB and eight H100-80GB, 10 h, jobs by chance every 200 s, 10 % of them urgent; `data/clusters/thesis*.json` say\n"
               f"which numbers are the thesis's and which are ours. {runs.seeds} seeds: mean and deviation over seeds. All policies meet the same jobs.\n\n"
               + table(HEAD, rows))

    offered = mean(base, "pollux", "n_jobs")
    finished = mean(base, "pollux", "n_finished")
    out.append(f"\nOverload: {offered:.0f} jobs come, and Pollux finishes {100 * finished / offered:.0f} % of them (the thesis: 61 % of 180). "
               + ("The queue grows without bound, so completion times of finished jobs flatter whoever takes short jobs first: read the censored ones.\n"
                  if finished < 0.9 * offered else "The cluster keeps up.\n"))

    with tempfile.TemporaryDirectory() as folder:
        heavy_jobs = at_rate(folder, OVERLOAD_PER_S)
        heavy = runs.simulate(cluster, heavy_jobs, THESIS)
        columns = [claims_of(base, rigid, capped),
                   claims_of(heavy, runs.simulate(cluster, heavy_jobs, ["pollux"], "--rigid"), runs.simulate(cluster, heavy_jobs, ["charon"], "--cap", "4.5kW"))]
    served = 100 * mean(heavy, "pollux", "n_finished") / mean(heavy, "pollux", "n_jobs")
    rows = [[claim, thesis, ours, verdict(holds), *[cell for _, _, value, also in [columns[1][i]] for cell in (value, verdict(also))]]
            for i, (claim, thesis, ours, holds) in enumerate(columns[0])]
    out.append(f"\n### Its claims\n\nThe thesis's cluster is overloaded, ours is not: its GPUs are slower or its jobs larger than ours. So the claims are also held against\n"
               f"{OVERLOAD_PER_S} jobs a second, where Pollux serves {served:.0f} %. Changes have the 95 % interval of paired seeds.\n\n"
               + table(["claim", "thesis", "0.005 jobs/s", "verdict", f"{OVERLOAD_PER_S} jobs/s", "verdict"], rows))
    out.append("\nCharon as printed takes Zeus's placement and starts it only below the cap. It tries no smaller one, so a job whose placement alone exceeds\n"
               "the cap waits for as long as that placement is the best that fits. `adept simulate` warns where jobs never start so. thrift leaves\n"
               "out placements that exceed the cap before it chooses.\n")
    zeus_energy, zeus_each = pair(base, "pollux", "zeus", "energy_j"), pair(base, "pollux", "zeus", "energy_per_job_j")
    out.append(f"\nVerdict on the 10.5 %: Zeus changes the energy of 10 h by {change(zeus_energy)} and the energy of a finished job by {change(zeus_each)}.\n"
               f"With an oracle that is wrong by up to 10 %: {change(pair(noisy, 'pollux', 'zeus', 'energy_j'))}. "
               f"Without idle power: {change(pair(no_idle, 'pollux', 'zeus', 'energy_j'))}.\n")
    rows = [[p, text(mean(base, p, "jain"), 3), text(mean(printed, p, "jain"), 3), text(mean(base, p, "throughput_per_h"), 2),
             text(mean(printed, p, "throughput_per_h"), 2)] for p in ("themis", "hades")]
    out.append("\n### The sign of fair shares\n\nAs printed, a user who has used much goes first. `--fairness printed` repeats that.\n\n"
               + table(["policy", "Jain, mended", "Jain, as printed", "jobs/h, mended", "jobs/h, as printed"], rows))
    return base


def ablation_part(runs, out):
    cluster, jobs = CLUSTERS / "thesis.json", CLUSTERS / "thesis_jobs.json"
    rows = []
    reference = runs.simulate(cluster, jobs, ["pollux"], "--age-weight", "0", "--placement", "time", "--ordering", "fcfs", "--limits", "no")
    base_each, base_jobs = mean(reference, "pollux", "energy_per_job_j"), mean(reference, "pollux", "throughput_per_h")
    for placement in ("time", "edp", "energy"):
        for ordering in ("fcfs", "sjf", "edp"):
            for age in ("0", "0.1"):
                for limits in ("no", "yes"):
                    r = runs.simulate(cluster, jobs, ["pollux"], "--age-weight", age, "--placement", placement, "--ordering", ordering, "--limits", limits)
                    rows.append([placement, ordering, age, limits, text(mean(r, "pollux", "throughput_per_h"), 2),
                                 f"{100 * (mean(r, 'pollux', 'throughput_per_h') / base_jobs - 1):+.1f} %",
                                 text(mean(r, "pollux", "energy_per_job_j"), 3, 1 / 3.6e6),
                                 f"{100 * (mean(r, 'pollux', 'energy_per_job_j') / base_each - 1):+.1f} %",
                                 text(mean(r, "pollux", "censored_completion_s"), 0)])
    out.append("\n## Where a saving comes from\n\nOne packer, its parts exchanged: where a job is placed, who goes first, whether waiting counts, whether power limits\n"
               "may be chosen. Changes are against placement by time, first come first served, no ageing, no limits.\n\n"
               + table(["placement", "order", "ageing", "limits", "jobs/h", "change", "kWh a job", "change", "censored s"], rows))


def load_part(runs, out):
    cluster, rows = CLUSTERS / "thesis.json", []
    with tempfile.TemporaryDirectory() as folder:
        for rate in (0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.010):
            r = runs.simulate(cluster, at_rate(folder, rate), ["pollux", "zeus", "aurachronos", "thrift"])
            rows.append([f"{rate:.3f}"] + [text(mean(r, p, "throughput_per_h"), 1) for p in ("pollux", "zeus", "aurachronos", "thrift")]
                        + [text(mean(r, p, "energy_j"), 1, 1 / 3.6e6) for p in ("pollux", "zeus", "aurachronos", "thrift")]
                        + [change(pair(r, "zeus", "thrift", "energy_j")), change(pair(r, "zeus", "thrift", "throughput_per_h"))])
    out.append("\n## Load\n\n" + table(["jobs/s", "Pollux jobs/h", "Zeus", "AuraChronos", "thrift", "Pollux kWh", "Zeus", "AuraChronos", "thrift",
                                         "thrift - Zeus, energy", "jobs/h"], rows))


def ours_part(base, out):
    rows = []
    for p in ALL:
        if p != "thrift":
            rows.append([p, change(pair(base, p, "thrift", "energy_j")), change(pair(base, p, "thrift", "energy_per_job_j")),
                         change(pair(base, p, "thrift", "throughput_per_h")), change(pair(base, p, "thrift", "censored_completion_s")),
                         f"{text(mean(base, 'thrift', 'miss_rate'), 1, 100)} / {text(mean(base, p, 'miss_rate'), 1, 100)}"])
    out.append("\n## thrift against each\n\nOur policy chooses power limits as well. A plus is more of it; more jobs/h is better, more of the others is worse.\n\n"
               + table(["against", "energy", "energy a job", "jobs/h", "censored completion", "missed %, thrift / it"], rows))
    worse = [f"{p} ({change(pair(base, p, 'thrift', 'censored_completion_s'))})" for p in ALL
             if p != "thrift" and (pair(base, p, "thrift", "censored_completion_s")[1] or 0) > 0]
    fewer = [p for p in ALL if p != "thrift" and (pair(base, p, "thrift", "throughput_per_h")[2] or 0) < 0]
    out.append("\nWhere it loses: jobs take longer than under " + (", ".join(worse) or "none") + ".\n"
               + (f"It serves fewer jobs than {', '.join(fewer)}.\n" if fewer else "As far as these seeds tell, it serves no fewer jobs than any of them.\n") +
               "With the load its saving shrinks (below): where everything waits, a slower job costs others their time.\n")


# ---- traces ----

LOSSES = (("energy_j", "energy", 1), ("throughput_per_h", "jobs/h", -1), ("mean_completion_s", "completion", 1), ("miss_rate", "missed deadlines", 1))


def losses(windows):
    """In what thrift is worse, so that the interval over windows has no 0 in it, and than whom."""
    found = []
    for metric, name, sign in LOSSES:
        changes = {p: pair(windows, p, "thrift", metric) for p in ALL if p != "thrift"}
        worse = [p for p, (_, low, high) in changes.items() if low is not None and (low > 0 if sign > 0 else high < 0)]
        if worse:
            found.append(f"{name} against {', '.join(worse)}")
    return found


def uncut(windows):
    """The run that was cut into windows, as one of a single seed."""
    return {"policies": [{"name": p["name"], "outcome": {name: {"mean": value, "sd": None} for name, value in p["run"].items()}}
                         for p in windows["policies"]]}


def trace_table(windows):
    rows = [[p] + [change(pair(windows, p, "thrift", metric)) for metric in ("energy_j", "throughput_per_h", "mean_completion_s")]
            + [points(windows, p, "thrift", "miss_rate")] for p in ALL if p != "thrift"]
    return table(["thrift against", "energy", "jobs/h", "completion", "missed, points"], rows)


def trace_part(runs, out, traces):
    scenarios = [  # title, trace, cluster, jobs, options, windows
        ("adaptdl, workload 6", "adaptdl/workload-6.csv", "adaptdl.json", "adaptdl_jobs.json", [], 8),
        ("Gavel, one virtual cluster of Philly", "gavel/msr_a.csv", "gavel.json", None, ["--drop-impossible"], 10),
        ("Philly, all 82,248 jobs", "adaptdl/philly.csv.gz", "philly.json", "adaptdl_jobs.json", ["--drop-impossible"], 10),
        ("Alibaba openb", "openb/openb_pod_list_default.csv", "openb.json", "adaptdl_jobs.json", ["--drop-impossible"], 10),
    ]
    out.append("\n## Real traces\n\nA trace says how long a job held how many GPUs. Its jobs become as many samples of a template as these GPU-seconds train\n"
               "(docs/SIMULATE.md). Jobs keep their number of GPUs. The first table is the whole trace, met once. The second is thrift against each\n"
               "policy over windows of that run (`--windows`), paired, with the 95 % interval over windows. Energy and jobs/h are of what happens in\n"
               "a window; completion and misses are of the jobs submitted in it, and every window counts the same.\n")
    for title, trace, cluster, jobs, options, n in scenarios:
        if traces is None or not (traces / trace).exists() or not (CLUSTERS / cluster).exists():
            out.append(f"\n### {title}\n\nNot run: the trace was not there.\n")
            continue
        with tempfile.TemporaryDirectory() as folder:
            templates = CLUSTERS / jobs if jobs else pathlib.Path(folder) / "jobs.json"
            if not jobs:  # its own measured step times; the power of its GPUs is assumed
                templates.write_text(json.dumps({"schema_version": 1, "name": "gavel", "step_times": {
                    "file": str(traces.resolve() / "gavel" / "step_times.csv"), "power_share": 0.8, "scaling": "linear"}}), encoding="utf-8")
            windows = runs.simulate(CLUSTERS / cluster, traces / trace, ALL, "--templates", templates, *options, windows=n)
        r = uncut(windows)
        out.append(f"\n### {title}\n\n" + table(HEAD, [policy_row(r, p) for p in ALL]) + f"\nOver {n} windows:\n\n" + trace_table(windows))
        out.append("\nWhere thrift loses here, so that the interval tells: " + ("; ".join(losses(windows)) or "nowhere") + ".\n")
        for warning in windows["warnings"][:4]:
            out.append("\n- " + warning.replace(f"{traces.resolve()}/", ""))
        out.append("\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--adept", type=pathlib.Path, required=True)
    parser.add_argument("--traces", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("-o", type=pathlib.Path)
    a = parser.parse_args()
    runs, out = Runs(a.adept, a.seeds), []
    out.append("# Schedulers compared on joules\n\nWritten by `tools/scheduling.py`; do not edit. These are simulations, with predicted step times and powers:\n"
               "no number here was measured on a cluster, and none validates anything.\n\n")
    base = thesis_part(runs, out)
    ours_part(base, out)
    ablation_part(runs, out)
    load_part(runs, out)
    trace_part(runs, out, a.traces)
    out.append("\n## Sources\n\n- Scenario and claims: the ADEPT thesis (PSL University, 2025), chapter 5.\n"
               "- adaptdl, Philly: github petuum/adaptdl, branch osdi21-artifact, c793c70 (Apache-2.0).\n"
               "- Gavel: github stanford-futuredata/gavel, c4fa400 (MIT).\n- openb: github alibaba/clusterdata, 7a6c496 (ATC'23).\n")
    document = stamps.stamped("SCHEDULING.md", markdown.wrap("".join(out)))
    if a.o:
        a.o.write_text(document, encoding="utf-8")
    else:
        print(document)


main()
