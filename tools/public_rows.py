#!/usr/bin/env python3
"""Write public measurements as rows that adept can fit: python3 tools/public_rows.py DATA OUT [--models DIR] [--several]

DATA is the folder of tools/fit_public.sh. OUT gets one CSV for each source and GPU, and OUT/models the models that the
rows name: the bundled ones, and those of DIR (`tools/zoo/export_models.py --all-torchvision DIR`, then DIR/train). Rows of
models that are in neither are left out, and counted on standard error. llm-foundry's name their models by sizes.

With --several, rows on several GPUs are there as well, to measure scaling; without, as no parameter is fitted to them.

What a source's program does beside the columns of its file is known from the program, and is put in here: how its
optimizer runs, what stands around it, and whether it sends gradients beside the backward pass.
"""
import argparse
import csv
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
# As llm-foundry trains MPT: a GPT-2 with biases and learned positions, as the source's counts of parameters say, without dropout.
# ALiBi, which the attention's kernel adds, is not there.
MPT = ("adept:gpt2?layers={layers}&hidden={d_model}&heads={heads}&vocab={vocab}&positions=70000&activation_function=gelu"
       "&resid_pdrop=0&embd_pdrop=0&attn_pdrop=0")
PRODUCTS = 400  # of thousands: every workload is walked


def lambda_row(row):
    """github lambdal/deeplearning-benchmark: NVIDIA's BERT with BertAdam, or with apex O2 and its fused Adam; torchvision's
    ResNet under PyTorch 1.9 to 1.13. bert_large_qa differs from bert_large_seqcls in a head of 2000 weights."""
    if is_suspicious(row):
        return None
    if row["model"] == "resnet50":
        return {"optimizer_impl": "forloop"}
    row["overlap"] = "none"  # apex, one flat all-reduce
    model = row["model"].replace("bert_large_qa", "bert_large_seqcls")
    if row["precision"] == "pure-fp16":
        return {"model": model, "optimizer_impl": "fused", "optimizer_extras": "clip,master"}
    return {"model": model, "optimizer": "bertadam"}


def is_suspicious(row):
    """Rows that contradict their neighbours: the A40 slower than an A6000, and a TF32 BERT 20 % slower than on the same chip. Hosts with PyTorch 1.13, whose GPUs send 2 to 11 GB/s, over NVLink too:
    virtual machines without peer-to-peer."""
    if row["gpus"] != "1" and row["torch"].startswith("1.13"):
        return True
    key = (row["gpu"], row["model"], row["precision"], row["batch_size"])
    return key in {("a40", "bert_base_qa", "tf32", "56"), ("rtx-a5000", "bert_large_qa", "tf32", "8")}


def timm_row(row):
    """github huggingface/pytorch-image-models. cuDNN's grouped convolutions over pixels were slow until PyTorch 1.12, and
    the vgg13 over planes is slower than the vgg16."""
    grouped = "regnet" in row["model"] and row["memory_format"] == "nhwc"
    if row["torch"] != "1.12" or grouped or ("vgg13" in row["model"] and row["memory_format"] == "nchw"):
        return None
    side = row["input"].rsplit("x", 1)[-1]
    model = row["model"] if side == "224" or not row["model"].startswith("vit") else f"{row['model']}_{side}"
    return {"model": model, "optimizer_impl": "forloop"}


def timm_infer_row(row):
    """The same repository's inference, by its newest PyTorch: `compile` says how; its own attention is fused since 2.0. One
    size of images tells as much as all."""
    if row["torch"] not in ("2.4.0", "2.9.1") or not row["input"].endswith("x224x224") or row["timm_name"].startswith("tf_"):
        return None
    has_attention = row["model"].startswith(("vit", "swin", "maxvit"))
    if row["gpu"] == "rtx-pro-6000-maxq":  # the same board with a limit of 300 W
        row.update(gpu="rtx-pro-6000", power_limit_w="300")
    return {"attention": "fused" if has_attention else "eager", "execution": "compile" if row["compile"] == "1" else "eager"}


def zeus_row(row):
    """github ml-energy/zeus: PyTorch 1.x."""
    return {"optimizer_impl": "forloop", "torch": "1."}


def dosgroup_row(row):
    """github dos-group/gpu_power_benchmark: weights stored in 16 bits, without autocast; fused AdamW."""
    pure = {"bf16": "pure-bf16", "fp16": "pure-fp16"}
    return {"model": row["model"].replace("dialogpt_medium", "gpt2_medium"), "optimizer_impl": "fused",
            "precision": pure.get(row["precision"], row["precision"])}


def dle_row(row):
    """github NVIDIA/DeepLearningExamples: apex's optimizers, PyTorch 1.9. Pre-training accumulates gradients, which its tables
    leave out."""
    if "pretrain" in row["model"]:
        return None
    row["torch"] = "1.9"
    if row["model"] == "resnet50":
        return {"optimizer_impl": "forloop"}
    row["overlap"] = "none"
    return {"model": row["model"].replace("bert_large_qa", "bert_large_seqcls"), "optimizer_impl": "fused",
            "optimizer_extras": "clip,master" if row["precision"] == "pure-fp16" else "clip"}


