#!/usr/bin/env python3
"""Measure one accelerator within minutes by the clock, most wanted first, and write what calibration and the models of power need:

    python3 tools/measure/measure_board.py --gpu h100-sxm-80gb --minutes 8 --out DIR
    python3 tools/measure/measure_board.py --device cpu --quick --minutes 3 --gpu my-cpu --out DIR      (a trial of the way)

DIR gets kernels.csv (as measure_kernels.py writes, with sustained times and watts), steps.csv (as measure_step.py), optimizers.csv,
host.csv (launches), states.csv (watts of idle and waiting boards), meter.csv (what the driver says while a load switches on and off),
trace.csv (energy counter, power and clock, every 10 ms) and facts.json. Watts and clocks are those of trace.csv between the begin and
the end of a row; --fill DIR works them out again. Nothing of the board is set: its clocks, limits and modes stay as they are.
Each row is on the disk before the next begins, so a run that is cut short keeps what it has.
docs: data/measurements/README.md
"""
import argparse
import bisect
import contextlib
import csv
import gc
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time
import types
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "zoo")]
sys.dont_write_bytecode = True
warnings.filterwarnings("ignore")

import measure_kernels
import measure_step
import table

KERNEL_KEY = measure_kernels.KEY + ("backend",)
WINDOW = ("avg_power_w", "avg_clock_hz", "begin_s", "end_s")
KERNELS = KERNEL_KEY + ("timing", "latency_ms", "spread", "sustained_ms", "sets") + WINDOW + ("device", "torch", "date")
STEP_KEY = table.KEY + ("optimizer_impl",)
STEPS = table.CONTRACT + ("optimizer_impl",) + table.PROVENANCE + ("avg_clock_hz", "begin_s", "end_s")
OPTIMIZER_KEY = ("gpu", "optimizer", "optimizer_impl", "tensors", "params")
OPTIMIZERS = OPTIMIZER_KEY + ("step_time_s", "host_time_s") + WINDOW + ("device", "torch", "date")
HOST_KEY = ("gpu", "what", "mode")
HOST = HOST_KEY + ("launches", "time_s", "launch_s", "device", "torch", "date")
STATE_KEY = ("gpu", "state")
STATES = STATE_KEY + WINDOW + ("device", "torch", "date")
TRACE = ("time_s", "energy_j", "power_w", "power_instant_w", "clock_hz", "mem_clock_hz", "throttle", "temperature_c")
EDGE_S = 0.15       # of a window's begin is left out: power and clock settle


# ---- the sampler, a process of its own so that it takes no time from Python here -------------------------------------------------

def sample(path, period_s):
    """Write the board's state to `path` until standard input ends."""
    import select
    import pynvml as nvml
    nvml.nvmlInit()
    board = nvml.nvmlDeviceGetHandleByIndex(0)

    def instant():
        """nvmlDeviceGetFieldValues: NVML_FI_DEV_POWER_INSTANT, in mW."""
        return nvml.nvmlDeviceGetFieldValues(board, [186])[0].value.uiVal / 1e3

    reads = (lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(board) / 1e3, lambda: nvml.nvmlDeviceGetPowerUsage(board) / 1e3, instant,
             lambda: nvml.nvmlDeviceGetClockInfo(board, nvml.NVML_CLOCK_SM) * 10**6,
             lambda: nvml.nvmlDeviceGetClockInfo(board, nvml.NVML_CLOCK_MEM) * 10**6,
             lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(board),
             lambda: nvml.nvmlDeviceGetTemperature(board, nvml.NVML_TEMPERATURE_GPU))

    def read(function):
        try:
            return function()
        except Exception:   # a board without that number: the cell stays empty
            return ""
    with open(path, "w", buffering=1) as file:
        print(",".join(TRACE), file=file)
        while not select.select([sys.stdin], [], [], period_s)[0]:
            begin = time.monotonic()
            values = [read(function) for function in reads]
            print(",".join(map(str, ["{:.6f}".format(begin)] + values)), file=file)


