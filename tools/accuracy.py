#!/usr/bin/env python3
"""Write docs/ACCURACY.md and docs/accuracy/TABLES.md: errors of adept's fits on public measurements and on our own, held out first.

    python3 tools/accuracy.py --adept BUILD/tools/adept --data DIR [--models ZOO/train] [-o docs/ACCURACY.md]
        [--plots docs/accuracy] [--shared REPORTS/shared.json] [--reports DIR] [--jobs N]

DIR and ZOO are those of tools/fit_public.sh; where the measurements come from is said in the document. What is not there
is left out. Every number is read from `adept calibrate --json`; nothing is fitted here. Needs Python 3.9, and gnuplot for
the plots.
"""
import argparse
import concurrent.futures
import csv
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import markdown
import stamps

SOURCE = pathlib.Path(__file__).resolve().parent.parent
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
    ("dosgroup_l40.csv", "l40", "model"),
    ("dosgroup_quadro-rtx-5000.csv", "quadro-rtx-5000", "model"),
    ("timm_rtx3090_train.csv", "rtx3090", "family"),
    ("gemm_h200-sxm-141gb.csv", "h200-sxm-141gb", "fold"),
]
# our own rows of a board that the set has others of: with measured clocks
OWN = SOURCE / "data" / "measurements" / "h200-sxm-141gb.csv"
CPU = ("cpu-xeon-avx512-1core.csv", "cpu-xeon-avx512-1core", "model")
# GPUs that the thesis's law is not compared on: it knows no memory formats, and no kernels
BY_OPERATOR_ONLY = ["l40", "quadro-rtx-5000", "rtx3090", "h200-sxm-141gb"]
# kernels measured on another board with the same chip serve as well
KERNELS = {"a100-sxm-40gb": "a100-pcie-40gb"}
KERNEL_GPUS = ["v100-pcie-32gb", "a100-pcie-40gb", "p100-pcie-16gb", "t4", "p4"]  # of NeuSight
KERNEL_FILES = [(gpu, gpu) for gpu in KERNEL_GPUS] + [
    ("bf16_gemm_a100-sxm-80gb", "a100-sxm-80gb"), ("bf16_gemm_h100-sxm-80gb", "h100-sxm-80gb"), ("bf16_gemm_l40s", "l40s"),
    ("bf16_gemm_h200-sxm-141gb", "h200-sxm-141gb"), ("bf16_gemm_b200", "b200"),
    ("fp16_gemm_v100-pcie-16gb", "v100-pcie-32gb"), ("xla_bmm_h100-sxm-80gb_bf16", "h100-sxm-80gb"),
    ("xla_bmm_h100-sxm-80gb_tf32", "h100-sxm-80gb"), ("xla_bmm_mi300x_bf16", "mi300x"), ("xla_bmm_mi300x_xf32", "mi300x"),
    ("fa2_causal_power_h100-sxm-80gb", "h100-sxm-80gb"), ("fa2_causal_power_b200", "b200")]
# twice: all rows, and those that the libraries measured agree on
ATTENTION_FILES = [("attention_causal_a100-sxm-80gb", "a100-sxm-80gb"), ("attention_causal_h100-sxm-80gb", "h100-sxm-80gb"),
                   ("attention_full_h100-sxm-80gb", "h100-sxm-80gb"), ("attention_causal_l40s", "l40s"),
                   ("attention_full_l40s", "l40s"), ("attention_causal_h200-sxm-141gb", "h200-sxm-141gb"),
                   ("attention_full_h200-sxm-141gb", "h200-sxm-141gb"), ("attention_causal_b200", "b200"),
                   ("attention_full_b200", "b200")]
PEERS = [("neusight_s", "NeuSight"), ("habitat_s", "Habitat"), ("roofline_s", "roofline"), ("li_s", "Li et al.")]


