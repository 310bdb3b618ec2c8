#!/usr/bin/env python3
"""Measure training or inference steps with PyTorch (1.13 to current) and write the CSV that `adept calibrate` reads.

    python3 tools/measure/measure_step.py resnet50 densenet121 --batch 8,16 --mode train,infer --gpu my-gpu --out runs.csv
    python3 tools/measure/measure_step.py albert_base_v2 --input i64:Bx64 --precision fp32,bf16 --device cuda --out runs.csv --resume
    python3 tools/measure/measure_step.py my_model.pt --input Bx3x64x64 --batch 32 --out runs.csv

MODEL is a name of tools/zoo/models (tools/zoo/export_models.py --list), a torchvision name, or a TorchScript file. Beside the CSV
come the traced files of what ran (DIR/models, unless the model is bundled) and a JSON with versions.
docs: data/measurements/README.md
"""
import argparse
import ctypes
import dataclasses
import datetime
import gc
import itertools
import json
import os
import platform
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "zoo")]
sys.dont_write_bytecode = True
warnings.filterwarnings("ignore")

PROTOCOL = ("warmup_steps", "warmup_seconds", "steps", "seconds", "window", "max_spread", "repeats")
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
ALONE = 0.97    # share of a CPU core's time; what is missing went to other programs
MODES = ("train", "fwbw", "infer")
EXECUTIONS = ("eager", "compile", "graphs")
LAYOUTS = ("ddp", "fsdp", "tp")
MEMORY_FORMATS = ("nchw", "channels_last")
STEP = ("zero_grad(set_to_none=True), forward, backward from fixed gradients of the outputs (no loss), optimizer step; "
        "fwbw: without the optimizer; infer: forward under no_grad in eval mode")


@dataclasses.dataclass(frozen=True)
class Config:
    """One row of the table, before it is measured."""
    batch: int
    precision: str
    mode: str
    optimizer: str
    grad_accum: int
    memory_format: str
    execution: str
    gpus: int = 1
    layout: str = "ddp"