@contextlib.contextmanager
def sampler(path, period_s, device):
    """Samples while the block runs; nothing on a CPU."""
    if device == "cpu":
        yield
        return
    child = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--sample", path, "--period", str(period_s)], stdin=subprocess.PIPE)
    try:
        time.sleep(1.0)
        yield
    finally:
        child.stdin.close()
        child.wait()


class Trace:
    """What the sampler wrote: mean watts by the counter between its edges, and the mean clock."""

    def __init__(self, path):
        self.times, self.energies, self.clocks = [], [], []
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                if row["energy_j"] and row["clock_hz"]:
                    self.times.append(float(row["time_s"]))
                    self.energies.append(float(row["energy_j"]))
                    self.clocks.append(float(row["clock_hz"]))

    def window(self, begin_s, end_s):
        """(watts or "", hertz or "") between two times."""
        settle_s = min(EDGE_S, (end_s - begin_s) / 3)
        first, last = bisect.bisect_left(self.times, begin_s + settle_s), bisect.bisect_right(self.times, end_s)
        span = range(first, last)
        if len(span) < 2:
            return "", ""
        edges = [i for i in span if i > 0 and self.energies[i] != self.energies[i - 1]]
        watts = ""
        if len(edges) > 1:
            a, b = edges[0], edges[-1]
            watts = "{:.5g}".format((self.energies[b] - self.energies[a]) / (self.times[b] - self.times[a]))
        return watts, "{:.5g}".format(statistics.fmean(self.clocks[i] for i in span))