def digest_of(arguments):
    """Of what a fit depends on: the program, the rows, the options; not of where they lie, nor of what it writes."""
    digest = hashlib.sha256()
    for argument in arguments:
        path = pathlib.Path(argument)
        known = path.read_bytes() if path.is_file() and path.suffix in ("", ".csv", ".sh") else path.name.encode()
        digest.update(hashlib.sha256(known).digest())
    return digest.hexdigest()


def run_json(arguments, reports=None):
    """@param reports  folder of the reports of a run that was interrupted: what is there is not fitted again"""
    kept = reports / f"{digest_of(arguments)}.json" if reports else None
    if kept and kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    run = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(str(a) for a in arguments)}: exit {run.returncode}: {run.stderr.strip()}")
    if kept:
        reports.mkdir(parents=True, exist_ok=True)
        kept.write_text(run.stdout, encoding="utf-8")
    return json.loads(run.stdout)


def script_options(script, name):
    """Words of a shell variable: the options that a script fits with are said there, once."""
    text = (SOURCE / "tools" / script).read_text(encoding="utf-8")
    return re.search(rf"^{name}='([^']*)'$", text, re.M)[1].split()


def kernels_for_steps(data, file, gpu, folder):
    """As tools/fit_public.sh: without batched products, see the notes. Rows of single products bring their own."""
    own = file.with_name(f"kernels_{file.name}")
    if own.exists():
        return ["--kernels", own]
    source = data / "kernels" / f"{KERNELS.get(gpu, gpu)}.csv"
    if not source.exists():
        return []
    path = folder / source.name
    path.write_text("".join(line for line in source.open() if not line.startswith("bmm,")), encoding="utf-8")
    return ["--kernels", path]


def public_rows(args, folder):
    """The rows as tools/fit_public.sh takes them, and the models they name."""
    command = [sys.executable, SOURCE / "tools" / "public_rows.py", args.data, folder]
    subprocess.run(command + (["--models", args.models] if args.models else []), check=True)
    return folder


def calibrate(args, file, models, gpu, column, granularity, plot=None):
    """The report of one fit."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        arguments = [args.adept, "calibrate", file, "--gpu", gpu, "--from-sheet", "--granularity",
                     granularity, "--leave-out", column, "--suggest", "0", "--models", models, "--json",
                     "-o", folder / "fit.json"]
        if granularity == "operator" and gpu == CPU[1]:
            arguments += script_options("fit_cpu.sh", "law")
        elif granularity == "operator":
            arguments += script_options("fit_public.sh", "law") + kernels_for_steps(args.data, file, gpu, folder)
            if "zeus" in file.name: # all batches, also those whose steps wait for the data loader
                arguments += ["--free", "t_sample_s"]
        if plot:
            arguments += ["--plot", plot]
        return run_json(arguments, args.reports)


def calibrate_kernels(args, file, gpu):
    with tempfile.TemporaryDirectory() as folder:
        return run_json([args.adept, "calibrate", "--gpu", gpu, "--from-sheet", "--granularity", "operator", "--kernels", file,
                         "--json", "-o", pathlib.Path(folder) / "fit.json"], args.reports)


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


def kernel_rows(name, report):
    out = []
    for op, k in report["fit"]["kernels"]["operators"].items():
        held, short = k["held_out"], k.get("held_out_under_100us", {"n": 0, "mape": 0})
        long = held["n"] - short["n"]
        out.append([name, op, held["n"], number(held["mape"]), number(held["median"]), number(held["p90"]),
                    number(held["roofline_mape"]),
                    number((held["n"] * held["mape"] - short["n"] * short["mape"]) / long if long else None),
                    number(short["mape"] if short["n"] else None)])
    return out


def kernels_of(args, folder, pool):
    """Fits of single kernels, each file by itself: names of the files, and reports to come."""
    command = [sys.executable, SOURCE / "tools" / "public_kernels.py", args.data]
    subprocess.run(command + [folder / "all"], check=True)
    subprocess.run(command + [folder / "agreeing", "--agreeing"], check=True)
    out = []
    for which, files in (("all", KERNEL_FILES + ATTENTION_FILES), ("agreeing", ATTENTION_FILES)):
        for stem, gpu in files:
            file = folder / which / f"{stem}.csv"
            if file.exists():
                name = stem if which == "all" else f"{stem}, libraries agree"
                out.append((name, pool.submit(calibrate_kernels, args, file, gpu)))
    return out


TEXT = """# How right adept is

