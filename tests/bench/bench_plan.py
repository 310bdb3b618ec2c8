#!/usr/bin/env python3
"""A million placements by granularity "model", vectorised with NumPy in the style of the thesis, beside a plan's.

    bench_plan.py PLAN.json        (written by bench_plan; needs NumPy)

All placements at once: eq 4.7, 4.8, 4.14 and 4.15, and the clock under a limit by Newton's method on the whole array, from the seconds at
full clock that bench_plan has worked out. Checked against the plan's results first. Exit code 1 if they differ.
"""
import json
import sys
import time

import numpy as np

COUNTS = np.array([1, 2, 4, 8, 16])
NEWTON_STEPS = 12


def capped(compute_s, memory_s, utilisation, limit_w, p):
    """Time and power of a phase: the highest clock f at which static + dynamic * (share + (1 - share) f v(f)^2) keeps within the limit."""
    dynamic_w = utilisation * np.maximum(0.0, p["tdp"] - p["static"]) * p["c_power"]
    share, slope = p["share"], p["slope"]
    f = np.ones_like(limit_w)
    target = ((limit_w - p["static"]) / np.where(dynamic_w > 0, dynamic_w, 1.0) - share) / (1.0 - share)
    limited = dynamic_w > limit_w - p["static"]
    for _ in range(NEWTON_STEPS):
        v = 1.0 + slope * (f - 1.0)
        f = np.where(limited, f - (f * v * v - target) / (v * (v + 2.0 * f * slope)), f)
    f = np.where(limited, np.maximum(f, p["min_clock"]), 1.0)
    v = 1.0 + slope * (f - 1.0)
    power_w = p["static"] + dynamic_w * (share + (1.0 - share) * f * v * v)
    return np.maximum(compute_s / f, memory_s), power_w


def predict(plans, which, gpus, limit_w):
    names = ("compute memory utilisation opt_compute opt_memory launch fixed gradient_bytes hop bandwidth overlap static tdp "
             "c_power u_mem u_comm share slope min_clock").split()
    p = {name: plans[which, i] for i, name in enumerate(names)}
    hops = 2.0 * (gpus - 1.0)
    comm_s = (hops * p["hop"] + hops / gpus * p["gradient_bytes"] / p["bandwidth"]) * (1.0 - p["overlap"])
    comm_s = np.where(p["gradient_bytes"] > 0, comm_s, 0.0)
    pass_s, pass_w = capped(p["compute"], p["memory"], p["utilisation"], limit_w, p)
    opt_s, opt_w = capped(p["opt_compute"], p["opt_memory"], p["u_mem"], limit_w, p)
    comm_s, comm_w = capped(0.0, comm_s, p["u_comm"], limit_w, p)
    idle_s = p["launch"] + p["fixed"]
    step_s = pass_s + opt_s + comm_s + idle_s
    energy_j = pass_w * pass_s + opt_w * opt_s + comm_w * comm_s + p["static"] * idle_s
    return step_s, gpus * energy_j / step_s


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        problem = json.load(file)
    plans, n = np.array(problem["plans"]), problem["n"]
    sample = np.array(problem["sample"])
    which = sample[:, 0].astype(int) % len(plans)
    limit_w = np.where(sample[:, 2] > 0, sample[:, 2], plans[which, 12])
    time_s, power_w = predict(plans, which, sample[:, 1], limit_w)
    worst = max(np.max(np.abs(time_s / sample[:, 3] - 1)), np.max(np.abs(power_w / sample[:, 4] - 1)))
    print(f"NumPy {np.__version__} against plans, {len(sample)} placements: most unlike {worst:.1e}")

    rows = np.arange(n)
    which, gpus = rows % len(plans), COUNTS[rows % len(COUNTS)].astype(float)
    limits_w = np.array(problem["limits_w"])
    n_gpus = len(limits_w) // 97
    limit_w = limits_w[which % n_gpus * 97 + rows % 97]
    limit_w = np.where(limit_w > 0, limit_w, plans[which, 12])
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        predict(plans, which, gpus, limit_w)
        best = min(best, time.process_time() - start)
    print(f"{n} placements: NumPy {best:.3f} s, plans {problem['seconds']:.3f} s: {best / problem['seconds']:.1f} times as fast")
    one = np.array([0])
    start = time.process_time()
    for _ in range(200):
        predict(plans, one, gpus[:1], limit_w[:1])
    one_s = (time.process_time() - start) / 200
    print(f"one placement at a time: NumPy {one_s * 1e6:.0f} us, {one_s / problem['seconds'] * n:.0f} times as long as a plan's")
    return 0 if worst < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