def fill_watts(folder):
    """Put watts and clocks of trace.csv into the tables of `folder`."""
    path = os.path.join(folder, "trace.csv")
    if not os.path.exists(path):
        return
    trace = Trace(path)
    for name in ("kernels", "steps", "optimizers", "states"):
        path = os.path.join(folder, name + ".csv")
        if not os.path.exists(path):
            continue
        with open(path, newline="") as file:
            reader = csv.DictReader(file)
            columns, rows = reader.fieldnames, list(reader)
        for row in rows:
            if row["begin_s"]:
                row["avg_power_w"], row["avg_clock_hz"] = trace.window(float(row["begin_s"]), float(row["end_s"]))
                if name == "steps" and row["avg_power_w"]:
                    row.update(power_scope="gpu", power_method="energy counter")
        with open(path + ".tmp", "w", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        os.replace(path + ".tmp", path)


# ---- a board under test --------------------------------------------------------------------------------------------------------------

class OutOfTime(Exception):
    """The minutes are over."""


class Board:
    """One run: the device, the clock, the tables."""

    def __init__(self, args, torch):
        self.args, self.torch, self.cuda = args, torch, args.device == "cuda"
        self.end_s = time.monotonic() + 60 * args.minutes
        self.facts = torch.cuda.get_device_properties(0) if self.cuda else None
        self.device = self.facts.name if self.cuda else measure_step.cpu_name()
        self.cache_bytes = getattr(self.facts, "L2_cache_size", 128 << 20) if self.cuda else 1 << 20
        self.tables, self.failed = {}, []
        self.short_s, self.long_s = (0.02, 0.05) if args.quick else (0.08, 0.8)

    def table(self, name, columns, key):
        if name not in self.tables:
            self.tables[name] = table.Table(os.path.join(self.args.out, name + ".csv"), True, columns, key)
        return self.tables[name]

    def put(self, name, columns, key, row):
        full = dict.fromkeys(columns, "")
        full.update(gpu=self.args.gpu, device=self.device, torch=self.torch.__version__, date=measure_step.now())
        full.update(row)
        self.table(name, columns, key).append(full)

    def synchronize(self):
        if self.cuda:
            self.torch.cuda.synchronize()

    def check_time(self, needed_s=1.0):
        if time.monotonic() + needed_s > self.end_s:
            raise OutOfTime()

    def attempt(self, label, function):
        """One measurement: a failure is named and the next goes on."""
        self.check_time()
        try:
            function()
        except (RuntimeError, ValueError, TypeError, AttributeError, NotImplementedError, AssertionError, MemoryError, KeyError) as error:
            text = "{}: {}".format(label, (str(error).strip() or type(error).__name__).splitlines()[0][:200])
            self.failed.append(text)
            print(text, file=sys.stderr, flush=True)
        finally:
            gc.collect()
            if self.cuda:
                self.torch.cuda.empty_cache()

    def captured(self, run, graph):
        """A function that runs the calls: a replay of one CUDA graph, or the calls themselves."""
        if not (graph and self.cuda):
            run()
            self.synchronize()
            return run
        stream = self.torch.cuda.Stream()
        stream.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(stream):
            run()
        self.torch.cuda.current_stream().wait_stream(stream)
        self.synchronize()
        captured = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(captured):
            self.kept = run()
        captured.replay()
        self.synchronize()
        return captured.replay

    def timed(self, replay, rounds):
        """Seconds of so many rounds, by events on a GPU."""
        if not self.cuda:
            begin = time.perf_counter()
            for _ in range(rounds):
                replay()
            return time.perf_counter() - begin
        start, stop = self.torch.cuda.Event(enable_timing=True), self.torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(rounds):
            replay()
        stop.record()
        self.synchronize()
        return start.elapsed_time(stop) * 1e-3

    def kernel(self, run, calls, graph, sustain=True):
        """The columns of a kernel: a short run of five windows, then a sustained one whose watts are read."""
        replay = self.captured(run, graph)
        self.timed(replay, 1)
        once_s = max(self.timed(replay, 1), 1e-6)
        rounds = max(1, math.ceil(self.short_s / 5 / once_s))
        windows = [self.timed(replay, rounds) / rounds / calls for _ in range(5)]
        row = {"timing": "graph" if graph and self.cuda else "events", "latency_ms": "{:.6g}".format(1e3 * statistics.median(windows)),
               "spread": "{:.3f}".format((max(windows) - min(windows)) / statistics.median(windows))}
        if sustain:
            rounds = max(1, math.ceil(self.long_s / (statistics.median(windows) * calls)))
            begin_s = time.monotonic()
            seconds = self.timed(replay, rounds)
            row.update(sustained_ms="{:.6g}".format(1e3 * seconds / rounds / calls), begin_s="{:.6f}".format(begin_s),
                       end_s="{:.6f}".format(time.monotonic()))
        self.kept = None
        return row


# ---- states of a board at rest -------------------------------------------------------------------------------------------------------

def measure_states(board):
    """Idle with a context; waiting: one thread spins, as a collective's kernel does; a small kernel now and then, as a host-bound step."""
    seconds = 0.2 if board.args.quick else 2.0

    def state(name, run):
        begin_s = time.monotonic()
        while time.monotonic() - begin_s < seconds:
            run()
        board.synchronize()
        board.put("states", STATES, STATE_KEY, {"state": name, "begin_s": "{:.6f}".format(begin_s), "end_s": "{:.6f}".format(time.monotonic())})
    board.attempt("idle", lambda: state("idle with a context", lambda: time.sleep(0.1)))
    if board.cuda:
        def spin():
            board.torch.cuda._sleep(10**8)
            board.synchronize()
        board.attempt("spin", lambda: state("one thread spins", spin))
    x = board.torch.ones(1024, device=board.args.device)
    board.attempt("launches", lambda: state("small kernels without a pause", lambda: [x.add_(1) for _ in range(100)]))

    def now_and_then():
        x.add_(1)
        board.synchronize()
        time.sleep(0.001)
    board.attempt("now and then", lambda: state("a small kernel each ms", now_and_then))


def measure_meter(board):
    """A load that switches on and off: trace.csv then tells how the driver's numbers follow; meter.csv says when it switched."""
    if not board.cuda:
        return
    a = board.torch.randn(8192, 8192, device="cuda", dtype=board.torch.bfloat16)
    rows = []

    def run():
        for half_s in (0.5, 0.1):
            for _ in range(4 if half_s > 0.2 else 8):
                rows.append(("on", time.monotonic()))
                while time.monotonic() - rows[-1][1] < half_s:
                    a @ a
                    board.synchronize()
                rows.append(("off", time.monotonic()))
                time.sleep(half_s)
    board.attempt("meter", run)
    with open(os.path.join(board.args.out, "meter.csv"), "w") as file:
        file.write("load,time_s\n" + "".join("{},{:.6f}\n".format(*row) for row in rows))


# ---- kernels -------------------------------------------------------------------------------------------------------------------------

def operand_sets(board, make):
    """So many sets of operands that the L2 holds none of them when its turn comes again."""
    first = make()
    set_bytes = sum(value.numel() * value.element_size() for value in first)
    return [first] + [make() for _ in range(min(2 if board.args.quick else 64, max(1, math.ceil(3 * board.cache_bytes / set_bytes))) - 1)]


def measure_kernel(board, row, sustain=True):
    """One kernel of measure_kernels.py, forward."""
    make, kernel = measure_kernels.operands(board.torch, row, board.args.device)
    board.torch.backends.cuda.matmul.allow_tf32 = board.torch.backends.cudnn.allow_tf32 = row["dtype"] == "tf32"
    with board.torch.no_grad():
        sets = operand_sets(board, make)
        facts = board.kernel(lambda: [kernel(*values) for values in sets], len(sets), True, sustain)
    board.put("kernels", KERNELS, KERNEL_KEY, dict(row, sets=len(sets), **facts))


def measure_fp8(board, row):
    """A product of e4m3 numbers with one scale a tensor, into bf16."""
    torch = board.torch
    one = torch.ones((), device="cuda")

    def make():
        a = torch.randn(row["M"], row["N"], device="cuda").to(torch.float8_e4m3fn)
        b = torch.randn(row["K"], row["N"], device="cuda").to(torch.float8_e4m3fn)
        return a, b.t()
    with torch.no_grad():
        sets = operand_sets(board, make)
        facts = board.kernel(lambda: [torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16) for a, b in sets],
                             len(sets), True)
    board.put("kernels", KERNELS, KERNEL_KEY, dict(row, sets=len(sets), **facts))


