"""Random small programs as text that Python, torch.jit.trace and torch.jit.script all read.

A program is leaves (parameters, buffers, inputs) and statements over t0, t1, ...; every statement was tried with PyTorch
when it was chosen. What PyTorch refused on the way, and what it refuses of a valid program with a number, a name or a type
changed, are programs as well.
"""
import random
import re
import types

import torch
import torch.nn.functional as F

import random_statements
from check_operators import first_line  # of tools/zoo, where check_random_programs.py looks

BATCH = 4
INPUTS = [("x0", (BATCH, 6), torch.float32), ("x1", (BATCH, 3, 8, 8), torch.float32), ("x2", (BATCH, 5), torch.int64)]
DTYPES = [torch.float32] * 14 + [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.bool]
MOST_ELEMENTS = 20000

# Of the build, the processor, the data or autograd, not of the program; or a crash of PyTorch that says so.
NOT_OF_THE_PROGRAM = re.compile(
    r"not implemented for|index out of range in self|embedding_lookup_idx|not support.*(Half|BFloat16)|Half.*not support|mkldnn|ZeroDivisionError|INTERNAL ASSERT|not yet implemented|"
    r"could not create|not differentiable with respect|Add new condition|got Union|modified (by an )?inplace|mixed dtype .CPU.|not enough memory|Unsupported dtype|p_in|can't allocate memory|out of memory|overflow|output with shape \[\] |"
    r"Invalid padding size")  # PyTorch 2 pads without a batch


class Refused(Exception):
    """Of PyTorch: the statement that it did not run, and why."""


