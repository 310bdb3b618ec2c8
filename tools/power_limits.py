#!/usr/bin/env python3
"""Is the best power limit found? Predicted energy per step over measured limits, beside what was measured.

    python3 tools/power_limits.py --adept BUILD/tools/adept --data DIR [--held-out] [-o docs/accuracy/POWER_LIMITS.md] [--plot docs/accuracy/POWER_LIMITS.svg]

DIR holds zeus_*.csv in adept's measurement CSV (github ml-energy/zeus, NSDI'23 traces: training at every power limit).
Each group of GPU, model and batch size is swept with `adept predict --power-limit` over the limits that were measured.
--held-out fits each GPU anew with the group's batch size left out, from the specification sheet, and asks that instead
of the fit that adept ships (about a minute per GPU). --plot draws the curves (gnuplot). Needs Python 3.9.
"""
import argparse
import csv
import json
import pathlib
import signal
import subprocess
import sys
import tempfile

import markdown
import stamps

ROOT = pathlib.Path(__file__).resolve().parent.parent
GPUS = ["v100-pcie-32gb", "a40"]
STEP_W = 25  # between the limits of the traces
CURVE_POINTS = 33


def run(arguments):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(a) for a in arguments)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def groups_of(file):
    """Rows by model and batch size, where time and power were measured at three limits or more."""
    groups = {}
    for row in csv.DictReader(file.open()):
        if row["step_time_s"] and row["avg_power_w"] and row["power_limit_w"]:
            groups.setdefault((row["model"], int(row["batch_size"])), []).append(row)
    return {key: sorted(rows, key=lambda r: float(r["power_limit_w"])) for key, rows in groups.items() if len(rows) > 2}


def save_profile(adept, row, models, path):
    """The step of a row as a profile; None where its columns say nothing."""
    options = {"input": "--input", "batch_size": "--batch", "precision": "--precision", "mode": "--mode",
               "optimizer": "--optimizer", "grad_accum": "--grad-accum", "attention": "--attention"}
    arguments = [adept, "profile", models / f"{row['model']}.pt", "-o", path, "--framework", "torch1"]  # Zeus's
    for column, option in options.items():
        for value in filter(None, row.get(column, "").split(";" if column == "input" else "\n")):
            arguments += [option, value]
    run(arguments)
    return path


def predict(adept, profile, gpu, limit_w=None):
    limit = [] if limit_w is None else ["--power-limit", limit_w]
    return json.loads(run([adept, "predict", profile, "--gpu", gpu, "--json"] + limit))


def held_out_energies(report):
    """Predicted energy by (model, batch size) and limit, each by the fit that had not seen the batch size."""
    energies = {}
    for row in report["held_out"]["rows"]:
        energies.setdefault((row["model"], row["batch_size"]), {})[row["power_limit_w"]] = row["predicted"]["energy_step_j"]
    return energies


def fit_without(adept, file, gpu, models):
    with tempfile.TemporaryDirectory() as folder:
        return json.loads(run([adept, "calibrate", file, "--gpu", gpu, "--from-sheet", "--granularity", "operator",
                               "--free", "e_simt_j", "--prior-rows", "0.01", "--leave-out", "batch_size", "--suggest", "0", "--max-generations", "0",
                               "--models", models, "--json", "-o", pathlib.Path(folder) / "fit.json"]))


def compare(measured, predicted):
    """Both by limit: where each is least, and how much energy following the prediction costs."""
    best = min(measured, key=measured.get)
    guess = min(measured, key=lambda w: (round(predicted[w], 12), -w))
    return {"measured_w": best, "predicted_w": guess, "hit": abs(best - guess) <= STEP_W,
            "loss": measured[guess] / measured[best] - 1, "saving": 1 - measured[best] / measured[max(measured)]}


def study(adept, file, gpu, models, report=None, curves=False):
    """One result per group. report: of `adept calibrate --leave-out batch_size --json` on the file, or None: the GPU as it is."""
    held_out = held_out_energies(report) if report else None
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for (model, batch), rows in sorted(groups_of(file).items()):
            measured = {float(r["power_limit_w"]): float(r["step_time_s"]) * float(r["avg_power_w"]) for r in rows}
            profile = save_profile(adept, rows[0], models, pathlib.Path(folder) / f"{model}_{batch}.json")
            if held_out:
                predicted = held_out[model, batch]
            else:
                predicted = {w: predict(adept, profile, gpu, w)["energy_step_j"] for w in measured}
            result = compare(measured, predicted)
            result.update(gpu=gpu, model=model, batch=batch, measured=measured, predicted=predicted)
            if not held_out:
                limits = predict(adept, profile, gpu)["power_limits"]  # none where adept says that the step does not fit
                result["search_w"] = limits["energy_optimal"]["limit_w"] if limits else None
            if curves and not held_out:
                low, high = min(measured), max(measured)
                limits = [low + (high - low) * i / (CURVE_POINTS - 1) for i in range(CURVE_POINTS)]
                result["curve"] = [(w, predict(adept, profile, gpu, w)["energy_step_j"]) for w in limits]
            results.append(result)
    return results


