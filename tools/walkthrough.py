#!/usr/bin/env python3
"""Write docs/WALKTHROUGH.md: what more bandwidth, a larger L2, faster matrix units, a power cap and more GPUs would do.

    python3 tools/walkthrough.py --adept BUILD/tools/adept [-o docs/WALKTHROUGH.md] [--plots docs/walkthrough]

Every number of the document is read from `adept ... --json` with the commands that it prints. Needs Python 3.9, gnuplot,
and an adept that reads TorchScript.
"""
import argparse
import json
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile

import markdown
import stamps

SOURCE = pathlib.Path(__file__).resolve().parent.parent
GPU = "a100"
# name in the text, bundled file, what runs, the sheet's number of its matrix units
MODELS = [
    ("ResNet-50", "resnet50", ["--precision", "tf32", "--input", "Bx3x224x224", "--batch", "64"], "tensor_tf32_flops_per_s"),
    ("TinyLlama", "tinyllama_1.1b", ["--precision", "bf16", "--batch", "4"], "tensor_bf16_flops_per_s"),
]


PRICES = "--gpu-hour-price"
# numbers that nobody turns alone: `sms` and `core_clock` turn them with the peaks that belong to them
PARTS_OF_OTHERS = {"sm_count", "clock_boost_hz", "peaks"}


class Program:
    """adept, run where the profiles lie, so that the commands in the text are those that ran."""

    def __init__(self, path, folder):
        self.path, self.folder = path.resolve(), folder

    def run(self, *arguments):
        run = subprocess.run([str(self.path), *arguments], cwd=self.folder, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"adept {shlex.join(arguments)}: exit {run.returncode}: {run.stderr.strip()}")
        return run.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))


def profile_name(file):
    return f"{file}.profile.json"


def shown(*arguments):
    return "    adept " + " ".join(shlex.quote(a) if " " in a else a for a in arguments)


def percent(new, old):
    return 100 * (new / old - 1)


def signed(value):
    return f"{value:+.1f} %".replace("-", "−") if abs(value) >= 0.05 else "0 %"


def milliseconds(seconds):
    return f"{1e3 * seconds:.1f}" if seconds < 1 else f"{1e3 * seconds:.0f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def picture(name, what, plots):
    return f"![{what}]({plots.name}/{name}.svg)"


def factor_sweep(program, plots, key, factors, what, run=()):
    """One number of the sheet, both models: table, pictures, commands. key: of the model's matrix units if None."""
    points, commands, pictures = [], [], []
    for title, file, _, matrix_units in MODELS:
        name = key or matrix_units
        arguments = ["sweep", profile_name(file), "--gpu", GPU, *run, "--vary", f"specs.{name}=" + ",".join(f"x{f:g}" for f in factors)]
        points.append(program.json(*arguments)["points"])
        plot = f"{what.replace(' ', '_')}_{file}"
        program.run(*arguments, "--plot", str((plots / f"{plot}.svg").resolve()))
        commands.append(shown(*arguments))
        pictures.append(picture(plot, f"{title}: time and energy of a step by {what}", plots))
    base = factors.index(1)
    head = [what] + [f"{title}: {column}" for title, *_ in MODELS for column in ("ms", "time", "J", "energy")]
    rows = []
    for i, factor in enumerate(factors):
        row = [f"x{factor:g}"]
        for model in points:
            time, energy = model[i]["step_time_s"], model[i]["energy_step_j"]
            held = "†" if model[i]["limited"] else ""
            row += [milliseconds(time) + held, signed(percent(time, model[base]["step_time_s"])), f"{energy:.2f}",
                    signed(percent(energy, model[base]["energy_step_j"]))]
        rows.append(row)
    return "\n\n".join(["\n".join(commands), table(head, rows), " ".join(pictures)]), points


def answer(points, factors, factor, what):
    """What a factor would do, one clause a model."""
    at, base = factors.index(factor), factors.index(1)
    clauses = []
    for (title, *_), model in zip(MODELS, points):
        time = percent(model[at]["step_time_s"], model[base]["step_time_s"])
        energy = percent(model[at]["energy_step_j"], model[base]["energy_step_j"])
        clauses.append(f"{title} {signed(time)} time and {signed(energy)} energy")
    return f"**{what} x{factor:g}:** " + ", ".join(clauses) + "."


