"""Build a model without memory, trace it and write a small TorchScript file.

Every parameter and buffer is one element expanded to its shape with stride 0: the file keeps names, shapes, dtypes,
sharing and the whole graph, but no weights.  Works with torch 1.13 and 2.x.
"""
import contextlib
import json
import os
import tempfile
import zipfile
from dataclasses import dataclass, field
from typing import Callable, Dict, Optional, Tuple

import torch
from torch import nn

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
          "i64": torch.int64, "i32": torch.int32, "bool": torch.bool}


@dataclass(frozen=True)
class Entry:
    """One model that can be exported."""
    build: Callable[[], nn.Module]
    inputs: Tuple[str, ...]         # SPECs as in `adept --input`, "B" is the batch
    batch: int                      # per GPU, the default of the file
    params: Optional[int] = None    # published (or closed-form) parameter count; asserted
    source: str = ""                # where that count comes from
    # Lengths are traced short, to spare time; a trace's operators do not depend on them: {declared: (traced, checked)}.
    shrink: Dict[int, Tuple[int, int]] = field(default_factory=dict)


_bases = {}


def _expanded(tensor, kind):
    """A stride-0 tensor like `tensor`. One element per dtype is shared by all, 0-dim counters apart: batch norm adds
    to its counter while it is traced, which must not move an index table of the same dtype."""
    key = (kind, tensor.dtype, tensor.dim() == 0)
    if key not in _bases:
        _bases[key] = torch.zeros((), dtype=tensor.dtype)
    return _bases[key].expand(tensor.shape)


@contextlib.contextmanager
def no_memory():
    """While active, parameters become stride-0 as they are registered and torch.nn.init does nothing."""
    original_register = nn.Module.register_parameter
    made = set()

    def register(module, name, param):
        if param is not None and id(param) not in made:     # a tied parameter comes by twice and stays itself
            param = nn.Parameter(_expanded(param.data, "param"), requires_grad=param.requires_grad)
            made.add(id(param))
            keep.append(param)
        original_register(module, name, param)

    keep = []       # ids stay unique only while the objects live
    saved = {name: getattr(nn.init, name) for name in dir(nn.init) if name.endswith("_") and not name.startswith("_")}
    saved_xavier = nn.modules.activation.xavier_uniform_, nn.modules.activation.xavier_normal_
    for name in saved:
        setattr(nn.init, name, lambda tensor, *args, **kwargs: tensor)
    nn.modules.activation.xavier_uniform_ = nn.modules.activation.xavier_normal_ = nn.init.constant_
    nn.Module.register_parameter = register
    try:
        yield
    finally:
        nn.Module.register_parameter = original_register
        for name, function in saved.items():
            setattr(nn.init, name, function)
        nn.modules.activation.xavier_uniform_, nn.modules.activation.xavier_normal_ = saved_xavier


def build_small(build):
    """Call `build` and return its module with every parameter and buffer stride-0; ties survive."""
    with no_memory():
        model = build()
    memo = {}
    for module in model.modules():
        for name, buffer in list(module._buffers.items()):
            if buffer is None:
                continue
            if id(buffer) not in memo:
                memo[id(buffer)] = buffer, _expanded(buffer, "buffer")
            module._buffers[name] = memo[id(buffer)][1]
    return model


def example(spec, batch, lengths):
    """A tensor of zeros of the shape that an input SPEC names, with other lengths in place of some."""
    dtype, _, shape = spec.rpartition(":")
    sizes = [batch if d == "B" else lengths.get(int(d), int(d)) for d in shape.split("x")]
    return torch.zeros(sizes, dtype=DTYPES[dtype or "f32"])


def outputs(result):
    """All tensors of a nested result."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for part in result for t in outputs(part)]


def skip_products():
    """Let matrix products return unset memory at once. The tracer sits above the CPU kernels replaced here and records
    the same operators; without a tuned BLAS the products would take minutes per model."""
    def product(a, b):
        return a.new_empty((*a.shape[:-1], b.shape[-1]))

    library = torch.library.Library("aten", "IMPL")
    for name in ("mm", "bmm"):
        library.impl(name, product, "CPU")
    for name in ("addmm", "baddbmm"):
        library.impl(name, lambda bias, a, b, beta=1, alpha=1: product(a, b), "CPU")
    return library      # in force while it lives


def trace(model, entry, check=True):
    """Trace in the mode the model is in. The check runs the traced module at other sizes: one baked in by mistake fails."""
    traced_at = {length: pair[0] for length, pair in entry.shrink.items()}
    library = skip_products()
    with torch.no_grad():
        inputs = tuple(example(spec, 2, traced_at) for spec in entry.inputs)
        traced = torch.jit.trace(model, inputs, check_trace=False)
        if check:
            check_sizes(model, traced, entry)
    del library
    return traced


def check_sizes(model, traced, entry):
    checked_at = {length: pair[1] for length, pair in entry.shrink.items()}
    batch = 3 if any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in model.modules()) else 1
    inputs = tuple(example(spec, batch, checked_at) for spec in entry.inputs)
    want = [t.shape for t in outputs(model(*inputs))]
    got = [t.shape for t in outputs(traced(*inputs))]
    if want != got:
        raise AssertionError("the trace holds constant sizes: {} instead of {}".format(got, want))


def repack(source, target):
    """Rewrite a TorchScript archive deflated, without debug tables or anything that differs from run to run."""
    with zipfile.ZipFile(source) as old:
        entries = {info.filename: old.read(info) for info in old.infolist()}
    top = os.path.basename(source).rsplit(".", 1)[0]
    name = os.path.basename(target).rsplit(".", 1)[0]
    with zipfile.ZipFile(target, "w") as new:
        for old_path in sorted(entries):
            path = old_path[len(top) + 1:]
            if path.endswith(".debug_pkl") or path.startswith("traced_inputs") or path == ".data/serialization_id":
                continue
            data = entries[old_path]
            if path.startswith("data/"):
                data = bytes(len(data))     # running statistics and counters that tracing left behind
            info = zipfile.ZipInfo(name + "/" + path, date_time=(1980, 1, 1, 0, 0, 0))
            packed = len(data) > 64         # deflating a handful of bytes makes them longer
            info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
            new.writestr(info, data, compresslevel=9 if packed else None)


def save(module, path, entry):
    """Write a traced or scripted module with its adept.json."""
    extra = json.dumps({"inputs": list(entry.inputs), "batch": entry.batch}, separators=(",", ":"))
    name = os.path.basename(path)
    with tempfile.TemporaryDirectory() as folder:
        raw = os.path.join(folder, name)
        torch.jit.save(module, raw, _extra_files={"adept.json": extra})
        packed = os.path.join(folder, "packed", name)
        os.mkdir(os.path.dirname(packed))
        repack(raw, packed)
        torch.jit.load(packed)              # the same reader as adept's
        with open(packed, "rb") as file:
            data = file.read()
    with open(path, "wb") as file:
        file.write(data)


def count_parameters(model):
    """Trainable and frozen parameters, tied ones once."""
    return sum(p.numel() for p in model.parameters())


def export(name, entry, folder):
    """Build, check, trace and write one model; returns (parameters, bytes of the file)."""
    torch.manual_seed(0)
    model = build_small(entry.build).train()
    params = count_parameters(model)
    if entry.params is not None and params != entry.params:
        raise AssertionError("{}: {:,} parameters, published are {:,} ({})".format(name, params, entry.params, entry.source))
    path = os.path.join(folder, name + ".pt")
    save(trace(model, entry), path, entry)
    return params, os.path.getsize(path)
