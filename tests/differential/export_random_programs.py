#!/usr/bin/env python3
"""Random programs as files of torch.export, and mutants of those files, with what PyTorch says of each.

    tests/differential/export_random_programs.py FOLDER [--programs N] [--mutants N] [--seed S]     needs PyTorch 2.6
    tests/differential/export_random_programs.py FOLDER --compare [--build DIR]                     needs adept

The first writes FOLDER/N.pt2 and what PyTorch gives for it, N.json; the second walks each file by adept (walk_parts.c)
and compares. It needs no PyTorch, which Debian 12 has without torch.export. A mutant has one number, name or type of the
file's JSON changed; PyTorch's opinion is that of torch.export.load and a run of what it loaded.
"""
import argparse
import collections
import glob
import json
import os
import random
import re
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tools", "zoo")]
import check_random_programs as check  # noqa: E402

JSON = "serialized_exported_program.json"
# What PyTorch 2.6 runs on a CPU and adept refuses, besides check.LET_PASS: what adept says, and why.
LET_PASS = check.LET_PASS + [
    (r"argument '\w+' is not known", "PyTorch leaves out an argument that it does not know, and takes the default"),
    (r"prim::ListUnpack: (\d+) elements", "of a longer list PyTorch takes as many elements as the file names"),
    (r"reduction -?\d+ is unknown", "a CPU takes a number that stands for no reduction for one of the three"),
    (r"aten::lstm: (layer \d+: the weights do not take|the recurrent weight has no)", "oneDNN reads the weights of an LSTM whatever their sizes, cuDNN looks"),
]
# What PyTorch refuses and adept predicts: what PyTorch says, and why.
PREDICTED = [
    (r"a leaf Variable that requires grad", "autograd refuses to write into a parameter; without gradients that runs"),
    (r"mat2 must be a matrix, got 1-D", "whether a bias meets a vector in addmm depends on strides, which adept does not know of a .pt2"),
]
NO_ELEMENTS = re.compile(r":$|[:x]0(x|$)")  # nothing runs, or a number of the host
# f32 also by PyTorch's meta kernel, and by its fake tensors of a GPU.
STATISTICS = re.compile(r"^op \S+ \S+ aten::native_layer_norm b?f16:\S+ f32:", re.M)


def opinion(run):
    """What came of it: shapes and types of all results, or a text."""
    try:
        return [check.spec(t) for t in run()]
    except Exception as error:
        return ([line for line in str(error).strip().splitlines() if line] or [repr(error)])[-1]


def write(path, said):
    with open(path[:-4] + ".json", "w") as file:
        json.dump(said, file)


def program_file(torch, seed, path):
    """Exports one random program, as module g0 of a bundle."""
    program = check.programs.Program(seed)
    for _ in range(40):
        if program.operators() >= 3 + seed % 8:
            break
        program.step()
    bundle = type("Bundle", (torch.nn.Module,), {"forward": lambda self, x0, x1, x2: self.g0(x0, x1, x2)})()
    bundle.g0 = check.as_python(program)
    exported = torch.export.export(bundle, tuple(check.inputs(check.programs.BATCH)))
    torch.export.save(exported, path)
    write(path, {"results": opinion(lambda: bundle(*check.inputs(check.programs.BATCH))), "source": program.source()})


def places(tree, found):
    """Where a number, a name or a type of the graph stands: (container, key)."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if isinstance(value, (dict, list)):
            places(value, found)
        elif isinstance(value, int) and not isinstance(value, bool) and key in ("as_int", "as_scalar_type") or \
                isinstance(tree, list) and isinstance(value, int) or key == "name" and "as_tensor" not in tree:
            found.append((tree, key))


def mutant_file(torch, rng, path, to):
    """One place of the nodes changed, and PyTorch's opinion of it."""
    with zipfile.ZipFile(path) as source:
        entries = {entry: source.read(entry) for entry in source.namelist()}
    name = next(entry for entry in entries if entry.endswith(JSON))
    tree, found = json.loads(entries[name]), []
    graph = tree["graph_module"]["graph"]
    for node in graph["nodes"]:
        places(node["inputs"], found)
    container, key = rng.choice(found)
    old = container[key]
    names = [n for n, value in graph["tensor_values"].items()]
    container[key] = rng.choice((old + 1, old - 1, -old, 2 * old, 0, 7)) if isinstance(old, int) else rng.choice(names)
    if container[key] == old:
        return False
    entries[name] = json.dumps(tree).encode()
    with zipfile.ZipFile(to, "w") as target:
        for entry, content in entries.items():
            target.writestr(entry, content)
    write(to, {"results": opinion(lambda: torch.export.load(to).module()(*check.inputs(check.programs.BATCH))), "source": "%s -> %s of %s" % (
        old, container[key], os.path.basename(path))})
    return True


