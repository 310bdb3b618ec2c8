#!/usr/bin/env python3
"""Speed of the same objective written with NumPy, under scipy's differential_evolution, beside that of adept.

    bench_fit.py PROBLEM.json        (written by bench_fit; needs NumPy and SciPy)

The objective is vectorised over the 32 points and checked against adept's values first. Prints evaluations per second of
CPU time as scipy calls it by default (one trial vector at a time) and, for information, vectorised over the population as
well (scipy's vectorized=True). Exit code 1 if adept is not at least 100 times as fast as the former.
"""
import json
import math
import sys
import time

import numpy as np
from scipy.optimize import differential_evolution

LEAST_RATIO = 100.0


class Objective:
    """Eq 4.7 to 4.18 of the thesis over all points at once; theta may have further axes behind its first."""

    def __init__(self, problem):
        specs, profiles = problem["specs"], problem["profiles"]
        rows = np.array(problem["rows"])
        which = rows[:, 0].astype(int)

        def column(values):
            return np.array(values, dtype=float)[which]

        flops = np.array([p["flops"] for p in profiles])[which]
        features = np.array([p["features"] for p in profiles])[which]
        tf32 = column([p["precision"] == "tf32" for p in profiles]) > 0
        self.lowp = column([p["precision"] == "bf16" for p in profiles]) > 0
        fp32_peak = np.where(tf32, specs["tensor_tf32_flops_per_s"], specs["vector_fp32_flops_per_s"])
        bf16_peak, alu_peak = specs["tensor_bf16_flops_per_s"], specs["vector_fp32_flops_per_s"]
        self.gemm, self.gemm_lowp = flops[:, 0] / fp32_peak, flops[:, 1] / bf16_peak
        self.conv, self.conv_lowp = flops[:, 2] / fp32_peak, flops[:, 3] / bf16_peak
        self.alu, self.alu_lowp = flops[:, 4] / alu_peak, flops[:, 5] / alu_peak
        self.tile_m, self.tile_n = features[:, 0] / 16, features[:, 1] / 8
        self.tile_k = features[:, 2] / np.where(self.lowp, 8, 4)
        self.blocks, self.pixels = features[:, 3], features[:, 4]
        self.mem = column([p["bytes"] for p in profiles]) / specs["mem_bytes_per_s"]
        self.wset = column([p["working_set_bytes"] for p in profiles]) / specs["l2_bytes"]
        self.params = column([p["params"] for p in profiles])
        self.launches = column([p["launches"] + 12 * math.ceil(p["tensors"] / 64) for p in profiles])
        self.bandwidth, self.alu_peak = specs["mem_bytes_per_s"], alu_peak
        self.albert = column([p["model"].startswith("albert") for p in profiles])
        self.gpus, self.time, self.power = rows[:, 1], rows[:, 2], rows[:, 3]
        self.tdp = specs["tdp_w"]
        self.min_clock = specs["clock_min_hz"] / specs["clock_boost_hz"] if "clock_min_hz" in specs else 0.15

        self.evaluations = 0
        self.names = [p["name"] for p in problem["parameters"]]
        self.default = np.array([p["default"] for p in problem["parameters"]])
        self.genes = np.array(problem["genes"])
        chosen = [problem["parameters"][i] for i in problem["genes"]]
        self.is_log = np.array([p["log"] for p in chosen])
        low, high = np.array([p["low"] for p in chosen]), np.array([p["high"] for p in chosen])
        self.offset = np.where(self.is_log, np.log(np.where(self.is_log, low, 1)), low)
        self.width = np.where(self.is_log, np.log(np.where(self.is_log, high, 1)), high) - self.offset

    def throttle(self, dynamic, static, theta):
        """Clock at which a phase keeps within the board's limit (Newton's method), and the phase's power there."""
        headroom = self.tdp - static
        over = dynamic > headroom
        if not over.any():
            return 1.0, static + dynamic
        slope, share = theta["v_slope"], theta["mem_power_share"]
        target = (headroom / np.where(over, dynamic, 1) - share) / (1 - share)
        clock = np.ones_like(target * over)
        for _ in range(100):
            volt = 1 + slope * (clock - 1)
            following = clock - (clock * volt * volt - target) / (volt * (volt + 2 * clock * slope))
            falls = over & (following < clock)
            if not falls.any():
                break
            clock = np.where(falls, following, clock)
        volt = 1 + slope * (self.min_clock - 1)
        lowest = static + dynamic * (share + (1 - share) * self.min_clock * volt * volt)
        floored = over & (lowest > self.tdp)
        clock = np.where(floored, self.min_clock, np.where(over, np.maximum(clock, self.min_clock), 1.0))
        return clock, np.where(floored, lowest, np.where(over, self.tdp, static + dynamic))

    def predict(self, values):
        t = dict(zip(self.names, values))

        def sat(x):
            return 1 / (1 + np.exp(-x))

        gemm_sat = sat(self.tile_m / t["r_m"]) * sat(self.tile_n / t["r_n"]) * sat(self.tile_k / t["r_k"])
        conv_sat = sat(self.blocks / t["r_c"]) * sat(self.pixels / t["r_s"])
        gemm_scalar = 1 + self.albert * (t["albert_gemm"] - 1)
        alu_scalar = 1 + self.albert * (t["albert_alu"] - 1)
        mem_scalar = 1 + self.albert * (t["albert_mem"] - 1)
        gemm = (self.gemm + self.gemm_lowp * t["c_gemm_lowp"]) * gemm_scalar * t["c_gemm"] / (t["beta_gemm"] * gemm_sat)
        conv = (self.conv + self.conv_lowp * t["c_conv_lowp"]) * t["c_conv"] / (t["beta_conv"] * conv_sat)
        alu_slope = t["c_alu"] / t["beta_alu"]
        alu = (self.alu + self.alu_lowp * t["c_alu_lowp"]) * alu_scalar * alu_slope
        compute = gemm + conv + alu
        memory = self.mem * mem_scalar * t["c_mem"] * np.minimum(1, np.maximum(t["lambda_miss"], t["k_wset"] * self.wset))
        grad_bytes = np.where(self.lowp, np.minimum(4, t["grad_bytes_lowp"]), 4)
        opt_memory = self.params * (24 + grad_bytes) / self.bandwidth * t["c_opt"]
        opt_compute = self.params * 18 / self.alu_peak * alu_slope
        hops = 2 * (self.gpus - 1)
        comm = hops * t["l_hop_s"] + hops / self.gpus * self.params * grad_bytes / t["bw_eff_bytes_per_s"]
        comm = comm * (1 - t["overlap"])
        idle = self.launches * t["t_kern_s"] + t["t_fixed_s"]

        static = t["p_static_w"]
        range_w = np.maximum(0, self.tdp - static) * t["c_power"]
        use = np.minimum(1, compute / memory)
        clock, pass_w = self.throttle(use * range_w, static, t)
        pass_s = np.maximum(compute / clock, memory)
        clock, opt_w = self.throttle(t["u_mem"] * range_w, static, t)
        opt_s = np.maximum(opt_compute / clock, opt_memory)
        _, comm_w = self.throttle(t["u_comm"] * range_w, static, t)
        step = pass_s + opt_s + comm + idle
        power = self.gpus * (pass_w * pass_s + opt_w * opt_s + comm_w * comm + static * idle) / step
        return step, power

    def __call__(self, unit):
        self.evaluations += 1
        x = self.offset + self.width * unit
        values = self.default.copy()
        values[self.genes] = np.where(self.is_log, np.exp(np.where(self.is_log, x, 0)), x)
        step, power = self.predict(values)
        time_error, power_error = np.abs(step / self.time - 1).mean(), np.abs(power / self.power - 1).mean()
        return 100 * (0.6 * time_error + 0.4 * power_error)

    def population(self, unit):
        """The same for many points of the unit cube: unit has one column each."""
        self.evaluations += unit.shape[1]
        x = self.offset[:, None] + self.width[:, None] * unit
        values = np.repeat(self.default[:, None], unit.shape[1], axis=1)
        values[self.genes] = np.where(self.is_log[:, None], np.exp(np.where(self.is_log[:, None], x, 0)), x)
        step, power = self.predict(values[:, :, None])
        time_error = np.abs(step / self.time - 1).mean(axis=1)
        power_error = np.abs(power / self.power - 1).mean(axis=1)
        return 100 * (0.6 * time_error + 0.4 * power_error)


