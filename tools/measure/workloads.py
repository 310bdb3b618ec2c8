"""Models by name or file, with weights in memory, and their training step.

The step is what the traced file holds and nothing else: no loss. The backward pass starts from fixed gradients of the
model's outputs, drawn before the measurement, as a loss would hand them over.
"""
import collections
import contextlib
import dataclasses
import hashlib
import json
import math
import multiprocessing
import os
import zipfile

import torch
from torch import nn

from models import framework, registry, small

LEARNING_RATE = 1e-5    # the weights hardly move, so that the last step computes what the first did
OPTIMIZERS = {
    "sgd": lambda p, **choice: torch.optim.SGD(p, lr=LEARNING_RATE, **choice),
    "momentum": lambda p, **choice: torch.optim.SGD(p, lr=LEARNING_RATE, momentum=0.9, **choice),
    "adam": lambda p, **choice: torch.optim.Adam(p, lr=LEARNING_RATE, **choice),
    "adamw": lambda p, **choice: torch.optim.AdamW(p, lr=LEARNING_RATE, **choice),
    "adadelta": lambda p, **choice: torch.optim.Adadelta(p, lr=LEARNING_RATE, **choice),
}
AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


class WorkloadError(Exception):
    """A model that does not exist or does not run in this form."""


@dataclasses.dataclass(frozen=True)
class Workload:
    """A model to measure. Exactly one of entry and file is set."""
    name: str
    inputs: tuple
    batch: int
    entry: object = None
    file: str = None


# ---- finding ---------------------------------------------------------------------------------------------------------

def torchvision_entry(name):
    """An Entry for a torchvision classification model; None if there is no such."""
    import torchvision
    from models import torchvision_zoo
    if name not in torchvision.models.list_models(module=torchvision.models):
        return None
    size = torchvision_zoo.sizes(name)[0]
    return framework.Entry(torchvision_zoo.builder(name, size), ("Bx3x{0}x{0}".format(size),), 8)


def read_hints(path):
    """The adept.json of a file, {} without one."""
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.namelist():
                if entry.endswith("/extra/adept.json"):
                    return json.loads(archive.read(entry))
    except (OSError, zipfile.BadZipFile) as error:
        raise WorkloadError("{}: {}".format(path, error)) from None
    return {}


def find(name, inputs=()):
    """The workload of a name of tools/zoo/models or torchvision, or of a TorchScript file; `inputs` replace its own."""
    if name.endswith(".pt"):
        hints = read_hints(name)
        specs = tuple(inputs) or tuple(hints.get("inputs", ()))
        if not specs:
            raise WorkloadError(name + ": the file names no inputs: give --input")
        label = os.path.basename(name)[:-len(".pt")]
        return Workload(label, specs, int(hints.get("batch", 1)), file=os.path.abspath(name))
    entry = registry().get(name) or small.MODELS.get(name) or torchvision_entry(name)
    if entry is None:
        raise WorkloadError("no model {} in tools/zoo/models or torchvision".format(name))
    return Workload(name, tuple(inputs) or entry.inputs, entry.batch, entry=entry)


# ---- weights and inputs ----------------------------------------------------------------------------------------------

def fill_parameters(model, device):
    """Give stride-0 parameters memory of their own on the device, with values that keep activations in range. Assigning
    `data` keeps the parameter what it is, so tied ones stay tied."""
    for name, parameter in model.named_parameters():
        value = torch.empty(parameter.shape, dtype=parameter.dtype, device=device)
        if not value.is_floating_point():
            value.zero_()
        elif value.dim() > 1:
            value.normal_(0, math.sqrt(2 / (value.numel() / value.shape[0])))
        else:
            value.fill_(1.0 if name.endswith("weight") else 0.0)
        parameter.data = value


