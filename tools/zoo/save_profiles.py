#!/usr/bin/env python3
"""Write the bundled models as saved profiles, data/models/NAME.profile.json, of NAME.pt beside them:

    python3 tools/zoo/save_profiles.py [NAME...]

A build without libtorch reads these. What `adept profile` works out of a graph is left out: every handler changes it,
and a saved profile is walked again. ADEPT names the program (default: build/tools/adept), which needs libtorch here.
"""
import json
import os
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = TOP / "data" / "models"


def main():
    adept = os.environ.get("ADEPT", str(TOP / "build" / "tools" / "adept"))
    for name in sys.argv[1:] or sorted(path.stem for path in MODELS.glob("*.pt")):
        # From its folder: the profile holds the path as it was given.
        saved = json.loads(subprocess.check_output([adept, "profile", name + ".pt", "-o", "-"], cwd=MODELS))
        kept = {key: saved[key] for key in ("schema_version", "kind", "model", "options", "graph")}
        kept["model"] = {key: saved["model"][key] for key in ("path", "sha256")}
        (MODELS / (name + ".profile.json")).write_text(json.dumps(kept, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
