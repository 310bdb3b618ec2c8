#!/usr/bin/env python3
"""Random small programs: what PyTorch refuses adept refuses, and what it runs has the same shapes, types and products.

    tests/differential/check_random_programs.py [--build DIR] [--programs N] [--seed S] [--show N] [--full]

Each program has 3 to 15 operators. It is scripted or traced, put into a file with others, and walked by adept
(walk_parts.c). Compared with what PyTorch gives when it runs the same program are
    result      shape and type of every operator's result
    products    FLOPs of matrix products and convolutions, forward and backward, as tools/zoo/check_operators.py counts them
    batch       the results of a trace at twice the batch, where the trace itself follows the batch
    predicted   PyTorch refuses the program, adept predicts it
    refused     adept refuses what PyTorch runs; exit code 4, an operator that is not known, is only counted, as is what
                LET_PASS names, with the reason
    message     adept refuses without a name of an operator or module
Exit code 1 if anything differs, 77 without PyTorch. A seed gives the same programs again.
"""
import argparse
import collections
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tools", "zoo")]
BUNDLE = 20  # programs of a process
TOLERANCE = 1e-6
# Sizes written into the program: adept refuses another batch, for what it would say is not what was meant.
BATCH_FIXED = re.compile("fixed when the model was traced|so batch 8 cannot be")
# PyTorch 1.13 runs it on a CPU and adept refuses it: what adept says, and why a GPU, or a later PyTorch, refuses it, too.
LET_PASS = [
    (r"aten::(linear|\w*mm|matmul|mv|\w*dot|_?conv\w*): argument .* a floating type", "a GPU multiplies no whole numbers"),
    (r"aten::masked_fill: argument 'mask'", "of a number a CPU takes any mask"),
    (r"aten::(prelu|group_norm): .* different types", "a CPU reads weights of another type"),
    (r"sequences of width", "cuDNN looks at the batch of a state, a CPU's cell does not"),
    (r"attention: query .* do not fit", "a CPU broadcasts heads, which fused kernels do not"),
    (r"Result\): aten::clone: tensor argument 'self' is missing", "fused attention gives no weights that were not asked for"),
    (r"aten::embedding_bag: weight .* is not a matrix", "PyTorch 1.13 takes any table for a matrix, later ones refuse"),
    (r"aten::as_strided: .* bytes of memory, there are [48]\b", "a mean loss keeps the memory of all elements, which no model reads"),
    (r"transposed window .* leaves nothing", "a CPU makes images of no pixels, cuDNN does not"),
    (r"with a bias, weight .* is no matrix", "PyTorch 1.13 adds the bias of four dimensions by itself, later ones refuse"),
    (r"-\d+ differences", "PyTorch 1.13 takes a negative number of differences for none"),
]
# PyTorch refuses it and adept predicts it: what PyTorch says of which statement, and why.
PREDICTED = [
    (r"view size is not compatible.* = torch\.kron", "adept does not know the order in memory of what a product made"),
]
INSIDE = ("linalg", "matrix", "bilinear", "attention")  # kinds whose products PyTorch runs inside one operator


def load_torch():
    """PyTorch is large, and --help does without."""
    global torch, F, Counter, programs
    try:
        import torch
        import torch.nn.functional as F
        from torch.utils._python_dispatch import TorchDispatchMode  # noqa: F401
    except ImportError as error:
        print("skipped: %s" % error)
        sys.exit(77)
    import random_programs as programs
    from check_operators import Counter
    torch.set_num_threads(1)
    torch._C._set_graph_executor_optimize(False)  # every program runs a few times only
    warnings.simplefilter("ignore")


# ------------------------------------------------------------------ programs as modules


def module_of(program):
    module = type("Program", (torch.nn.Module,), {})()
    for name, tensor in program.leaves.items():
        if tensor.is_floating_point() and name not in program.buffers:
            module.register_parameter(name, torch.nn.Parameter(tensor.clone()))
        else:
            module.register_buffer(name, tensor.clone())
    for i in range(len(program.results())):
        setattr(module, "o%d" % i, programs.Result())
    return module


def arguments(typed):
    return "".join(", %s%s" % (name, ": Tensor" if typed else "") for name, _, _ in programs.INPUTS)


def inputs(batch):
    made = []
    for _, shape, dtype in programs.INPUTS:
        made.append(torch.rand(batch, *shape[1:]) if dtype.is_floating_point else torch.zeros((batch,) + shape[1:], dtype=dtype))
    return made


def as_python(program):
    """The module with a forward of Python."""
    module = module_of(program)
    names = {"torch": torch, "F": F}
    exec(program.source(arguments(False)), names)
    type(module).forward = names["forward"]
    return module


def as_script(program):
    module = torch.jit.script(module_of(program))
    module.define(program.source(arguments(True)))
    return module


def as_trace(program):
    return torch.jit.trace(as_python(program), inputs(programs.BATCH), check_trace=False)


NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "uint8": "u8",
         "bool": "bool", "complex64": "c64", "complex128": "c128", "complex32": "c32", "int16": "i16", "int8": "i8"}


def spec(t):
    return "%s:%s" % (NAMES[str(t.dtype)[6:]], "x".join(map(str, t.shape)))


def run(module, batch):
    """What its results are; a text if PyTorch refuses."""
    try:
        return [spec(t) for t in module(*inputs(batch))]
    except Exception as error:
        lines = [line for line in str(error).strip().splitlines() if line]
        return lines[-1] if lines else repr(error)


def products(program):
    """FLOPs forward and backward; None where autograd refuses, as after writing in place into what a backward needs."""
    module = as_python(program)
    with Counter() as forward:
        out = module(*inputs(programs.BATCH))
    wanted = [t for t in out if t.requires_grad]
    backward = Counter()
    if wanted:
        try:
            with backward:
                torch.autograd.grad(wanted, list(module.parameters()), [torch.ones_like(t) for t in wanted], allow_unused=True)
        except RuntimeError:
            return None
    return forward.flops, backward.flops, bool(wanted)


# ------------------------------------------------------------------ one bundle: a process of its own


class Member:
    """A program in a bundle, and what PyTorch says of it."""

    def __init__(self, program, traced):
        self.program, self.traced = program, traced
        self.module = as_trace(program) if traced else as_script(program)
        self.at = {1: run(self.module, programs.BATCH)}
        self.flops = None
        if isinstance(self.at[1], list):
            self.flops = products(program)
            if traced and program.batched:
                self.at[2] = run(self.module, 2 * programs.BATCH)
                eager = run(as_python(program), 2 * programs.BATCH)
                if eager != self.at[2]:  # the trace does not follow the batch
                    del self.at[2]
        graded = self.flops[2] if self.flops else any(t.is_floating_point() for t in program.leaves.values())
        self.letter = "g" if graded else "n"


def members(seed, counts):
    rng = programs.random.Random(seed)
    for i in range(BUNDLE):
        program = programs.Program(rng.random(), batched=i % 4 == 0)
        refused = []
        least = rng.randint(3, 15)
        for _ in range(60):
            if program.operators() >= least:
                break
            refused += [r for r in [program.step()] if r]
        mutants = [m for m in (program.mutant() for _ in range(3)) if m]
        for one, traced in [(program, program.batched or rng.random() < 0.4)] + [(r, False) for r in refused[:3] + mutants]:
            try:
                member = Member(one, traced)
            except Exception as error:  # TorchScript does not know it
                counts["not scripted"] += 1
                continue
            one.why = member.at[1] if isinstance(member.at[1], str) else ""  # TorchScript may be of another opinion than Python
            if not programs.NOT_OF_THE_PROGRAM.search(one.why):
                yield member


def save(found, path):
    bundle = type("Bundle", (torch.nn.Module,), {})()
    for i, member in enumerate(found):
        member.name = "%s%d" % (member.letter, i)
        setattr(bundle, member.name, member.module)
    scripted = torch.jit.script(bundle)
    names = ", ".join(name for name, _, _ in programs.INPUTS)
    calls = ", ".join("self.%s(%s)" % (m.name, names) for m in found)
    scripted.define("def forward(self%s):\n    return (%s,)\n" % (arguments(True), calls))
    torch.jit.save(scripted, path)