Written by `tools/accuracy.py`; every number comes from `adept calibrate --json` or `evaluate --json`. Errors are mean absolute
percentage errors of the measured value, by granularity "operator", and **held out**: each was predicted by a fit that had not
seen it, unless it says in-sample. [accuracy/TABLES.md](accuracy/TABLES.md) has every file behind these tables, its source, and
a plot; [accuracy/NOTES.md](accuracy/NOTES.md) the experiments; [POWER_LIMITS.md](accuracy/POWER_LIMITS.md) limits of least energy.

## Claims

{targets}
The thesis's tables 4.2 and 4.3 are errors in-sample, on 32 rows that are not published: 3.05 % of time, 5.78 % of power,
4.14 % combined (0.6 time + 0.4 power). {comparison} {coverage}

## GPUs never measured

The shared set (hwprofiles/shared), which stands in for every GPU without a fit of its own, is fitted to steps of {boards} GPUs
and kernels of three. Each is predicted here by a set fitted to the others, from its specification sheet alone; then boards
that no set has had, and our own rows of an H200, by the shipped one. "Inside" says how many rows lie in their 80 % interval of time.

{generations}
Where the set timed fewer than two boards of a generation, the interval has what it was off the B200 without any Blackwell
([MODEL.md](MODEL.md), "Intervals").

## What is wrong

- **Boards that throttle by their warmth** (T4, P4): no label says how warm a board was.
- **Steps that wait for the host**: its time a launch differs by machine, program and precision, 12 to 60 us. A CSV of your own
  says what yours is.
- **Boards whose generation the set hardly knows** (B200, Pascal) are predicted too fast, by 12 to 33 %.
- **MPT on an A100 SXM of 40 GB** is 7.9 % too slow since products reach more of their peak in the set.
- **A laptop's board** is 14 % too fast: nobody says what limit it had.
- **Products by PyTorch 2.11 on an H200** are 15 to 20 % too slow, and convolutions and small kernels too fast: its own steps are
  15 % off, TinyLlama +25, ResNet-50 -14. A fit of that board alone leaves its models' errors as they are when they are left out.
- **Libraries that choose among kernels** (convolutions of the V100 and the T4, attention and products by several libraries or by
  XLA) jump where a law of dimensions is smooth.
- **Single kernels that follow one another** heat a board; inside a step they do not. Profiles fitted to kernels alone are not shipped.
"""

TABLES = """# Errors of every file

Written by `tools/accuracy.py` with [ACCURACY.md](../ACCURACY.md), which says what errors are. Floors are what a single fitted
efficiency (time) and a constant power give on the same rows, held out the same way. The in-sample columns are how well a fit
repeats what it was fitted to, and flatter. The interval column says how many held-out rows lie in the 80 % interval.

## Steps

Granularity "operator" predicts every kernel by itself, after a fit to single kernels of the same chip where the data has some;
"model" is the thesis's law on sums over the model. Both start from the specification sheet.

{steps}
Predicted against measured, every row, held out and in-sample: {plots}.

Sources: *neusight_*: github sitar-lab/NeuSight (MIT), ASPLOS'25 labels, fp32, eager attention, time only.
*zeus_*: github ml-energy/zeus (Apache-2.0), NSDI'23 traces, ResNet-50 and ShuffleNetV2 at every power limit; each
configuration was run once. *dosgroup_*: github dos-group/gpu_power_benchmark (MIT). *timm_*:
github huggingface/pytorch-image-models (Apache-2.0), fp16 autocast, both memory formats, architectures left out by family.
*lambda_*: github lambdal/deeplearning-benchmark, one GPU. *gemm_h200*: github ai-dynamo/aiconfigurator (Apache-2.0), bf16
products of 0.1 ms and more, held until the board is at its limit, after a fit to short runs of them. *cpu-*: our own, one core of a
Xeon, data/measurements.