def measure_products(board):
    sizes = [(64, 64, 64)] if board.args.quick else [(1024,) * 3, (2048,) * 3, (4096,) * 3, (8192,) * 3]
    shapes = [] if board.args.quick else [(512, 4096, 4096), (2048, 2048, 5632), (4096, 4096, 14336), (16384, 768, 3072), (8192, 5120, 128)]
    for dtype in ("bf16", "tf32", "fp32", "fp16", "fp8"):
        for m, n, k in sizes + (shapes if dtype in ("bf16", "tf32") else []):
            row = {"op": "linear", "dtype": dtype, "B": 1, "M": m, "N": n, "K": k}
            measure = measure_fp8 if dtype == "fp8" else measure_kernel
            board.attempt("product {} {}".format(dtype, (m, n, k)), lambda: measure(board, row))


def measure_attention(board):
    """Forward and backward of one kernel at a constant number of tokens; `backend` says which kernel PyTorch was held to."""
    torch = board.torch
    if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        return
    from torch.nn.attention import SDPBackend, sdpa_kernel
    tokens, lengths = (256, (64,)) if board.args.quick else (32768, (512, 1024, 2048, 4096, 8192, 16384, 32768))
    backends = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": getattr(SDPBackend, "CUDNN_ATTENTION", None), "default": None}
    plan = [("flash", 16, 128, 1), ("flash", 16, 128, 0), ("flash", 12, 64, 1), ("cudnn", 16, 128, 1), ("default", 16, 128, 1)]
    if board.args.quick:
        plan = [("default", 2, 16, 1)]
    for backend, heads, width, causal in plan:
        for length in lengths:
            for op in ("attention_back", "attention"):
                row = {"op": op, "dtype": "bf16", "batch": tokens // length, "seq": length, "heads": heads, "kv_heads": heads,
                       "head_dim": width, "causal": causal, "backend": backend}

                def run():
                    make, kernel = measure_kernels.operands(torch, row, board.args.device)
                    which = backends[backend]
                    with sdpa_kernel([which]) if which is not None else contextlib.nullcontext():
                        sets = operand_sets(board, make)
                        backward = op == "attention_back"
                        calls = [measure_kernels.backward_of(torch, kernel, values) if backward else lambda values=values: kernel(*values)
                                 for values in sets]
                        with torch.set_grad_enabled(backward):
                            facts = board.kernel(lambda: [call() for call in calls], len(calls), not backward, backend == "flash")
                    board.put("kernels", KERNELS, KERNEL_KEY, dict(row, sets=len(sets), **facts))
                board.attempt("{} {} {}".format(op, backend, (length, heads, width, causal)), run)


