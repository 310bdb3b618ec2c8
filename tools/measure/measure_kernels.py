#!/usr/bin/env python3
"""Time single kernels with PyTorch and write the CSV that `adept calibrate --kernels` reads.

    python3 tools/measure/measure_kernels.py --gpu my-gpu --out kernels.csv
    python3 tools/measure/measure_kernels.py --device cpu --quick --gpu my-cpu --out kernels.csv --resume

Products and convolutions (both memory formats) in every precision, attention forward and backward, normalisations, softmax,
element-wise operators and copies. On a GPU a row is the mean of many launches in one CUDA graph (`timing` graph), attention
backward by events. Operands take turns until the L2 cache holds none of them.
docs: data/measurements/README.md
"""
import argparse
import itertools
import math
import os
import random
import statistics
import sys
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]
sys.dont_write_bytecode = True
warnings.filterwarnings("ignore")

KEY = ("op", "dtype", "gpu", "B", "M", "N", "K", "H", "C_in", "C_out", "KS", "HW", "stride", "pad", "memory_format", "batch", "seq",
       "heads", "kv_heads", "head_dim", "causal")
COLUMNS = KEY + ("timing", "latency_ms", "sets", "spread", "device", "torch", "date")
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
ROWS = 70               # of each operator in each precision; a family is fitted from 50 on
QUICK_ROWS = {"copy": 30, "add": 30, "linear": 4, "bmm": 4, "conv": 2, "attention": 4, "attention_back": 4}
MAX_BYTES = 1 << 30     # of one kernel's operands
WIDTHS = (128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 5120, 8192, 11008)
CONVOLUTIONS = (        # C_in, C_out, KS, HW, stride, pad: of ResNets, VGG, ConvNeXt and U-Net
    (3, 64, 7, 224, 2, 3), (64, 64, 3, 56, 1, 1), (64, 256, 1, 56, 1, 0), (256, 64, 1, 56, 1, 0), (128, 128, 3, 56, 2, 1),
    (128, 128, 3, 28, 1, 1), (512, 128, 1, 28, 1, 0), (256, 512, 1, 56, 2, 0), (256, 256, 3, 14, 1, 1), (256, 1024, 1, 14, 1, 0),
    (512, 512, 3, 7, 1, 1), (2048, 512, 1, 7, 1, 0), (3, 64, 3, 224, 1, 1), (64, 128, 3, 112, 1, 1), (256, 256, 3, 56, 1, 1),
    (512, 512, 3, 28, 1, 1), (96, 192, 2, 56, 2, 0), (320, 320, 3, 64, 1, 1), (640, 640, 3, 32, 1, 1))
BATCHES = (4, 8, 16, 32, 64, 128)


# ---- which kernels ---------------------------------------------------------------------------------------------------
# Each takes a random generator and returns the columns of one row, or None for one that is too large or too small.

def within(row, elements, operations, low=1e9):
    return row if elements * 4 <= MAX_BYTES and low <= operations <= 4e11 else None


def linear(draw):
    m, n, k = draw.choice((256, 512, 1000, 1024, 2048, 4096, 6272, 8192, 16384)), draw.choice(WIDTHS), draw.choice(WIDTHS)
    return within({"B": 1, "M": m, "N": n, "K": k}, m * n + n * k + m * k, 2 * m * n * k)


def bmm(draw):
    b, m, k = draw.choice((16, 48, 96, 128, 192, 384)), draw.choice((64, 128, 197, 256, 512, 1024)), draw.choice((64, 128, 256, 512, 1024))
    n = draw.choice((32, 64, 96, 128, 512))
    return within({"B": b, "M": m, "N": n, "K": k}, b * (m * n + n * k + m * k), 2 * b * m * n * k, 5e8)


def conv(memory_format):
    def one(draw):
        c_in, c_out, ks, hw, stride, pad = draw.choice(CONVOLUTIONS)
        b, side = draw.choice(BATCHES), (hw + 2 * pad - ks) // stride + 1
        row = {"B": b, "C_in": c_in, "C_out": c_out, "KS": ks, "HW": hw, "stride": stride, "pad": pad, "memory_format": memory_format}
        return within(row, b * (c_in * hw * hw + c_out * side * side), 2 * b * c_out * c_in * (ks * side) ** 2)
    return one


