#!/usr/bin/env python3
"""What generations of calibrate's search are worth: ADEPT=build/tools/adept python3 tools/calibration_search.py ROWS [SET...]

ROWS is what tools/public_rows.py writes. Every set is fitted by both granularities, after 0 generations (by operator then with
descents from 12 other points), by some, and by as many as the population wants. A table in Markdown says for each how much
more loss than the least was left, in percent of it, and the seconds of a processor. On an AMD EPYC's core,
once (of a set's first fit the models are read as well):

| by operator | loss % | 0 | 5 | 10 | 20 | 40 |
|---|---|---|---|---|---|---|
| zeus_v100-pcie-32gb | 2.862 | +0.00 %, 29.6 s | +0.00 %, 3.3 s | +0.00 %, 4.1 s | +0.00 %, 6.3 s | +0.00 %, 8.5 s |
| zeus_a40 | 3.712 | +0.00 %, 40.5 s | +0.00 %, 5.5 s | +0.00 %, 7.2 s | +0.00 %, 10.7 s | +0.01 %, 16.8 s |
| neusight_v100-pcie-32gb | 1.094 | +0.00 %, 0.4 s | +0.00 %, 0.2 s | +0.00 %, 0.2 s | +0.00 %, 0.3 s | +0.00 %, 0.6 s |
| neusight_a100-pcie-40gb | 1.406 | +0.00 %, 0.4 s | +0.00 %, 0.2 s | +0.00 %, 0.2 s | +0.00 %, 0.3 s | +0.00 %, 0.5 s |
| neusight_t4 | 1.992 | +0.00 %, 0.7 s | +1.18 %, 0.1 s | +1.18 %, 0.1 s | +1.18 %, 0.2 s | +0.05 %, 0.3 s |
| neusight_p100-pcie-16gb | 0.116 | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.2 s |
| dosgroup_l40 | 3.822 | +0.00 %, 15.9 s | +0.00 %, 4.2 s | +0.00 %, 5.9 s | +0.00 %, 9.3 s | +0.00 %, 16.7 s |

| by model | loss % | 0 | 50 | 100 | 200 | 400 | all |
|---|---|---|---|---|---|---|---|
| zeus_v100-pcie-32gb | 12.005 | +0.00 %, 2.1 s | +0.00 %, 0.5 s | +0.88 %, 0.7 s | +0.00 %, 1.1 s | +0.00 %, 1.7 s | +0.00 %, 1.6 s |
| zeus_a40 | 11.457 | +6.27 %, 0.4 s | -0.73 %, 0.4 s | -1.76 %, 0.6 s | -0.66 %, 1.0 s | +0.00 %, 1.1 s | +0.00 %, 1.0 s |
| neusight_v100-pcie-32gb | 1.125 | +0.00 %, 3.8 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s |
| neusight_a100-pcie-40gb | 1.314 | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s |
| neusight_t4 | 2.470 | +64.90 %, 3.7 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s |
| neusight_p100-pcie-16gb | 1.163 | +22.29 %, 0.1 s | +23.27 %, 0.0 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s | +0.00 %, 0.1 s |
| dosgroup_l40 | 6.642 | +6.61 %, 3.3 s | +5.95 %, 0.7 s | +7.12 %, 0.8 s | -0.92 %, 0.9 s | +0.00 %, 1.2 s | +0.00 %, 1.2 s |
"""
import json
import os
import pathlib
import resource
import subprocess
import sys

GENERATIONS = {"operator": [0, 5, 10, 20, 40], "model": [0, 50, 100, 200, 400, 50000]}
SETS = ["zeus_v100-pcie-32gb", "zeus_a40", "neusight_v100-pcie-32gb", "neusight_a100-pcie-40gb", "neusight_t4", "neusight_p100-pcie-16gb",
        "dosgroup_l40"]


def fit(rows, name, granularity, generations):
    """Loss in percent, and the seconds of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    report = json.loads(subprocess.run(
        [os.environ["ADEPT"], "calibrate", rows / f"{name}.csv", "--granularity", granularity, "--max-generations", str(generations),
         "--leave-out", "none", "--suggest", "0", "--models", rows / "models", "--threads", "1", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)
    return report["search"]["loss_percent"], resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    rows = pathlib.Path(sys.argv[1])
    for granularity, generations in GENERATIONS.items():
        print(f"| by {granularity} | loss % | " + " | ".join(str(g) if g < 50000 else "all" for g in generations) + " |")
        print("|---|---|" + "---|" * len(generations))
        for name in sys.argv[2:] or SETS:
            found = [fit(rows, name, granularity, g) for g in generations]
            # by model the search that ends by itself is the measure: shorter ones may end in a better place by chance
            least = found[-1][0] if generations[-1] == 50000 else min(loss for loss, _ in found)
            print(f"| {name} | {least:.3f} | " + " | ".join(f"{100 * (loss / least - 1):+.2f} %, {s:.1f} s" for loss, s in found) + " |", flush=True)
        print()


if __name__ == "__main__":
    main()
