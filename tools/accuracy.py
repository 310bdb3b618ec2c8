#!/usr/bin/env python3
"""Write docs/ACCURACY.md: errors of adept's fits on public measurements and on our own, held out first.

    python3 tools/accuracy.py --adept BUILD/tools/adept --data DIR [-o docs/ACCURACY.md]

DIR holds public measurements in adept's CSV (neusight_*.csv, neusight_peer_predictions.csv, zeus_*.csv,
dosgroup_a100.csv, kernels/*.csv); where they come from is said in the document. What DIR lacks is left out. Every
number is read from `adept calibrate --json`; nothing is fitted here. Needs Python 3.9 and nothing else.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

# file, GPU, column left out: all that differs between datasets
STEPS = [
    ("neusight_v100-pcie-32gb.csv", "v100-pcie-32gb", "model"),
    ("neusight_a100-pcie-40gb.csv", "a100-pcie-40gb", "model"),
    ("neusight_p100-pcie-16gb.csv", "p100-pcie-16gb", "model"),
    ("neusight_t4.csv", "t4", "model"),
    ("neusight_p4.csv", "p4", "model"),
    ("zeus_v100-pcie-32gb.csv", "v100-pcie-32gb", "batch_size"),
    ("zeus_a40.csv", "a40", "batch_size"),
    ("dosgroup_a100.csv", "a100-sxm-40gb", "model"),
]
CPU = ("cpu-xeon-avx512-1core.csv", "cpu-xeon-avx512-1core", "model")
# kernels measured on another board with the same chip serve as well
KERNELS = {"a100-sxm-40gb": "a100-pcie-40gb"}
PEERS = [("neusight_s", "NeuSight"), ("habitat_s", "Habitat"), ("roofline_s", "roofline"), ("li_s", "Li et al.")]


def calibrate(adept, data, file, gpu, column, granularity):
    """The report of one fit, or None with the reason on stderr."""
    arguments = [adept, "calibrate", "--gpu", gpu, "--from-sheet", "--granularity", granularity, "--leave-out", column,
                 "--suggest", "0", "--json"]
    arguments.append(str(file))
    if granularity == "operator":  # boards that throttle by themselves show it in their times
        arguments += ["--free", "e_simt_j", "--prior-rows", "0.01"]
    kernels = data / "kernels" / f"{KERNELS.get(gpu, gpu)}.csv"
    if granularity == "operator" and kernels.exists():
        arguments += ["--kernels", str(kernels)]
    with tempfile.TemporaryDirectory() as folder:
        arguments += ["-o", str(pathlib.Path(folder) / "fit.json")]
        run = subprocess.run(arguments, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit {run.returncode}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def number(value, digits=1):
    return "" if value is None else f"{value:.{digits}f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


STEP_HEAD = ["measurements", "granularity", "n", "left out", "time", "median", "p90", "max", "bias", "power", "energy",
             "in 80 % interval", "floor time", "floor power", "in-sample time", "in-sample power"]


def step_row(file, column, granularity, report):
    errors = report["fit"]["errors"]
    inside, outside = errors["in_sample"], errors["held_out"].get(column) or {}
    floors = errors["floors"]["held_out"].get(column) or {}
    coverage = outside.get("coverage")
    return [file.removesuffix(".csv"), granularity, inside["n"], column.replace("_", " ")] + [
        number(outside.get(key))
        for key in ("mape_time", "median_time", "p90_time", "max_time", "bias_time", "mape_power", "mape_energy")
    ] + [number(coverage, 0), number(floors.get("mape_time")), number(floors.get("mape_power")),
         number(inside.get("mape_time")), number(inside.get("mape_power"))]


def peer_rows(data):
    """Mean absolute errors of published predictions, by GPU."""
    path = data / "neusight_peer_predictions.csv"
    if not path.exists():
        return []
    by_gpu = {}
    for row in csv.DictReader(path.open()):
        by_gpu.setdefault(row["gpu"], []).append(row)
    out = []
    for gpu, rows in sorted(by_gpu.items()):
        cells = [gpu, len(rows)]
        for key, _ in PEERS:
            errors = [abs(float(r[key]) / float(r["measured_s"]) - 1) for r in rows if r[key]]
            cells.append(number(100 * sum(errors) / len(errors)) if errors else "")
        out.append(cells)
    return out


def kernel_rows(gpu, report):
    out = []
    for op, k in report["fit"]["kernels"]["operators"].items():
        held = k["held_out"]
        out.append([gpu, op, held["n"], number(held["mape"]), number(held["median"]), number(held["p90"]),
                    number(held["roofline_mape"])])
    return out


TEXT = """# How right adept is

