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

CLUSTER, JOBS, USERS = CLUSTERS / "thesis.json", CLUSTERS / "thesis_jobs.json", CLUSTERS / "thesis_e_jobs.json"
PRINTED_PER_S, OVERLOAD_PER_S = 0.005, 0.02
RATES_PER_S = (0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.010, 0.015, 0.020, 0.030)
NOISE = ("--noise", "10%")


def of_gpu(result, policy, gpu, metric):
    [found] = [p for p in result["policies"] if p["name"] == policy]
    [one] = [g for g in found["by_gpu"] if g["gpu"].startswith(gpu)]
    return one[metric]["mean"]


def gpus_a_job(result, policy):
    starts = {gpu: of_gpu(result, policy, gpu, "n_starts") for gpu in ("a100", "h100")}
    return sum(n * (of_gpu(result, policy, gpu, "gpus_per_job") or 0) for gpu, n in starts.items()) / sum(starts.values())


class Case:
    """The scenario at one rate, with the oracle's noise that the thesis has."""

    def __init__(self, runs, rate_per_s):
        def run(jobs, policies, *options):
            return runs.simulate(CLUSTER, jobs, policies, "--vary", f"rate={rate_per_s}", *NOISE, *options)["points"][0]
        self.rate_per_s = rate_per_s
        self.base = run(JOBS, THESIS)
        self.rigid = run(JOBS, ["pollux", "themis"], "--rigid")
        self.capped = run(JOBS, ["pollux", "charon"], "--cap", "4.5kW")
        self.margin = run(JOBS, ["charon"], "--cap", "4.5kW", "--cap-margin", "10%")
        self.users = run(USERS, ["pollux", "zeus", "themis", "hades"], "--fairness", "printed")


def falls(values, below=0.0):
    return change(values), values[2] is not None and values[2] < below


def rises(values, above=0.0):
    return change(values), values[1] is not None and values[1] > above


def near(value, printed, share, digits=1):
    return text(value, digits), abs(value / printed - 1) <= share


def several(values, holds, digits=1):
    return ", ".join(text(v, digits) for v in values), holds(*values)


def least(result, metric):
    return min(THESIS, key=lambda p: mean(result, p, metric) if mean(result, p, metric) is not None else float("inf"))


def best(case, policy, metric="mean_completion_s"):
    found = least(case.base, metric)
    return f"{found} {text(mean(case.base, found, metric), 0)} s, {policy} {text(mean(case.base, policy, metric), 0)} s", found == policy


def ratio_to_rigid(case, policy):
    ratio = mean(case.base, policy, "throughput_per_h") / mean(case.rigid, policy, "throughput_per_h")
    return text(ratio, 2), ratio > 2


def misses(case, *policies):
    return [100 * mean(case.base, p, "miss_rate") for p in policies]


def jain(case, *policies):
    return [mean(case.users, p, "jain") for p in policies]


def peaks(case):
    return [mean(case.base, p, "peak_power_w") for p in THESIS if p != "charon"]


def used(case, policy):
    return [100 * of_gpu(case.base, policy, gpu, "utilisation") for gpu in ("h100", "a100")]


