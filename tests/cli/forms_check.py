"""Forms in which people write the same thing, each a small model written by PyTorch: adept predicts it, and counts what PyTorch
runs. forms_check.py ADEPT FOLDER; prints what differs, exit 1 if anything does.
"""
import json
import re
import subprocess
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import nn

warnings.filterwarnings("ignore")
ADEPT, FOLDER = sys.argv[1:]
failures = checks = 0


def ask(net, how, inputs, *options):
    """(exit code, profile or None, what was said)"""
    path = FOLDER + "/form.pt"
    program = torch.jit.script(net) if how == "script" else torch.jit.trace(net, inputs, check_trace=False)
    torch.jit.save(program, path)
    done = subprocess.run([ADEPT, "profile", path, "--json", *options], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else None, done.stderr.strip()


def slug(name):
    return "form_" + re.sub(r"\W", "_", name)


class Many(nn.Module):
    """Forms in one model."""

    def __init__(self, nets):
        super().__init__()
        self.forms = nn.ModuleDict({slug(name): net for name, net in nets.items()})

    def forward(self, x):
        return [form(x) for form in self.forms.values()]


class ManyOfTwo(Many):
    def forward(self, x, n):
        return [form(x, n) for form in self.forms.values()]


def counted(profile, name):
    """FLOPs of matrix products and convolutions of a form, forward and backward."""
    sums = [0, 0]
    for op in profile["ops"]:
        if (op["path"] + ".").startswith("forms.%s." % slug(name)):
            for kernel in op["kernels"]:
                if kernel["unit"] != "alu":
                    sums[kernel["pass"] == "backward"] += kernel["flops"] * op["count"]
    return sums


def check_all(family, nets, wanted, how, inputs, *options, many=Many):
    """All forms in one model: each counts what it should. @return the profile"""
    code, profile, said = ask(many(nets), how, inputs, *options)
    check(family, code == 0, said)
    for name in nets if profile else []:
        check("%s: %s" % (family, name), counted(profile, name) == list(wanted[name]), counted(profile, name))
    return profile or {"warnings": [], "totals": {}}


def check(name, right, said):
    global failures, checks
    checks += 1
    if not right:
        failures += 1
        print("%s: %s" % (name, said))


# ---------------------------------------------------------------- sizes in small tensors ----------------

def t(*values):
    return torch.tensor(values)


def written(z):
    z = z + 1
    z.mul_(2)
    return z


SIZES = {
    "max of a dimension": lambda z: torch.stack([z, z + 4]).max(0)[0],
    "max of a dimension, kept": lambda z: torch.stack([z, z + 4]).max(0, keepdim=True).values[0],
    "index of max": lambda z: z + torch.stack([z, z + 4]).max(0).indices,
    "min of a dimension": lambda z: torch.stack([z, z + 4]).min(0)[0],
    "max of all": lambda z: torch.stack([z.max(), z.max()]),
    "max of two": lambda z: torch.max(z, z + 2),
    "amax": lambda z: torch.stack([z, z + 4]).amax(0),
    "amin": lambda z: torch.stack([z, z + 4]).amin(dim=(0,), keepdim=True)[0],
    "aminmax": lambda z: torch.stack(torch.aminmax(torch.stack([z, z + 4]).flatten())) + 12,
    "argmax": lambda z: z + torch.stack([z, z + 4]).argmax(0),
    "argmin of all": lambda z: z + z.argmin(),
    "where": lambda z: torch.where(z > 10, z, z * 0 + 14),
    "masked_fill": lambda z: z.masked_fill(z < 12, 14),
    "sort": lambda z: torch.stack([z, z + 4]).sort(0)[0][-1],
    "sort, falling": lambda z: torch.stack([z, z + 4]).sort(0, descending=True)[0][0],
    "argsort": lambda z: z[torch.argsort(z)] + 5,
    "topk": lambda z: torch.stack([z, z + 4]).topk(1, 0)[0][0],
    "topk of the last": lambda z: torch.stack([z.topk(1)[0][0], z.topk(1)[0][0]]),
    "kthvalue": lambda z: torch.stack([z, z + 4]).kthvalue(2, 0)[0],
    "median": lambda z: torch.stack([z, z + 4, z + 2]).median(0)[0],
    "cumsum": lambda z: torch.cumsum(torch.stack([z, z * 0 + 2]), 0)[-1],
    "cumprod": lambda z: torch.cumprod(torch.stack([z, z * 0 + 2]), 0)[-1],
    "cummax": lambda z: torch.cummax(torch.stack([z, z + 3]), 0)[0][1],
    "sum of a dimension": lambda z: torch.stack([z, z * 0 + 2]).sum(0),
    "sum of all": lambda z: torch.stack([z.sum(), z.sum()]),
    "mean of a dimension": lambda z: torch.stack([z, z + 4]).float().mean(0).long(),
    "prod of a dimension": lambda z: torch.stack([z, z * 0 + 2]).prod(0),
    "diff": lambda z: torch.stack([z, 3 * z + 1]).diff(dim=0)[0],
    "flip": lambda z: (z + 9).flip(0),
    "roll": lambda z: (z + 9).roll(1, 0),
    "roll of all": lambda z: (z + 9).roll(1),
    "repeat": lambda z: (z + 1).repeat(2)[:2],
    "tile": lambda z: (z + 1).tile(3)[2:4],
    "repeat_interleave": lambda z: (z + 1).repeat_interleave(2)[::2],
    "repeat_interleave by a tensor": lambda z: (z + 1).repeat_interleave(t(1, 2))[1:] + 2,
    "expand": lambda z: (z + 1).expand(3, 2)[1],
    "x[tensor]": lambda z: (z + 1)[t(0, 1)],
    "x[i, j]": lambda z: torch.stack([z, z + 4])[t(1, 1), t(0, 1)],
    "x[:, j]": lambda z: torch.stack([z, z + 4])[:, t(0, 1)][1],
    "x[mask]": lambda z: torch.stack([z, z + 4])[t(False, True).nonzero()[0, 0]],
    "masked_select": lambda z: torch.cat([z, z + 4]).masked_select(torch.cat([z, z + 4]) > 13)[-2:] + z * 0 + 13,
    "unique": lambda z: torch.unique(torch.cat([z + 20, z + 20]))[:2],
    "gather": lambda z: torch.gather(z + 1, 0, t(0, 1)),
    "take": lambda z: torch.take(z + 1, t(0, 1)),
    "take_along_dim": lambda z: torch.take_along_dim(z + 1, t(0, 1), 0),
    "index_select": lambda z: torch.index_select(z + 1, 0, t(0, 1)),
    "any and all": lambda z: z + (z > 3).all() + (z > 99).any() + (z > 3).sum(),
    "count_nonzero": lambda z: z + torch.count_nonzero(z),
    "floor_divide": lambda z: torch.div(z * 2 + 1, 2, rounding_mode="floor"),
    "remainder": lambda z: z + (z % 4),
    "bits": lambda z: ((z | 3) & ~t(1)) + (z ^ 1) + (z << 1),
    "comparison": lambda z: z + (z >= 12).long(),
    "logical": lambda z: z + torch.logical_and(z > 3, z < 99).int(),
    "clone and to": lambda z: (z + 1).clone().to(torch.int32).contiguous(),
    "stacked in columns": lambda z: torch.stack([z, z + 1], 1).t()[1],
    "cat of matrices": lambda z: torch.cat([z[None], z[None] + 1], 0)[1],
    "cat of columns": lambda z: torch.cat([z[:, None], z[:, None] + 1], 1)[:, 1],
    "meshgrid": lambda z: torch.stack(torch.meshgrid(z, z + 9, indexing="ij"))[1, 0] + z,
    "zeros": lambda z: torch.zeros(2, dtype=torch.long) + z,
    "ones_like": lambda z: torch.ones_like(z) + z,
    "full": lambda z: torch.maximum(torch.full((2,), 13), z),
    "eye": lambda z: torch.eye(2, dtype=torch.long)[0] + z,
    "outer": lambda z: torch.outer(z, t(1, 2))[:, 1],
    "tril": lambda z: torch.stack([z, z + 1]).tril()[1],
    "in place": written,
    "written in parts before": lambda z: torch.stack([z.max(), z.max()]).maximum(z),
    "rounded in f32": lambda z: torch.ceil(z.float() * 1.1).long(),
    "halves to even": lambda z: torch.round(z / 4 + 12).int(),
    "maximum": lambda z: torch.maximum(z, z + 3),
    "images of two sizes": lambda z: torch.stack([torch.stack([z[0], z[1]]), torch.stack([z[0] + 1, z[1] - 1])]).max(0).values,
}


class Sized(nn.Module):
    """As detectron2 pads a batch: to sizes worked out in tensors."""

    def __init__(self, sizes):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, bias=False)
        self.sizes = sizes

    def forward(self, x):
        h, w = x.shape[2], x.shape[3]  # tensors while tracing
        if not isinstance(h, torch.Tensor):
            h, w = torch.tensor(h), torch.tensor(w)
        n = self.sizes(torch.stack([h, w]))
        return self.conv(F.pad(x, [0, n[1] - w, 0, n[0] - h]))