## GPUs never measured

{unseen}
## The peers on the same rows

Predictions that NeuSight's authors published for the rows of neusight_*: of NeuSight itself (trained on kernels of
these GPUs), Habitat, a roofline and Li et al. Compare with "time" above: there too, the GPU's kernels were known and
the model was not.

{peers}
## Single kernels

20 % of the kernels, held out: of at least 0.1 ms, and of at least 10 us where they were timed by CUDA graphs or a profiler.
The roofline is max(FLOPs / peak, bytes / bandwidth) times one fitted factor. Sources: NeuSight's fp32 forward kernels;
*bf16_gemm_*, *attention_*: github ai-dynamo/aiconfigurator (Apache-2.0), medians over libraries; *fp16_gemm_*:
github microsoft/apex_plus (MIT); *xla_bmm_*: github ROCm/xla (Apache-2.0); *fa2_*: github CPA872/apex_plus_glassml (MIT).
"Libraries agree": rows of two libraries and more, whose slowest takes at most twice the time of the fastest. `tools/public_kernels.py` says
what is known of each measurement.

{kernels}"""


def shared_report(args, rows):
    """Of the set for GPUs that nobody measured, fitted as shipped by tools/fit_public.sh; None without its data."""
    script = SOURCE / "tools" / "fit_public.sh"
    kept = args.shared
    if args.reports and not kept:
        kept = args.reports / f"shared_{digest_of([args.adept, script, *sorted(rows.glob('*.csv'))])}.json"
    if kept and kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    if not (args.data / "zeus_a40.csv").exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ADEPT": args.adept, "PROFILES": folder, "REPORTS": folder,
                       "MODELS": str(args.models or "")}
        run = subprocess.run(["sh", script, args.data, "shared"], capture_output=True, text=True,
                             env=environment)
        if run.returncode != 0:
            sys.exit(f"fit_public.sh shared: {run.stderr.strip()}")
        text = (pathlib.Path(folder) / "shared.json").read_text(encoding="utf-8")
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(text, encoding="utf-8")
    return json.loads(text)


def without_fit(source, folder):
    """A GPU's sheet alone: adept then takes the shared set for it."""
    profile = json.loads(source.read_text(encoding="utf-8"))
    profile["fit"] = None
    path = folder / source.name
    path.write_text(json.dumps(profile), encoding="utf-8")
    return path


def evaluate_sheet(adept, file, gpu, models, by=None):
    """Errors of what the shipped set says of a board."""
    with tempfile.TemporaryDirectory() as name:
        sheet = without_fit(SOURCE / "hwprofiles" / f"{gpu}.json", pathlib.Path(name))
        return run_json([adept, "evaluate", file, "--gpu", sheet, "--models", models, "--json"] + (["--by", by] if by else []))


UNSEEN_KEYS = ("mape_time", "bias_time", "mape_power", "mape_energy", "coverage_time")


def unseen_rows(adept, rows, report):
    """Errors on GPUs that had no part in the fit: the set's own left out one by one, those it never had, and our own rows."""
    out, held = [], report["held_out"]
    for group in (held if isinstance(held, list) else [held])[0]["groups"]:
        if set(group["by"]) == {"gpu", "file"}:
            out.append([group["by"]["gpu"], group["by"]["file"].removesuffix(".csv"), "left out of the set", group["n"]] +
                       [number(group.get(key)) for key in UNSEEN_KEYS])
    for gpu, stem, by in (("p100-pcie-16gb", "neusight_p100-pcie-16gb", None), ("p4", "neusight_p4", None),
                          ("l4", "dosgroup_l4", None), ("rtx4090", "timm_rtx4090_infer", "execution"),
                          ("rtx-pro-6000", "timm_rtx-pro-6000-maxq_infer", "execution")):
        file = rows / f"{stem}.csv"
        if not file.exists():
            continue
        report = evaluate_sheet(adept, file, gpu, rows / "models", by)
        for group in report["groups"] if by else [{"by": {}, **report["overall"]}]:
            out.append([gpu, " ".join([stem, *group["by"].values()]), "never in the set", group["n"]] +
                       [number(group.get(key)) for key in UNSEEN_KEYS])
    own = evaluate_sheet(adept, OWN, OWN.stem, rows / "models")["overall"]
    out.append([OWN.stem, "our own", "these rows not in the set", own["n"]] + [number(own.get(key)) for key in UNSEEN_KEYS])
    return out, own