# every claim of chapter 5: its figure, what it says, what is printed, and what a case says of it
CLAIMS = [
    ("fig. 5.3", "malleable Pollux serves more than twice the jobs of rigid Pollux", "2.32", lambda c: ratio_to_rigid(c, "pollux")),
    ("fig. 5.3", "so does Themis", "similar", lambda c: ratio_to_rigid(c, "themis")),
    ("fig. 5.4", "Pollux serves 10.9 jobs/h", "10.9", lambda c: near(mean(c.base, "pollux", "throughput_per_h"), 10.9, 0.1)),
    ("fig. 5.4", "of what comes it finishes 61 %", "61 %",
     lambda c: near(100 * mean(c.base, "pollux", "n_finished") / mean(c.base, "pollux", "n_jobs"), 61, 0.1, 0)),
    ("fig. 5.4", "Pollux takes 57 kWh in 10 h", "57", lambda c: near(mean(c.base, "pollux", "energy_j") / 3.6e6, 57, 0.1)),
    ("text", "80 to 90 % of the GPUs are in use", "80 to 90", lambda c: several([100 * mean(c.base, "pollux", "utilisation")], lambda u: 80 <= u <= 90)),
    ("fig. 5.4", "Zeus against Pollux, energy", "-10.5 %", lambda c: falls(pair(c.base, "pollux", "zeus", "energy_j"), -8)),
    ("fig. 5.4", "Zeus serves no fewer jobs than Pollux", "+0.9 %",
     lambda c: (change(pair(c.base, "pollux", "zeus", "throughput_per_h")), (pair(c.base, "pollux", "zeus", "throughput_per_h")[2] or 0) >= 0)),
    ("fig. 5.4", "Zeus against Pollux, energy a job", "-11.3 %", lambda c: falls(pair(c.base, "pollux", "zeus", "energy_per_job_j"), -8)),
    ("6.3", "Pollux uses the H100 more than the A100", "-", lambda c: several(used(c, "pollux"), lambda h, a: h > a)),
    ("text", "Zeus evens that out", "-", lambda c: several([h - a for h, a in (used(c, "pollux"), used(c, "zeus"))], lambda p, z: abs(z) < abs(p))),
    ("text", "Zeus gives a job fewer GPUs than Pollux", "-", lambda c: several([gpus_a_job(c.base, p) for p in ("pollux", "zeus")], lambda p, z: z < p, 2)),
    ("fig. 5.4", "AuraChronos serves fewer jobs than Pollux", "-19 %", lambda c: falls(pair(c.base, "pollux", "aurachronos", "throughput_per_h"))),
    ("fig. 5.4", "Charon serves fewer jobs than Pollux", "-24 %", lambda c: falls(pair(c.capped, "pollux", "charon", "throughput_per_h"))),
    ("fig. 5.4", "Charon takes less than half of Pollux's energy", "<-50 %", lambda c: falls(pair(c.capped, "pollux", "charon", "energy_j"), -50)),
    ("text", "Charon never draws more than 4500 W", "0 s over", lambda c: several([mean(c.capped, "charon", "over_cap_s")], lambda s: s == 0)),
    ("text", "nor with 10 % of the cap kept free for the oracle's errors", "-",
     lambda c: several([mean(c.margin, "charon", "over_cap_s")], lambda s: s == 0)),
    ("text", "the others' peaks are from 5000 to 7500 W", "5 to 7.5 kW",
     lambda c: (f"{min(peaks(c)):.0f} to {max(peaks(c)):.0f}", 5000 <= min(peaks(c)) and max(peaks(c)) <= 7500)),
    ("fig. 5.5", "missed deadlines, %: AuraChronos below 1, Pollux 15, Zeus 9", "<1, 15, 9",
     lambda c: several(misses(c, "aurachronos", "pollux", "zeus"), lambda a, p, z: a < 1 and 10 < p < 20 and 6 < z < 12)),
    ("fig. 5.5", "AuraChronos misses 20 times fewer than Pollux", ">20",
     lambda c: several(misses(c, "aurachronos", "pollux"), lambda a, p: p > 20 * a)),
    ("fig. 5.5", "Zeus misses fewer than Pollux", "9 of 15", lambda c: several(misses(c, "zeus", "pollux"), lambda z, p: z < p)),
    ("fig. 5.7", "unfair load, Jain's index: Pollux, Zeus", "0.99, 0.99", lambda c: several(jain(c, "pollux", "zeus"), lambda p, z: min(p, z) >= 0.97, 3)),
    ("fig. 5.7", "unfair load, Jain's index: Themis, Hades", "0.89, 0.89",
     lambda c: several(jain(c, "themis", "hades"), lambda t, h: max(abs(t - 0.89), abs(h - 0.89)) <= 0.05, 3)),
    ("fig. 5.7", "so the fair shares are the less even ones", "-",
     lambda c: several(jain(c, "pollux", "zeus", "themis", "hades"), lambda p, z, t, h: max(t, h) < min(p, z), 3)),
    ("fig. 5.8", "Hades serves more jobs than Themis", "more", lambda c: rises(pair(c.base, "themis", "hades", "throughput_per_h"))),
    ("fig. 5.8", "Hades against Themis, energy", "-2 %", lambda c: falls(pair(c.base, "themis", "hades", "energy_j"))),
    ("fig. 5.9", "at saturation jobs complete soonest under Hades", "least", lambda c: best(c, "hades") if c.rate_per_s > 0.005 else None),
    ("fig. 5.9", "at saturation Zeus is before Pollux, completion", "less",
     lambda c: falls(pair(c.base, "pollux", "zeus", "mean_completion_s")) if c.rate_per_s > 0.005 else None),
    ("fig. 5.9", "AuraChronos is best at medium load, completion", "least", lambda c: best(c, "aurachronos") if c.rate_per_s <= 0.005 else None),
]


