#!/usr/bin/env python3
"""Measure all-reduces between the GPUs of this node and write the CSV that `adept calibrate --collectives` reads.

    python3 tools/measure/measure_collectives.py --gpus 2,4,8 --out nccl.csv

A process for each GPU, by NCCL; with --device cpu by gloo, which is for trying it. Times are of the slowest rank, the median of --repeats.
"""
import argparse
import csv
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True


def counts(text):
    values = [int(part) for part in text.split(",")]
    if min(values) < 2:
        raise argparse.ArgumentTypeError("an all-reduce is of 2 GPUs or more")
    return values


def sizes(text):
    values = [int(part) for part in text.split(",")]
    if min(values) < 4 or any(value % 4 for value in values):
        raise argparse.ArgumentTypeError("bytes are multiples of 4")
    return values


def all_reduces(ranks, size_bytes, repeats):
    """[time_s of each size], of the slowest rank."""
    import torch
    found = []
    for size in size_bytes:
        numbers = torch.ones(size // 4, device=ranks.device)
        times = []
        for i in range(repeats + 2):    # two warm up
            torch.distributed.barrier()
            begin = time.perf_counter()
            torch.distributed.all_reduce(numbers)
            if ranks.device != "cpu":
                torch.cuda.synchronize()
            slowest = torch.tensor([time.perf_counter() - begin], dtype=torch.float64, device=ranks.device)
            torch.distributed.all_reduce(slowest, torch.distributed.ReduceOp.MAX)
            numbers.fill_(1)
            if i >= 2:
                times.append(slowest.item())
        found.append(statistics.median(times))
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=counts, required=True, metavar="N,...", help="how many take part")
    parser.add_argument("--sizes", type=sizes, metavar="BYTES,...", default=[1 << i for i in range(16, 30, 2)],
                        help="default: 64 KiB to 256 MiB")
    parser.add_argument("--repeats", type=int, default=20, metavar="N")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: cuda if there is one")
    parser.add_argument("--out", required=True, metavar="FILE.csv")
    args = parser.parse_args(arguments)
    import torch
    import ranks
    device = args.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device == "cuda" and torch.cuda.device_count() < max(args.gpus):
        sys.exit("measure_collectives.py: --gpus {}: PyTorch sees {} CUDA devices".format(max(args.gpus), torch.cuda.device_count()))
    rows = []
    for n in args.gpus:
        try:
            rows += [("all_reduce", n, size, "{:.6g}".format(1e6 * time_s), "{}, PyTorch {}".format("NCCL" if device == "cuda" else "gloo", torch.__version__))
                     for size, time_s in zip(args.sizes, ranks.run(n, device, all_reduces, args.sizes, args.repeats))]
        except ranks.RankError as error:
            sys.exit("measure_collectives.py: {}".format(error))
    with open(args.out + ".tmp", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("op", "gpus", "size_bytes", "time_us", "source"))
        writer.writerows(rows)
    os.replace(args.out + ".tmp", args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