def measure_streams(board):
    """Element-wise kernels, normalisations and copies of sizes from 4 MB to 1 GB."""
    rows = [(2048, 512)] if board.args.quick else [(65536, 4096)]
    for dtype in ("fp32", "bf16"):
        for op in ("copy", "add", "mul", "gelu", "softmax", "ln"):
            for b, h in rows:
                row = {"op": op, "dtype": dtype, "B": b, "H": h}
                board.attempt("{} {}".format(op, dtype), lambda: measure_kernel(board, row))
    for dtype in ("fp32", "bf16"):
        for b in () if board.args.quick else (1024, 4096, 16384, 32768):
            for op in ("copy", "add"):
                row = {"op": op, "dtype": dtype, "B": b, "H": 1024}
                board.attempt("{} {} {}".format(op, dtype, b), lambda: measure_kernel(board, row, False))


def measure_convolutions(board):
    shapes = [(8, 8, 3, 14, 1, 1)] if board.args.quick else [measure_kernels.CONVOLUTIONS[i] for i in (0, 1, 2, 5, 8, 10, 12, 14)]
    for dtype, (c_in, c_out, ks, hw, stride, pad), layout in itertools.product(("bf16", "tf32", "fp32"), shapes, ("channels_last", "nchw")):
        row = {"op": "conv", "dtype": dtype, "B": 2 if board.args.quick else 64, "C_in": c_in, "C_out": c_out, "KS": ks, "HW": hw,
               "stride": stride, "pad": pad, "memory_format": layout}
        board.attempt("conv {} {}".format(dtype, (c_in, c_out, ks, hw, layout)), lambda: measure_kernel(board, row, False))


# ---- optimizers and the host ---------------------------------------------------------------------------------------------------------

def measure_optimizers(board):
    """Steps over the tensors of real models, by implementation; host_time_s is how long the host takes to launch."""
    torch = board.torch
    import workloads
    from models import framework
    names = ("shufflenetv2_cifar100",) if board.args.quick else ("gpt2", "tinyllama_1.1b", "resnet50")
    for name in names:
        model = framework.build_small(workloads.find(name).entry.build)
        shapes = [tuple(p.shape) for p in model.parameters()]
        for kind, implementation in (("adamw", "fused"), ("adamw", "foreach"), ("adamw", "forloop"), ("momentum", "foreach"), ("momentum", "fused")):
            def run():
                values = [torch.nn.Parameter(torch.zeros(shape, device=board.args.device)) for shape in shapes]
                for value in values:
                    value.grad = torch.full_like(value, 1e-3)
                choice = {"fused": {"fused": True}, "foreach": {"foreach": True}, "forloop": {"foreach": False}}[implementation]
                optimizer = (torch.optim.AdamW(values, lr=1e-5, **choice) if kind == "adamw" else
                             torch.optim.SGD(values, lr=1e-5, momentum=0.9, **choice))
                for _ in range(3):
                    optimizer.step()
                board.synchronize()
                begin = time.perf_counter()
                optimizer.step()
                host_s = time.perf_counter() - begin
                board.synchronize()
                once_s = max(board.timed(optimizer.step, 2) / 2, 1e-6)
                rounds = max(2, math.ceil(board.long_s / 2 / once_s))
                begin_s = time.monotonic()
                seconds = board.timed(optimizer.step, rounds)
                board.put("optimizers", OPTIMIZERS, OPTIMIZER_KEY,
                          {"optimizer": kind, "optimizer_impl": implementation, "tensors": len(shapes), "params": sum(map(math.prod, shapes)),
                           "step_time_s": "{:.6g}".format(seconds / rounds), "host_time_s": "{:.6g}".format(host_s),
                           "begin_s": "{:.6f}".format(begin_s), "end_s": "{:.6f}".format(time.monotonic())})
            board.attempt("optimizer {} {} {}".format(name, kind, implementation), run)