def with_more_watts(program, points, factors):
    """The largest bandwidth on a board that is allowed more power than any step of the table would draw."""
    limited = [title for (title, *_), model in zip(MODELS, points) if model[-1]["limited"]]
    if not limited:
        return ""
    limit = program.json("gpus", GPU)["specs"]["power_limit_max_w"]["value"]
    watts = f"{1.5 * limit:.0f}"
    extra = ["--set", f"specs.power_limit_max_w={watts}", "--power-limit", watts, "--set", f"specs.mem_bytes_per_s=x{factors[-1]:g}"]
    clauses = []
    for (title, file, *_), model in zip(MODELS, points):
        step = program.json("predict", profile_name(file), "--gpu", GPU, *extra)
        base = model[factors.index(1)]["step_time_s"]
        clauses.append(f"{title} {signed(percent(step['step_time_s'], base))} time at {step['power_avg_w']:.0f} W")
    return (f"† The board's own limit of {limit:.0f} W holds the clock back: {' and '.join(limited)} would draw more, since every byte costs the energy it costs today. One clock serves all kernels, so that those which "
            f"compute get slower than they were. More bandwidth is worth that much only with the watts to feed it, or with bytes that cost less. At a limit of {watts} W "
            f"(`{shlex.join(extra)}`): {', '.join(clauses)}.")


def start(program):
    """A profile of each model: all else runs without the model's file and without libtorch."""
    commands, rows = [], []
    for title, file, options, _ in MODELS:
        program.run("profile", str(SOURCE / "data" / "models" / f"{file}.pt"), *options, "-o", profile_name(file))
        commands.append(shown("profile", f"data/models/{file}.pt", *options, "-o", profile_name(file)))
        step = program.json("predict", profile_name(file), "--gpu", GPU)
        parts = step["time"]
        rows.append([title, step["config"]["precision"], str(step["config"]["batch_size"]), milliseconds(step["step_time_s"]),
                     f"{step['power_avg_w']:.0f}", f"{step['energy_step_j']:.2f}", step["bound"],
                     f"{100 * parts['pass_s'] / step['step_time_s']:.0f} %", f"{100 * step['mfu']:.0f} %"])
    head = ["model", "precision", "batch", "step, ms", "W", "J a step", "bound by", "in the pass", "MFU"]
    return "\n".join(commands), table(head, rows)


def ranking(program):
    """The sheet's numbers by what ten percent of them would do, of both models."""
    parts = []
    for title, file, *_ in MODELS:
        arguments = ["explain", profile_name(file), "--gpu", GPU]
        rows = []
        for entry in program.json(*arguments)["explain"]["elasticities"]:
            if entry["kind"] not in ("spec", "design") or entry["key"] in PARTS_OF_OTHERS:
                continue
            exact, more = entry["elasticity"], entry["effect_of_10_percent_more"]
            if abs(more["time"]) < 5e-4 and abs(more["energy"]) < 5e-4:
                continue
            rows.append([f"{entry['meaning']} (`{entry['key']}`)", f"{exact['time']:+.2f}".replace("-", "−"), f"{exact['energy']:+.2f}".replace("-", "−"),
                         signed(100 * more["time"]), signed(100 * more["energy"])])
        parts.append(f"{title}: `adept {shlex.join(arguments)}`\n\n"
                     + table(["number", "time, % per %", "energy, % per %", "10 % more: time", "energy"], rows))
    return "\n\n".join(parts)


