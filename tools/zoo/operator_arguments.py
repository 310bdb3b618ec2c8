#!/usr/bin/env python3
"""Writes data/operator_arguments.csv: the arguments of the operators that adept knows, as PyTorch's schemas have them.

    tools/zoo/operator_arguments.py data/operator_arguments.csv          needs PyTorch 2

A .pt2 file names the arguments of a call, and adept reads it without PyTorch. Left out are overloads that torch.export does
not write: those with out=, those with named dimensions, and those of TorchScript's own numbers, which no dispatcher has.
"""
import glob
import os
import re
import sys

import torch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HEAD = """\
# Arguments of aten's operators that adept knows; those behind which = stands may be left out. Schemas of PyTorch %s, written by
# tools/zoo/operator_arguments.py.
# operator.overload,arguments
"""


def known():
    """Names that a handler has, or that the reader of .pt2 gives another name."""
    names = set()
    for path in glob.glob(os.path.join(ROOT, "handlers", "*.c")) + [os.path.join(ROOT, "workload", "import", "export_nodes.c")]:
        with open(path) as file:
            names.update(re.findall(r"\b(?:aten::|torch\.ops\.aten\.)(\w+)", file.read()))
    return names


def exported(schema):
    named = any("Dimname" in str(a.type) or a.is_out for a in schema.arguments)
    full = schema.name + ("." + schema.overload_name if schema.overload_name else "")
    return schema.name.startswith("aten::") and not named and torch._C._dispatch_has_kernel(full)


def main():
    names, rows = known(), []
    for schema in filter(exported, torch._C._jit_get_all_schemas()):
        op = schema.name[len("aten::"):]
        if op in names or op.endswith("_") and op[:-1] in names:
            arguments = [a.name + ("=" if a.has_default_value() else "") for a in schema.arguments]
            rows.append("%s.%s,%s\n" % (op, schema.overload_name or "default", " ".join(arguments)))
    with open(sys.argv[1], "w") as file:
        file.write(HEAD % ".".join(torch.__version__.split(".")[:2]) + "".join(sorted(rows)))


if __name__ == "__main__":
    main()