def foundry_row(row):
    """github mosaicml/llm-foundry: FSDP on 8 GPUs, whose transfers hide behind the passes, and whose optimizer each GPU runs for an
    eighth (3 ms of 5 s): a pass is one GPU's. Attention ran by kernels before FlashAttention 2, in twice the time: rows up to
    1024 tokens have little of it. Two rows take 20 % longer than their neighbours. Weights are in bf16, the loss in fp32."""
    tokens = int(row["input"].rsplit("x", 1)[1])
    odd = row["model"] == "mpt_760m" and row["gpu"] == "a100-sxm-80gb"
    model = MPT.format(**row)
    if row["gpus"] != "8" or row["activation_checkpoint"] != "none" or tokens > 1024 or odd:
        return None
    step_time_s = float(row["step_time_s"]) / int(row["grad_accum"])
    return {"model": model, "gpus": "1", "grad_accum": "1", "global_batch": "", "step_time_s": f"{step_time_s:.6g}", "precision": "pure-bf16",
            "mode": "fwbw", "optimizer": "none", "attention": "auto", "torch": "2."}


def as_it_is(row):
    return {}


# Files, and what their rows get.
SOURCES = [("lambda/lambda_*.csv", lambda_row), ("timm/timm_*_train.csv", timm_row),
           ("timm/timm_*_infer.csv", timm_infer_row), ("dle/dle_*.csv", dle_row),
           ("llm/llmfoundry.csv", foundry_row), ("zeus_*.csv", zeus_row), ("dosgroup*.csv", dosgroup_row), ("dosgroup/*.csv", dosgroup_row),
           ("neusight_*.csv", as_it_is)]


def family(model):
    """resnet50 and resnet101 are one: what is left out to judge an architecture unseen."""
    name = model.replace("wide_", "").replace("resnext", "resnet")
    return re.split(r"[0-9_]", name, maxsplit=1)[0] or name


def convert(path, change, models, out, several):
    kept, unknown = [], 0
    with path.open(newline="") as source:
        reader = csv.DictReader(source)
        if "model" not in reader.fieldnames or "step_time_s" not in reader.fieldnames:
            return 0
        for row in reader:
            row.update({"overlap": "", "execution": "", "torch": row.get("torch", "")})
            changes = change(row)
            if changes is None:
                continue
            row.update({"optimizer_impl": "", "optimizer_extras": "", **changes})
            if row.get("gpus", "1") not in ("", "1") and not several:
                continue
            row["family"] = family(row["model"])
            if row["model"] in models or row["model"].startswith("adept:"):
                kept.append(row)
            else:
                unknown += 1
    if kept:
        with (out / path.name).open("w", newline="") as target:
            writer = csv.DictWriter(target, kept[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)
    return unknown


def convert_products(path, out):
    """github ai-dynamo/aiconfigurator: single products held until the board is at its limit, as steps of a model that is
    one product, and as kernels by the time of a short run, at full clock. From a depth of 51200 on, a quarter of them draw
    100 to 250 W less in the same time: what was multiplied, not how."""
    with path.open(newline="") as source:
        rows = list(csv.DictReader(source))
    with (out / f"kernels_{path.name}").open("w", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow("op B M N K dtype latency_ms timing operand_sets".split())
        writer.writerows(["linear", 1, r["m"], r["k"], r["n"], "bf16", r["latency_short_run_ms"], "graph", 5] for r in rows)
    rows = [r for r in rows if float(r["latency_ms"]) >= 0.1 and int(r["k"]) < 51200]
    with (out / path.name).open("w", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow("model input precision mode execution power_limit_w step_time_s avg_power_w fold".split())
        for i, r in enumerate(rows[:: max(1, len(rows) // PRODUCTS)]):
            writer.writerow(["product", f"bf16:1x{r['m']}x{r['k']};bf16:{r['k']}x{r['n']}", "fp32", "infer", "graphs",
                             r["power_limit_w"], f"{1e-3 * float(r['latency_ms']):.9g}", r["avg_power_w"], i % 5])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--several", action="store_true", help="rows on several GPUs too")
    parser.add_argument("--models", type=pathlib.Path, help="more models than the bundled ones")
    args = parser.parse_args()
    folder = args.out / "models"
    folder.mkdir(parents=True, exist_ok=True)
    for source in [SOURCE / "data" / "models", SOURCE / "data" / "measurements" / "models"] + ([args.models] if args.models else []):
        for model in source.glob("*.pt"):
            link = folder / model.name
            if not link.exists():
                link.symlink_to(model.resolve())
    models, unknown = {m.stem for m in folder.iterdir()}, 0
    for pattern, change in SOURCES:
        for path in sorted(args.data.glob(pattern)):
            unknown += convert(path, change, models, args.out, args.several)
    for path in sorted(args.data.glob("power/gemm_*.csv")):
        convert_products(path, args.out)
    if unknown:
        print(f"{unknown} rows left out: no file of their model", file=sys.stderr)


if __name__ == "__main__":
    main()