def capped(program, plots):
    """The board's limit 10 % lower, 10 % below what the step draws, and where energy and energy times time are least."""
    rows, pictures, commands = [], [], []
    for title, file, *_ in MODELS:
        base = program.json("predict", profile_name(file), "--gpu", GPU)
        best = base["power_limits"]
        low, high = best["range_w"]
        wanted = [("none", None), ("the board's −10 %", 0.9 * high), ("the draw −10 %", 0.9 * base["power_avg_w"]),
                  ("least energy x time", best["edp_optimal"]["limit_w"]), ("least energy", best["energy_optimal"]["limit_w"])]
        for label, limit in wanted:
            extra = [] if limit is None else ["--power-limit", f"{max(limit, low):.0f}"]
            step = program.json("predict", profile_name(file), "--gpu", GPU, *extra)
            time, energy = step["step_time_s"], step["energy_step_j"]
            rows.append([title, label, f"{high:.0f}" if limit is None else extra[1], milliseconds(time), f"{step['power_avg_w']:.0f}", f"{energy:.2f}",
                         signed(percent(time, base["step_time_s"])), signed(percent(energy, base["energy_step_j"])),
                         signed(percent(time * energy, base["step_time_s"] * base["energy_step_j"]))])
        sweep = ["sweep", profile_name(file), "--gpu", GPU, "--vary", f"power_limit_w={low:.0f}:{high:.0f}:10", "--objective", "edp"]
        plot = f"power_limit_{file}"
        program.run(*sweep, "--plot", str((plots / f"{plot}.svg").resolve()))
        commands.append(shown(*sweep))
        pictures.append(picture(plot, f"{title}: time and energy of a step by power limit", plots))
    head = ["model", "limit", "W", "ms", "draws, W", "J", "time", "energy", "energy x time"]
    return "\n".join(commands), table(head, rows), " ".join(pictures)


def scaled(program, plots):
    """One to eight GPUs of a node."""
    points, commands, pictures = [], [], []
    for title, file, *_ in MODELS:
        arguments = ["sweep", profile_name(file), "--gpu", GPU, "--vary", "gpus=1,2,3,4,5,6,7,8"]
        points.append(program.json(*arguments)["points"])
        plot = f"gpus_{file}"
        program.run(*arguments, "--plot", str((plots / f"{plot}.svg").resolve()))
        commands.append(shown(*arguments))
        pictures.append(picture(plot, f"{title}: time and energy of a sample by number of GPUs", plots))
    head = ["GPUs"] + [f"{title}: {column}" for title, *_ in MODELS for column in ("samples/s", "efficiency", "W", "J a sample")]
    rows = []
    for i in range(8):
        row = [str(i + 1)]
        for model in points:
            rate = model[i]["samples_per_s"]
            row += [f"{rate:.0f}", f"{100 * rate / (model[0]['samples_per_s'] * (i + 1)):.1f} %", f"{model[i]['power_avg_w']:.0f}",
                    f"{model[i]['energy_per_sample_j']:.3f}"]
        rows.append(row)
    return "\n".join(commands), table(head, rows), " ".join(pictures)


def hours(seconds):
    return f"{seconds / 3600:.1f} h"


def job(program):
    """The cheapest way to train the CNN for 90 epochs of ImageNet, within a day and an energy budget; then within an hour, which none can."""
    title, file, *_ = MODELS[0]
    grid = ["sweep", profile_name(file), "--vary", "gpu=a100,l4,h100", "--vary", "gpus=1,2,4,8", "--vary", "power_limit_w=x0.5:x1:x0.1",
            "--samples", "115e6", "--within-energy", "10kWh", "--minimise", "cost", "--price", "0.25", PRICES, "a100=1.5,l4=0.6,h100=3"]
    easy, hard = [*grid, "--within-time", "24h"], [*grid, "--within-time", "1h"]
    found = program.json(*easy)["job"]
    best = found["best"]
    refused = subprocess.run([str(program.path), *hard, "--json"], cwd=program.folder, capture_output=True, text=True)
    if refused.returncode == 0:
        sys.exit("an hour suffices: ask for less")
    reason = refused.stderr.strip().removeprefix("adept: ")
    answer = (f"**{best['gpus']} x {best['gpu']}** at {best['power_limit_w']} of the board's limit: {hours(best['time_s'])}, {best['energy_j'] / 3.6e6:.2f} kWh, cost {best['cost']:.2f}; "
              f"{found['feasible']} of {found['points']} points keep within everything. The same within one hour: *{reason}*.")
    return shown(*easy), answer