def comma_list(kind, allowed=None):
    def parse(text):
        values = [kind(part) for part in text.split(",")]
        wrong = [v for v in values if (allowed and v not in allowed) or (kind is int and v < 1)]
        if wrong:
            raise argparse.ArgumentTypeError("{} is not one of {}".format(wrong[0], ", ".join(allowed or ["1, 2, ..."])))
        return values
    return parse


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--out", required=True, metavar="FILE.csv")
    parser.add_argument("--resume", action="store_true", help="append to FILE.csv what is not in it yet")
    parser.add_argument("--batch", type=comma_list(int), metavar="N,...", help="default: the model's own")
    parser.add_argument("--input", action="append", default=[], metavar="SPEC",
                        help="shape of an input as for adept, in the model's order (repeatable)")
    parser.add_argument("--precision", type=comma_list(str, PRECISIONS), default=["fp32"], metavar="P,...",
                        help=", ".join(PRECISIONS) + " (bf16 and fp16: autocast)")
    parser.add_argument("--mode", type=comma_list(str, MODES), default=["train"], metavar="M,...", help=", ".join(MODES))
    parser.add_argument("--optimizer", default="adamw", help="of train mode: adamw, adam, sgd, momentum, adadelta")
    parser.add_argument("--grad-accum", type=int, default=1, metavar="N")
    parser.add_argument("--memory-format", type=comma_list(str, MEMORY_FORMATS), default=["nchw"], metavar="F,...",
                        help="of images: " + ", ".join(MEMORY_FORMATS))
    parser.add_argument("--execution", type=comma_list(str, EXECUTIONS), default=["eager"], metavar="E,...",
                        help="eager, compile (torch.compile), graphs (the whole step as one CUDA graph)")
    parser.add_argument("--gpus", type=comma_list(int), default=[1], metavar="N,...",
                        help="GPUs of this node, a process for each (NCCL; on a CPU gloo): batch is of each of them")
    parser.add_argument("--layout", type=comma_list(str, LAYOUTS), default=["ddp"], metavar="L,...",
                        help="of several GPUs: ddp (DistributedDataParallel), fsdp (FullyShardedDataParallel, all sharded), "
                             "tp (tensor parallel: they share each batch; models of the Llama and BERT families)")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: cuda if there is one")
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads of PyTorch (default: its own choice)")
    parser.add_argument("--gpu", default="", metavar="NAME", help="column gpu: the hardware profile these rows belong to")
    parser.add_argument("--source", default="measured by tools/measure/measure_step.py", help="column source")
    parser.add_argument("--traces", metavar="DIR", help="where traces are written (default: models/ beside FILE.csv)")
    parser.add_argument("--bundled", metavar="DIR", default=os.path.join(os.path.dirname(os.path.dirname(HERE)), "data", "models"),
                        help="traces that need not be written again (default: data/models)")
    parser.add_argument("--warmup-steps", type=int, default=3, metavar="N", help="at least (default 3)")
    parser.add_argument("--warmup-seconds", type=float, default=1, metavar="S", help="at least (default 1)")
    parser.add_argument("--steps", type=int, default=5, metavar="N", help="timed steps, at least (default 5)")
    parser.add_argument("--seconds", type=float, default=8, metavar="S", help="timed seconds, at least (default 8)")
    parser.add_argument("--window", type=float, default=0.1, metavar="S", help="of one timed window (default 0.1)")
    parser.add_argument("--max-spread", type=float, default=0.1, metavar="R",
                        help="measure again if the middle 80%% of the windows are wider than R of the median (default 0.1)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="at most so often (default 3)")
    parser.add_argument("--system-malloc", action="store_true",
                        help="on a CPU, let the C library return memory to the system after every operator (its default)")
    args = parser.parse_args(arguments)
    if not args.out.endswith(".csv"):
        parser.error("--out: {} does not end in .csv".format(args.out))
    if args.repeats < 1 or args.grad_accum < 1 or args.steps < 1 or args.warmup_steps < 1:
        parser.error("--repeats, --grad-accum, --steps and --warmup-steps are 1 or more")
    if "graphs" in args.execution and max(args.gpus) > 1:
        parser.error("--execution graphs is of one GPU")
    if args.layout != ["ddp"] and max(args.gpus) == 1:
        parser.error("--layout {} is of several GPUs: --gpus N".format(",".join(args.layout)))
    return args


# ---- the machine -----------------------------------------------------------------------------------------------------

def keep_memory():
    """Let glibc keep freed memory, as PyTorch's allocator does on a GPU. Otherwise every large tensor is new memory that
    the kernel must clear page by page, which can take longer than the operator. Returns whether it worked."""
    m_trim_threshold, m_mmap_max, m_arena_max = -1, -4, -8      # malloc.h
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    settings = ((m_mmap_max, 0), (m_trim_threshold, 2 ** 31 - 1), (m_arena_max, 1))
    return all([mallopt(*setting) == 1 for setting in settings])


def cpu_name():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def math_libraries():
    """File names of the BLAS and kernel libraries in this process: a build says "generic" and runs what is installed."""
    try:
        with open("/proc/self/maps") as file:
            names = {os.path.basename(os.path.realpath(line.split()[-1])) for line in file if ".so" in line}
    except OSError:
        return []
    return sorted(name for name in names if any(word in name for word in ("blas", "mkl", "dnnl", "blis")))


def gpu_facts(torch, meter):
    properties = torch.cuda.get_device_properties(0)
    facts = {"name": properties.name, "memory_bytes": properties.total_memory, "cuda": torch.version.cuda,
             "cudnn": torch.backends.cudnn.version()}
    if meter.driver:
        facts["driver"] = meter.driver
    return facts


def provenance(torch, args, meter, memory_kept):
    """What a reader needs to judge or repeat the rows. Names of machines and paths do not belong here."""
    import torchvision
    facts = {"step": STEP, "python": platform.python_version(), "torch": torch.__version__,
             "torchvision": torchvision.__version__, "torch_config": torch.__config__.show().strip().splitlines(),
             "cpu": {"name": cpu_name(), "threads": torch.get_num_threads(), "allocator_keeps_memory": memory_kept,
                     "libraries": math_libraries()},
             "protocol": {name: getattr(args, name) for name in PROTOCOL},
             "power": meter.method if meter.why_no_power is None else "none: " + meter.why_no_power}
    if args.device == "cuda":
        facts["gpu"] = gpu_facts(torch, meter)
    return facts


def write_provenance(path, facts, traces):
    """One record per set of conditions; a record lists the traces by content."""
    records = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            records = json.load(file)["runs"]
    same = [r for r in records if {k: v for k, v in r.items() if k not in ("traces", "started")} == facts]
    if same:
        record = same[0]
    else:
        record = dict(facts, started=now(), traces={})
        records.append(record)
    record["traces"].update(traces)
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump({"schema_version": 1, "runs": records}, file, indent=1)
        file.write("\n")
    os.replace(path + ".tmp", path)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---- one row ---------------------------------------------------------------------------------------------------------

def model_column(trace, workload, args):
    """The bundled models go by name, others by their path from the CSV."""
    if os.path.dirname(os.path.abspath(trace)) == os.path.abspath(args.bundled):
        return workload.name
    return os.path.relpath(trace, os.path.dirname(os.path.abspath(args.out))).replace(os.sep, "/")


def blank_row(args, config, workload, trace, meter, torch):
    import table
    row = dict.fromkeys(table.COLUMNS, "")
    row.update(model=model_column(trace, workload, args), input=" ".join(workload.inputs), batch_size=config.batch,
               gpu=args.gpu, gpus=config.gpus, precision=config.precision, mode=config.mode, grad_accum=config.grad_accum,
               optimizer=config.optimizer if config.mode == "train" else "none", source=args.source,
               memory_format=config.memory_format, execution=config.execution,
               power_limit_w="" if meter.limit_w is None else meter.limit_w, torch=torch.__version__, threads=torch.get_num_threads(),
               device=torch.cuda.get_device_name(0) if args.device == "cuda" else cpu_name())
    if args.layout != ["ddp"]:
        row.update(fsdp="full" if config.layout == "fsdp" else "none", tp=config.gpus if config.layout == "tp" else 1)
    return row


def digits(value):
    return "" if value is None else "{:.6g}".format(value)


def fill(row, timing, repeats, meter):
    row.update(step_time_s=digits(timing.median_s), time_min_s=digits(min(timing.windows_s)),
               time_p10_s=digits(timing.quantile(0.1)), time_p90_s=digits(timing.quantile(0.9)),
               time_std_s=digits(timing.std_s), steps=timing.steps, windows=len(timing.windows_s), repeats=repeats,
               cpu_share="{:.3f}".format(timing.cpu_share), warmup_steps=timing.warmup_steps, date=now(),
               power_method=meter.method, avg_power_w=digits(timing.power_w), idle_power_w=digits(meter.idle_w), driver=meter.driver or "",
               board=meter.board or "" if row["gpus"] == 1 else "")
    if timing.power_w is not None:
        row["power_scope"] = "gpu"


def wrapper(config, ranks):
    """What makes a layout of a model."""
    import torch
    device = ranks.device
    if config.layout == "tp":
        import tensor_parallel
        return lambda model: tensor_parallel.divide(model, ranks.rank, ranks.size)
    if config.layout == "ddp":
        ids = [torch.device(device).index] if device != "cpu" else None
        return lambda model: torch.nn.parallel.DistributedDataParallel(model, device_ids=ids)
    try:
        from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    except Exception as error:
        raise RuntimeError("this PyTorch has no FullyShardedDataParallel that can be used: {}".format(error))
    if device == "cpu":
        raise RuntimeError("FullyShardedDataParallel needs GPUs")
    low = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(config.precision)     # in which weights are gathered and gradients summed
    mixed = MixedPrecision(param_dtype=low, reduce_dtype=low, buffer_dtype=low) if low else None
    return lambda model: FullyShardedDataParallel(model, device_id=torch.device(device), mixed_precision=mixed)


def measure_rank(ranks, name, config, plan, args):
    """One process of a step of several: (timing, repeats, facts of the first rank's meter, peak memory of the fullest GPU)."""
    import torch
    import power, timing, workloads
    torch.manual_seed(0)
    meter = power.NoMeter()
    if args.device == "cpu":
        torch.set_num_threads(args.threads or 1)
    else:
        torch.set_default_tensor_type(torch.cuda.FloatTensor) if hasattr(torch, "set_default_tensor_type") else torch.set_default_device(ranks.device)
        torch.zeros(1, device=ranks.device)
    torch.distributed.barrier()     # all contexts are there: idle power has them
    if args.device == "cuda" and ranks.rank == 0:
        meter = power.Meter(gpus=ranks.size)
    step = workloads.Step(workloads.find(name, args.input), config, ranks.device, wrap=wrapper(config, ranks))
    best, repeats = timing.measure_steadily(step, step.synchronize, meter, plan, lambda t: t.spread <= args.max_spread, args.repeats, ranks.agree)
    peak = torch.tensor([float(torch.cuda.max_memory_allocated()) if args.device == "cuda" else 0.0], dtype=torch.float64, device=ranks.device)
    torch.distributed.all_reduce(peak, torch.distributed.ReduceOp.MAX)
    return best, repeats, {name: getattr(meter, name) for name in ("method", "idle_w", "limit_w", "driver", "board")}, int(peak.item())


class Session:
    """One run of the program: its device, meter and table."""

    def __init__(self, args):
        import torch
        import power, table, timing
        self.torch, self.args = torch, args
        memory_kept = args.device == "cpu" and not args.system_malloc and keep_memory()
        if args.threads:
            torch.set_num_threads(args.threads)
        layout = table.LAYOUT if args.layout != ["ddp"] else ()
        self.table = table.Table(args.out, args.resume, table.COLUMNS + layout, table.KEY + layout)
        self.meter = power.NoMeter()
        if args.device == "cuda":
            use_gpu(torch)
            self.meter = power.Meter()
            if self.meter.why_no_power:
                print("no power: " + self.meter.why_no_power, file=sys.stderr)
        self.plan = timing.Plan(args.warmup_steps, args.warmup_seconds, args.steps, args.seconds, args.window)
        self.facts = provenance(torch, args, self.meter, memory_kept)
        self.failed = 0

    def configurations(self, workload):
        formats = self.args.memory_format
        if not any(spec.count("x") == 3 and ":" not in spec for spec in workload.inputs):
            formats = ["nchw"]      # no images: there is one format
        for gpus, layout, execution, memory_format, mode, precision, batch in itertools.product(
                self.args.gpus, self.args.layout, self.args.execution, formats, self.args.mode, self.args.precision,
                self.args.batch or [workload.batch]):
            if gpus > 1 or layout == self.args.layout[0]:      # one GPU has no layout
                yield Config(batch, precision, mode, self.args.optimizer, self.args.grad_accum, memory_format, execution, gpus,
                             layout if gpus > 1 else "ddp")

    def fail(self, what, error):
        text = str(error).strip() or type(error).__name__
        print("{}: {}".format(what, text.splitlines()[0][:300]), file=sys.stderr, flush=True)
        self.failed += 1

    def measure_model(self, name):
        import ranks, workloads
        workload = workloads.find(name, self.args.input)
        folder = self.args.traces or os.path.join(os.path.dirname(os.path.abspath(self.args.out)), "models")
        trace = workloads.trace_of(workload, self.args.bundled, folder)
        rows = [(config, blank_row(self.args, config, workload, trace, self.meter, self.torch))
                for config in self.configurations(workload)]
        rows = [(config, row) for config, row in rows if not self.table.has(row)]
        if rows:
            column = rows[0][1]["model"]
            write_provenance(self.args.out[:-len(".csv")] + ".json", self.facts, {column: workloads.sha256(trace)})
        for config, row in rows:
            label = "{} {} batch {} {} {} {} {}".format(workload.name, row["input"], config.batch, config.precision,
                                                        config.mode, config.memory_format, config.execution)
            label += " {} x {}".format(config.gpus, config.layout) if config.gpus > 1 else ""
            try:
                (self.measure_row if config.gpus == 1 else self.measure_ranks)(workload, config, row, label)
            except (RuntimeError, MemoryError, workloads.WorkloadError, ranks.RankError) as error:   # out of memory is one of these
                self.fail(label, error)
            gc.collect()
            if self.args.device == "cuda":
                self.torch.cuda.empty_cache()

    def is_steady(self, timing):
        """One thread on a core of its own gets all of the time."""
        alone = self.args.device != "cpu" or self.torch.get_num_threads() > 1 or timing.cpu_share >= ALONE
        return alone and timing.spread <= self.args.max_spread

    def measure_ranks(self, workload, config, row, label):
        """A process for each GPU; the first one measures time, and the power of all boards."""
        import ranks
        best, repeats, facts, peak = ranks.run(config.gpus, self.args.device, measure_rank, workload.file or workload.name, config, self.plan, self.args)
        meter = argparse.Namespace(**facts)
        fill(row, best, repeats, meter)
        row["power_limit_w"] = "" if meter.limit_w is None else meter.limit_w
        if self.args.device == "cuda":
            row["peak_memory_bytes"] = peak
        self.table.append(row)
        print("{}: {:.6g} s, spread {:.1f} %".format(label, best.median_s, 100 * best.spread), file=sys.stderr, flush=True)

    def measure_row(self, workload, config, row, label):
        import timing, workloads
        self.torch.manual_seed(0)
        if self.args.device == "cuda":
            self.torch.cuda.reset_peak_memory_stats()
        step = workloads.Step(workload, config, self.args.device)
        best, repeats = timing.measure_steadily(step, step.synchronize, self.meter, self.plan, self.is_steady,
                                                self.args.repeats)
        fill(row, best, repeats, self.meter)
        if self.args.device == "cuda":
            row["peak_memory_bytes"] = self.torch.cuda.max_memory_allocated()
        self.table.append(row)
        watts = "" if best.power_w is None else "  {:.1f} W".format(best.power_w)
        note = "" if self.is_steady(best) else "  (not steady: {:.0f} % of the CPU)".format(100 * best.cpu_share)
        print("{}: {:.6g} s, spread {:.1f} %{}{}".format(label, best.median_s, 100 * best.spread, watts, note),
              file=sys.stderr, flush=True)


def use_gpu(torch):
    """Tensors that a model makes on the way (masks, positions) belong on the GPU too. Setting the tensor type costs
    nothing per call, unlike torch.set_default_device."""
    if hasattr(torch, "set_default_tensor_type"):
        torch.set_default_tensor_type(torch.cuda.FloatTensor)
    else:
        torch.set_default_device("cuda")
    torch.zeros(1, device="cuda")   # the context, which idle power includes


def main(arguments=None):
    args = parse_arguments(arguments)
    try:
        import torch
    except ImportError as error:
        sys.exit("measure_step.py: PyTorch cannot be imported: {}".format(error))
    import table, workloads
    args.device = args.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if args.device == "cuda" and not torch.cuda.is_available():
        sys.exit("measure_step.py: PyTorch sees no CUDA device")
    if args.device == "cuda" and torch.cuda.device_count() < max(args.gpus):
        sys.exit("measure_step.py: --gpus {}: PyTorch sees {} CUDA devices".format(max(args.gpus), torch.cuda.device_count()))
    os.makedirs(os.path.dirname(os.path.abspath(args.out)), exist_ok=True)
    try:
        session = Session(args)
    except table.TableError as error:
        sys.exit("measure_step.py: {}".format(error))
    for name in args.models:
        try:
            session.measure_model(name)
        except workloads.WorkloadError as error:
            session.fail(name, error)
    return 1 if session.failed else 0


if __name__ == "__main__":
    sys.exit(main())
