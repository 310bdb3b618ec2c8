"""Timing of a step: many windows, each with the device idle before and after."""
import math
import statistics
import time
from dataclasses import dataclass
from typing import List, Optional


@dataclass(frozen=True)
class Plan:
    """How long to measure."""
    warmup_steps: int       # at least
    warmup_s: float         # at least
    steps: int              # at least
    seconds: float          # at least
    window_s: float         # of one timed window, at least: on a GPU, waiting for it after each step would cost time


@dataclass
class Timing:
    """Seconds of one step, one value per window."""
    windows_s: List[float]
    steps: int
    warmup_steps: int
    cpu_share: float        # CPU time of this process over wall time: under 1 on one thread, something else ran
    power_w: Optional[float] = None

    def quantile(self, share):
        """Linear between the sorted values."""
        values = sorted(self.windows_s)
        place = share * (len(values) - 1)
        low = int(place)
        high = min(low + 1, len(values) - 1)
        return values[low] + (place - low) * (values[high] - values[low])

    @property
    def median_s(self):
        return statistics.median(self.windows_s)

    @property
    def std_s(self):
        return statistics.stdev(self.windows_s) if len(self.windows_s) > 1 else 0.0

    @property
    def spread(self):
        """Width of the middle 80 % of the windows relative to their median."""
        return (self.quantile(0.9) - self.quantile(0.1)) / self.median_s


def measure(step, synchronize, meter, plan, agree=lambda value: value):
    """Run `step` as the plan says. The meter covers exactly the timed windows. `agree`: what all ranks of a step make of a number."""
    warmup_steps, fastest_s, start = 0, math.inf, time.perf_counter()
    while agree(warmup_steps < plan.warmup_steps or time.perf_counter() - start < plan.warmup_s):
        begin = time.perf_counter()
        step()
        synchronize()
        fastest_s = min(fastest_s, time.perf_counter() - begin)     # the first steps are slow
        warmup_steps += 1
    per_window = agree(max(1, math.ceil(plan.window_s / fastest_s)))
    windows, steps = [], 0
    synchronize()
    meter.start()
    start, cpu_start = time.perf_counter(), time.process_time()
    while agree(steps < plan.steps or time.perf_counter() - start < plan.seconds):
        begin = time.perf_counter()
        for _ in range(per_window):
            step()
        synchronize()
        windows.append((time.perf_counter() - begin) / per_window)
        steps += per_window
    power_w = meter.stop()
    cpu_share = (time.process_time() - cpu_start) / (time.perf_counter() - start)
    return Timing(windows, steps, warmup_steps, cpu_share, power_w)


def measure_steadily(step, synchronize, meter, plan, is_steady, repeats, agree=lambda value: value):
    """Measure again while `is_steady` says no; returns the best timing and how often it was measured. The best is the
    steady one, else the one of the least spread."""
    best, count = None, 0
    while agree(count < repeats and (best is None or not is_steady(best))):
        timing = measure(step, synchronize, meter, plan, agree)
        count += 1
        if best is None or is_steady(timing) or timing.spread < best.spread:
            best = timing
    return best, count
