#!/usr/bin/env python3
"""Write one model of each kind that people bring (model_kinds.py), and ask adept to predict it.

    tools/zoo/check_models.py [--adept PROGRAM] [--table docs/MODELS.md] [--gpu NAME] [--only TEXT]...

FLOPs of matrix products and convolutions, forward and backward, must equal those that a TorchDispatchMode counts while
PyTorch runs the same model, to 1e-6. Exit code 1 if fewer than 53 of 56 kinds are predicted, or a count differs.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import warnings

import torch

import check_operators
import model_kinds
import stamps  # found by check_operators

LEAST_SHARE = 53 / 56


def write(net, inputs, how, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.jit.script(net) if how == "script" else torch.jit.trace(net, inputs, check_trace=False, strict=False)
    program = torch.jit.freeze(program) if how in ("freeze", "optimise") else program
    program = torch.jit.optimize_for_inference(program) if how == "optimise" else program
    torch.jit.save(program, path)
    return program


def dtype_name(tensor):
    return {torch.int64: "i64", torch.float32: "f32", torch.bfloat16: "bf16"}[tensor.dtype]


def specs(inputs):
    """A list of tensors is one input, with their number in front."""
    stacked = [torch.stack(i) if isinstance(i, list) else i for i in inputs]
    return ["--input=%s:%s" % (dtype_name(t), "x".join(map(str, t.shape))) for t in stacked]


def count(net, inputs, mode):
    with check_operators.Counter() as forward:
        out = net(*inputs)
    if mode == "infer":
        return forward.flops, 0
    total = sum(t.sum() for t in check_operators.flat(out) if t.requires_grad)
    with check_operators.Counter() as backward:
        total.backward()
    return forward.flops, backward.flops


def ask(adept, arguments):
    done = subprocess.run([adept] + arguments, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr.strip()


def counted(profile):
    sums = [0, 0]
    for op in profile["ops"]:
        for kernel in op["kernels"]:
            if kernel["unit"] != "alu":
                sums[kernel["pass"] == "backward"] += kernel.get("flops", 0) * op["count"]
    return sums


def check(name, make, adept, gpu, folder):
    """(predicted, compared, remark)"""
    torch.manual_seed(0)
    net, inputs, mode, how, reference, *extra = (*make(), None)
    path = os.path.join(folder, re.sub(r"\W+", "_", name) + ".pt")
    write(net, inputs, how, path)
    options = ["--mode", mode] + specs(inputs) + [option for option in extra if option]
    saved = path + ".json" # so that libtorch starts once
    code, out, err = ask(adept, ["profile", path, "-o", saved] + options)
    if code == 0:
        code, out, err = ask(adept, ["predict", saved, "--gpu", gpu, "--json"])
    if code != 0:
        return False, "", err.splitlines()[-1].replace(path, "model.pt")
    time_s = json.loads(out)["step_time_s"]
    if not time_s > 0:
        return False, "", "no time"
    code, out, err = ask(adept, ["profile", saved, "--json"])
    got, want = counted(json.loads(out)), count(reference or net, inputs, mode)
    if all(abs(a - b) <= check_operators.TOLERANCE * max(a, b) for a, b in zip(got, want)):
        return True, "equal", ""
    return True, "differs", "forward %g, backward %g instead of %g and %g" % (*got, *want)


def table(rows, versions):
    predicted = sum(ok for _, ok, _, _ in rows)
    lines = ["# Models", "",
             "One model of each kind that people bring, written by `tools/zoo/check_models.py` with",
             "%s. Each is traced, or scripted where it says so, and" % versions,
             "predicted. Product FLOPs are those of matrix products and convolutions, forward and backward,",
             "beside what a TorchDispatchMode counts while PyTorch runs the model.", "",
             "%d of %d kinds are predicted. These have equal FLOPs:" % (predicted, len(rows)), "",
             "| what | kinds |", "|---|---|"]
    equal = [name.split(": ", 1) for name, _, same, _ in rows if same == "equal"]
    for group in dict.fromkeys(group for group, _ in equal):
        lines.append("| %s | %s |" % (group, "; ".join(kind for of, kind in equal if of == group)))
    others = ["| %s | %s | %s | %s |" % (name, "yes" if ok else "no", same or "-", remark.replace("|", "\\|"))
              for name, ok, same, remark in rows if same != "equal"]
    if others:
        lines += ["", "| other kind | predicted | product FLOPs | remark |", "|---|---|---|---|"] + others
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adept", default="build/tools/adept")
    parser.add_argument("--table")
    parser.add_argument("--gpu", default="a100")
    parser.add_argument("--only", action="append", default=[])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, make in model_kinds.KINDS.items():
            if args.only and not any(re.search(part, name) for part in args.only):
                continue
            rows.append((name, *check(name, make, args.adept, args.gpu, folder)))
            print("%-45s %-4s %-8s %s" % (name, "yes" if rows[-1][1] else "NO", *rows[-1][2:]), flush=True)
    if args.table:
        with open(args.table, "w") as out:
            out.write(stamps.stamped("MODELS.md", table(rows, check_operators.versions())))
    predicted = sum(ok for _, ok, _, _ in rows)
    print("%d of %d kinds predicted" % (predicted, len(rows)))
    return predicted < LEAST_SHARE * len(rows) or any(same == "differs" for _, _, same, _ in rows)


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, subprocess takes every end for success
    sys.exit(main())
