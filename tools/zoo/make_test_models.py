#!/usr/bin/python3
"""Write the small TorchScript files of tests/golden/models/ (Debian's python3-torch; a few KB each).

usage: make_test_models.py OUTPUT_DIRECTORY
PyTorch 1.13 writes all files but newer.pt, which holds operators that came later and is written by PyTorch 2.5 or newer.
Every file shows one thing the reader must get right; tests/unit/test_torchscript.c says what.
"""
import json
import linecache
import os
import sys
import zipfile
from typing import Dict, List, Optional, Tuple, Union

import torch
import torch.utils.checkpoint
from torch import Tensor, nn
from torch.utils.bundled_inputs import augment_model_with_bundled_inputs, bundle_randn
from torch.utils.mobile_optimizer import optimize_for_mobile


class Tied(nn.Module):
    """Two names of one weight."""

    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(11, 4)
        self.decoder = nn.Linear(4, 11)
        self.decoder.weight = self.word.weight

    def forward(self, ids):
        return self.decoder(self.word(ids))


class CalledTwice(nn.Module):
    """One module, two calls: the same path twice."""

    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x):
        return self.block(self.block(x))


class Mixed(nn.Module):
    """A frozen parameter, a buffer, a module list, a parameter that forward never uses."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4), requires_grad=False)
        self.register_buffer("offset", torch.arange(4, dtype=torch.float32))
        self.layers = nn.ModuleList([nn.Linear(4, 4, bias=False) for _ in range(2)])
        self.unused = nn.Linear(3, 2)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * self.scale + self.offset


class Neighbours(nn.Module):
    """Sparse matrices in the file: a buffer, an attribute that is none, and their product."""

    def __init__(self):
        super().__init__()
        matrix = torch.arange(40.0).view(5, 8) * (torch.arange(40).view(5, 8) % 4 == 0)  # 9 of 40
        self.register_buffer("edges", matrix.to_sparse())
        self.rows = matrix.to_sparse_csr()
        self.lin = nn.Linear(3, 2, bias=False)

    def forward(self, x):
        h = self.lin(x)
        return torch.sparse.mm(self.edges, h), torch.mm(self.rows, h), torch.sparse.mm(self.edges, self.edges.t()).to_dense()


class Recurrent(nn.Module):
    """Weights that a scripted module keeps in a list of tensors beside their names."""

    def __init__(self, kind):
        super().__init__()
        self.rnn = kind(4, 3, num_layers=2, bidirectional=True)

    def forward(self, x):
        return self.rnn(x)[0]


class ImageList:
    def __init__(self, tensors: Tensor, sizes: List[Tuple[int, int]]):
        self.tensors = tensors
        self.sizes = sizes


class Images(nn.Module):
    """What a detector does: a list of tensors, an instance in a tuple, a dict of pairs, no gradients for a while."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)

    def batch(self, images: List[Tensor], scale: Optional[float]) -> Tuple[ImageList, Optional[float]]:
        return ImageList(torch.stack(images), [(i.shape[1], i.shape[2]) for i in images]), scale

    def forward(self, images: List[Tensor]) -> List[Tensor]:
        made, scale = self.batch(images, None)
        maps: Dict[str, Tensor] = {"0": self.conv(made.tensors)}
        named = dict([(name, map * 2) for name, map in maps.items()])
        with torch.no_grad():
            height = made.sizes[0][0]
        return [named["0"][:, :, :height]]


class Words(nn.Module):
    """A dict of tensors, as tokenizers make it."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(30, 8)
        self.head = nn.Linear(8, 4)

    def forward(self, batch: Dict[str, Tensor]):
        return {"y": self.head(self.table(batch["ids"])) * batch["mask"].unsqueeze(-1)}


class Named(nn.Module):
    """Inputs of every type that has a text."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4, bias=False)

    def forward(self, x, trips: int, on: bool, targets: List[Dict[str, Tensor]], sizes: List[int], name: str,
                maybe: Optional[int], pair: Tuple[Tensor, float], mask: Optional[Tensor] = None, more: int = 0,
                features: Optional[List[Tensor]] = None):
        for _ in range(trips + more):
            x = self.fc(x)
        if on:
            x = torch.matmul(x, torch.ones(4, 1))
        for target in targets:
            x = x + torch.matmul(target["a"], target["b"]).sum()
        for size in sizes:
            x = x + torch.matmul(torch.ones(size, 1), torch.ones(1, size)).sum()
        if name == "twice":
            x = x + torch.matmul(pair[0], pair[0]).sum() * pair[1]
        if maybe is not None:
            x = x + torch.matmul(torch.ones(1, maybe), torch.ones(maybe, 1))
        if mask is not None:
            x = x + torch.matmul(mask, mask).sum()
        if features is not None:
            for feature in features:
                x = x + torch.matmul(feature, feature.t()).sum()
        return x