def generation_rows(unseen):
    """Boards of each generation together, those of the set and those that it never had."""
    together = {}
    for gpu, _, where, n, time, bias, *_, inside in unseen:
        profile = json.loads((SOURCE / "hwprofiles" / f"{gpu}.json").read_text(encoding="utf-8"))
        if time and inside:
            together.setdefault((profile["architecture"], where), []).append((gpu, int(n), float(time), float(bias), float(inside)))
    out = []
    for (generation, where), rows in together.items():
        n = sum(r[1] for r in rows)
        out.append([generation, where, ", ".join(dict.fromkeys(r[0] for r in rows)) if len(rows) < 4 else f"{len({r[0] for r in rows})} boards",
                    n] + [number(sum(r[1] * r[i] for r in rows) / n, digits) for i, digits in ((2, 1), (3, 1), (4, 0))])
    return out


def mean(values):
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None


class Results:
    """What the tables of one granularity show, by dataset."""

    def __init__(self):
        self.by_name = {}

    def add(self, file, column, report):
        errors = report["fit"]["errors"]
        self.by_name[file] = (errors["in_sample"], errors["held_out"].get(column) or {},
                              errors["floors"]["held_out"].get(column) or {})

    def held_out(self, file, key):
        return self.by_name[file][1].get(key) if file in self.by_name else None

    def in_sample(self, file, key):
        return self.by_name[file][0].get(key) if file in self.by_name else None

    def floor(self, file, key):
        return self.by_name[file][2].get(key) if file in self.by_name else None


def verdict(value, bar):
    return "" if value is None else "yes" if value <= bar else "**no**"


def neusight_error(data, gpus):
    by_gpu = {row[0]: float(row[2]) for row in peer_rows(data)}
    return f"NeuSight {number(mean([by_gpu.get(g) for g in gpus]))}" if by_gpu else ""


