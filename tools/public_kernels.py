#!/usr/bin/env python3
"""Write public measurements of kernels as adept reads them: python3 tools/public_kernels.py DATA OUT [--agreeing]

DATA is the folder of tools/fit_public.sh. OUT gets the files of DATA/kernels, with what is known from the program that
measured them: how it took its times (`timing`), and whether an attention writes queries, keys and values in another layout
first (`repacked`). The engines of aiconfigurator do: they rotate queries and keys by their positions and fill a cache.

Attention that would need more than the peak of the matrix units is left out: on the L40S some of one library computes a part
only. With --agreeing only rows of two libraries and more whose slowest takes at most twice the time of the fastest: where
libraries differ, the median over them is one library's time in one row, and another's in the next.
"""
import argparse
import csv
import json
import pathlib

# files, and what their rows get; times of NeuSight's and of microsoft/apex_plus are CUDA events
SOURCES = [("attention_*.csv", {"timing": "graph", "repacked": "1", "operand_sets": "1"}), ("fa2_*.csv", {"timing": "graph"}),
           ("bf16_gemm_*.csv", {"timing": "graph", "operand_sets": "5"}), ("xla_*.csv", {"timing": "profiler"}),
           ("*.csv", {})]


SHEETS = pathlib.Path(__file__).resolve().parent.parent / "hwprofiles"


def peak_of(path):
    """Dense bf16 FLOP/s of the GPU that the file's name ends with."""
    sheet = max((s for s in SHEETS.glob("*.json") if path.stem.endswith("_" + s.stem)), key=lambda s: len(s.stem))
    return json.loads(sheet.read_text(encoding="utf-8"))["specs"]["tensor_bf16_flops_per_s"]["value"]


def known_of(path):
    return next(known for pattern, known in SOURCES if path.match(pattern))


def is_possible(path, row):
    if "seq" not in row:
        return True
    peak = peak_of(path)
    scores = int(row["batch"]) * int(row["heads"]) * int(row["seq"]) ** 2 / (1 + int(row["causal"]))
    return 4 * scores * int(row["head_dim"]) <= peak * float(row["latency_ms"]) * 1e-3


def agrees(row):
    if not row.get("backends"):
        return True
    return int(row["backends"]) > 1 and float(row["latency_max_ms"]) <= 2 * float(row["latency_min_ms"])


def convert(path, out, agreeing):
    with path.open(newline="") as source:
        rows = list(csv.DictReader(source))
    rows = [dict(row, **known_of(path)) for row in rows if is_possible(path, row) and (not agreeing or agrees(row))]
    with (out / path.name).open("w", newline="") as target:
        writer = csv.DictWriter(target, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--agreeing", action="store_true", help="only rows that libraries agree on within a factor of two")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for path in sorted((args.data / "kernels").glob("*.csv")):
        convert(path, args.out, args.agreeing)


if __name__ == "__main__":
    main()