class Bundled(nn.Module):
    """torch.utils.bundled_inputs: the file holds what its model takes."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 6, bias=False)

    def forward(self, x, trips: int, lists: List[Tensor], named: Dict[str, Tensor]):
        for _ in range(trips):
            x = self.fc(x) + torch.matmul(lists[0], lists[1]).sum() + named["q"].sum()
        return x


class Least(nn.Module):
    """An operator of two results that libtorch does not know, and one that gives a list, where nothing calls it."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, how: str = "both"):
        y = self.fc(x)
        if how == "split":
            y, _ = torch.ops.mylib.split(y)
        if how == "kept":
            y, _ = torch.ops.mylib.least(y, 0, keep=True)
        if how == "both":
            y, i = torch.ops.mylib.least(y, 0)
            y = y + i
        return y


class LeastOf(Least):
    def forward(self, x):
        y, i = torch.ops.mylib.least(self.fc(x), 0)
        return y + i


class Regions(nn.Module):
    """`with` in a program: no gradients, and another type."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        with torch.no_grad():
            x = self.a(x)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            x = self.b(x)
        return self.c(x.float())


class Until(nn.Module):
    """A loop that data ends."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        while bool(x.sum() > 0):
            x = self.fc(x)
        return x


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.b(torch.utils.checkpoint.checkpoint(lambda y: torch.relu(self.a(y)), x, use_reentrant=False))


class Flow(nn.Module):
    """Branches and loops that only the interpreter can decide; an attribute read after it was assigned."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.register_buffer("calls", torch.zeros(1, dtype=torch.long))
        self.rate = 0.5

    def forward(self, x, steps: int = 3, mask: Optional[Tensor] = None):
        for layer in self.layers:
            x = layer(x)
        if self.training:
            self.calls = self.calls + 1
            x = torch.dropout(x, self.rate, True)
        for _ in range(steps):
            x = torch.relu(x)
        if mask is not None:
            x = x * mask
        return x, self.calls


class Carried(nn.Module):
    """An attribute assigned in a loop, read in the next round and after it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(4))

    def forward(self, x):
        for _ in range(5):
            x = x + self.state
            self.state = x * 2
        return self.state


class Inputs(nn.Module):
    """Inputs within tuples."""

    def forward(self, pair: Tuple[Tensor, Tensor], x):
        return pair[0] + pair[1], [x]


@torch.jit.script
class Box(object):
    def __init__(self, content: Tensor):
        self.content = content

    def doubled(self):
        return self.content * 2


class Objects(nn.Module):
    """A class instance that lives in forward only, and a forked call."""

    def forward(self, x):
        box = Box(x)
        box.content = x + 1
        later = torch.jit.fork(torch.relu, box.doubled())
        return torch.jit.wait(later)


class Constants(nn.Module):
    """Tensor constants: small ones carry their values, large ones their shape; lists of parameters."""

    weights: List[Tensor]

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(4, 4))
        self.weights = [self.weight]
        self.table = torch.arange(6).view(2, 3).t()
        self.big = torch.zeros(9, 9)

    def forward(self, x):
        return x + self.table.sum() + self.big.sum() + self.weights[0]


class State(nn.Module):
    """__setstate__: code that libtorch runs while it loads the file."""

    count: int

    def __init__(self):
        super().__init__()
        self.count = 1

    @torch.jit.export
    def __getstate__(self) -> Tuple[int, bool]:
        return (41, self.training)

    @torch.jit.export
    def __setstate__(self, state: Tuple[int, bool]):
        self.count = state[0] + 1
        self.training = state[1]

    def forward(self, x):
        return x + self.count