def make(args):
    import torch
    check.load_torch()
    rng, seed, made = random.Random(args.seed), args.seed * 1000, []
    while len(made) < args.programs:
        seed += 1
        path = os.path.join(args.folder, "%d.pt2" % seed)
        try:
            program_file(torch, seed, path)
            made.append(path)
        except Exception:  # torch.export does not take every program
            continue
    for i in range(args.mutants):
        try:
            mutant_file(torch, rng, rng.choice(made), os.path.join(args.folder, "mutant%d.pt2" % i))
        except Exception as error:
            print("mutant %d: %s" % (i, error))


def results_of(done):
    """Of the part g0: status, message or all operators, specs of its results in order."""
    part = re.search(r"^part g0 (\w+) ?(.*)$", done.stdout, re.M)
    if done.returncode != 0 or not part:
        return "refused", done.stderr.strip(), []
    found = dict(re.findall(r"^op g0\.o(\d+) \S+ aten::clone (\S+)$", done.stdout, re.M))
    return part.group(1), part.group(2) or done.stdout, [found[i] for i in sorted(found, key=int)]


def differing(want, got, operators):
    want, got = [[one for one in specs if not NO_ELEMENTS.search(one)] for specs in (want, got)]
    if got == want:
        return None
    wide = [w if w == g else re.sub("^b?f16:", "f32:", w) for w, g in zip(want, got)]
    if len(got) == len(want) and got == wide and STATISTICS.search(operators):
        return "let pass: of 16 bits, a GPU keeps a layer norm's statistics in f32, a CPU in 16 bits"
    return "result"


def verdict(want, status, message, got):
    """What kind of difference it is, "let pass: WHY", or None."""
    if status == "unsupported" or (isinstance(want, str) and status == "refused"):
        return None
    if isinstance(want, str):
        return next(("let pass: " + why for text, why in PREDICTED if re.search(text, want)), "predicted")
    if status == "ok":
        return differing(want, got, message)
    return next(("let pass: " + why for text, why in LET_PASS if re.search(text, message)), "refused")


def compare(args):
    walk, counts = os.path.join(args.build, "tests/differential/walk_parts"), collections.Counter()
    for path in sorted(glob.glob(os.path.join(args.folder, "*.json"))):
        with open(path) as file:
            said = json.load(file)
        status, message, got = results_of(subprocess.run([walk, path[:-5] + ".pt2"], capture_output=True, text=True))
        kind = "mutants" if "mutant" in path else "programs"
        counts[kind] += 1
        counts["%s that PyTorch refuses" % kind] += isinstance(said["results"], str)
        counts["%s not known" % kind] += status == "unsupported"
        counts["results compared"] += len(got) if isinstance(said["results"], list) else 0
        found = verdict(said["results"], status, message, got)
        if not found:
            continue
        counts["%s: %s" % (kind, found)] += 1
        if not found.startswith("let pass"):
            counts["differing"] += 1
            print("%s %s: PyTorch %s\n    adept %s %s\n    %s" % (found, path, said["results"], status, got or message, said["source"].strip()))
    for what, n in sorted(counts.items()):
        print("%6d  %s" % (n, what))
    return 1 if counts["differing"] or not counts["programs"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--build", default="build", help="where adept was built")
    args = parser.parse_args()
    return compare(args) if args.compare else make(args)


if __name__ == "__main__":
    sys.exit(main())