def measure_host(board):
    """What a launch takes the host: small operators of a chain, forward alone and forward with backward, far from filling the board."""
    torch, count, width = board.torch, 200, 64
    layers = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(count)]).to(board.args.device)
    x = torch.randn(8, width, device=board.args.device)

    def chain(function):
        def run():
            value = x
            for _ in range(count):
                value = function(value)
            return value
        return run

    def trained():
        layers(x).sum().backward()
    cases = (("add", "infer", count, chain(lambda v: v + 1.0), False), ("add", "train", count, chain(lambda v: v + 1.0), True),
             ("relu", "infer", count, chain(torch.relu), False), ("linear", "infer", count, lambda: layers(x), False),
             ("linear", "fwbw", 4 * count, trained, True))     # backward: two products, the bias's sum (AccumulateGrad adds in place)
    for what, mode, launches, run, grad in cases:
        for autocast in (False, True):
            def measure():
                context = torch.autocast(board.args.device, dtype=torch.bfloat16) if autocast else contextlib.nullcontext()
                with torch.set_grad_enabled(grad), context:
                    for _ in range(3):
                        run()
                    board.synchronize()
                    begin, rounds = time.perf_counter(), 0
                    while time.perf_counter() - begin < (0.05 if board.args.quick else 0.3):
                        run()
                        board.synchronize()
                        rounds += 1
                    seconds = (time.perf_counter() - begin) / rounds
                board.put("host", HOST, HOST_KEY, {"what": what + (" under autocast" if autocast else ""), "mode": mode, "launches": launches,
                                                   "time_s": "{:.6g}".format(seconds), "launch_s": "{:.4g}".format(seconds / launches)})
            board.attempt("host " + what, measure)


# ---- steps ---------------------------------------------------------------------------------------------------------------------------

def fuse_attention(model):
    """Attention of the zoo's GPT-2 and Llama as one call, as Hugging Face's default today."""
    import torch
    from models import gpt, layers, llama
    fused = torch.nn.functional.scaled_dot_product_attention

    def gpt2(self, x):
        q, k, v = (layers.split_heads(part, self.heads) for part in self.c_attn(x).split(self.hidden, dim=2))
        out = fused(q, k, v, dropout_p=self.attn_dropout.p if self.training else 0.0, is_causal=True)
        return self.resid_dropout(self.c_proj(layers.merge_heads(out)))

    def llama_attention(self, x, mask, cos, sin):
        batch, length, _ = x.size()
        q = self.q_proj(x).view(batch, length, self.heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, self.kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.kv_heads, self.head_dim).transpose(1, 2)
        q, k = llama.apply_rotary(q, k, cos, sin)
        times = self.heads // self.kv_heads
        out = fused(q, llama.repeat_kv(k, times), llama.repeat_kv(v, times), is_causal=True)
        return self.o_proj(out.transpose(1, 2).reshape(batch, length, -1))
    for module in model.modules():
        if isinstance(module, gpt.GPT2Attention):
            module.forward = types.MethodType(gpt2, module)
        elif isinstance(module, llama.LlamaAttention):
            module.forward = types.MethodType(llama_attention, module)