nets, asked = {name: Sized(form) for name, form in SIZES.items()}, torch.randn(1, 3, 14, 9)
flops = {name: (2 * 27 * net(asked).numel(), 0) for name, net in nets.items()}
check_all("sizes", nets, flops, "trace", torch.randn(1, 3, 10, 12), "--input", "1x3x14x9", "--mode", "infer")



def overwritten(z):
    z = z + 1
    z[0] = 14
    return z


def read_again(z):
    first = z[:1]  # shares memory with what is written below
    z.mul_(2)
    return torch.cat([first, first])


for name, form in (("part of it", overwritten), ("what a view sees", read_again)):  # not known any more, and never the old ones
    code, profile, said = ask(Sized(form), "trace", torch.randn(1, 3, 10, 12), "--input", "1x3x14x9", "--mode", "infer")
    check("sizes, overwritten: " + name, code == 2 and "depends on tensor data" in said, said)

# ---------------------------------------------------------------- complex numbers ----------------


class Spectral(nn.Module):
    """The layer of Fourier neural operators: part of a spectrum is multiplied, the rest is zero."""

    def __init__(self, write):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4, 5, dtype=torch.cfloat))
        self.write = write

    def forward(self, x):
        f = torch.fft.rfft(x)
        part = torch.einsum("bix,iox->box", f[:, :, :5], self.w)
        return torch.fft.irfft(self.write(torch.zeros(2, 4, 9, dtype=torch.cfloat), part), n=16)