def target_rows(results, kernels, data, unseen, own_rows):
    """Target by target: what a peer or the thesis reaches, the bar, and ours."""
    gpus = ["v100-pcie-32gb", "a100-pcie-40gb", "p100-pcie-16gb", "t4"]
    neusight = [f"neusight_{gpu}.csv" for gpu in gpus]
    outside = mean([results.held_out(f, "mape_time") for f in neusight])
    inside = mean([results.in_sample(f, "mape_time") for f in neusight])
    rows = [["step time of models unseen, 4 GPUs (neusight_*)", neusight_error(data, gpus), "4", number(outside), verdict(outside, 4)],
            ["the same, in-sample", "", "2", number(inside), verdict(inside, 2)]]
    for file, gpu in (("zeus_v100-pcie-32gb.csv", "V100"), ("zeus_a40.csv", "A40")):
        for key, what, bar, peer in (("mape_time", "time", 3.5, "thesis 3.05, in-sample"),
                                     ("mape_power", "power", 5, "thesis 5.78, in-sample"), ("mape_energy", "energy", 5, "")):
            value = results.held_out(file, key)
            rows.append([f"{what} of batch sizes unseen under power limits (Zeus, {gpu})", peer, f"{bar:g}", number(value),
                         verdict(value, bar)])
    for key, what, bar in (("mape_time", "time", 8), ("mape_power", "power", 6)):
        value = results.held_out("dosgroup_a100.csv", key)
        floor = number(results.floor("dosgroup_a100.csv", key))
        rows.append([f"training {what} of models unseen (dos-group, A100)", f"floor {floor}", f"{bar:g}", number(value),
                     verdict(value, bar)])
    for key, what in (("mape_time", "time"), ("mape_power", "power")):
        value = results.held_out("gemm_h200-sxm-141gb.csv", key)
        rows.append([f"{what} of products at the board's limit (H200, bf16)",
                     f"floor {number(results.floor('gemm_h200-sxm-141gb.csv', key))}", "5", number(value), verdict(value, 5)])
    values = [float(r[4]) for r in unseen if r[1].startswith("neusight") and r[2].startswith("left")]
    if values:
        rows.insert(2, ["step time on GPUs unseen (neusight_*, one GPU left out at a time)", "roofline above 30", "6",
                        number(mean(values)), verdict(mean(values), 6)])
    value, floor = results.held_out(CPU[0], "mape_time"), results.floor(CPU[0], "mape_time")
    if value is not None:
        bar = min(10, floor / 2)
        rows.append(["step time of models unseen (own rows, one CPU core)", f"floor {number(floor)}", number(bar),
                     number(value), verdict(value, bar)])
    if own_rows:
        rows.append(["mean core clock of steps (own rows, H200)", f"bias {number(own_rows['bias_clock'])}", "2", number(own_rows["mape_clock"]),
                     verdict(own_rows["mape_clock"], 2)])
    for what, files, bar in (("products on matrix units", ("bf16_", "fp16_", "xla_"), 7), ("attention", ("attention_", "fa2_"), 10)):
        of = [r for r in kernels if r[0].startswith(files) and "," not in r[0]]
        if of:
            last, reached = max(of, key=lambda r: float(r[3])), sum(float(r[3]) <= bar for r in of)
            rows.append([f"single kernels, {what}, {len(of)} files", f"roofline {number(mean([float(r[6]) for r in of]))}", f"{bar}",
                         f"mean {number(mean([float(r[3]) for r in of]))}, worst {last[3]} ({last[0]})",
                         "yes" if reached == len(of) else f"{reached} of {len(of)}"])
    for family, operators in KERNEL_FAMILIES.items():
        worst = [r for r in kernels if r[1] in operators and r[0] in KERNEL_GPUS]
        reached = sum(float(r[3]) <= 10 and float(r[3]) <= 0.5 * float(r[6]) for r in worst)
        if worst:
            last = max(worst, key=lambda r: float(r[3]))
            rows.append([f"single kernels, {family}", f"roofline {number(mean([float(r[6]) for r in worst]))}",
                         "10 and half the roofline's", f"mean {number(mean([float(r[3]) for r in worst]))}, worst {last[3]} ({last[0]})",
                         "yes" if reached == len(worst) else f"{reached} of {len(worst)}"])
    return rows


KERNEL_FAMILIES = {"linear": ("linear",), "bmm": ("bmm",), "conv": ("conv",), "softmax": ("softmax",),
                   "layer norm": ("ln",), "element-wise": ("add", "addu", "mul", "mulu", "div", "divu", "pow", "powu",
                                                           "relu", "gelu", "tanh")}


def comparison(operator, model):
    """Where the finer granularity is not the better one, held out."""
    lost = []
    for file in operator.by_name:
        for key, what in (("mape_time", "time"), ("mape_power", "power")):
            ours, other = operator.held_out(file, key), model.held_out(file, key)
            if ours is not None and other is not None and ours >= other:
                lost.append(f"{file.removesuffix('.csv')} ({what} {number(ours)} to {number(other)})")
    if not lost:
        return "Held out, granularity \"operator\" is better than \"model\" on every dataset, in time and in power."
    return f"Held out, granularity \"operator\" is better than \"model\" on every dataset but {', '.join(lost)}."