def step_plan(quick):
    """(model, inputs, batch, precision, mode, execution, attention, optimizer_impl, memory_format), most wanted first."""
    if quick:
        return [("shufflenetv2_cifar100", ("Bx3x32x32",), 4, "fp32", "train", "eager", "", "foreach", "nchw"),
                ("shufflenetv2_cifar100", ("Bx3x32x32",), 4, "bf16", "infer", "eager", "", "foreach", "channels_last")]
    image, text = ("Bx3x224x224",), ("i64:Bx1024",)
    models = (("resnet50", image, (32, 128, 256), ""), ("vit_b_16", image, (16, 64, 128), "fused"), ("gpt2", text, (2, 8, 16), "fused"),
              ("tinyllama_1.1b", text, (1, 4, 8), "fused"))
    plan = []

    def add(batches, precisions, modes=("train",), execution="eager", attention=None, implementation="foreach", formats=("nchw",)):
        for precision, mode, memory_format in itertools.product(precisions, modes, formats):
            for name, inputs, sizes, fused in models:
                if (attention and not fused) or (memory_format == "channels_last" and name != "resnet50"):
                    continue
                for index in batches:
                    plan.append((name, inputs, sizes[index], precision, mode, execution, attention or fused, implementation, memory_format))
    add((1,), ("bf16", "tf32", "fp32", "fp16"))     # models by precision: the published protocol
    add((0, 2), ("bf16", "tf32"))
    add((1,), ("bf16",), implementation="fused")
    add((1,), ("bf16", "tf32"), formats=("channels_last",))
    add((1,), ("bf16",), execution="compile")
    add((1,), ("bf16",), ("infer",))
    add((1,), ("bf16", "tf32"), ("fwbw",))
    add((1,), ("bf16",), attention="eager")
    add((1,), ("tf32",), execution="compile")
    add((1,), ("bf16",), ("infer",), execution="compile")
    return plan


def measure_steps(board, wanted):
    import workloads
    torch = board.torch
    seconds, warm_s, window_s = (0.2, 0.05, 0.02) if board.args.quick else (1.6, 0.4, 0.2)
    if wanted and board.cuda:   # a compiler's trace takes tensors made on the way for the CPU's unless PyTorch itself says otherwise
        torch.set_default_tensor_type(torch.FloatTensor)
        torch.set_default_device("cuda")
    for name, inputs, batch, precision, mode, execution, attention, implementation, layout in step_plan(board.args.quick):
        if (execution == "compile") != wanted:
            continue

        def run():
            torch.manual_seed(0)
            config = measure_step.Config(batch, precision, mode, "adamw", 1, layout, execution)
            workload = workloads.find(name, inputs)
            if board.cuda:
                torch.cuda.reset_peak_memory_stats()
            step = workloads.Step(workload, config, board.args.device, prepare=fuse_attention if attention == "fused" else None,
                                  implementation=implementation)
            begin, warm = time.perf_counter(), 0
            while warm < 3 or time.perf_counter() - begin < warm_s:
                step()
                warm += 1
                if warm % 4 == 0:
                    board.synchronize()
            board.synchronize()
            begin = time.perf_counter()
            step()
            board.synchronize()
            per_window = max(1, math.ceil(window_s / (time.perf_counter() - begin)))
            windows, begin_s, cpu = [], time.monotonic(), time.process_time()
            while time.monotonic() - begin_s < seconds or len(windows) < 5:
                begin = time.perf_counter()
                for _ in range(per_window):
                    step()
                board.synchronize()
                windows.append((time.perf_counter() - begin) / per_window)
            end_s = time.monotonic()
            median_s = statistics.median(windows)
            row = {"model": name, "input": " ".join(inputs), "batch_size": batch, "gpus": 1, "precision": precision, "mode": mode,
                   "optimizer": "adamw" if mode == "train" else "none", "grad_accum": 1, "attention": attention, "memory_format": layout,
                   "execution": execution, "optimizer_impl": implementation if mode == "train" else "", "step_time_s": "{:.6g}".format(median_s),
                   "source": "measured by tools/measure/measure_board.py", "time_min_s": "{:.6g}".format(min(windows)),
                   "time_std_s": "{:.3g}".format(statistics.stdev(windows)), "steps": per_window * len(windows), "windows": len(windows), "repeats": 1,
                   "cpu_share": "{:.3f}".format((time.process_time() - cpu) / (end_s - begin_s)), "warmup_steps": warm, "power_method": "none",
                   "threads": torch.get_num_threads(), "begin_s": "{:.6f}".format(begin_s), "end_s": "{:.6f}".format(end_s),
                   "power_limit_w": board.args.power_limit_w or "",
                   "peak_memory_bytes": torch.cuda.max_memory_allocated() if board.cuda else ""}
            board.put("steps", STEPS, STEP_KEY, row)
            print("{:7.1f} s left  {} {} {} {} {} {} {}: {:.5g} s".format(board.end_s - time.monotonic(), name, batch, precision, mode, execution,
                                                                        attention, implementation, median_s), file=sys.stderr, flush=True)
        if execution == "compile":
            board.check_time(15)
        board.attempt("step {} {} {} {} {} {}".format(name, batch, precision, mode, execution, attention), run)


