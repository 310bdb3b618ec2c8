"""How fast jobs are simulated, beside a straightforward simulator written with SimPy (tests/simulate/check_simpy.py has its rules).

usage: bench_simulate.py ADEPT SOURCE [TRACES]
Prints seconds, seconds of CPU and peak memory of the thesis's scenario under all policies (ten seeds), of a million jobs, and, where TRACES has it, of the
whole Philly trace: on its own GPUs, on 320 of them, where nearly all jobs wait, and under FCFS beside SimPy with the same jobs and durations.
"""
import csv
import datetime
import gzip
import json
import os
import random
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
MILLION = 10**6


def timed(title, *arguments):
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([ADEPT, "simulate", *arguments], check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print("%-58s %7.2f s   %7.2f s of CPU   largest so far %4.0f MB" % (title, seconds, cpu_s, after.ru_maxrss / 1e3), flush=True)
    return cpu_s


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def write_table(folder, gpu_counts):
    """One template, whose table says one second a step: no models are loaded."""
    write(folder, "t.csv", "job_type,gpus,gpu,step_time_s\n" + "".join("j,%d,x,1\n" % n for n in gpu_counts))
    return write(folder, "k.json", '{"schema_version": 1, "name": "k", "step_times": {"file": "t.csv", "power_share": 1}}')


def write_cluster(folder, nodes, gpus):
    about = {"schema_version": 1, "name": "c", "nodes": [{"name": "n", "gpu": "x", "gpus": gpus, "count": nodes}], "gpus": {"x": {"idle_w": 1, "tdp_w": 2}}}
    return write(folder, "c.json", json.dumps(about))


def write_stream(folder, jobs):
    return write(folder, "s.csv", "job_id,submit_s,user,template,samples,gpus\n"
                 + "".join("%d,%r,u,j,%d,%d\n" % (number, submit_s, round(duration_s) * gpus, gpus) for number, (submit_s, duration_s, gpus) in enumerate(jobs, 1)))


def a_million():
    """Poisson arrivals of 1, 2, 4 or 8 GPUs for an hour on average: they want 90 % of 2,496 GPUs."""
    draw, now_s, counts = random.Random(0), 0.0, (1, 2, 4, 8)
    for _ in range(MILLION):
        now_s += draw.expovariate(0.9 * 2496 / (3600 * sum(counts) / len(counts)))
        yield now_s, 1 + draw.expovariate(1 / 3600), draw.choice(counts)


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
    begin = time.process_time()
    env.run()
    return time.process_time() - begin


def main():
    jobs = os.path.join(CLUSTERS, "thesis_jobs.json")
    timed("thesis, 11 policies x 10 seeds, all cores", os.path.join(CLUSTERS, "thesis.json"), jobs, "--policy", POLICIES, "--seeds", "10")
    with tempfile.TemporaryDirectory() as folder:
        million = (write_cluster(folder, 312, 8), write_stream(folder, a_million()), "--templates", write_table(folder, (1, 2, 4, 8)), "--threads", "1")
        for policy in ("fcfs", "easy", "zeus", "thrift"):
            timed("a million jobs, 312 nodes of 8, %s, one core" % policy, *million, "--policy", policy)
    if not os.path.exists(PHILLY):
        print("no Philly trace: give the folder of traces")
        return
    philly = (os.path.join(CLUSTERS, "philly.json"), PHILLY, "--templates", os.path.join(CLUSTERS, "adaptdl_jobs.json"), "--drop-impossible", "--threads", "1")
    for policy in ("fcfs", "pollux", "zeus", "thrift"):
        timed("Philly, 82,247 jobs, %s, one core" % policy, *philly, "--policy", policy)
    with tempfile.TemporaryDirectory() as folder:
        with open(philly[0], encoding="utf-8") as file:
            about = json.load(file)
        about["nodes"] = [dict(about["nodes"][0], count=40)]
        small = write(folder, "small.json", json.dumps(about))
        for policy in ("fcfs", "easy", "zeus", "thrift"):
            timed("the same on 320 GPUs, %s, one core" % policy, small, *philly[1:], "--policy", policy)
    with tempfile.TemporaryDirectory() as folder:
        with gzip.open(PHILLY, "rt", encoding="utf-8", newline="") as file:
            rows = [(datetime.datetime.fromisoformat(r["timestamp"]).timestamp(), float(r["duration"]), int(r["num_gpus"]))
                    for r in csv.DictReader(file) if r["num_gpus"]]
        rows = sorted(r for r in rows if r[1] >= 1)
        jobs = [(submit_s - rows[0][0], round(duration_s), gpus) for submit_s, duration_s, gpus in rows]
        cluster, stream, kinds = write_cluster(folder, GPUS, 1), write_stream(folder, jobs), write_table(folder, sorted({r[2] for r in rows}))
        ours = timed("Philly as a pool of GPUs, fcfs, one core", cluster, stream, "--templates", kinds, "--policy", "fcfs", "--tick", "0", "--threads", "1")
        simpy_s = with_simpy(jobs)
        print("%-58s %7.2f s   %.1f times as long" % ("the same with SimPy, without reading", simpy_s, simpy_s / ours))


main()