def fill_buffers(model):
    """The same for the buffers of a file, whose values are gone: variances 1, everything else 0."""
    for name, buffer in model.named_buffers():
        buffer.data = torch.full(buffer.shape, 1 if name.endswith("running_var") else 0, dtype=buffer.dtype,
                                 device=buffer.device)


def load(workload, device="cpu"):
    """The module on the device, in train mode."""
    if workload.file:
        torch._C._set_graph_executor_optimize(False)    # run the operators that the file has, unfused
        model = torch.jit.load(workload.file, map_location="cpu")
        fill_buffers(model)
    else:
        with framework.no_memory():
            model = workload.entry.build()
    fill_parameters(model, device)
    return model.to(device).train()


def largest_embedding(model):
    rows = [module.num_embeddings for module in model.modules() if isinstance(module, nn.Embedding)]
    return max(rows, default=100)


def make_inputs(workload, model, batch, device):
    """Images and features from a normal distribution; words from the whole vocabulary; one number per sample (a time
    step, a label) below 100, since it may index a small table."""
    result = []
    for spec in workload.inputs:
        shape = framework.example(spec, batch, {})
        if shape.is_floating_point():
            value = torch.randn(shape.shape, device="cpu", dtype=torch.float32).to(shape.dtype)
        elif shape.dtype == torch.bool:
            value = torch.ones_like(shape)
        else:
            high = largest_embedding(model) if shape.dim() > 1 and not workload.file else 100
            value = torch.randint(0, high, shape.shape, device="cpu", dtype=shape.dtype)
        result.append(value.to(device))
    return tuple(result)


# ---- the step --------------------------------------------------------------------------------------------------------

def switch_off_fast_paths(model):
    """In eval mode, torch.nn.MultiheadAttention calls one fused operator that no trace of the training form has. Without
    dropout its train mode computes the same."""
    for module in model.modules():
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
            module.training = True


def set_tf32(allowed):
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def lay_out(value, config):
    """A module or an image in the memory format that is asked for."""
    if config.memory_format != "channels_last" or (isinstance(value, torch.Tensor) and value.dim() != 4):
        return value
    return value.to(memory_format=torch.channels_last)


def make_optimizer(config, parameters, implementation=None):
    """One that runs in a CUDA graph keeps its count of steps on the GPU. `implementation`: fused or foreach; None: PyTorch's choice."""
    choice = {implementation: True} if implementation else {}
    optimizer = OPTIMIZERS[config.optimizer](parameters, **choice)
    if config.execution == "graphs" and "capturable" in optimizer.defaults:
        for group in optimizer.param_groups:
            group["capturable"] = True
    return optimizer