# ---- the program ---------------------------------------------------------------------------------------------------------------------

def facts_of(board):
    torch = board.torch
    facts = {"torch": torch.__version__, "python": sys.version.split()[0], "gpu": board.args.gpu, "device": board.device,
             "cpu": {"name": measure_step.cpu_name(), "threads": torch.get_num_threads()}, "step": measure_step.STEP,
             "power": "the board's energy counter between its edges, {} s of a window left out at its begin".format(EDGE_S)}
    if board.cuda:
        import pynvml as nvml
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByIndex(0)
        board.args.power_limit_w = nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1e3
        facts.update(cuda=torch.version.cuda, cudnn=torch.backends.cudnn.version(), memory_bytes=board.facts.total_memory,
                     sms=board.facts.multi_processor_count, l2_bytes=board.cache_bytes, power_limit_w=board.args.power_limit_w,
                     driver=nvml.nvmlSystemGetDriverVersion(), max_clock_hz=nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM) * 10**6,
                     max_mem_clock_hz=nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM) * 10**6,
                     idle_before_context_w=nvml.nvmlDeviceGetPowerUsage(handle) / 1e3)
    return facts


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", metavar="DIR")
    parser.add_argument("--gpu", default="", metavar="NAME", help="column gpu")
    parser.add_argument("--minutes", type=float, default=8, help="end after so many minutes (default 8)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="few and small measurements, to try the way")
    parser.add_argument("--only", default="", metavar="PART,...", help="states, meter, attention, products, streams, optimizers, host, steps, "
                        "convolutions, compiled")
    parser.add_argument("--fill", metavar="DIR", help="work out watts and clocks of DIR again, measure nothing")
    parser.add_argument("--sample", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--period", type=float, default=0.01, help="seconds between samples (default 0.01)")
    args = parser.parse_args(arguments)
    args.power_limit_w = None
    if args.sample:
        sample(args.sample, args.period)
        return 0
    if args.fill:
        fill_watts(args.fill)
        return 0
    if not args.out:
        parser.error("--out is missing")
    import torch
    if args.device == "cuda" and not torch.cuda.is_available():
        sys.exit("measure_board.py: PyTorch sees no CUDA device")
    os.makedirs(args.out, exist_ok=True)
    parts = {"states": measure_states, "meter": measure_meter, "attention": measure_attention, "products": measure_products,
             "streams": measure_streams, "optimizers": measure_optimizers, "host": measure_host,
             "steps": lambda board: measure_steps(board, False), "convolutions": measure_convolutions,
             "compiled": lambda board: measure_steps(board, True)}
    wanted = args.only.split(",") if args.only else list(parts)
    unknown = [name for name in wanted if name not in parts]
    if unknown:
        parser.error("--only: {} is none of {}".format(unknown[0], ", ".join(parts)))
    board = Board(args, torch)
    with sampler(os.path.join(args.out, "trace.csv"), args.period, args.device):
        facts = dict(facts_of(board), started=measure_step.now(), seconds={}, failed=board.failed)
        if board.cuda:
            measure_step.use_gpu(torch)
        over = False
        for name in wanted:
            begin = time.monotonic()
            try:
                parts[name](board)
            except OutOfTime:
                over = True
                board.failed.append("the minutes were over in " + name)
            facts["seconds"][name] = round(time.monotonic() - begin, 1)
            print("{}: {} s".format(name, facts["seconds"][name]), file=sys.stderr, flush=True)
            with open(os.path.join(args.out, "facts.json"), "w") as file:
                json.dump({"schema_version": 1, "runs": [facts]}, file, indent=1)
                file.write("\n")
            if over:
                break
    fill_watts(args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