class Expanded(nn.Module):
    """Weights of 64 MB in a file of a few KB: one element, expanded with stride 0."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1).expand(4096, 4096))

    def forward(self, x):
        return x @ self.weight


def flash(q, k, scale: float = 1.0):
    return q * k * scale


def rotary(x):
    return x * 2


class Foreign(nn.Module):
    """Operators of libraries that the reader does not have."""

    def forward(self, x):
        y = torch.ops.mylib.flash(x, x)
        y = torch.ops.mylib.flash(y, x, scale=0.5)
        return torch.ops.mylib.rotary(y) + torch.ops.mylib.rotary(x)


class Newer(nn.Module):
    """Operators that PyTorch 1.13 does not know; with traced inputs, which it does not write."""

    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(8) if hasattr(nn, "RMSNorm") else None

    def forward(self, q, kv):
        f = nn.functional
        y = f.scaled_dot_product_attention(q, kv, kv, scale=0.5, enable_gqa=True)
        y = self.norm(y) + f.rms_norm(y, [8])
        y = y.unflatten(-1, (2, 4)).flatten(-2)
        y = y + torch.std(y, dim=(0, 1), correction=None) + torch.var(y, dim=-1, keepdim=True, correction=0.5)
        keep = torch.any(y > 0, dim=(0, 1)) | torch.all(y > 0, dim=(0, 1))
        return (y * keep).unsqueeze(0).squeeze((0, 1))


@torch.jit.script
class Levels:
    def __init__(self, first: int):
        self.first = first

    def of(self, x: Tensor) -> Tensor:
        return x * self.first


def make_levels() -> Tuple[List[float], Levels]:
    return [0.5], Levels(2)


def by_level(x: Union[Tensor, List[Tensor]], levels: Optional[Levels]) -> Tensor:
    if levels is None:
        raise AssertionError
    if not isinstance(x, Tensor):
        x = torch.stack(x)
    return levels.of(x)


class Pooler(nn.Module):
    """torchvision's: an instance made at the first call, kept in an attribute that is None in the file."""

    __annotations__ = {"scales": Optional[List[float]], "levels": Optional[Levels]}

    def __init__(self):
        super().__init__()
        self.scales = self.levels = None

    def forward(self, x: List[Tensor]):
        if self.scales is None or self.levels is None:
            self.scales, self.levels = make_levels()
        return by_level(x, self.levels)


class Found(nn.Module):
    """Parts of an image that data chooses, as of the masks of found objects."""

    def forward(self, x):
        results: Dict[str, Tensor] = {"image": x}
        corner, size = int(x.min()), int(x.max())
        part = nn.functional.interpolate(x, size=[size, size], mode="bilinear")
        whole = torch.zeros(x.size(0), x.size(1), 12, 10)
        whole[:, :, corner:size] = part[:, :, :size]
        results.update({"image": whole, "part": part})
        return results["image"], results["part"]


class Residual(nn.Module):
    """Quantised: layers of 8 bits, their weights packed into objects."""

    def __init__(self):
        super().__init__()
        self.ask, self.tell = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.conv, self.relu, self.fc = nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Linear(8, 5)
        self.sum = nn.quantized.FloatFunctional()

    def forward(self, x):
        x = self.relu(self.conv(self.ask(x)))
        x = self.sum.cat([self.sum.add(x, x), x], 1)
        return self.tell(self.fc(x.permute(0, 2, 3, 1)))


def eight_bits(x):
    torch.backends.quantized.engine = "qnnpack"
    net = Residual().eval()
    net.qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
    torch.ao.quantization.fuse_modules(net, [["conv", "relu"]], inplace=True)
    net = torch.ao.quantization.prepare(net)
    net(x)
    return torch.ao.quantization.convert(net)


def dynamic():
    torch.backends.quantized.engine = "qnnpack"
    return torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 6), nn.ReLU()).eval(), {nn.Linear})


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.long, self.gated = nn.LSTMCell(4, 4), nn.GRUCell(4, 4)

    def forward(self, x):
        return self.gated(x, self.long(x, (x, x))[0])


