#!/usr/bin/env python3
"""Trace every operator of PyTorch that has sample inputs, and ask adept which of them it knows.

    tools/zoo/check_operators.py [--adept PROGRAM] [--table docs/OPERATORS.md] [--every N] [--only NAME]...

Samples are those of PyTorch's own tests (op_db, module_db), and tools/zoo/operator_calls.py for what those leave out.
An operator is known if adept profiles a trace of each of its samples; refused if it names an operator it does not know.
Anything else is wrong. FLOPs of matrix products and convolutions, forward and backward, must equal those that a
TorchDispatchMode counts while PyTorch runs the same call, to 1e-6.
Exit code 1 if less than 98 % are known, anything is wrong, or a count differs.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

import operator_calls

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import stamps  # beside the scripts that write other documents

TOLERANCE = 1e-6
LEAST_SHARE = 0.98
BUNDLE = 40    # calls in a file
SAMPLES = 3    # of an operator

# ------------------------------------------------------------------ calls of an operator


class Call(torch.nn.Module):
    """One call whose tensors are parameters, so that each floating one wants a gradient; others are buffers."""

    def __init__(self, function, args, kwargs, train):
        super().__init__()
        leaves, self.spec = tree_flatten((args, kwargs))
        self.training_wanted = train
        self.function = [function]  # in a list: a module among the attributes would be a child
        if isinstance(function, torch.nn.Module):
            self.module = function
        self.leaves, self.names = leaves, []
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, torch.Tensor):
                name = "t%d" % i
                self.names.append((i, name))
                leaf = leaf.detach().clone()
                if train and leaf.layout == torch.strided and (leaf.is_floating_point() or leaf.is_complex()):
                    self.register_parameter(name, torch.nn.Parameter(leaf))
                else:
                    self.register_buffer(name, leaf)

    def forward(self):
        leaves = list(self.leaves)
        for i, name in self.names:
            tensor = getattr(self, name)
            # what writes in place must not write into a parameter
            leaves[i] = tensor.clone() if self.in_place else tensor
        args, kwargs = tree_unflatten(leaves, self.spec)
        out = self.function[0](*args, **kwargs)
        return tuple(t for t in flat(out) if isinstance(t, torch.Tensor))[:self.n_results]

    def freeze(self):
        self.training_wanted = False
        for name in [n for _, n in self.names if n in self._parameters]:
            tensor = self._parameters.pop(name).detach()
            self.register_buffer(name, tensor)

    in_place = by_data = False
    n_results = None


# Products that PyTorch counts otherwise, and why. Those inside decompositions (INSIDE) are part of the textbook's count.
EXCEPTIONS = {
    "nn.functional.bilinear": "its products run inside one operator of PyTorch, _trilinear",
    "Bilinear": "as nn.functional.bilinear",
    "deform_conv2d": "its products run inside one operator of torchvision",
    "inference fast paths": "their products run inside one operator of PyTorch",
    "AdaptiveLogSoftmaxWithLoss": "data chooses the rows of each cluster: all are assumed",
    "ParametrizedLinear": "the power iteration runs without gradient, which a trace does not show",
    "linalg.norm.subgradients_at_zero": "a norm by singular values: a decomposition",
    "nn.functional._scaled_dot_product_attention": "the fused kernel's backward multiplies Q by K again: 5 products, not 4",
}
INSIDE = {"linalg", "matrix"}  # kinds of handlers

# PyTorch 1.13 returns scores that nobody asked for, and on a CPU statistics that a GPU leaves out.
ONE_RESULT = {"nn.functional._scaled_dot_product_attention", "native_batch_norm"}

# The size of the result depends on data: adept assumes one, and warns.
BY_DATA = {"nonzero", "argwhere", "masked_select", "unique", "unique_consecutive"}


def flat(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flat(v)]
    return [value]


class Case:
    """An operator's name, where it comes from, its calls, and what became of them."""

    def __init__(self, family, name, calls):
        self.family, self.name, self.calls = family, name, calls
        self.key = re.sub(r"\W", "_", name)
        self.untraced = ""   # why PyTorch cannot trace it
        self.refused = set() # names of aten operators
        self.wrong = set()   # other messages
        self.differs = []


