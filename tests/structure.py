"""What a folder may include: a forbidden include planted into a source of each target must not compile, an allowed one must.

usage: structure.py COMPILE_COMMANDS SOURCE_DIRECTORY      (the compile_commands.json of a configured build tree)
The commands are the build's own, so a target that sees more than ARCHITECTURE.md allows fails here.
"""
import glob
import json
import os
import shlex
import subprocess
import sys
import tempfile

# folder: headers it may include, headers it must not see
FOLDERS = {
    "base": (["adept_json.h"], ["adept_graph.h", "adept_profile.h", "adept/predict.h", "cli.h"]),
    "workload/graph": (["adept_arena.h"], ["adept_import.h", "adept_profile.h", "call.h", "adept/predict.h"]),
    "workload/import": (["adept_graph.h"], ["adept_profile.h", "interp.h", "call.h", "adept/workload.h"]),
    "workload": (["adept_graph.h"], ["adept_handlers.h", "adept_import.h", "adept_model.h", "archive.h", "adept/workload.h"]),
    "handlers": (["adept_handler.h"], ["interp.h", "adept_import.h", "adept_model.h", "adept/predict.h"]),
    "model": (["adept_profile.h"], ["adept_import.h", "interp.h", "gemm_cost.h", "adept_sweep.h", "adept/predict.h"]),
    "whatif": (["adept_model.h"], ["adept_import.h", "step.h", "adept_calibrate.h", "cli.h", "adept/predict.h"]),
    "library": (["adept_model.h"], ["step.h", "interp.h", "adept_calibrate.h", "cli.h", "archive.h"]),
    "calibrate/measurements": (["adept_model.h", "adept_import.h"],
                               ["adept_calibrate.h", "objective.h", "adept_fit_report.h", "step.h", "interp.h", "adept_sweep.h", "adept/predict.h"]),
    "calibrate/fit": (["adept_measurements.h"],
                      ["csv.h", "adept_fit_report.h", "fit_report.h", "adept_import.h", "adept_handlers.h", "step.h", "interp.h", "adept_sweep.h",
                       "cli.h", "archive.h", "adept/predict.h"]),
    "calibrate/report": (["adept_calibrate.h"],
                         ["objective.h", "csv.h", "adept_import.h", "adept_handlers.h", "step.h", "interp.h", "adept_sweep.h", "cli.h",
                          "adept/predict.h"]),
    "tools/pictures": (["adept_model.h"], ["cli.h", "step.h", "server.h", "adept/predict.h"]),
    "tools/serve": (["adept/predict.h"], ["cli.h", "handles.h", "step.h", "adept_import.h", "adept_sweep.h", "treemap.h"]),
    "tools/slurm": (["adept/predict.h", "adept_number.h"], ["adept_model.h", "adept_profile.h", "cli.h", "handles.h"]),
    "tools/cli": (["adept_model.h"], ["step.h", "interp.h", "objective.h", "archive.h", "handles.h"]),
}


def compiles(command, directory, source, header):
    """Does the build's own command accept the source with one more include?"""
    words = [word for word in shlex.split(command) if word != "-c"]
    at = words.index("-o")
    del words[at:at + 2]
    with tempfile.TemporaryDirectory() as folder:
        planted = os.path.join(folder, "planted.c")
        with open(planted, "w", encoding="utf-8") as file:
            file.write('#include "%s"\n#include "%s"\n' % (header, source))
        words = [planted if os.path.abspath(os.path.join(directory, word)) == source else word for word in words]
        # An include in quotes also looks beside the planted file, where nothing is: what is found is found by the target.
        return subprocess.run(words + ["-fsyntax-only"], cwd=directory, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        commands = json.load(file)
    top = os.path.abspath(sys.argv[2])
    checks = 0
    failed = ["nothing is called " + header for header in sorted({h for lists in FOLDERS.values() for h in sum(lists, [])})
              if not any(glob.glob(os.path.join(top, part, "**", header), recursive=True) for part in os.listdir(top) if part != "tests")]
    for folder, (allowed, forbidden) in FOLDERS.items():
        rows = [row for row in commands if os.path.dirname(os.path.abspath(row["file"])) == os.path.join(top, folder)]
        if not rows:
            print("%s: not in this build" % folder)
            continue
        row = min(rows, key=lambda r: os.path.getsize(r["file"]))
        for header in allowed + forbidden:
            checks += 1
            if compiles(row["command"], row["directory"], os.path.abspath(row["file"]), header) != (header in allowed):
                failed.append("%s %s %s" % (folder, "cannot include" if header in allowed else "sees", header))
    for line in failed:
        print("structure: " + line)
    print("%d includes planted, %d wrong" % (checks, len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
