#!/usr/bin/env python3
"""What generations of calibrate's search are worth: ADEPT=build/tools/adept python3 tools/calibration_search.py ROWS [SET...]

ROWS is what tools/public_rows.py writes. Every set is fitted by both granularities, after 0 generations (by operator then with
descents from 12 other points), by some, and by as many as the population wants. A table in Markdown says for each how much
more loss than the least was left, in percent of it, and the seconds of a processor. docs/CALIBRATION.md shows it.
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
