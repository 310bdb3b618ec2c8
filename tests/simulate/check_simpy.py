"""The simulator against an independent one, written with SimPy: the same jobs start and end at the same times under FCFS and under
shortest job first. usage: check_simpy.py ADEPT      (needs Debian's python3-simpy3)

SimPy knows events and time only. Who runs is decided here, from the words of the policies: FCFS starts the oldest job as soon as its
GPUs are free and nobody before it; shortest first starts, whenever something changes, every job that fits, the shortest first.
"""
import csv
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import simpy
except ImportError:
    print("no SimPy (Debian: python3-simpy3)")
    sys.exit(77)

GPUS, STEP_S = 8, {"small": 0.125, "large": 0.75}


def make_jobs(seed):
    rng = random.Random(seed)
    time_s, jobs = 0.0, []
    for number in range(1, 301):
        time_s += rng.expovariate(1 / 40)
        jobs.append({"job_id": number, "submit_s": time_s, "template": rng.choice(sorted(STEP_S)), "gpus": rng.choice([1, 1, 2, 4, 8]),
                     "steps": rng.randrange(20, 900)})
    return jobs


def duration_s(job):
    return job["steps"] * STEP_S[job["template"]]


def independent(jobs, shortest_first):
    env = simpy.Environment()
    state = {"free": GPUS, "queue": [], "times": {}}

    def decide():
        queue = sorted(state["queue"], key=lambda job: (duration_s(job), job["job_id"])) if shortest_first else list(state["queue"])
        for job in queue:
            if job["gpus"] <= state["free"]:
                state["free"] -= job["gpus"]
                state["queue"].remove(job)
                env.process(run(job))
            elif not shortest_first:
                return

    def run(job):
        begin = env.now
        yield env.timeout(duration_s(job))
        state["free"] += job["gpus"]
        state["times"][job["job_id"]] = (begin, env.now)
        decide()

    def arrive():
        for job in jobs:
            yield env.timeout(job["submit_s"] - env.now)
            state["queue"].append(job)
            decide()

    env.process(arrive())
    env.run()
    return state["times"]


def ours(adept, jobs, policy, folder):
    cluster, table, kinds, stream, out = (os.path.join(folder, name) for name in ("cluster.json", "steps.csv", "kinds.json", "jobs.csv", "out.csv"))
    with open(cluster, "w", encoding="utf-8") as file:
        json.dump({"schema_version": 1, "name": "c", "nodes": [{"name": "n", "gpu": "x", "gpus": GPUS}], "gpus": {"x": {"idle_w": 50, "tdp_w": 300}}}, file)
    with open(kinds, "w", encoding="utf-8") as file:
        json.dump({"schema_version": 1, "name": "k", "step_times": {"file": "steps.csv", "power_share": 0.8}}, file)
    with open(table, "w", encoding="utf-8") as file:
        file.write("job_type,gpus,gpu,step_time_s\n")
        for name, step_s in STEP_S.items():
            for gpus in (1, 2, 4, 8):
                file.write("%s,%d,x,%r\n" % (name, gpus, step_s))
    with open(stream, "w", encoding="utf-8") as file:
        file.write("job_id,submit_s,user,template,samples,gpus\n")
        for job in jobs:  # a table counts steps of all its GPUs together
            file.write("%d,%r,u,%s,%d,%d\n" % (job["job_id"], job["submit_s"], job["template"], job["steps"] * job["gpus"], job["gpus"]))
    subprocess.run([adept, "simulate", cluster, stream, "--templates", kinds, "--policy", policy, "--age-weight", "0", "--tick", "0", "--jobs-csv", out],
                   check=True, stdout=subprocess.DEVNULL)
    with open(out, encoding="utf-8", newline="") as file:
        return {int(row["job"]): (float(row["start_s"]), float(row["finish_s"])) for row in csv.DictReader(file)}


def main():
    worst_s = 0.0
    for seed in range(5):
        jobs = make_jobs(seed)
        for policy, shortest_first in (("fcfs", False), ("sjf", True)):
            expected = independent(jobs, shortest_first)
            with tempfile.TemporaryDirectory() as folder:
                got = ours(sys.argv[1], jobs, policy, folder)
            assert sorted(got) == sorted(expected), policy
            for number, times in expected.items():
                error_s = max(abs(a - b) for a, b in zip(times, got[number]))
                assert error_s <= 1e-9 * (1 + times[1]), (policy, seed, number, times, got[number])
                worst_s = max(worst_s, error_s)
    print("3000 jobs start and end as SimPy has them; largest difference %.2g s" % worst_s)


main()