def setitem(out, part):
    out[:, :, :5] = part
    return out


def listed(out, part):
    out[:, :, :5] = part
    return torch.cat([out, out * 0])[:2]


ROWS = torch.arange(5)
WRITES = {
    "a slice": setitem,
    "a slice, then in a list": listed,
    "copy_": lambda out, part: (out[:, :, :5].copy_(part), out)[1],
    "add_": lambda out, part: (out[:, :, :5].add_(part), out)[1],
    "mul_": lambda out, part: ((out + 1)[:, :, :5].mul_(part)),
    "index_put_": lambda out, part: (out.permute(2, 0, 1).index_put_((ROWS,), part.permute(2, 0, 1)), out)[1],
    "scatter_": lambda out, part: out.scatter_(2, ROWS.expand(2, 4, 5), part),
    "index_add_": lambda out, part: out.index_add_(2, ROWS, part),
    "index_copy_": lambda out, part: out.index_copy_(2, ROWS, part),
    "masked_fill_ behind": lambda out, part: setitem(out, part).masked_fill_(torch.zeros(2, 4, 9, dtype=torch.bool), 0),
}
nets = {name: Spectral(write) for name, write in WRITES.items()}  # 8 for each of 2*4*4*5; the input needs no gradient
check_all("complex, written by", nets, {name: (1280, 1280) for name in nets}, "trace", torch.randn(2, 4, 16), "--input", "2x4x16",
          "--mode", "fwbw")

C64 = dict(dtype=torch.cfloat)


class Products(nn.Module):
    def __init__(self, form, weight):
        super().__init__()
        self.w = nn.Parameter(weight)
        self.form = form

    def forward(self, x):
        return self.form(x, self.w)