def walk(program, path, batch=None):
    """Name -> status, message, results, product FLOPs, operators. Without a batch, at the shapes of the trace."""
    leading = "B" if batch else str(programs.BATCH)
    specs = ["%s:%s" % (NAMES[str(dtype)[6:]], "x".join([leading] + [str(d) for d in shape[1:]])) for _, shape, dtype in programs.INPUTS]
    done = subprocess.run([program, path] + (["--batch", str(batch)] if batch else []) + specs, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("walk_parts %s: exit %d: %s" % (path, done.returncode, done.stderr.strip()))
    parts = {}
    for line in done.stdout.splitlines():
        word, _, rest = line.partition(" ")
        if word == "part":
            name, status, message = rest.split(" ", 2)
            part = parts[name] = {"status": status, "message": message, "results": {}, "ops": [], "inside": False}
        elif word == "products":
            part["products"] = [float(x) for x in rest.split()]
        else:
            where, kind, op, made = rest.split(" ", 3)
            part["inside"] |= kind in INSIDE
            part["ops"].append(op)
            probe = re.fullmatch(name + r"\.o(\d+)", where)
            if probe and op == "aten::clone":
                part["results"][int(probe.group(1))] = made
    return parts


def check(found, parts, times, say, counts):
    for member in found:
        want, got, program = member.at.get(times), parts.get(member.name), member.program
        if want is None or got is None:
            continue
        if times == 2:
            counts["at twice the batch"] += 1
        if isinstance(want, str):
            counts["refused by PyTorch"] += times == 1
            why = next((why for said, why in PREDICTED if re.search(said, want + program.statements[-1])), None)
            if got["status"] == "ok" and why:
                counts["let pass: " + why] += 1
            elif got["status"] == "ok":
                say("predicted", program, "PyTorch: " + want)
            elif times == 1:
                counts["refused by both"] += 1
        elif got["status"] == "unsupported":
            counts["operator not known"] += 1
            counts["unknown: " + got["message"].split(" (do the input")[0].partition(": ")[2]] += 1
        elif got["status"] == "refused":
            op = re.search(r"::(\w+)", got["message"])
            why = next((why for said, why in LET_PASS if re.search(said, got["message"])), None)
            if times == 2 and BATCH_FIXED.search(got["message"]):
                counts["batch refused for a size that the program fixes"] += 1
            elif why:
                counts["let pass: " + why] += 1
            else:
                say("batch" if times == 2 else "refused", program, got["message"], op and op.group(1))
        else:
            # what has no elements, or is a number of the host, runs nothing
            made = [got["results"].get(i, w if re.search(r":$|\b0(x|$)|x0(x|$)", w) else "nothing") for i, w in enumerate(want)]
            counts["results"] += len(want)
            if made != want:
                name, a, b = next(found for found in zip(program.results(), want, made) if found[1] != found[2])
                say("batch" if times == 2 else "result", program, "%s is %s, adept says %s" % (name, a, b), name)
            elif times == 1 and member.flops and not got["inside"]:
                counts["products"] += member.flops[0] > 0
                if any(abs(a - b) > TOLERANCE * max(a, b) for a, b in zip(member.flops, got["products"])):
                    say("products", program, "PyTorch %s, adept %s" % (list(member.flops[:2]), got["products"]))
        if got["status"] == "refused" and not re.search(r"aten::|prim::|module '", got["message"]):
            say("message", program, got["message"])


def bundle(seed, walk_parts, path):
    """Findings and counts, as plain lists."""
    counts, findings, operators = collections.Counter(), [], set()

    def say(kind, program, text, culprit=-1):
        where = program.described(culprit, spec)
        if all([kind, where] != [f[0], f[3]] for f in findings):  # mutants have much in common
            findings.append([kind, seed, text, where, program.source(arguments(True))])

    found = list(members(seed, counts))
    save(found, path)
    counts["programs"] += sum(not m.program.why for m in found)
    first = walk(walk_parts, path)
    for part in first.values():
        operators.update(part["ops"])
    check(found, first, 1, say, counts)
    check(found, walk(walk_parts, path, 2 * programs.BATCH), 2, say, counts)
    return {"findings": findings, "counts": counts, "operators": sorted(operators)}


def work(seed, walk_parts, folder):
    """A process: TorchScript never forgets a program, and PyTorch may crash."""
    path = os.path.join(folder, "%d.pt" % seed)
    answer = path + ".json"

    def target():
        with open(answer, "w") as file:
            json.dump(bundle(seed, walk_parts, path), file)

    process = multiprocessing.get_context("fork").Process(target=target)
    process.start()
    process.join()
    if process.exitcode != 0:
        return {"findings": [["died", seed, "the process of this seed ended with %d" % process.exitcode, "", ""]], "counts": {}, "operators": []}
    with open(answer) as file:
        result = json.load(file)
    os.unlink(path)
    os.unlink(answer)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="where adept was built with libtorch")
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20, help="differences printed of each kind")
    parser.add_argument("--full", action="store_true", help="print whole programs")
    args = parser.parse_args()
    load_torch()
    walk_parts = os.path.join(args.build, "tests/differential/walk_parts")
    os.environ.setdefault("ADEPT_TORCH_MODULE", os.path.join(args.build, "workload/import/torch/adept_torch.so"))
    counts, kinds, operators, seed = collections.Counter(), collections.Counter(), set(), args.seed
    with tempfile.TemporaryDirectory() as folder:
        while counts["programs"] < args.programs and (seed == args.seed or counts["programs"]):
            result = work(seed, walk_parts, folder)
            counts.update(result["counts"])
            for kind, at, text, culprit, source in result["findings"]:
                kinds[kind] += 1
                if kinds[kind] <= args.show:
                    print("%s (seed %d): %s\n    %s%s" % (kind, at, text, culprit, source if args.full else ""), flush=True)
            operators.update(result["operators"])
            seed += 1
    for what, n in sorted(counts.items()):
        print("%6d  %s" % (n, what))
    print("%6d  operators" % len(operators))
    print("%d programs, %d refused by PyTorch, %d differences%s" % (
        counts["programs"], counts["refused by PyTorch"], sum(kinds.values()),
        "".join(", %d %s" % (n, kind) for kind, n in sorted(kinds.items()))))
    return 1 if kinds or not counts["programs"] else 0


if __name__ == "__main__":
    sys.exit(main())