Written by `tools/accuracy.py`; every number comes from `adept calibrate --json`. Errors are mean absolute percentage
errors of the measured value unless the column says otherwise. **Time, power and energy are held out**: each value of
the column "left out" was predicted by a fit that had not seen it. The in-sample columns are how well a fit repeats
what it was fitted to, and flatter. Floors are what a single fitted efficiency (time) and a constant power give on the
same rows, held out the same way. The interval column says how many held-out rows lie in the 80 % interval.

Granularity "operator" predicts every kernel by itself, after a fit to single kernels of the same chip where the data
has some; "model" is the thesis's law on sums over the model. Both start from the specification sheet.

## Steps

{steps}
Sources: *neusight_*: github sitar-lab/NeuSight (MIT), ASPLOS'25 labels, fp32, eager attention, time only.
*zeus_*: github ml-energy/zeus (Apache-2.0), NSDI'23 traces, ResNet-50 and ShuffleNetV2 at every power limit; each
configuration was run once. *dosgroup_*: github dos-group/gpu_power_benchmark (MIT). *cpu-*: our own, one core of a
Xeon, data/measurements.

## The peers on the same rows

Predictions that NeuSight's authors published for the rows of neusight_*: of NeuSight itself (trained on kernels of
these GPUs), Habitat, a roofline and Li et al. Compare with "time" above: there too, the GPU's kernels were known and
the model was not.

{peers}
## Single kernels

20 % of the kernels of at least 0.1 ms, held out; the roofline is max(FLOPs / peak, bytes / bandwidth) times one fitted
factor. Source: NeuSight's fp32 forward kernels.

{kernels}
## What is wrong, and why

{known}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--adept", required=True, help="the program")
    parser.add_argument("--data", required=True, type=pathlib.Path, help="folder of public measurements")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("docs/ACCURACY.md"))
    args = parser.parse_args()
    source = pathlib.Path(__file__).resolve().parent.parent
    own = source / "data" / "measurements" / CPU[0]
    steps, kernels = [], []
    files = [(args.data / f, gpu, column) for f, gpu, column in STEPS] + [(own, CPU[1], CPU[2])]
    for file, gpu, column in files:
        if not file.exists():
            print(f"{file} is not there: left out", file=sys.stderr)
            continue
        for granularity in ("operator", "model"):
            print(f"{file.name}, {granularity} ...", file=sys.stderr)
            report = calibrate(args.adept, args.data, file, gpu, column, granularity)
            steps.append(step_row(file.name, column, granularity, report))
            if report["fit"].get("kernels") and gpu not in KERNELS and gpu not in {row[0] for row in kernels}:
                kernels += kernel_rows(gpu, report)
    known = (source / "docs" / "ACCURACY_NOTES.md").read_text(encoding="utf-8").strip()
    text = TEXT.format(
        steps=table(STEP_HEAD, steps),
        peers=table(["GPU", "n"] + [name for _, name in PEERS], peer_rows(args.data)),
        kernels=table(["GPU", "operator", "n", "error", "median", "p90", "roofline"], kernels),
        known=known,
    )
    args.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
