#!/usr/bin/env python3
"""Write the bundled models as small TorchScript files (no weights; data/README.md says how and why).

On Debian: apt install python3-torch python3-torchvision, then /usr/bin/python3 tools/zoo/export_models.py
"""
import argparse
import multiprocessing
import os
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
warnings.filterwarnings("ignore")


def export_one(job):
    """Runs in a process of its own: class names in a file count up within a process, and must not depend on the
    models exported before."""
    from models import framework, registry
    name, folder = job
    return framework.export(name, registry()[name], folder)


def export_all(names, folder):
    os.makedirs(folder, exist_ok=True)
    total = 0
    print("{:24} {:>15} {:>10}".format("model", "parameters", "bytes"))
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        jobs = ((name, folder) for name in names)
        for name, (params, size) in zip(names, pool.imap(export_one, jobs)):
            print("{:24} {:15,} {:10,}".format(name, params, size), flush=True)
            total += size
    print("{:24} {:>15} {:10,}".format("all", "", total))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to export (default: all)")
    parser.add_argument("--out", metavar="DIR", default=os.path.join(os.path.dirname(os.path.dirname(HERE)), "data", "models"),
                        help="where to write NAME.pt (default: data/models)")
    parser.add_argument("--list", action="store_true", help="list the models and stop")
    parser.add_argument("--all-torchvision", metavar="DIR",
                        help="instead, write every classification model of torchvision (train and eval) to DIR")
    parser.add_argument("--script", action="store_true",
                        help="with --all-torchvision: also the scripted form of the main families")
    args = parser.parse_args()
    if args.all_torchvision:
        from models import torchvision_zoo
        return torchvision_zoo.export_zoo(args.all_torchvision, args.names, args.script)
    from models import registry
    entries = registry()
    unknown = [name for name in args.names if name not in entries]
    if unknown:
        parser.error("no such model: {} (see --list)".format(", ".join(unknown)))
    if args.list:
        for name, entry in entries.items():
            print("{:24} batch {:<5} {}".format(name, entry.batch, " ".join(entry.inputs)))
        return 0
    export_all(args.names or list(entries), args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