def section(results, held_out):
    """The Markdown that says how often the best limit was found."""
    hits, n = sum(r["hit"] for r in results), len(results)
    losses = sorted(100 * r["loss"] for r in results)
    source = ("by fits that had not seen the group's batch size" if held_out else
              "by the fits that adept ships, which saw most of these rows")
    lines = [f"Energy per step over the power limits of Zeus's traces, predicted {source}: the limit of least measured energy is "
             f"found within one step of {STEP_W} W for **{hits} of {n} groups ({100 * hits / n:.0f} %)**. Setting the predicted limit instead of the "
             f"measured best costs {losses[n // 2]:.1f} % energy in the median, less than 1 % in {sum(l < 1 for l in losses)} groups and "
             f"{losses[-1]:.1f} % at most.", "",
             "| GPU | model | batch | best limit, measured | predicted | within one step | energy lost | energy saved by the best limit |"
             + ("" if held_out else " `power_limits` |"),
             "|---|---|---|---|---|---|---|---|" + ("" if held_out else "---|")]
    for r in results:
        cells = [r["gpu"], r["model"], r["batch"], f"{r['measured_w']:.0f} W", f"{r['predicted_w']:.0f} W", "yes" if r["hit"] else "**no**",
                 f"{100 * r['loss']:.1f} %", f"{100 * r['saving']:.1f} %"]
        cells += [] if held_out else [f"{r['search_w']:.0f} W" if r["search_w"] else "none: \"does not fit\""]
        lines.append("| " + " | ".join(str(c) for c in cells) + " |")
    return "\n".join(lines) + "\n"


def plot(results, path):
    """One panel per GPU and model, one colour per batch size: points measured, the predicted curve a line, relative to the highest limit."""
    panels = {}
    for r in results:
        panels.setdefault((r["gpu"], r["model"]), []).append(r)
    script = [f"set terminal svg size 1000,{360 * -(-len(panels) // 2)} noenhanced font 'sans,11' background rgb 'white'",
              f"set multiplot layout {-(-len(panels) // 2)},2", "set grid lc rgb '#e0e0e0'", "set key outside right title 'batch'",
              "set xlabel 'power limit in W'", "set ylabel 'energy per step, highest limit = 1'"]
    for (gpu, model), group in panels.items():
        script.append(f"set title '{gpu}, {model}'")
        curves = [f"'-' with lines lw 1.5 lc {i + 1} title '{r['batch']}', '-' with points pt 7 ps 0.6 lc {i + 1} notitle"
                  for i, r in enumerate(group)]
        script.append("plot " + ", ".join(curves))
        for r in group:
            top, top_predicted = r["measured"][max(r["measured"])], r["curve"][-1][1]
            script += [f"{w:.6g} {e / top_predicted:.5g}" for w, e in r["curve"]] + ["e"]
            script += [f"{w:.6g} {e / top:.5g}" for w, e in sorted(r["measured"].items())] + ["e"]
    script.append("unset multiplot")
    done = subprocess.run(["gnuplot", "--default-settings", "-"], input="\n".join(script) + "\n", capture_output=True, text=True)
    if done.returncode != 0 or not done.stdout:
        sys.exit(f"gnuplot: exit {done.returncode}: {done.stderr.strip()}")
    path.write_text(done.stdout, encoding="utf-8")


HEAD = """# The best power limit: predicted and measured

Written by `tools/power_limits.py` from the traces of Zeus (NSDI'23, github ml-energy/zeus, Apache-2.0): ResNet-50 on ImageNet and ShuffleNetV2 on
CIFAR-sized images, fp32, one V100 and one A40, each configuration run once. The limits tried are those that were measured; the column
`power_limits` is what `adept predict` names over the whole range of the board. Small batches of ShuffleNetV2 wait for the host; there the GPU's clock
costs no time until it is low.

"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--adept", required=True, help="the program")
    parser.add_argument("--data", required=True, type=pathlib.Path, help="folder of zeus_GPU.csv")
    parser.add_argument("--models", type=pathlib.Path, default=ROOT / "data" / "models", help="folder of the traced models")
    parser.add_argument("--held-out", action="store_true", help="also predict every batch size by a fit that has not seen it")
    parser.add_argument("--plot", type=pathlib.Path, help="SVG of the curves")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="Markdown; default: stdout")
    args = parser.parse_args()
    files = [(args.data / f"zeus_{gpu}.csv", gpu) for gpu in GPUS]
    shipped = [r for file, gpu in files for r in study(args.adept, file, gpu, args.models, curves=bool(args.plot))]
    text = HEAD + "## Shipped fits\n\n" + section(shipped, False)
    if args.plot:
        plot(shipped, args.plot)
        text += (f"\n![Energy per step over the power limit]({args.plot.name})\n\nEnergy per step relative to that at the highest limit: points measured, "
                 "lines predicted, a colour per batch size.\n")
    if args.held_out:
        reports = [(file, gpu, fit_without(args.adept, file, gpu, args.models)) for file, gpu in files]
        text += "\n## Held out\n\n" + section([r for file, gpu, report in reports
                                             for r in study(args.adept, file, gpu, args.models, report)], True)
    text = stamps.stamped("accuracy/POWER_LIMITS.md", markdown.wrap(text))
    if args.output:
        args.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, subprocess takes every end for success
    main()