def check(objective, problem):
    worst = 0.0
    units = np.array([c["unit"] for c in problem["checks"]])
    for unit, expected in zip(units, [c["loss"] for c in problem["checks"]]):
        worst = max(worst, abs(objective(unit) / expected - 1))
    together = objective.population(units.T)
    worst = max(worst, np.abs(together / [c["loss"] for c in problem["checks"]] - 1).max())
    if worst > 1e-9:
        sys.exit(f"bench_fit.py: not the same objective: losses differ by {worst:.2g}")


def evolution_per_s(objective, function, generations, **options):
    before, begin = objective.evaluations, time.process_time()
    differential_evolution(function, [(0, 1)] * len(objective.genes), maxiter=generations, popsize=15,
                           mutation=(0.5, 1.5), recombination=0.7, tol=0, polish=False, seed=1, **options)
    return (objective.evaluations - before) / (time.process_time() - begin)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as f:
        problem = json.load(f)
    np.seterr(all="ignore")  # of phases that are not throttled
    objective = Objective(problem)
    check(objective, problem)
    ours = problem["evaluations_per_s"]
    unit, repeats = np.full(len(problem["genes"]), 0.45), 3000
    begin = time.process_time()
    for _ in range(repeats):
        objective(unit)
    print(f"NumPy objective alone: {1e6 * (time.process_time() - begin) / repeats:.0f} us")
    theirs = evolution_per_s(objective, objective, 40)
    together = evolution_per_s(objective, objective.population, 200,
                               vectorized=True, updating="deferred")
    for name, speed in ("the points", theirs), ("points and population", together):
        print(f"scipy, NumPy over {name}: {speed:.0f} evaluations/s/core; adept: {ours:.0f}, {ours / speed:.0f} times")
    if ours < LEAST_RATIO * theirs:
        sys.exit(f"bench_fit.py: below {LEAST_RATIO:.0f} times scipy's speed")


if __name__ == "__main__":
    main()