def attention(draw):
    batch, seq, heads = draw.choice((1, 2, 4, 8, 16, 32)), draw.choice((256, 512, 1024, 2048, 4096, 8192)), draw.choice((12, 16, 32))
    width = draw.choice((64, 64, 128))
    row = {"batch": batch, "seq": seq, "heads": heads, "kv_heads": heads, "head_dim": width, "causal": draw.choice((0, 1))}
    return within(row, 4 * batch * seq * heads * width, 4 * batch * heads * seq * seq * width, 4e9)


def rows_of(draw):
    b = draw.choice((1024, 1536, 2048, 3072, 4096, 8192, 16384, 32768, 65536, 131072))
    h = draw.choice((197, 256, 512, 768, 1000, 1024, 1536, 2048, 4096, 8192))
    return {"B": b, "H": h} if 2 ** 22 <= b * h <= 2 ** 27 else None


def draw_rows(one, op, dtype, count):
    """`count` different rows, the same ones every time."""
    draw, found = random.Random(op + dtype), {}
    for _ in range(100 * count):
        row = one(draw)
        if row:
            found.setdefault(tuple(row.values()), dict(row, op=op, dtype=dtype))
        if len(found) == count:
            break
    return list(found.values())


def plan(precisions, fused_attention, quick):
    """All rows, taking turns over operators and precisions: a measurement that is cut short has some of each."""
    groups = []
    for precision in precisions:
        makers = [("linear", linear), ("bmm", bmm), ("conv", conv("nchw")), ("conv", conv("channels_last"))]
        if precision != "tf32":
            makers += [(op, rows_of) for op in ("copy", "add", "mul", "relu", "gelu", "tanh", "softmax", "ln")]
            makers += [("attention", attention), ("attention_back", attention)] if fused_attention else []
        for op, one in makers:
            rows = draw_rows(one, op, precision, ROWS)
            groups.append(sorted(rows, key=work_of)[:QUICK_ROWS.get(op, 0)] if quick else rows)
    return [row for turn in itertools.zip_longest(*groups) for row in turn if row]


def work_of(row):
    """For --quick, which takes the smallest."""
    return math.prod(row.get(name, 1) for name in ("B", "M", "N", "K", "H", "C_in", "C_out", "HW", "batch", "heads")) * row.get("seq", 1) ** 2


# ---- one kernel ------------------------------------------------------------------------------------------------------

def operands(torch, row, device):
    """A function that makes one set of operands, and the kernel on them."""
    functional = torch.nn.functional
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(row["dtype"], torch.float32)

    def new(*shape):
        return torch.randn(*shape, device=device, dtype=torch.float32).to(dtype)
    op = row["op"]
    if op in ("linear", "bmm"):
        b = [] if op == "linear" else [row["B"]]
        return lambda: (new(*b, row["M"], row["N"]), new(*b, row["N"], row["K"])), torch.matmul
    if op == "conv":
        layout = torch.channels_last if row["memory_format"] == "channels_last" else torch.contiguous_format
        shapes = ((row["B"], row["C_in"], row["HW"], row["HW"]), (row["C_out"], row["C_in"], row["KS"], row["KS"]))
        return (lambda: tuple(new(*shape).contiguous(memory_format=layout) for shape in shapes),
                lambda x, w: functional.conv2d(x, w, stride=row["stride"], padding=row["pad"]))
    if op.startswith("attention"):
        shape = (row["batch"], row["heads"], row["seq"], row["head_dim"])
        return (lambda: (new(*shape), new(*shape), new(*shape)),
                lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=bool(row["causal"])))
    two = op in ("add", "mul")
    kernels = {"copy": torch.clone, "add": torch.add, "mul": torch.mul, "relu": torch.relu, "gelu": functional.gelu, "tanh": torch.tanh,
               "softmax": lambda x: torch.softmax(x, -1), "ln": lambda x: functional.layer_norm(x, x.shape[-1:])}
    return lambda: tuple(new(row["B"], row["H"]) for _ in range(1 + two)), kernels[op]


def fused_only(torch):
    """Attention in one kernel or not at all."""
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
        return sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION])
    except ImportError:
        return torch.backends.cuda.sdp_kernel(enable_math=False)


def backward_of(torch, kernel, values):
    """The backward pass alone, which can be repeated."""
    values = [value.requires_grad_() for value in values]
    out = kernel(*values)
    seed = torch.randn_like(out)
    return lambda: torch.autograd.grad(out, values, seed, retain_graph=True)


def on_cpu(calls, seconds):
    for call in calls:
        call()
    times = []
    while len(times) < 3 or sum(times) * len(calls) < seconds:
        begin = time.perf_counter()
        for call in calls:
            call()
        times.append((time.perf_counter() - begin) / len(calls))
    return times