def coverage_line(results):
    values = {f.removesuffix(".csv"): results.held_out(f, "coverage") for f in results.by_name}
    counted = {f: v for f, v in values.items() if v is not None}
    rows = {f.removesuffix(".csv"): results.in_sample(f, "n") for f in results.by_name}
    total = sum(rows[f] for f in counted)
    share = sum(rows[f] * v for f, v in counted.items()) / total if total else 0
    return f"Of all {total} held-out rows, {share:.0f} % lie in their 80 % interval."


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--adept", required=True, help="the program")
    parser.add_argument("--data", required=True, type=pathlib.Path, help="folder of public measurements")
    parser.add_argument("--models", type=pathlib.Path, help="folder of torchvision's models: more rows")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=SOURCE / "docs" / "ACCURACY.md")
    parser.add_argument("--plots", type=pathlib.Path, default=SOURCE / "docs" / "accuracy", help="folder of the plots")
    parser.add_argument("--shared", type=pathlib.Path, help="report of the shared set that fit_public.sh wrote into REPORTS, to spare its fit")
    parser.add_argument("--reports", type=pathlib.Path, help="folder for the fits' reports: the same run again takes them from there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="fits at a time (default: one for each processor)")
    args = parser.parse_args()
    own = SOURCE / "data" / "measurements" / CPU[0]
    steps, plots, results = [], [], {"operator": Results(), "model": Results()}
    args.plots.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        rows = public_rows(args, pathlib.Path(name))
        shared = pool.submit(shared_report, args, rows)  # the longest first
        fits = []
        files = [(rows / f, gpu, column) for f, gpu, column in STEPS] + [(own, CPU[1], CPU[2])]
        for file, gpu, column in files:
            if not file.exists():
                print(f"{file.name} is not there: left out", file=sys.stderr)
                continue
            for granularity in ("operator",) if gpu in BY_OPERATOR_ONLY else ("operator", "model"):
                plot = args.plots / f"{file.stem}.svg" if granularity == "operator" else None
                fits.append((file, column, granularity, plot,
                             pool.submit(calibrate, args, file, rows / "models", gpu, column, granularity, plot)))
        of_kernels = kernels_of(args, pathlib.Path(name) / "kernels", pool)
        for file, column, granularity, plot, report in fits:
            print(f"{file.name}, {granularity} ...", file=sys.stderr)
            steps.append(step_row(file.name, column, granularity, report.result()))
            results[granularity].add(file.name, column, report.result())
            if plot:
                plots.append(f"[{file.stem}]({plot.name})")
        print("kernels ...", file=sys.stderr)
        kernels = [row for stem, report in of_kernels for row in kernel_rows(stem, report.result())]
        print("the shared set ...", file=sys.stderr)
        shared = shared.result()
        unseen, own_rows = unseen_rows(args.adept, rows, shared) if shared else ([], {})
    text = TEXT.format(
        targets=table(["what", "peer or floor", "target", "ours", "reached"], target_rows(results["operator"], kernels, args.data, unseen, own_rows)),
        comparison=comparison(results["operator"], results["model"]),
        coverage=coverage_line(results["operator"]),
        boards=len({r[0] for r in unseen if r[2].startswith("left") and r[4]}),
        generations=table(["generation", "", "boards", "rows", "time", "bias", "inside"], generation_rows(unseen)))
    tables = TABLES.format(
        steps=table(STEP_HEAD, steps),
        plots=", ".join(plots),
        unseen=table(["GPU", "measurements", "", "n", "time", "bias", "power", "energy", "inside"], unseen),
        peers=table(["GPU", "n"] + [name for _, name in PEERS], peer_rows(args.data)),
        kernels=table(["kernels", "operator", "n", "error", "median", "p90", "roofline", "from 0.1 ms", "under 0.1 ms"],
                      [row for row in kernels if row[1] not in KERNEL_FAMILIES["element-wise"]]))
    args.output.write_text(stamps.stamped("ACCURACY.md", markdown.wrap(text)), encoding="utf-8")
    (args.plots / "TABLES.md").write_text(markdown.wrap(tables), encoding="utf-8")


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, subprocess takes every end for success
    main()
