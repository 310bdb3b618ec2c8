"""Files of models that adept reads, made of modules of PyTorch. No weight is written, and none needs to be in memory."""
from __future__ import annotations

import copy
import inspect
import json
import os
import sys
import warnings
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from ._lib import UsageError

# PyTorch is imported when a module comes, not before: predictions of files need none.
Inputs = Any  # a tensor, a tuple or list of arguments, or a dictionary of keywords

_SPEC_NAMES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "bool": "bool"}


def is_module(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(isinstance(model, torch.nn.Module))


def _map(function: Callable[[Any], Any], value: Any) -> Any:
    """`function` of every tensor of nested containers."""
    import torch
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, dict):
        return {key: _map(function, v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        made = [_map(function, v) for v in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)  # the former are named tuples
    return value


def _tensors(value: Any) -> List[Any]:
    found: List[Any] = []
    _map(found.append, value)
    return found


def batch_of(example_inputs: Inputs) -> int:
    """The leading dimension of the first tensor; what else has the same is a batch too."""
    shaped = [t for t in _tensors(example_inputs) if t.dim() > 0]
    if not shaped:
        raise UsageError("example_inputs has no tensor with a dimension: give a tensor, a tuple of arguments, or a dictionary of keywords")
    return int(shaped[0].shape[0])


def _is_batched(tensor: Any, batch: int) -> bool:
    return tensor.dim() > 0 and tensor.shape[0] == batch


def _split(example_inputs: Inputs) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    if isinstance(example_inputs, dict):
        return (), example_inputs
    return (tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)), {}


def _stand_in(tensor: Any) -> Any:
    """A tensor, or parameter, of the same shape in one element."""
    import torch
    data = torch.zeros((), dtype=tensor.dtype).expand(tensor.shape)
    return torch.nn.Parameter(data, requires_grad=tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else data


def _without_data(module: Any, train: bool, meta: bool) -> Any:
    """A copy whose parameters have shapes only. Tied parameters stay one; the module itself is not touched."""
    import torch
    memo: Dict[int, Any] = {}
    for p in module.parameters():
        memo[id(p)] = torch.nn.Parameter(torch.empty_like(p, device="meta"), requires_grad=p.requires_grad) if meta else _stand_in(p)
    for b in module.buffers():
        memo[id(b)] = torch.empty_like(b, device="meta") if meta else torch.zeros_like(b, device="cpu")  # a batch norm writes to it
    made = copy.deepcopy(module, memo).train(train)
    made.register_forward_hook(lambda _module, _args, output: tuple(_tensors(output)) or output)  # classes of outputs cannot be written
    return made


def _inputs_without_data(example_inputs: Inputs, meta: bool) -> Inputs:
    """Shapes only. A batch is at least 2, since PyTorch takes a 1 for a constant, and just 2 where it is computed with."""
    import torch
    batch = batch_of(example_inputs)

    def shape_of(tensor: Any) -> Any:
        size = list(tensor.shape)
        if _is_batched(tensor, batch):
            size[0] = max(batch, 2) if meta else 2
        return torch.zeros(size, dtype=tensor.dtype, device="meta" if meta else "cpu")
    return _map(shape_of, example_inputs)


def _adept_json(example_inputs: Inputs) -> Optional[str]:
    """The shapes, as adept reads them from an archive. None where arguments are not tensors: then the program asks."""
    args, keywords = _split(example_inputs)
    batch, specs = batch_of(example_inputs), []
    for tensor in list(args) + list(keywords.values()):
        name = _SPEC_NAMES.get(str(getattr(tensor, "dtype", "")).replace("torch.", ""))
        if name is None or tensor.dim() == 0:
            return None
        sizes = ["B" if i == 0 and _is_batched(tensor, batch) else str(int(n)) for i, n in enumerate(tensor.shape)]
        specs.append(("" if name == "f32" else name + ":") + "x".join(sizes))
    return json.dumps({"inputs": specs, "batch": batch})


def _export_pt2(model: Any, example_inputs: Inputs, path: str, train: bool, dynamic_shapes: Any) -> None:
    import torch
    if not hasattr(torch, "export"):
        raise UsageError("PyTorch %s has no torch.export: write a .pt" % torch.__version__)
    module = _without_data(model, train, meta=True)
    args, keywords = _split(_inputs_without_data(example_inputs, meta=True))
    if dynamic_shapes is None:
        batch, dim = batch_of((args, keywords)), torch.export.Dim("batch", min=1, max=2**31 - 1)
        dynamic_shapes = _map(lambda t: {0: dim} if _is_batched(t, batch) else None, keywords or args)
    more: Dict[str, Any] = {"strict": False} if "strict" in inspect.signature(torch.export.export).parameters else {}
    program = torch.export.export(module, args, keywords or None, dynamic_shapes=dynamic_shapes, **more)
    # Tensors of the device "meta" have no place in the file, which is what tells tied parameters.
    stand_ins: Dict[int, Any] = {}
    for name, tensor in list(module.named_parameters(remove_duplicate=False)) + list(module.named_buffers(remove_duplicate=False)):
        if name in program.state_dict:
            program.state_dict[name] = stand_ins.setdefault(id(tensor), _stand_in(tensor))
    torch.export.save(program, path)


def _trace_pt(model: Any, example_inputs: Inputs, path: str, train: bool) -> None:
    import torch
    module = _without_data(model, train, meta=False)  # what "meta", or a dispatch mode, does in Python is lost to the tracer: wrong counts
    args, keywords = _split(_inputs_without_data(example_inputs, meta=False))
    if keywords:  # jit.trace of 1.13 takes none
        bound = inspect.signature(module.forward).bind(**keywords)
        if bound.kwargs:
            raise UsageError("the keywords %s of example_inputs follow a parameter that is not given; give those before them too, as a "
                             "tuple" % ", ".join(bound.kwargs))
        args = bound.args
        example_inputs = tuple(inspect.signature(module.forward).bind(**example_inputs).args)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=torch.jit.TracerWarning, module="torch")  # of what PyTorch itself does with shapes
        traced = torch.jit.trace(module, args, check_trace=False, strict=False)
    extra = _adept_json(example_inputs)
    torch.jit.save(traced, path, _extra_files={"adept.json": extra} if extra else {})


def default_suffix() -> str:
    """What this PyTorch writes best: torch.export where it has that, else a trace."""
    import torch
    return ".pt2" if hasattr(torch, "export") else ".pt"


def export(model: Any, example_inputs: Inputs, path: Union[str, "os.PathLike[str]"], *, mode: Any = "train", dynamic_shapes: Any = None) -> str:
    """Write the file of a module that adept reads, without its weights, and return its path.

    `path` ends in .pt2 (torch.export with a dynamic batch dimension; PyTorch 2.1 and newer) or in .pt (torch.jit.trace, which the program
    reads with its libtorch module). `example_inputs` is a tensor, a tuple of arguments or a dictionary of keywords; only shapes and types
    count. The leading dimension of its first tensor is the batch. `dynamic_shapes` goes to torch.export as it is, in place of that.
    The module may be on the device "meta"; it is copied without its weights and not changed. For a .pt the copy is run on
    zeros, at batch 2, by this processor.
    """
    import torch
    path, train = os.fspath(path), str(mode) != "infer"
    if not path.endswith((".pt2", ".pt")):
        raise UsageError("'%s' ends in neither .pt2 nor .pt" % path)
    if path.endswith(".pt") and dynamic_shapes is not None:
        raise UsageError("dynamic_shapes is torch.export's: write a .pt2")
    with torch.random.fork_rng(devices=[]):  # dropout draws numbers, of shapes too
        if path.endswith(".pt2"):
            _export_pt2(model, example_inputs, path, train, dynamic_shapes)
        else:
            _trace_pt(model, example_inputs, path, train)
    return path