def on_gpu(torch, calls, seconds, graph):
    """Seconds of one call: `replay` runs all of them, as often as it takes."""
    def run_all():
        return [call() for call in calls]       # results are kept, so that each has memory of its own
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run_all()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    replay = run_all
    if graph:
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            kept = run_all()
        replay = captured.replay
    times, rounds = [], 1
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    while len(times) < 6:       # the first says how many rounds make a sixth of the time
        start.record()
        for _ in range(rounds):
            replay()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) * 1e-3 / rounds / len(calls))
        if len(times) == 1:
            rounds = max(1, math.ceil(seconds / 6 / (times[0] * len(calls))))
    if graph:
        del kept, captured
    return times[1:]


def measure(torch, row, args, cache_bytes):
    """Fills the row's time."""
    make, kernel = operands(torch, row, args.device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = row["dtype"] == "tf32"
    first = make()
    set_bytes = sum(value.numel() * value.element_size() for value in first)
    row["sets"] = max(1, math.ceil(3 * cache_bytes / set_bytes))
    sets = [first] + [make() for _ in range(row["sets"] - 1)]
    backward = row["op"] == "attention_back"
    if backward:
        calls = [backward_of(torch, kernel, values) for values in sets]
    else:
        calls = [lambda values=values: kernel(*values) for values in sets]
    with torch.set_grad_enabled(backward):
        times = on_cpu(calls, args.seconds) if args.device == "cpu" else on_gpu(torch, calls, args.seconds, not backward)
    row.update(timing="events" if backward or args.device == "cpu" else "graph", latency_ms="{:.6g}".format(1e3 * statistics.median(times)),
               spread="{:.3f}".format((max(times) - min(times)) / statistics.median(times)))


# ---- the program -----------------------------------------------------------------------------------------------------

def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, metavar="FILE.csv")
    parser.add_argument("--resume", action="store_true", help="append to FILE.csv what is not in it yet")
    parser.add_argument("--gpu", default="", metavar="NAME", help="column gpu")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--precision", type=lambda text: text.split(","), default=["fp32"], metavar="P,...", help=", ".join(PRECISIONS))
    parser.add_argument("--quick", action="store_true", help="few and small kernels")
    parser.add_argument("--seconds", type=float, default=0.06, metavar="S", help="of each kernel (default 0.06)")
    args = parser.parse_args(arguments)
    wrong = [name for name in args.precision if name not in PRECISIONS]
    if wrong:
        parser.error("--precision: {} is none of {}".format(wrong[0], ", ".join(PRECISIONS)))
    return args


def main(arguments=None):
    args = parse_arguments(arguments)
    try:
        import torch
    except ImportError as error:
        sys.exit("measure_kernels.py: PyTorch cannot be imported: {}".format(error))
    import measure_step, table
    if args.device == "cuda" and not torch.cuda.is_available():
        sys.exit("measure_kernels.py: PyTorch sees no CUDA device")
    try:
        rows = table.Table(args.out, args.resume, COLUMNS, KEY)
    except table.TableError as error:
        sys.exit("measure_kernels.py: {}".format(error))
    cuda = args.device == "cuda"
    if not cuda:
        measure_step.keep_memory()
    fused = cuda and hasattr(torch.nn.functional, "scaled_dot_product_attention")
    if not fused:
        print("attention is skipped: no fused kernel on this device or in PyTorch {}".format(torch.__version__), file=sys.stderr)
    facts = torch.cuda.get_device_properties(0) if cuda else None
    cache_bytes = getattr(facts, "L2_cache_size", 128 << 20) if cuda else 0
    failed = done = 0
    for planned in plan(args.precision, fused, args.quick):
        row = dict(dict.fromkeys(COLUMNS, ""), **planned)
        row.update(gpu=args.gpu, device=facts.name if cuda else measure_step.cpu_name(), torch=torch.__version__)
        if rows.has(row):
            continue
        try:
            with fused_only(torch) if row["op"].startswith("attention") else torch.no_grad():
                measure(torch, row, args, cache_bytes)
        except RuntimeError as error:       # out of memory, or no such kernel
            print("{} {}: {}".format(row["op"], row["dtype"], str(error).splitlines()[0][:200]), file=sys.stderr)
            failed += 1
            continue
        finally:
            if cuda:
                torch.cuda.empty_cache()
        row["date"] = measure_step.now()
        rows.append(row)
        done += 1
    print("{} kernels measured, {} failed".format(done, failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