TEXT = """# A walk through what-if questions

Written by `python3 tools/walkthrough.py --adept BUILD/tools/adept`, which runs the commands below and reads every number from their `--json`. Do not edit.

Two models, a CNN and a transformer, on an A100-SXM-40GB. That GPU has no fit of its own: its parameters are transferred from other GPUs, so a step's absolute time may be off by the interval
that `predict` prints ({interval}); what a change does is better founded than the time itself, but nobody measured a GPU with half an L2. Each hypothetical GPU keeps everything else, its clock and fit too.

## The two steps

{start_commands}

{start_table}

## What limits them

Percent of time and energy per percent of each number, and what a prediction with ten percent more of it says ([EXPLAIN.md](EXPLAIN.md)). Negative: more of it helps.

{ranking}

## More memory bandwidth?

{bandwidth}

{bandwidth_answer}

{bandwidth_limit}

## A larger L2?

{l2}

{l2_answer}

The law of a kernel's traffic knows the L2 as what saves a kernel from reading its operands from memory again. Kernels whose working set is far larger or already fits gain nothing.

## Faster matrix units?

{peak}

{peak_answer}

What does not run on matrix units, and what waits for memory, stays: the curve flattens.

## A power cap?

{cap_commands}

{cap_table}

{cap_pictures}

A limit above what the step draws changes nothing; 10 % off the board's limit is such a one where the table says 0 %. The limit of least energy costs time, since the watts that a GPU draws when it does nothing are paid for longer. Where the
limit of least energy times time is the board's own, every cap loses more time than it saves energy.

## One to eight GPUs?

{gpus_commands}

{gpus_table}

{gpus_pictures}

Batch per GPU stays as it is. Gradients are summed in buckets while the backward pass runs (`--overlap`), so that what is left of the all-reduce is the efficiency that is lost. Measured steps of BERT and ResNet-50 on 2 to 8 A100 SXM lose about a point more.

## Which GPU, how many, under which limit?

Ninety epochs of ImageNet (115 million images) within a day and 10 kWh at the least cost, electricity at 0.25 a kWh and GPUs at prices an hour that are made up for the example:

{job_commands}

{job_answer}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adept", type=pathlib.Path, default=SOURCE / "build" / "tools" / "adept", help="the program")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=SOURCE / "docs" / "WALKTHROUGH.md")
    parser.add_argument("--plots", type=pathlib.Path, default=SOURCE / "docs" / "walkthrough", help="folder of the plots")
    args = parser.parse_args()
    args.plots.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        program = Program(args.adept, pathlib.Path(folder))
        start_commands, start_table = start(program)
        step = program.json("predict", profile_name(MODELS[0][1]), "--gpu", GPU)
        low, high = (percent(bound, step["step_time_s"]) for bound in step["interval"]["step_time_s"])
        wide = [0.5, 0.75, 1, 1.2, 1.5, 2, 3]
        bandwidth, bandwidth_points = factor_sweep(program, args.plots, "mem_bytes_per_s", wide, "memory bandwidth")
        caches = [0.25, 0.5, 1, 2, 4, 8]
        l2, l2_points = factor_sweep(program, args.plots, "l2_bytes", caches, "L2")
        peak, peak_points = factor_sweep(program, args.plots, None, wide, "matrix peak")
        cap_commands, cap_table, cap_pictures = capped(program, args.plots)
        gpus_commands, gpus_table, gpus_pictures = scaled(program, args.plots)
        job_commands, job_answer = job(program)
        text = TEXT.format(
            job_commands=job_commands, job_answer=job_answer,
            interval=f"{signed(low)} to {signed(high)}", start_commands=start_commands, start_table=start_table, ranking=ranking(program),
            bandwidth=bandwidth, bandwidth_answer=answer(bandwidth_points, wide, 1.2, "Bandwidth"),
            bandwidth_limit=with_more_watts(program, bandwidth_points, wide),
            l2=l2, l2_answer=answer(l2_points, caches, 2, "L2"),
            peak=peak, peak_answer=answer(peak_points, wide, 2, "Peak of the matrix units"),
            cap_commands=cap_commands, cap_table=cap_table, cap_pictures=cap_pictures,
            gpus_commands=gpus_commands, gpus_table=gpus_table, gpus_pictures=gpus_pictures)
    args.output.write_text(stamps.stamped("WALKTHROUGH.md", markdown.wrap(text)), encoding="utf-8")


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, subprocess takes every end for success
    main()
