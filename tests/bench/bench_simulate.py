"""How fast jobs are simulated, beside a straightforward simulator written with SimPy (tests/simulate/check_simpy.py has its rules).

usage: bench_simulate.py ADEPT SOURCE [TRACES]
Prints seconds and peak memory of the thesis's scenario under all policies (ten seeds), and, where TRACES has it, of the whole Philly trace
under FCFS on one core, of adept and of SimPy: the same jobs, GPUs and durations, in one run.
"""
import csv
import datetime
import gzip
import os
import resource
import subprocess
import sys
import tempfile
import time

ADEPT, SOURCE = sys.argv[1], sys.argv[2]
PHILLY = os.path.join(sys.argv[3], "adaptdl/philly.csv.gz") if len(sys.argv) > 3 else ""
CLUSTERS = os.path.join(SOURCE, "data/clusters")
POLICIES = "fcfs,easy,pollux,themis,chronos,zeus,hades,charon,aurachronos,min-energy,thrift"
GPUS = 2490


def timed(title, *arguments):
    begin = time.perf_counter()
    subprocess.run([ADEPT, "simulate", *arguments], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - begin
    print("%-58s %7.2f s   largest so far %4.0f MB" % (title, seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3), flush=True)
    return seconds


def with_simpy(jobs):
    """FCFS on one pool of GPUs: the head of the queue waits, and so does who comes behind it."""
    import simpy
    env, state = simpy.Environment(), {"free": GPUS, "queue": [], "head": 0}

    def decide():
        queue = state["queue"]
        while state["head"] < len(queue) and queue[state["head"]][2] <= state["free"]:
            job = queue[state["head"]]
            state["head"] += 1
            state["free"] -= job[2]
            env.process(run(job))

    def run(job):
        yield env.timeout(job[1])
        state["free"] += job[2]
        decide()

    def arrive():
        for job in jobs:
            yield env.timeout(job[0] - env.now)
            state["queue"].append(job)
            decide()

    env.process(arrive())
    begin = time.perf_counter()
    env.run()
    return time.perf_counter() - begin


def main():
    jobs = os.path.join(CLUSTERS, "thesis_jobs.json")
    timed("thesis, 11 policies x 10 seeds, all cores", os.path.join(CLUSTERS, "thesis.json"), jobs, "--policy", POLICIES, "--seeds", "10")
    if not os.path.exists(PHILLY):
        print("no Philly trace: give the folder of traces")
        return
    philly = (os.path.join(CLUSTERS, "philly.json"), PHILLY, "--templates", os.path.join(CLUSTERS, "adaptdl_jobs.json"), "--drop-impossible", "--threads", "1")
    for policy in ("fcfs", "pollux", "zeus", "thrift"):
        timed("Philly, 82,247 jobs, %s, one core" % policy, *philly, "--policy", policy)
    with tempfile.TemporaryDirectory() as folder:  # one template, whose table says one second a step: no models are loaded
        cluster, kinds, table, stream = (os.path.join(folder, name) for name in ("c.json", "k.json", "t.csv", "s.csv"))
        with gzip.open(PHILLY, "rt", encoding="utf-8", newline="") as file:
            rows = [(datetime.datetime.fromisoformat(r["timestamp"]).timestamp(), float(r["duration"]), int(r["num_gpus"]))
                    for r in csv.DictReader(file) if r["num_gpus"]]
        rows = sorted(r for r in rows if r[1] >= 1)
        with open(cluster, "w", encoding="utf-8") as file:
            file.write('{"schema_version": 1, "name": "c", "nodes": [{"name": "n", "gpu": "x", "gpus": 1, "count": %d}], "gpus": {"x": {"idle_w": 1, "tdp_w": 2}}}' % GPUS)
        with open(kinds, "w", encoding="utf-8") as file:
            file.write('{"schema_version": 1, "name": "k", "step_times": {"file": "t.csv", "power_share": 1}}')
        with open(table, "w", encoding="utf-8") as file:
            file.write("job_type,gpus,gpu,step_time_s\n" + "".join("j,%d,x,1\n" % n for n in sorted({r[2] for r in rows})))
        with open(stream, "w", encoding="utf-8") as file:
            file.write("job_id,submit_s,user,template,samples,gpus\n")
            for number, (submit_s, duration_s, gpus) in enumerate(rows, 1):
                file.write("%d,%r,u,j,%d,%d\n" % (number, submit_s - rows[0][0], round(duration_s) * gpus, gpus))
        ours = timed("Philly as a pool of GPUs, fcfs, one core", cluster, stream, "--templates", kinds, "--policy", "fcfs", "--tick", "0", "--threads", "1")
        simpy_s = with_simpy([(submit_s - rows[0][0], round(duration_s), gpus) for submit_s, duration_s, gpus in rows])
        print("%-58s %7.2f s   %.1f times as long" % ("the same with SimPy, without reading", simpy_s, simpy_s / ours))


main()