def low_load(load):
    """Figure 5.9 at up to 0.003 jobs a second: how far the others' completion times are from Pollux's."""
    low = [point for rate, point in zip(RATES_PER_S, load) if rate <= 0.003]
    away = [100 * (mean(r, p, "mean_completion_s") / mean(r, "pollux", "mean_completion_s") - 1) for r in low for p in THESIS if p != "charon"]
    return [["fig. 5.9", "up to 0.003 jobs/s all complete jobs alike", "alike", f"{min(away):+.1f} to {max(away):+.1f} %", verdict(max(map(abs, away)) <= 10), "-", "-"],
            ["fig. 5.9", "Pollux slightly ahead of all there", "ahead", f"{min(away):+.1f} %", verdict(min(away) >= -0.05), "-", "-"]]


def on_batches_of_gpus(folder):
    """The jobs without global batches: every kind is fastest on as many GPUs as it can get."""
    spec = json.loads(JOBS.read_text(encoding="utf-8"))
    for template in spec["templates"]:
        if template.pop("global_batches", None):
            template["batches"] = [64, 128, 256] if template["name"] == "resnet" else [32, 64, 128]
    path = pathlib.Path(folder) / "jobs.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    return path


def thesis_part(runs, out):
    base = runs.simulate(CLUSTER, JOBS, ALL)
    rigid = runs.simulate(CLUSTER, JOBS, ["pollux", "themis", "chronos"], "--rigid")
    capped = runs.simulate(CLUSTER, JOBS, ["charon", "thrift", "zeus"], "--cap", "4.5kW")
    no_idle = runs.simulate(CLUSTER, JOBS, ["pollux", "zeus", "thrift"], "--no-idle")
    load = runs.simulate(CLUSTER, JOBS, ALL, "--vary", "rate=" + ",".join(str(rate) for rate in RATES_PER_S))["points"]

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
    rows = [[p, gpu["gpu"], text(gpu["utilisation"]["mean"], 1, 100), text(gpu["energy_j"]["mean"], 1, 1 / 3.6e6),
             text(gpu["n_starts"]["mean"], 0), text(gpu["gpus_per_job"]["mean"], 2)]
            for p in ALL for policy in base["policies"] if policy["name"] == p for gpu in policy["by_gpu"]]
    out.append("\n### By type of GPU\n\nALBERT and ResNet-50 share a global batch among their GPUs, so that their best number of GPUs is not the largest.\n\n"
               + table(["policy", "GPU", "used %", "energy kWh", "starts", "GPUs a job"], rows))

    cases = [Case(runs, rate) for rate in (PRINTED_PER_S, OVERLOAD_PER_S)]
    served = 100 * mean(cases[1].base, "pollux", "n_finished") / mean(cases[1].base, "pollux", "n_jobs")
    rows = []
    for where, claim, printed, says in CLAIMS:
        cells = [("-", "-") if found is None else (found[0], verdict(found[1])) for found in map(says, cases)]
        rows.append([where, claim, printed, *cells[0], *cells[1]])
    rows += low_load(load)
    out.append(f"\n### Its claims\n\nThe thesis's cluster is overloaded, ours is not: its GPUs are slower or its jobs larger than ours. So the claims of chapter 5 are also held against\n"
               f"{OVERLOAD_PER_S} jobs a second, where Pollux serves {served:.0f} %. The oracle is wrong by up to 10 %, as the thesis's. Changes have the 95 % interval of paired seeds.\n"
               "An absolute number holds within 10 %. \"-\" stands where the thesis prints no number, or a claim is of the other load. Jobs of the unfair load\n"
               "(fig. 5.7) have a batch for each GPU, as the thesis's seem to: with ours, which need fewer GPUs, nobody waits at its load, so nobody is favoured.\n\n"
               + table(["of", "claim", "thesis", f"{PRINTED_PER_S} jobs/s", "verdict", f"{OVERLOAD_PER_S} jobs/s", "verdict"], rows))
    out.append("\nCharon as printed takes Zeus's placement and starts it only below the cap. It tries no smaller one, so a job whose placement alone exceeds\n"
               "the cap waits for as long as that placement is the best that fits. `adept simulate` warns where jobs never start so. thrift leaves\n"
               "out placements that exceed the cap before it chooses.\n")
    noisy = cases[0].base
    with tempfile.TemporaryDirectory() as folder:
        alike = runs.simulate(CLUSTER, on_batches_of_gpus(folder), ["pollux", "zeus"], *NOISE)
    out.append(f"\nVerdict on the 10.5 %: Zeus changes the energy of 10 h by {change(pair(noisy, 'pollux', 'zeus', 'energy_j'))} and the energy of a finished job by "
               f"{change(pair(noisy, 'pollux', 'zeus', 'energy_per_job_j'))}.\n"
               f"With an oracle that is never wrong: {change(pair(base, 'pollux', 'zeus', 'energy_j'))}. "
               f"Without idle power: {change(pair(no_idle, 'pollux', 'zeus', 'energy_j'))}.\n"
               "What the noise adds is Pollux's: among placements that are nearly as fast as one another it takes the one that looks fastest, "
               f"{gpus_a_job(noisy, 'pollux'):.1f} GPUs a job in place of {gpus_a_job(base, 'pollux'):.1f}; Zeus, for which each GPU counts, takes "
               f"{gpus_a_job(noisy, 'zeus'):.1f} in place of {gpus_a_job(base, 'zeus'):.1f}.\n"
               "All of it hangs on jobs that more GPUs do not make faster, which are our choice: where no GPU of a job shares a batch with another, "
               f"so that each kind is fastest on eight, Zeus changes the energy by {change(pair(alike, 'pollux', 'zeus', 'energy_j'))} "
               f"with the same oracle.\n")
    printed, mended = cases[0].users, runs.simulate(CLUSTER, USERS, ["themis", "hades"], *NOISE)
    rows = [[p, text(mean(mended, p, "jain"), 3), text(mean(printed, p, "jain"), 3), text(mean(mended, p, "throughput_per_h"), 2),
             text(mean(printed, p, "throughput_per_h"), 2)] for p in ("themis", "hades")]
    out.append("\n### The sign of fair shares\n\nAs printed, a user who has used much goes first. `--fairness printed` repeats that. The unfair load (scenario E), at "
               f"{PRINTED_PER_S} jobs a second:\n\n"
               + table(["policy", "Jain, mended", "Jain, as printed", "jobs/h, mended", "jobs/h, as printed"], rows))
    return base, load