class Tables(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows, self.bags = nn.Embedding(20, 6), nn.EmbeddingBag(20, 6, mode="sum", include_last_offset=True)
        self.rows.qconfig = self.bags.qconfig = torch.ao.quantization.float_qparams_weight_only_qconfig

    def forward(self, words, offsets):
        return self.rows(words), self.bags(words, offsets)


class Bags(nn.Module):
    """4 bits: PyTorch 1.13 runs them in bags only."""

    def __init__(self):
        super().__init__()
        self.bags = nn.EmbeddingBag(20, 6, mode="sum", include_last_offset=True)
        self.bags.qconfig = torch.ao.quantization.float_qparams_weight_only_qconfig_4bit

    def forward(self, words, offsets):
        return self.bags(words, offsets)


class Signal(nn.Module):
    def __init__(self):
        super().__init__()
        self.ask, self.tell = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.conv = nn.Conv1d(3, 4, 3)

    def forward(self, x):
        return self.tell(self.conv(self.ask(x)))


def signal(x):
    torch.backends.quantized.engine = "qnnpack"
    net = Signal().eval()
    net.qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
    net = torch.ao.quantization.prepare(net)
    net(x)
    return torch.ao.quantization.convert(net)


def at_eight_bits(net, *kinds):
    torch.backends.quantized.engine = "qnnpack"
    return torch.ao.quantization.quantize_dynamic(net.eval(), set(kinds))


GATE = """from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        if bool(x.sum() > 0):
            x = self.fc(x)
        return x
"""


def of_source(text, file):
    """The class of a source that is no file: TorchScript's debug records then name no folder."""
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    made = {"__name__": "gate"}
    exec(compile(text, file, "exec"), made)
    return made["Gate"]


def save(directory, name, module, hints=None, records=False):
    extra = {"adept.json": json.dumps(hints)} if hints else {}
    path = os.path.join(directory, name + ".pt")
    torch.jit.save(module, path, _extra_files=extra)
    # Without the debug records, or without the folders of the machine that wrote the file, which they name.
    with zipfile.ZipFile(path) as archive:
        entries = [(e, archive.read(e)) for e in archive.infolist() if records or not e.filename.endswith(".debug_pkl")]
    for folder in (os.path.dirname(os.path.dirname(torch.__file__)), os.path.dirname(os.path.abspath(__file__))):
        entries = [(e, data.replace(folder.encode(), b"x" * len(folder))) for e, data in entries]
    with zipfile.ZipFile(path, "w") as archive:
        for entry, data in entries:
            archive.writestr(zipfile.ZipInfo(entry.filename), data, entry.compress_type)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    torch.manual_seed(1)
    if hasattr(nn, "RMSNorm"):
        newer = torch.jit.trace(Newer(), (torch.zeros(1, 4, 3, 8), torch.zeros(1, 2, 5, 8)))
        save(out, "newer", newer)
        return
    x = torch.zeros(2, 4)
    library = torch.library.Library("mylib", "DEF")
    library.define("flash(Tensor q, Tensor k, *, float scale=1.0) -> Tensor")
    library.define("rotary(Tensor x) -> Tensor")
    library.define("least(Tensor a, int dim, *, bool keep=False) -> (Tensor, Tensor)")
    library.define("split(Tensor a) -> Tensor[]")
    library.impl("least", lambda a, dim, keep=False: a.min(dim), "CPU")
    library.impl("flash", flash, "CPU")
    library.impl("rotary", rotary, "CPU")
    trace, script = torch.jit.trace, torch.jit.script
    save(out, "tied", trace(Tied(), torch.zeros(2, 3, dtype=torch.long)), {"inputs": ["i64:Bx3"], "batch": 2})
    save(out, "called_twice", trace(CalledTwice(), x))
    save(out, "mixed", trace(Mixed(), x), {"inputs": ["2x4"]})
    save(out, "flow_train", script(Flow().train()))
    save(out, "flow_eval", script(Flow().eval()))
    save(out, "carried", script(Carried()))
    save(out, "inputs", script(Inputs()))
    save(out, "objects", script(Objects()))
    save(out, "constants", script(Constants()))
    save(out, "state", script(State()))
    save(out, "neighbours", script(Neighbours()), {"inputs": ["8x3"]})
    save(out, "expanded", trace(Expanded(), torch.zeros(1, 4096)))
    save(out, "foreign", trace(Foreign(), x))
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        steps, hints = torch.zeros(5, 2, 4), {"inputs": ["5x2x4"]}
        save(out, kind.__name__.lower() + "_scripted", script(Recurrent(kind)), hints)
        save(out, kind.__name__.lower() + "_traced", trace(Recurrent(kind), steps), hints)
    meta = nn.Conv2d(3, 4, 3, device="meta")  # which PyTorch 1.13 traces wrongly
    save(out, "meta", trace(meta, torch.zeros(2, 3, 6, 6, device="meta"), check_trace=False), {"inputs": ["Bx3x6x6"], "batch": 2})
    save(out, "pooler", script(Pooler()), {"inputs": ["Bx3"], "batch": 2})
    save(out, "found", script(Found()), {"inputs": ["Bx3x6x5"], "batch": 2})
    image = torch.rand(2, 3, 6, 5)
    save(out, "eight_bits", trace(eight_bits(image), image), {"inputs": ["Bx3x6x5"], "batch": 2})
    save(out, "dynamic", trace(dynamic(), x), {"inputs": ["2x4"]})
    recurrent = at_eight_bits(Recurrent(nn.LSTM), nn.LSTM)
    save(out, "dynamic_lstm", trace(recurrent, torch.zeros(5, 2, 4)), {"inputs": ["5x2x4"]})
    save(out, "dynamic_lstm_scripted", script(recurrent), {"inputs": ["5x2x4"]})
    save(out, "dynamic_cells", trace(at_eight_bits(Cells(), nn.LSTMCell, nn.GRUCell), x), {"inputs": ["2x4"]})
    words, offsets = torch.arange(8), torch.tensor([0, 3, 8])
    for name, module in (("tables", Tables()), ("bags_4bit", Bags())):
        tables = torch.ao.quantization.convert(torch.ao.quantization.prepare(module.eval()))
        save(out, name, trace(tables, (words, offsets)), {"inputs": ["i64:8", "i64:3"]})
    sound = torch.rand(2, 3, 10)
    save(out, "signal", trace(signal(sound), sound), {"inputs": ["Bx3x10"], "batch": 2})
    frozen = trace(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval(), image)
    save(out, "frozen", torch.jit.freeze(frozen), {"inputs": ["Bx3x6x5"], "batch": 2})
    save(out, "mkldnn", torch.jit.optimize_for_inference(frozen))
    save(out, "images", script(Images()), {"inputs": ["Bx3x6x5"], "batch": 2})
    batch = {"ids": torch.zeros(2, 5, dtype=torch.long), "mask": torch.ones(2, 5)}
    save(out, "words", trace(Words(), (batch,), check_trace=False, strict=False))
    save(out, "named", script(Named()))
    bundled = script(Bundled())
    bundle = (bundle_randn(5, 6), 3, [torch.zeros(2, 3), torch.zeros(3, 4)], {"q": torch.zeros(7)})
    augment_model_with_bundled_inputs(bundled, [bundle])
    save(out, "bundled", bundled)
    save(out, "least_scripted", script(Least()))
    save(out, "least_traced", trace(LeastOf().eval(), x, check_trace=False))
    layers = (nn.ConvTranspose2d(3, 8, 3, stride=2), nn.Hardtanh(-1, 1), nn.Conv2d(8, 4, 3, groups=2), nn.ReLU6(),
              nn.Flatten(), nn.Linear(4 * 11 * 9, 10, bias=False))
    plain = trace(nn.Sequential(*layers).eval(), image)
    save(out, "mobile", optimize_for_mobile(plain), {"inputs": ["Bx3x6x5"], "batch": 2})
    save(out, "mobile_plain", torch.jit.freeze(plain), {"inputs": ["Bx3x6x5"], "batch": 2})
    save(out, "regions", script(Regions()))
    save(out, "until", script(Until()))
    save(out, "checkpointed", trace(Checkpointed(), x, check_trace=False), records=True)
    save(out, "gate", script(nn.Sequential(of_source(GATE, "gate.py")())), {"inputs": ["Bx4"], "batch": 2}, records=True)


if __name__ == "__main__":
    main()
