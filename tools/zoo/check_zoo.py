#!/usr/bin/env python3
"""Compare adept's counts of every torchvision classification model with torchvision's own, and write the table.

    tools/zoo/export_models.py --all-torchvision DIR     # first: writes the files and DIR/index.csv
    tools/zoo/check_zoo.py DIR REFERENCE.csv [--adept PROGRAM] [--table docs/accuracy/TORCHVISION.md]

REFERENCE.csv has columns builder, input_h, input_w, num_params, gmacs: num_params and _ops of the weights' meta data.
Parameters must be equal, forward MACs within 0.5 %, unless EXCEPTIONS gives the convention that makes the difference.
Exit code 1 if a file fails, a builder is missing, or a listed exception is not needed.
"""
import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import markdown  # beside the scripts that write other documents
import stamps

TOLERANCE = 0.005
BATCH = 2  # scripted batch norm refuses to train on one value per channel

# builder -> why torchvision's number differs. Differences of convention only; a missing operator is never one.
EXCEPTIONS = {}


def profile(program, path, shape, mode):
    command = [program, "profile", path, "--input", shape.replace("B", str(BATCH)), "--json"]
    if mode == "eval":  # PyTorch's fast path for evaluation has no backward
        command += ["--mode", "infer"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[0])
    return json.loads(done.stdout)["totals"]


def read_reference(path):
    """(builder, height) -> (params, gmacs)"""
    with open(path, newline="") as file:
        return {(row["builder"], int(row["input_h"])): (int(row["num_params"]), float(row["gmacs"]))
                for row in csv.DictReader(file)}


def check(row, totals, reference):
    """A line of the table and whether it is as it should be."""
    size = int(row["input"].rsplit("x", 1)[1])
    published = reference.get((row["builder"], size))
    macs = totals["macs_forward"] / BATCH / 1e9
    if published is None:
        return None, True
    params, gmacs = published
    # published with three decimals
    error = 0 if abs(macs - gmacs) <= 0.0005 else macs / gmacs - 1
    excused = row["builder"] in EXCEPTIONS
    good = totals["params"] == params and (abs(error) <= TOLERANCE or excused)
    note = EXCEPTIONS.get(row["builder"], "")
    line = "| {} | {} | {} | {:,} | {} | {:.3f} | {:.3f} | {:+.2f} % | {} |".format(
        row["builder"], row["mode"], size, totals["params"], "yes" if totals["params"] == params else "NO: {:,}".format(params),
        macs, gmacs, 100 * error, note)
    return line, good


def document(lines):
    """Lines that are equal by builder in a paragraph, the others as a table."""
    equal, other = {}, []
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[4] == "yes" and cells[7] == "+0.00 %" and not cells[8]:
            equal.setdefault((cells[0], cells[2], cells[3], cells[5]), []).append(cells[1])
        else:
            other.append(line)
    texts = ["%s %s: %s, %s%s" % (*key, "" if modes == ["eval", "train"] else " (%s)" % ", ".join(modes)) for key, modes in equal.items()]
    return markdown.wrap(
        "# torchvision's classification models\n\n"
        "Counted by `adept profile` on files traced (eval, train) and scripted (script) by torchvision 0.14.1, per image, against the "
        "`num_params` and `_ops` (multiply-adds in 1e9) that torchvision 0.21 publishes with its weights. Written by "
        "`tools/zoo/check_zoo.py`; a difference within the published rounding counts as none.\n\n"
        "Parameters and multiply-adds of %d of %d files are equal, by builder and size of the image (eval and train, where no mode is named):\n\n%s.\n\n"
        % (sum(map(len, equal.values())), len(lines), "; ".join(texts))) + (
        "The others:\n\n| builder | mode | size | parameters | equal | GMACs | published | difference | remark |\n"
        "|---|---|---:|---:|---|---:|---:|---:|---|\n" + "\n".join(other) if other else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo")
    parser.add_argument("reference")
    parser.add_argument("--adept", default="build/tools/adept")
    parser.add_argument("--table")
    args = parser.parse_args()
    reference = read_reference(args.reference)
    lines, failed, seen = [], 0, set()
    with open(os.path.join(args.zoo, "index.csv"), newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: (row["builder"], row["file"]))

    def run(row):
        try:
            return row, check(row, profile(args.adept, os.path.join(args.zoo, row["file"]), row["input"], row["mode"]), reference)
        except RuntimeError as error:
            return row, ("| {} | {} | | | | | | | {} |".format(row["builder"], row["mode"], error), False)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(run, rows))
    for row, (line, good) in results:
        if line:
            lines.append(line)
            seen.add(row["builder"])
        if not good:
            failed += 1
            print("failed: " + (line or row["file"]), file=sys.stderr)
    missing = sorted({builder for builder, _ in reference} - seen)
    for builder in missing:
        print("missing: " + builder, file=sys.stderr)
    print("{} files of {} builders, {} failed, {} builders missing".format(len(lines), len(seen), failed, len(missing)))
    if args.table:
        pathlib.Path(args.table).write_text(stamps.stamped("accuracy/TORCHVISION.md", document(lines)), encoding="utf-8")
    return 1 if failed or missing else 0


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, subprocess takes every end for success
    sys.exit(main())