W = torch.randn(6, 5, **C64)
PRODUCTS = {  # multiply-adds of complex numbers, each 8 FLOPs and 4 MACs
    "mm": (lambda x, w: torch.mm(x[0], w), 120),
    "matmul of three dimensions": (lambda x, w: x @ w, 240),
    "bmm": (lambda x, w: torch.bmm(x, w.expand(2, 6, 5)), 240),
    "linear": (lambda x, w: F.linear(x[0], w.t()), 120),
    "addmm": (lambda x, w: torch.addmm(w[0], x[0], w), 120),
    "baddbmm": (lambda x, w: torch.baddbmm(w[:1], x, w.expand(2, 6, 5)), 240),
    "einsum": (lambda x, w: torch.einsum("bi,io->bo", x[0], w), 120),
    "tensordot": (lambda x, w: torch.tensordot(x[0], w, 1), 120),
    "mv": (lambda x, w: torch.mv(w.t(), x[0, 0]), 30),
    "dot": (lambda x, w: torch.dot(x[0, 0], w[:, 0]), 6),
    "inner": (lambda x, w: torch.inner(x[0], w.t()), 120),
}
flops = {name: (8 * macs, 0) for name, (_, macs) in PRODUCTS.items()}
for dtype, short in ((torch.cfloat, "c64"), (torch.cdouble, "c128")):
    nets = {name: Products(form, W.to(dtype)) for name, (form, _) in PRODUCTS.items()}
    profile = check_all("products of " + short, nets, flops, "trace", torch.randn(2, 4, 6, dtype=dtype), "--input",
                        short + ":2x4x6", "--mode", "infer")
    macs = 4 * sum(macs for _, macs in PRODUCTS.values())
    check("MACs of " + short, profile["totals"].get("macs_forward") == macs, profile["totals"].get("macs_forward"))


class Convolved(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(6, 4, 3, 3, **C64))

    def forward(self, x):
        return F.conv2d(x, self.w)


class Scalars(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 8)

    def forward(self, x):
        y = torch.fft.fft(self.l(x)) * (1j * complex(2.0, 1.0)) + 2j
        return torch.view_as_real(torch.complex(y.real, y.imag) * torch.view_as_complex(torch.stack([x, x], -1)))


for how in ("trace", "script"):  # three convolutions of 2 * 2*6*36 * 36 FLOPs each way
    code, profile, said = ask(Convolved(), how, torch.randn(2, 4, 8, 8, **C64), "--input", "c64:2x4x8x8", "--mode", "fwbw")
    got = [profile["totals"]["conv_flops_" + k] for k in ("forward", "backward")] if profile else said
    check("complex convolution, " + how, got == [93312, 93312], got)
    code, profile, said = ask(Scalars(), how, torch.randn(2, 8), "--input", "2x8", "--mode", "fwbw", "-o", FOLDER + "/saved.json")
    check("complex scalars, " + how, code == 0, said)
    done = subprocess.run([ADEPT, "profile", FOLDER + "/saved.json", "--json"], capture_output=True, text=True)
    check("complex scalars, saved, " + how, done.returncode == 0 and json.loads(done.stdout)["totals"] == profile["totals"], done.stderr)

# ---------------------------------------------------------------- windows ----------------

WINDOWS = {
    "hann": lambda: torch.hann_window(64), "hann, symmetric": lambda: torch.hann_window(64, periodic=False),
    "hamming": lambda: torch.hamming_window(64), "hamming, alpha": lambda: torch.hamming_window(64, True, 0.5, 0.5),
    "blackman": lambda: torch.blackman_window(64), "bartlett": lambda: torch.bartlett_window(64, False),
    "kaiser": lambda: torch.kaiser_window(64), "kaiser, beta": lambda: torch.kaiser_window(64, True, 8.0),
    "range": lambda: torch.range(0, 63), "linspace": lambda: torch.linspace(0, 1, 64), "logspace": lambda: torch.logspace(0, 1, 64),
}