class Step:
    """One configuration, ready to run: call it."""

    def __init__(self, workload, config, device, prepare=None, implementation=None, wrap=None):
        """`prepare` changes the model before it is used, `wrap` makes another of it; `implementation` is the optimizer's."""
        if config.mode == "train" and config.optimizer not in OPTIMIZERS:
            raise WorkloadError("optimizer {} is not one of {}".format(config.optimizer, ", ".join(OPTIMIZERS)))
        self.config, self.device = config, torch.device(device)
        set_tf32(config.precision == "tf32")
        self.model = load(workload, self.device)
        if prepare:
            prepare(self.model)
        self.model = lay_out(self.model, config)
        self.inputs = tuple(lay_out(value, config) for value in make_inputs(workload, self.model, config.batch, self.device))
        if wrap:
            self.model = wrap(self.model)
        self.optimizer = None
        if config.mode == "infer":
            self.model.eval()
            switch_off_fast_paths(self.model)
        elif config.mode == "train":
            self.optimizer = make_optimizer(config, [p for p in self.model.parameters() if p.requires_grad], implementation)
        self.run = self.compiled() if config.execution == "compile" else self.model
        self.seeds = None if config.mode == "infer" else self.draw_seeds()
        self.graph = self.captured() if config.execution == "graphs" else None

    def compiled(self):
        if not hasattr(torch, "compile"):
            raise WorkloadError("PyTorch {} has no torch.compile".format(torch.__version__))
        model = torch.compile(self.model)
        torch._dynamo.reset()   # forgets the rows before: after eight forms of one function it would stay uncompiled
        return model

    def captured(self):
        """The step as one CUDA graph, after steps on another stream that allocate what stays."""
        if self.device.type != "cuda":
            raise WorkloadError("a {} has no CUDA graphs".format(self.device.type))
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.launch()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.launch()
        return graph

    def autocast(self):
        if self.config.precision not in AUTOCAST or getattr(self.config, "layout", "ddp") == "fsdp":    # FSDP's own weights have 16 bits
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=AUTOCAST[self.config.precision])

    def forward(self):
        with self.autocast():
            return framework.outputs(self.run(*self.inputs))

    def draw_seeds(self):
        return [torch.randn_like(out) * 1e-3 for out in self.forward() if out.requires_grad]

    def __call__(self):
        if self.graph:
            self.graph.replay()
        else:
            self.launch()

    def launch(self):
        if self.config.mode == "infer":
            with torch.no_grad():
                self.forward()
            return
        self.model.zero_grad(set_to_none=True)
        for i in range(self.config.grad_accum):
            alone = i + 1 < self.config.grad_accum and hasattr(self.model, "no_sync")     # ranks add up after the last pass
            with self.model.no_sync() if alone else contextlib.nullcontext():
                results = [out for out in self.forward() if out.requires_grad]
                torch.autograd.backward(results, self.seeds)
        if self.optimizer:
            self.optimizer.step()

    def synchronize(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


# ---- the trace -------------------------------------------------------------------------------------------------------

def parameter_shapes(model):
    return {name: tuple(p.shape) for name, p in model.named_parameters()}


def operators(traced):
    """How often each operator stands in the whole graph."""
    return collections.Counter(node.kind() for node in traced.inlined_graph.nodes() if node.kind().startswith("aten::"))


def mismatch(path, traced, model, entry):
    """Why the file at `path` is not a trace of `model` that serves the sizes of `entry`; None if it is one. Its operators
    are compared too: newer versions of torchvision and PyTorch run fused ones where older ones did not."""
    found = torch.jit.load(path).train()
    if parameter_shapes(found) != parameter_shapes(model):
        return "its parameters are of another model"
    if operators(found) != operators(traced):
        return "its operators are not those that run here"
    library = framework.skip_products()
    try:
        with torch.no_grad():
            framework.check_sizes(model, found, entry)
    except (AssertionError, RuntimeError) as error:
        return str(error).strip().splitlines()[-1]
    finally:
        del library
    return None


def write_or_check_trace(job):
    """Runs in a process of its own (see export_models.py). Returns (path of the stride-0 trace, None) or (None, problem):
    the bundled file if it is what runs here, else one in `folder`, written if missing."""
    name, inputs, bundled, folder = job
    workload = find(name, inputs)
    entry = dataclasses.replace(workload.entry, inputs=workload.inputs, shrink={})
    torch.manual_seed(0)
    model = framework.build_small(entry.build).train()
    try:
        traced = framework.trace(model, entry)
    except AssertionError as error:
        return None, str(error)
    path = os.path.join(bundled, name + ".pt")
    if os.path.exists(path) and mismatch(path, traced, model, entry) is None:
        return path, None
    path = os.path.join(folder, name + ".pt")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        framework.save(traced, path, entry)
    problem = mismatch(path, traced, model, entry)
    return path, problem and "{}: {} (--traces names another folder)".format(path, problem)


def trace_of(workload, bundled, folder):
    """Path of the traced file of what runs: of a file, the file itself."""
    if workload.file:
        return workload.file
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        path, problem = pool.map(write_or_check_trace, [(workload.name, workload.inputs, bundled, folder)])[0]
    if problem:
        raise WorkloadError(problem)
    return path


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
