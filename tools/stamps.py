#!/usr/bin/env python3
"""Which documents are older than what they are made of, and how each is made anew.

    python3 tools/stamps.py [DOCUMENT...]

A document that a script writes ends in a stamp: a hash of that script and of the files of this repository that it reads.
Exit code 1 where a stamp is not that of today's files. The program's own code is not in it: tests look at what it says.
Needs Python 3.9.
"""
import hashlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FITS = ["hwprofiles/**/*.json"]
# what writes it, beside the program; DIR, ZOO: tools/fit_public.sh says what they hold
DOCUMENTS = {
    "ACCURACY.md": ("python3 tools/accuracy.py --adept PROGRAM --data DIR --models ZOO/train",
                    FITS + ["data/measurements/*.csv", "data/measurements/models/*", "tools/accuracy.py", "tools/fit_public.sh"]),
    "accuracy/POWER_LIMITS.md": ("python3 tools/power_limits.py --adept PROGRAM --data DIR --held-out -o docs/accuracy/POWER_LIMITS.md --plot docs/accuracy/POWER_LIMITS.svg",
                        ["hwprofiles/v100-pcie-32gb.json", "hwprofiles/a40.json", "data/models/*", "tools/power_limits.py"]),
    "SCHEDULING.md": ("python3 tools/scheduling.py --adept PROGRAM --traces TRACES -o docs/SCHEDULING.md",
                      FITS + ["data/clusters/**/*", "tools/scheduling.py"]),
    "MODELS.md": ("python3 tools/zoo/check_models.py --adept PROGRAM --table docs/MODELS.md",
                  ["tools/zoo/check_models.py", "tools/zoo/model_kinds.py"]),
    "OPERATORS.md": ("python3 tools/zoo/check_operators.py --adept PROGRAM --table docs/OPERATORS.md",
                     ["data/operator_arguments.csv", "tools/zoo/check_operators.py", "tools/zoo/operator_calls.py"]),
    "accuracy/TORCHVISION.md": ("tools/zoo/export_models.py --all-torchvision ZOO && tools/zoo/check_zoo.py ZOO REFERENCE.csv --adept PROGRAM "
                       "--table docs/accuracy/TORCHVISION.md", ["tools/zoo/check_zoo.py", "tools/zoo/export_models.py"]),
}


def stamp(document, root=ROOT):
    """A line of Markdown that no reader sees."""
    files = sorted({path for pattern in DOCUMENTS[document][1] for path in root.glob(pattern) if path.is_file()})
    total = hashlib.sha256()
    for path in files:
        total.update(("%s %s\n" % (path.relative_to(root), hashlib.sha256(path.read_bytes()).hexdigest())).encode())
    return "<!-- Made of files whose SHA-256 is %s: tools/stamps.py compares it with today's. -->" % total.hexdigest()[:16]


def stamped(document, text):
    """The text of a document with today's stamp."""
    return text.rstrip("\n") + "\n\n" + stamp(document) + "\n"


def main():
    stale = 0
    for document in sys.argv[1:] or DOCUMENTS:
        if document not in DOCUMENTS:
            sys.exit("%s: no script writes it; there are: %s" % (document, ", ".join(DOCUMENTS)))
        found = re.findall("^<!-- Made of .*-->$", (ROOT / "docs" / document).read_text(encoding="utf-8"), re.M)
        if found != [stamp(document)]:
            stale += 1
            print("docs/%s is older than what it is made of: %s" % (document, DOCUMENTS[document][0]))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