class Hann(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(33, 8)

    def forward(self, x):
        window = torch.hann_window(64, device=x.device)
        return self.l(torch.stft(x, 64, 16, window=window, return_complex=True).abs().transpose(1, 2))


class Mel(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.l = nn.Linear(33, 8)
        self.window = window

    def forward(self, x):
        return self.l(torch.stft(x, 64, 16, window=self.window(), return_complex=True).abs().transpose(1, 2))


for how, nets in (("trace", {name: Mel(window) for name, window in WINDOWS.items()}), ("script", {"hann": Hann()})):
    flops = {name: [2 * 2 * 51 * 33 * 8] * 2 for name in nets}
    check_all("windows, " + how, nets, flops, how, torch.randn(2, 800), "--input", "2x800", "--mode", "fwbw")

# ---------------------------------------------------------------- packed sequences ----------------


class Packed(nn.Module):
    def __init__(self, kind, ordered: bool, moved: bool):
        super().__init__()
        self.r = kind(6, 8, batch_first=True)
        self.l = nn.Linear(8, 3)
        self.ordered, self.moved = ordered, moved

    def forward(self, x, n):
        if self.moved:
            n = n.cpu()
        y, _ = self.r(nn.utils.rnn.pack_padded_sequence(x, n, batch_first=True, enforce_sorted=self.ordered))
        return self.l(nn.utils.rnn.pad_packed_sequence(y, batch_first=True)[0])


KINDS = ((nn.LSTM, 4), (nn.GRU, 3))
nets = {"%s %s %s" % (kind.__name__, ordered, moved): Packed(kind, ordered, moved)
        for kind, _ in KINDS for ordered in (False, True) for moved in (False, True)}
for rows, given in ((15, "i64:3"), (12, "i64:3=4")):
    flops = {name: (2 * rows * gates * (6 * 8 + 8 * 8) + 2 * rows * 8 * 3, 0)
             for kind, gates in KINDS for name in nets if kind.__name__ in name}
    profile = check_all("packed, " + given, nets, flops, "script", None, "--input", "3x5x6", "--input", given, "--mode", "infer",
                        many=ManyOfTwo)
    warned = any("all sequences are taken for as long as the longest" in w for w in profile["warnings"])
    check("packed, %s, warning" % given, warned == (given == "i64:3"), profile["warnings"])

# ---------------------------------------------------------------- lengths that data chooses ----------------


def sequence_mask(x, n):
    return torch.arange(int(n.max()), device=x.device)[None] < n[:, None]


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x, n):
        return self.l(x) * sequence_mask(x, n)[..., None]


class Made(nn.Module):
    """Zeros, ones, views, expansions and parts of as many elements as the longest has."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x, n):
        longest = int(n.max().item())
        b = x.shape[0]
        y = torch.zeros(b, longest, 4) + x.new_ones([b, longest, 4]) + x.new_zeros(b, longest, 4) + torch.full((b, longest, 4), 0.5)
        y = y.view(b, longest, 4) + x[:, :1].expand(b, longest, 4) + F.pad(x, [0, 0, 0, longest - 5]) + x.narrow(1, 0, 5)[:, :longest]
        return self.l(y)


class Counted(nn.Module):
    """As many as a mask has, which are no more than its elements."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x, n):
        longest = int((x[:, :, 0] > 0).long().sum(1).max())
        return self.l(torch.zeros(x.shape[0], longest, 4))


nets = {"mask": Masked(), "tensors": Made(), "counted": Counted()}
for batch in (2, 100):
    profile = check_all("lengths of %d" % batch, nets, {name: (2 * batch * 5 * 4 * 4, 0) for name in nets}, "script", None,
                        "--input", "%dx5x4" % batch, "--input", "i64:%d=5" % batch, "--mode", "infer", many=ManyOfTwo)
    check("lengths of %d, warning" % batch, "size depends on data" in str(profile["warnings"]), profile["warnings"])
for name in ("mask", "tensors"):
    code, profile, said = ask(nets[name], "script", None, "--input", "2x5x4", "--input", "i64:2")
    check("lengths: %s, not given" % name, code == 2 and "--input SHAPE=NUMBER" in said and "fixed at tracing" not in said, said)



class Split(nn.Module):
    def forward(self, x, text: str = "a b"):
        return x * len(text.split(" "))


code, profile, said = ask(Split(), "script", None, "--input", "2x3")
check("str.split", code == 4 and "a method of Python strings" in said, said)

print("%d checks" % checks)
sys.exit(failures > 0)