def pick(samples):
    """First, middle and last of what has elements: samples of one operator differ most at their ends."""
    samples = [s for s in samples if all(t.numel() > 0 for t in tree_flatten(s[1:])[0] if isinstance(t, torch.Tensor))] or samples
    return samples if len(samples) <= SAMPLES else [samples[0], samples[len(samples) // 2], samples[-1]]


def family_of(name):
    for prefix in ("fft", "linalg", "special", "nn.functional", "sparse", "masked", "_refs"):
        if name.startswith(prefix + "."):
            return "torch." + prefix
    return "torch and Tensor"


def cases_of_op_db(wanted):
    import types
    import unittest
    stub = types.ModuleType("expecttest")  # which the samples do not need, and few machines have
    stub.TestCase, stub.ACCEPT = unittest.TestCase, False
    sys.modules.setdefault("expecttest", stub)
    from torch.testing._internal.common_methods_invocations import op_db
    for op in op_db:
        name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
        if not wanted(name):
            continue
        dtypes = op.supported_dtypes("cpu")
        dtype = next((d for d in (torch.float32, torch.complex64, torch.int64, torch.bool) if d in dtypes), None)
        try:
            samples = pick([(op.op, (s.input,) + tuple(s.args), s.kwargs) for s in op.sample_inputs("cpu", dtype)])
        except Exception as error:  # a sample that this build of PyTorch cannot make
            yield Case(family_of(op.name), name, []), "no sample: %s" % error
            continue
        yield Case(family_of(op.name), name, [Call(f, a, k, op.supports_autograd) for f, a, k in samples]), ""


def cases_of_module_db(wanted):
    from torch.testing._internal.common_modules import module_db
    for info in module_db:
        name = info.module_cls.__name__
        if not wanted(name):
            continue
        samples = []
        for m in info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=True):
            if m.forward_input is not None:
                try:
                    module = info.module_cls(*m.constructor_input.args, **m.constructor_input.kwargs)
                    samples.append((module, m.forward_input.args, m.forward_input.kwargs))
                except TypeError:  # wants a device or a type
                    continue
        yield Case("torch.nn", name, [Call(f, a, k, True) for f, a, k in pick(samples)]), ""


def collect(wanted):
    cases = {}
    for case, problem in (*cases_of_op_db(wanted), *cases_of_module_db(wanted), *own_cases(wanted)):
        if case.key in cases:
            case.key += "_module" if case.family == "torch.nn" else "_own"
        case.untraced = problem
        cases[case.key] = case
    return list(cases.values())


def own_cases(wanted):
    for family, name, train, function, args in operator_calls.calls():
        if wanted(name):
            yield Case(family, name, [Call(function, args, {}, train)]), ""


# ------------------------------------------------------------------ FLOPs as PyTorch runs them


def product_flops(name, args, out):
    if any(isinstance(a, torch.Tensor) and a.layout != torch.strided for a in args):
        return 0  # what is sparse is multiplied by general units
    shape = [a.shape if isinstance(a, torch.Tensor) else None for a in args]
    if name in ("mm", "_sparse_mm"):
        return 2 * shape[0][0] * shape[0][1] * shape[1][1]
    if name == "bmm":
        return 2 * shape[0].numel() * shape[1][2]
    if name in ("addmm", "_addmm_activation"):
        return 2 * shape[1].numel() * shape[2][1]
    if name == "addbmm":
        return 2 * shape[1].numel() * shape[2][2]
    if name == "baddbmm":
        return 2 * shape[1].numel() * shape[2][2]
    if name == "mv":
        return 2 * shape[0].numel()
    if name == "addmv":
        return 2 * shape[1].numel()
    if name in ("dot", "vdot"):
        return 2 * shape[0].numel()
    if name == "affine_grid_generator":  # a matrix of 2 x 3, or 3 x 4, for every pixel
        return 2 * out.numel() * (out.shape[-1] + 1)
    if name == "convolution":
        return 2 * (args[0] if args[6] else out).numel() * shape[1].numel() / shape[1][0]
    if name == "convolution_backward":
        grad, x, w, mask = args[0], args[1], args[2], args[10]
        return 2 * (x if args[7] else grad).numel() * w.numel() / w.shape[0] * (mask[0] + mask[1])
    return 0


class Counter(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.flops = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        complex_ = any(isinstance(a, torch.Tensor) and a.is_complex() for a in args)
        self.flops += product_flops(name, args, out) * (4 if complex_ else 1)
        return out


def run_and_count(call):
    """Product FLOPs forward and backward."""
    with Counter() as forward:
        out = call()
    wanted = [t for t in out if t.requires_grad]
    backward = Counter()
    if wanted:
        grads = [torch.ones_like(t) for t in wanted]
        parameters = [p for p in call.parameters() if p.requires_grad]
        with backward:
            torch.autograd.grad(wanted, parameters, grads, allow_unused=True)
    return (forward.flops, backward.flops), [tuple(t.shape) for t in out]


# ------------------------------------------------------------------ what adept says


class Bundle(torch.nn.Module):
    def __init__(self, calls):
        super().__init__()
        self.order = [name for name, _ in calls]
        for name, call in calls:
            self.add_module(name, call)

    def forward(self):
        return tuple(t for name in self.order for t in fixed(getattr(self, name)))


def fixed(call):
    """Its results, each expanded to the shape it has: a shape that adept takes for another one does not expand."""
    for t, shape in zip(call(), call.shapes):
        yield t.expand(shape) if shape and t.layout == torch.strided and not call.by_data else t


def trace(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(call, (), check_trace=False)


def profile(program, path, mode):
    done = subprocess.run([program, "profile", path, "--mode", mode, "--json"], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def product_kernels(profile_json):
    """Name of the call -> product FLOPs forward and backward; None where a decomposition is among its operators."""
    sums = collections.defaultdict(lambda: [0, 0])
    inside = {op["path"].split(".")[0] for op in profile_json["ops"] if op["kind"] in INSIDE}
    sums.update((name, None) for name in inside)
    for op in profile_json["ops"]:
        if op["path"].split(".")[0] in inside:
            continue
        for kernel in op["kernels"]:
            if kernel["unit"] != "alu":
                sums[op["path"].split(".")[0]][kernel["pass"] == "backward"] += kernel.get("flops", 0) * op["count"]
    return sums


class Checker:
    def __init__(self, program, folder):
        self.program, self.folder, self.names = program, folder, itertools.count()
        self.tracing = threading.Lock()

    def save(self, calls):
        path = os.path.join(self.folder, "%d.pt" % next(self.names))
        with self.tracing:  # scopes of two traces at once get mixed up
            torch.jit.save(trace(Bundle([(name, call) for name, call, _, _ in calls])), path)
        return path

    def check(self, calls):
        """calls: (name, Call, Case, mode) of one mode. Bundles that fail are halved until the call to blame is alone."""
        if not calls:
            return
        path = self.save(calls)
        code, out, err = profile(self.program, path, calls[0][3])
        os.unlink(path)
        if code == 0:
            sums = product_kernels(json.loads(out))
            for name, call, case, mode in calls:
                self.compare(name, call, case, mode, sums[name])
            return
        if len(calls) == 1:
            name, _, case, _ = calls[0]
            names = re.findall(r"^adept:   (\S+): \d+ times?, first in [^:]*(: .*)$", err, re.M)
            if code == 4:
                case.refused.update(map("".join, names)) if names else case.refused.add(err.strip().split(": ")[-1])
            else:
                case.wrong.add("exit %d: %s" % (code, err.strip().splitlines()[-1] if err.strip() else ""))
            return
        blamed = {p for line in re.findall(r"first in (\S+?):? ", err + " ") for p in [line.split(".")[0].strip(":")]}
        for part in split(calls, blamed):
            self.check(part)

    def compare(self, name, call, case, mode, got):
        if got is None or call.counts is None or case.name in EXCEPTIONS or case.family in EXCEPTIONS:
            return
        want = call.counts if mode != "infer" else (call.counts[0], 0)
        for pass_, a, b in zip(("forward", "backward"), got, want):
            if abs(a - b) > TOLERANCE * max(a, b):
                case.differs.append((pass_, a, b))


def split(calls, blamed):
    good = [c for c in calls if c[0] not in blamed]
    if blamed and 0 < len(good) < len(calls):
        return [[c] for c in calls if c[0] in blamed] + [good]
    half = len(calls) // 2
    return [calls[:half], calls[half:]]


def prepare(cases):
    """Calls that PyTorch can run and trace, with their counts: (name, Call, Case, mode)."""
    ready = []
    for case in cases:
        case.checked = False
        for letter, call in zip("abcdef", case.calls):
            call.by_data, call.n_results = case.name in BY_DATA, 1 if case.name in ONE_RESULT else None
            # what has kind "function of C" may write into its argument
            call.in_place = case.name.endswith("_") or type(call.function[0]) is type(abs)
            problem = try_out(call)
            if problem and call.training_wanted:  # without a derivative, or of one argument only
                call.freeze()
                problem = try_out(call)
            if problem:
                case.untraced = problem
                continue
            mode = "fwbw" if any(p.requires_grad for p in call.parameters()) else "infer"
            ready.append(("%s__%s" % (case.key, letter), call, case, mode))
            case.checked = True
    return ready


def try_out(call):
    """Run, count and trace it; returns what went wrong. An operator without sizes (a nested tensor) is not counted."""
    try:
        call.counts, call.shapes = run_and_count(call)
    except RuntimeError as error:
        if "NestedTensor" not in str(error):
            return first_line(error)
        call.counts, call.shapes = None, [tuple(t.shape) for t in call()]
    except Exception as error:
        return first_line(error)
    try:
        trace(call)
    except Exception as error:
        return first_line(error)
    return ""


def first_line(error):
    return (str(error).strip() or repr(error)).splitlines()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adept", default="build/tools/adept")
    parser.add_argument("--table")
    parser.add_argument("--every", type=int, default=1, help="check one operator in N")
    parser.add_argument("--only", action="append", default=[])
    args = parser.parse_args()
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    cases = collect(lambda name: not args.only or any(re.search(o, name) for o in args.only))[::args.every]
    ready = prepare(cases)
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(args.adept, folder)
        for mode in ("fwbw", "infer"):
            calls = [r for r in ready if r[3] == mode]
            bundles = [calls[i:i + BUNDLE] for i in range(0, len(calls), BUNDLE)]
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                list(pool.map(checker.check, bundles))
    return report(cases, args)


def reasons(case):
    return "; ".join(sorted(case.refused | case.wrong))


def report(cases, args):
    checked = [c for c in cases if c.checked]
    refused = [c for c in checked if c.refused and not c.wrong]
    wrong = [c for c in checked if c.wrong]
    differs = [c for c in checked if c.differs]
    known = [c for c in checked if not c.refused and not c.wrong]
    for case in cases:
        if not case.checked:
            print("untraced  %-40s %s" % (case.name, case.untraced))
    for word, found in (("refused", refused), ("wrong", wrong)):
        for case in found:
            print("%-9s %-40s %s" % (word, case.name, reasons(case)))
    for case in differs:
        print("differs   %-40s %s" % (case.name, case.differs))
    share = len(known) / max(len(checked), 1)
    print("%d operators, %d checked: %d known (%.1f %%), %d refused, %d wrong, %d with other FLOPs" %
          (len(cases), len(checked), len(known), 100 * share, len(refused), len(wrong), len(differs)))
    if args.table:
        with open(args.table, "w") as file:
            file.write(stamps.stamped("OPERATORS.md", table(cases, checked, known, refused + wrong)))
    return 0 if share >= LEAST_SHARE and not wrong and not differs else 1


HEADER = """# Operators

What `adept` knows of PyTorch's operators, written by `tools/zoo/check_operators.py`
with %s.
Each operator is traced with the sample inputs of PyTorch's own tests, up to three of them, and
profiled, backward too where it has one. Its shapes must be those that PyTorch computes.
FLOPs of matrix products and convolutions equal those of a TorchDispatchMode to 1e-6.
%d of %d operators are known, %.1f %%. The others end a run with exit code 4 and their name.

`adept handlers` lists the names inside a graph; [COUNTS.md](COUNTS.md) says what is counted.
"""


def table(cases, checked, known, refused):
    lines = [HEADER % (versions(), len(known), len(checked), 100 * len(known) / len(checked)),
             "| family | known | refused |", "|---|---:|---|"]
    families = sorted({c.family for c in checked})
    for family in families:
        lines.append("| %s | %d | %s |" % (family, sum(c.family == family for c in known),
                                           ", ".join("`%s`" % c.name for c in refused if c.family == family)))
    lines += ["", "## Refused", "", "| operator | what adept says |", "|---|---|"]
    lines += ["| `%s` | %s |" % (c.name, reasons(c)) for c in refused]
    lines += ["", "## Products that PyTorch counts otherwise", "", "| operator | why |", "|---|---|"]
    lines += ["| %s | %s |" % item for item in sorted(EXCEPTIONS.items())]
    lines += ["", "Products inside decompositions (`torch.linalg`) are part of the textbook's count.", "", "## Known", "", "| family | operators |", "|---|---|"]
    lines += ["| %s | %s |" % (family, ", ".join(sorted({c.name for c in known if c.family == family}))) for family in families]
    lines += ["", "## Not traced", "", "PyTorch cannot run or trace these here, so they are not counted above.", ""]
    lines += textwrap.wrap(", ".join(sorted(c.name for c in cases if not c.checked)) + ".", 100, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def versions():
    try:
        import torchvision
        return "PyTorch %s and torchvision %s" % (torch.__version__, torchvision.__version__)
    except ImportError:
        return "PyTorch %s" % torch.__version__


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, subprocess takes every end for success
    sys.exit(main())