def ablation_part(runs, out):
    cluster, jobs = CLUSTER, JOBS
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


def load_part(load, out):
    out.append("\n## Load\n\nJobs a second down, policies across: `adept simulate --vary rate=...`.\n")
    for title, metric, digits, scale in (("Jobs an hour", "throughput_per_h", 1, 1), ("kWh a job", "energy_per_job_j", 3, 1 / 3.6e6),
                                         ("Completion of finished jobs, min", "mean_completion_s", 1, 1 / 60),
                                         ("Completion, unfinished jobs until the end, min", "censored_completion_s", 1, 1 / 60)):
        rows = [[f"{rate:.3f}"] + [text(mean(r, p, metric), digits, scale) for p in ALL] for rate, r in zip(RATES_PER_S, load)]
        out.append(f"\n### {title}\n\n" + table(["jobs/s"] + ALL, rows))
    rows = [[f"{rate:.3f}", change(pair(r, "zeus", "thrift", "energy_j")), change(pair(r, "zeus", "thrift", "throughput_per_h"))]
            for rate, r in zip(RATES_PER_S, load)]
    out.append("\n### thrift against Zeus\n\n" + table(["jobs/s", "energy", "jobs/h"], rows))


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
    base, load = thesis_part(runs, out)
    ours_part(base, out)
    ablation_part(runs, out)
    load_part(load, out)
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
