"""Every classification model of torchvision, for the tests that compare operator coverage, parameters and MACs.

Too large to commit (hundreds of files): written to a folder of the caller's, with index.csv beside them.
"""
import csv
import multiprocessing
import os
import sys

import torch
import torchvision

from . import framework

# Scripted too: one of each family that torchvision's own tests script.
SCRIPTED = ("alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "googlenet", "inception_v3", "maxvit_t",
            "mnasnet1_0", "mobilenet_v2", "mobilenet_v3_large", "regnet_y_400mf", "resnet18", "resnet50",
            "shufflenet_v2_x1_0", "squeezenet1_1", "swin_t", "swin_v2_t", "vgg16", "vit_b_16")


def sizes(name):
    """The image sizes that torchvision has weights for, smallest first; the larger ones only where the size is part of
    the model (ViT), since any other file serves every size."""
    crops = {weights.transforms.keywords["crop_size"] for weights in torchvision.models.get_model_weights(name)}
    return sorted(crops) if name.startswith("vit_") else [min(crops)]


def traced_at(name, size):
    """Convolutional networks end in adaptive pooling and can be traced on small images; these cannot."""
    fixed = name.startswith(("vit_", "swin_", "maxvit_", "inception_"))
    return {} if fixed or size <= 128 else {size: (128, 128)}


def builder(name, size):
    if name.startswith("vit_"):
        return lambda: torchvision.models.get_model(name, weights=None, image_size=size)
    if name == "googlenet":     # its published count is without the auxiliary classifiers
        return lambda: torchvision.models.get_model(name, weights=None, aux_logits=False, init_weights=False)
    return lambda: torchvision.models.get_model(name, weights=None)


def export_one(job):
    """Returns a row of index.csv, or the error as text."""
    name, size, mode, folder = job
    label = name if size == sizes(name)[0] else "{}_{}".format(name, size)
    entry = framework.Entry(builder(name, size), ("Bx3x{0}x{0}".format(size),), 2, shrink=traced_at(name, size))
    path = os.path.join(folder, mode, label + ".pt")
    try:
        torch.manual_seed(0)
        model = framework.build_small(entry.build).train(mode != "eval")
        module = torch.jit.script(model) if mode == "script" else framework.trace(model, entry, check=False)
        framework.save(module, path, entry)
        return [os.path.relpath(path, folder), name, mode, entry.inputs[0], framework.count_parameters(model)]
    except Exception as error:  # reported, and the run fails at its end
        return "{}/{}: {}".format(mode, label, str(error).strip().splitlines()[-1][:200])


def export_zoo(folder, names, script):
    """Write DIR/train, DIR/eval and, if asked for, DIR/script; returns the exit code."""
    names = names or torchvision.models.list_models(module=torchvision.models)
    jobs = [(name, size, mode, folder) for name in names for size in sizes(name) for mode in ("train", "eval")]
    if script:
        jobs += [(name, sizes(name)[0], "script", folder) for name in names if name in SCRIPTED]
    for mode in {job[2] for job in jobs}:
        os.makedirs(os.path.join(folder, mode), exist_ok=True)
    failed = 0
    with open(os.path.join(folder, "index.csv"), "w", newline="") as file, \
            multiprocessing.get_context("spawn").Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        index = csv.writer(file)
        index.writerow(["file", "builder", "mode", "input", "params"])
        for result in pool.imap(export_one, jobs):
            if isinstance(result, str):
                print("failed: " + result, file=sys.stderr, flush=True)
                failed += 1
            else:
                index.writerow(result)
                print(result[0], flush=True)
    print("{} files, {} failed".format(len(jobs) - failed, failed))
    return 1 if failed else 0