class Program:
    def __init__(self, seed, batched=False):
        self.rng = random.Random(seed)
        self.leaves = {}      # name -> tensor
        self.buffers = set()  # of those that are floating, what wants no gradient
        self.statements = []  # text, each of one line or a block
        self.values = {}      # name -> tensor, as they are now
        self.count = 0
        self.batched = batched

    # ------------------------------------------------------------------ what statements ask for

    def tensor(self, shape, dtype=torch.float32):
        if dtype.is_floating_point or dtype.is_complex:
            return torch.rand(shape, generator=torch.Generator().manual_seed(1)).to(dtype)
        return torch.ones(shape, dtype=dtype) if dtype is torch.bool else torch.zeros(shape, dtype=dtype)

    def leaf(self, shape, dtype=torch.float32, buffer=False):
        name = "w%d" % len(self.leaves)
        self.buffers |= {name} if buffer else set()
        self.leaves[name] = self.tensor([max(d, 0) for d in shape], dtype)
        return self.add("self.%s.clone()" % name)

    def chance(self, probability):
        return self.rng.random() < probability

    def shape(self, rank=None):
        rank = self.rng.choice((0, 1, 2, 2, 3, 3, 4, 4, 5)) if rank is None else rank
        dims = [self.rng.choice((1, 2, 3, 3, 4, 5, 6, 8)) for _ in range(rank)]
        if dims and self.chance(0.01):
            dims[self.rng.randrange(rank)] = 0
        return dims

    def pick(self, wanted=lambda t: True, rank=None, dtype=None):
        """A value so far, or a new leaf."""
        if self.batched and not self.values:
            name, _, _ = self.rng.choice(INPUTS)
            self.add(name + ".clone()")
        names = [n for n, t in self.values.items() if wanted(t) and rank in (None, t.dim()) and (dtype is None or t.dtype == dtype)]
        if names and self.chance(0.85):
            return self.rng.choice(names[-4:] if self.chance(0.7) else names)
        if self.batched and self.chance(0.5):
            for name, shape, type_ in self.rng.sample(INPUTS, len(INPUTS)):
                if rank in (None, len(shape)) and dtype in (None, type_):
                    return self.add(name + ".clone()")
        for _ in range(20):
            shape, type_ = self.shape(rank), dtype or self.rng.choice(DTYPES)
            if wanted(self.tensor(shape, type_)):
                return self.leaf(shape, type_)
        return self.leaf(self.shape(rank), dtype or torch.float32)

    def floating(self, rank=None):
        if self.chance(0.03):
            return self.pick(rank=rank)
        return self.pick(lambda t: t.is_floating_point(), rank)

    def like(self, name, **changes):
        """A leaf that broadcasts with a value, most of the time; or another value."""
        if self.chance(0.15):
            return self.pick()
        dims = [1 if self.chance(0.2) else d for d in self.values[name].shape]
        dims = dims[self.rng.randrange(len(dims) + 1):] if self.chance(0.3) else dims
        return self.leaf(dims, self.rng.choice(DTYPES) if self.chance(0.3) else self.values[name].dtype)

    def int(self, low, high):
        if self.chance(0.02):
            return self.rng.choice((low - 1, high + 1, -1, 0, high + 3))
        return self.rng.randint(low, high)

    def dim(self, name):
        rank = max(self.values[name].dim(), 1)
        return self.int(-rank, rank - 1)

    def dims(self, name, least=0):
        rank = self.values[name].dim()
        found = self.rng.sample(range(rank), self.rng.randint(min(least, rank), rank)) if rank else []
        found = [d - rank if self.chance(0.3) else d for d in found]
        return found + [self.int(-rank, rank)] if self.chance(0.03) else found

    def size(self, name, dim):
        t = self.values[name]
        return t.size(dim) if -t.dim() <= dim < t.dim() else 1

    # ------------------------------------------------------------------ statements

    def run(self, statement):
        names = dict(self.values, torch=torch, F=F, self=types.SimpleNamespace(**self.leaves))
        names.update((n, self.tensor(s, t)) for n, s, t in INPUTS)
        try:
            exec(statement, names)
        except (NameError, AttributeError, SyntaxError):  # no program at all
            raise Refused("") from None
        except Exception as error:
            raise Refused(first_line(error)) from None
        made = {n: v for n, v in names.items() if isinstance(v, torch.Tensor) and re.fullmatch(r"t\d+", n)}
        if any(t.numel() > MOST_ELEMENTS or t.dim() > 7 or t.layout != torch.strided for t in made.values()):
            raise Refused("")
        self.values = made
        self.statements.append(statement)

    def add(self, expression):
        name = "t%d" % self.count
        self.run("%s = %s" % (name, expression))
        self.count += 1
        return name

    def text_of(self, made):
        """made: an expression; (expression, n) of a list or tuple; or a list of lines with {} for the result's name."""
        name = "t%d" % self.count
        if isinstance(made, str):
            return "%s = %s" % (name, made), 1
        if isinstance(made, tuple):
            lines = ["l%d = %s" % (self.count, made[0])]
            lines += ["t%d = l%d[%d]" % (self.count + i, self.count, i) for i in range(made[1])]
            return "\n".join(lines), made[1]
        return "\n".join(made).replace("{}", name), 1

    def step(self):
        """Another statement. Returns the program that ends with what PyTorch refused, if it did."""
        family = self.rng.choice(random_statements.FAMILIES)
        try:
            statement, n = self.text_of(family(self))
        except Refused:  # of a leaf
            return None
        try:
            self.run(statement)
            self.count += n
        except Refused as error:
            return self.refused(statement, str(error))
        return None

    def refused(self, statement, why):
        if not why or NOT_OF_THE_PROGRAM.search(why):
            return None
        other = Program(0, self.batched)
        other.leaves, other.buffers, other.values = dict(self.leaves), set(self.buffers), dict(self.values)
        other.statements, other.why = self.statements + [statement], why
        return other

    def mutant(self):
        """The program with something changed: valid (why is empty), refused, or None."""
        lines = list(self.statements)
        own = [i for i, s in enumerate(lines) if ".clone()" not in s and "while" not in s]  # which may never end
        if not own:
            return None
        at = self.rng.choice(own)
        before = re.findall(r"^(t\d+) =", "\n".join(lines[:at]), re.M)
        lines[at] = mutate(lines[at], before, self.rng)
        if lines[at] == self.statements[at]:
            return None
        other = Program(0, self.batched)
        other.leaves, other.buffers = self.leaves, self.buffers
        for line in lines:
            try:
                other.run(line)
            except Refused as error:
                return other.refused(line, str(error))
        return other

    why = ""

    # ------------------------------------------------------------------ as text

    def operators(self):
        return sum(".clone()" not in s for s in self.statements)

    def described(self, culprit, spec):
        """The last statement, or the one that makes a name, and what it reads."""
        found = self.statements[-1]
        for statement in self.statements:
            if re.search(r"^%s =|\b%s_?\(" % (culprit, culprit), statement, re.M):
                found = statement
                break
        names = dict.fromkeys(NAME.findall(found.partition(" = ")[2]))
        return found.replace("\n", "\n    ") + "    # " + ", ".join("%s %s" % (n, spec(self.values[n])) for n in names if n in self.values)

    def results(self):
        """Names of tensors: what operators made, not the leaves."""
        made = []
        for statement in self.statements:
            if re.search(r"^t\d+ = (self\.w\d+|x\d)\.clone\(\)$", statement):
                continue
            made += [n for n in re.findall(r"^(t\d+) =", statement, re.M) if n not in made]
        return made

    def source(self, arguments=""):
        names = self.results()
        lines = [line for statement in self.statements for line in statement.split("\n")]
        lines.append("return (%s,)" % ", ".join("self.o%d(%s)" % (i, n) for i, n in enumerate(names)))
        return "def forward(self%s):\n" % arguments + "".join("    %s\n" % line for line in lines)


class Result(torch.nn.Module):
    """Marks a tensor in the graph."""

    def forward(self, x: torch.Tensor):
        return x.clone()


NUMBER = re.compile(r"(?<![\w.])-?\d+(?![\w.])")
NAME = re.compile(r"\bt\d+\b(?! =)")  # no name is made anew: TorchScript leaves out what is lost so, Python runs it
TYPE = re.compile(r"torch\.(float32|float64|float16|bfloat16|int64|int32|bool)\b")


def mutate(statement, names, rng):
    head, equals, body = statement.partition(" = ")
    kinds = [k for k in (NUMBER, NUMBER, NUMBER, NAME, TYPE, re.compile("True|False")) if k.search(body)]
    if not kinds:
        return statement
    found = rng.choice(list(rng.choice(kinds).finditer(body)))
    old = found.group()
    if NUMBER.fullmatch(old):
        n = int(old)
        new = str(rng.choice((n + 1, n - 1, -n, n + 2, 2 * n, -1, 0, 3, 7, n - 9)))
    elif NAME.fullmatch(old):
        new = rng.choice(names or [old])
    elif old in ("True", "False"):
        new = "False" if old == "True" else "True"
    else:
        new = "torch." + rng.choice(("float32", "float64", "float16", "int64", "bool"))
    if re.search("groups|stride|dilation", body) and new == "0":
        new = "5"  # PyTorch 1.13 divides by zero groups
    return head + equals + body[:found.start()] + new + body[found.end():]
