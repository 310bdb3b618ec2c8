"""What a folder may include, and which files inside a folder need one another both ways.

usage: structure.py COMPILE_COMMANDS SOURCE_DIRECTORY      (the compile_commands.json of a build tree)
A forbidden include planted into a source of each target must not compile, an allowed one must. The commands are the build's own, so a
target that sees more than ARCHITECTURE.md allows fails here. Circles inside folders, by includes and by calls (of the build's objects),
are exactly those that ARCHITECTURE.md lists. No line of C is wider than .clang-format allows. Files that sources and documents name are
there.
"""
import glob
import json
import os
import re
import shlex
import signal
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
    "measure": (["adept_json_writer.h"], ["adept_model.h", "adept_profile.h", "adept_graph.h", "cli.h", "adept/measure.h"]),
    "library": (["adept_model.h", "adept_recording.h"], ["step.h", "interp.h", "adept_calibrate.h", "cli.h", "archive.h"]),
    "simulate/policies": (["adept_error.h"], ["adept_simulate.h", "engine.h", "adept/predict.h", "adept_model.h", "cli.h"]),
    "simulate": (["adept/predict.h", "adept_csv.h", "adept_policy.h"], ["adept_model.h", "adept_profile.h", "adept_graph.h", "handles.h", "cli.h"]),
    "calibrate/measurements": (["adept_model.h", "adept_import.h"],
                               ["adept_calibrate.h", "objective.h", "adept_fit_report.h", "step.h", "interp.h", "adept_sweep.h", "adept/predict.h"]),
    "calibrate/fit": (["adept_measurements.h"],
                      ["adept_fit_report.h", "fit_report.h", "adept_import.h", "adept_handlers.h", "step.h", "interp.h", "adept_sweep.h",
                       "cli.h", "archive.h", "adept/predict.h"]),
    "calibrate/report": (["adept_calibrate.h"],
                         ["objective.h", "adept_import.h", "adept_handlers.h", "step.h", "interp.h", "adept_sweep.h", "cli.h",
                          "adept/predict.h"]),
    "tools/page": (["adept_json.h"], ["adept_model.h", "adept_profile.h", "cli.h", "adept/predict.h"]),
    "tools/pictures": (["adept_model.h", "adept_recording.h"], ["cli.h", "step.h", "server.h", "adept/predict.h"]),
    "measure/attribute": (["adept_sensor.h"], ["adept_graph.h", "adept_model.h", "cli.h", "adept/predict.h"]),
    "measure/bench": (["adept_error.h"], ["adept_sensor.h", "adept_graph.h", "adept_model.h", "cli.h", "adept/predict.h"]),
    "measure/network": (["adept_sensor.h"], ["adept_graph.h", "adept_model.h", "cli.h", "adept/predict.h"]),
    "tools/serve": (["adept/predict.h"], ["cli.h", "handles.h", "step.h", "adept_import.h", "adept_sweep.h", "chart.h"]),
    "tools/slurm": (["adept/predict.h", "adept_number.h", "adept_policy.h"], ["adept_simulate.h", "packer.h", "adept_model.h", "adept_profile.h", "cli.h", "handles.h"]),
    "tools/kit": (["adept_model.h", "cli.h"],
                  ["report.h", "measure_job.h", "http.h", "step.h", "interp.h", "objective.h", "archive.h", "handles.h"]),
    "tools/predict": (["adept_model.h", "load.h"],
                      ["measure_job.h", "sweep_rows.h", "step.h", "interp.h", "objective.h", "archive.h", "handles.h"]),
    "tools/compare": (["adept_model.h", "columns.h"],
                      ["report.h", "measure_job.h", "step.h", "interp.h", "objective.h", "archive.h", "handles.h"]),
    "tools/calibrate": (["adept_model.h", "load.h"],
                        ["report.h", "measure_job.h", "step.h", "interp.h", "objective.h", "archive.h", "handles.h"]),
    "tools/measure": (["adept_model.h", "columns.h"],
                      ["report.h", "sweep_drive.h", "step.h", "interp.h", "objective.h", "archive.h", "handles.h"]),
    "tools/attribute": (["adept_model.h", "report.h", "measure_job.h"],
                        ["sweep_rows.h", "step.h", "interp.h", "objective.h", "archive.h", "handles.h"]),
    "tools/sweep": (["adept_model.h", "report.h", "measure_job.h"],
                    ["simulate_job.h", "step.h", "interp.h", "objective.h", "archive.h", "handles.h"]),
    "tools/simulate": (["adept_model.h", "columns.h"],
                       ["report.h", "measure_job.h", "step.h", "interp.h", "objective.h", "archive.h", "handles.h"]),
    "tools/cli": (["adept_model.h", "report.h", "measure_job.h"],
                  ["sweep_rows.h", "simulate_job.h", "step.h", "interp.h", "objective.h", "archive.h", "handles.h"]),
}


def planted(command, directory, source, text, how):
    """What the build's own command, without its output, says of the source below some more lines."""
    words = [word for word in shlex.split(command) if word != "-c"]
    at = words.index("-o")
    del words[at:at + 2]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "planted.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        words = [path if os.path.abspath(os.path.join(directory, word)) == source else word for word in words]
        # An include in quotes also looks beside the planted file, where nothing is: what is found is found by the target.
        return subprocess.run(words + [how], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)


def found_headers(command, directory, source, headers):
    """Those of the headers that the build's own command finds, in one run. What it does not find does not compile."""
    text = "".join('#if __has_include("%s")\nfound %d;\n#endif\n' % (header, i) for i, header in enumerate(headers))
    done = planted(command, directory, source, text, "-E")
    if done.returncode != 0:
        raise SystemExit("structure: the preprocessor fails for " + source)
    return {headers[int(i)] for i in re.findall(r"^found (\d+);", done.stdout, re.M)}


def compiles(command, directory, source, header):
    """Does the build's own command accept the source with one more include?"""
    return planted(command, directory, source, '#include "%s"\n#include "%s"\n' % (header, source), "-fsyntax-only").returncode == 0


def unit_of(path):
    """A source and the header of its name are one file to a reader; a header in a folder of its own goes by that too: adept/predict."""
    name = os.path.splitext(os.path.basename(path))[0]
    over = os.path.basename(os.path.dirname(path))
    return "adept/" + name if over == "adept" else name


def includes(folder):
    """unit: units of the folder that it includes"""
    files = [f for part in ("", "include", "include/adept", "public/adept") for end in ("c", "cpp", "h")
             for f in glob.glob(os.path.join(folder, part, "*." + end))]
    graph = {unit_of(f): set() for f in files}
    for f in files:
        with open(f, encoding="utf-8") as file:
            named = re.findall(r'^#include [<"]([^>"]+)[>"]', file.read(), re.M)
        graph[unit_of(f)] |= {unit_of(n) for n in named} & set(graph) - {unit_of(f)}
    return graph


def calls(rows):
    """unit: units of the folder that define what its object leaves undefined"""
    objects = {}
    for row in rows:
        words = shlex.split(row["command"])
        objects[os.path.join(row["directory"], words[words.index("-o") + 1])] = unit_of(row["file"])
    defined, undefined = {}, {unit: set() for unit in objects.values()}
    for line in subprocess.run(["nm", "-P", "-A", *objects], capture_output=True, text=True, check=True).stdout.splitlines():
        path, (name, kind) = line.split(": ")[0], line.split(": ")[1].split()[:2] # OBJECT: NAME KIND ...
        unit = objects[path]
        if kind == "U":
            undefined[unit].add(name)
        elif kind in "BDRTVW":
            defined[name] = unit
    return {unit: {defined[name] for name in names if name in defined} - {unit} for unit, names in undefined.items()}


def circles(graph):
    """Sets of units that all reach one another."""
    def reached(start):
        seen, todo = set(), [start]
        while todo:
            for unit in graph[todo.pop()] - seen:
                seen.add(unit)
                todo.append(unit)
        return seen

    reach = {unit: reached(unit) for unit in graph}
    return {frozenset(other for other in graph if other in reach[unit] and unit in reach[other])
            for unit in graph if unit in reach[unit]}


def listed_circles(text, heading):
    """(folder, units) of the rows of the table below a line of ARCHITECTURE.md"""
    table = text[text.index(heading):].split("\n\n")[1]
    cells = [row.split("|")[1] for row in table.splitlines()[2:]]
    names = [re.findall("`([^`]+)`", cell) for cell in cells]
    return {(row[0], frozenset(row[1:])) for row in names}


WIDEST = 120 # columns, as .clang-format says
C = (".c", ".h", ".cpp", ".hpp")

def wrong_lines(top):
    """Lines of C and C++ that are wider, and names of files that are not there: from the top, the sheet's own, ARCHITECTURE.md's."""
    parts = sorted(part for part in os.listdir(top) if not part.startswith((".", "build")))
    found = [(folder, name) for part in parts if os.path.isdir(os.path.join(top, part))
             for folder, _, files in os.walk(os.path.join(top, part)) for name in sorted(files) if "/build/" not in folder + "/"]
    found += [(top, part) for part in parts if os.path.isfile(os.path.join(top, part)) and part != "CHANGELOG.md"]
    names = {name for _, name in found}
    path_here = re.compile(r"(?<![\w/.$}{*-])(?:%s)/[\w./-]*\w\.(?:c|h|cpp|py|sh|js|md|cmake)\b(?![\w*/])" % "|".join(parts))
    for folder, name in found:
        path = os.path.relpath(os.path.join(folder, name), top)
        if not name.endswith(C + (".md", ".py", ".sh", ".txt", ".cmake", ".js")) or path.startswith(("tests/fuzz/corpus", "data")):
            continue
        with open(os.path.join(top, path), encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                if name.endswith(C) and len(line.rstrip("\n")) > WIDEST:
                    yield "%s:%d: %d columns" % (path, number, len(line) - 1)
                relative = name == "CMakeLists.txt" or line.startswith("#include")
                lost = [at for at in (path_here.findall(line) if "/" in line and not relative else ())
                        if not re.search("N[AO][MN]E", at) and not os.path.exists(os.path.join(top, at))]
                lost += [at for at in re.findall(r"@file (\S+\.\w+)", line) if name.endswith(C) and os.path.basename(at) != name]
                if path == "ARCHITECTURE.md":
                    lost += [at for at in re.findall(r"`([a-z][a-z0-9_]*\.(?:c|h|py|js))`", line) if at not in names]
                yield from ("%s:%d: there is no %s" % (path, number, at) for at in lost)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        commands = json.load(file)
    top = os.path.abspath(sys.argv[2])
    checks = 0
    failed = ["nothing is called " + header for header in sorted({h for lists in FOLDERS.values() for h in sum(lists, [])})
              if not any(glob.glob(os.path.join(top, part, "**", header), recursive=True) for part in os.listdir(top) if part != "tests")]
    found = {"includes": set(), "calls": set()}
    built = set()
    for folder, (allowed, forbidden) in FOLDERS.items():
        rows = [row for row in commands if os.path.dirname(os.path.abspath(row["file"])) == os.path.join(top, folder)]
        if not rows:
            print("%s: not in this build" % folder)
            continue
        built.add(folder)
        found["includes"] |= {(folder, circle) for circle in circles(includes(os.path.join(top, folder)))}
        found["calls"] |= {(folder, circle) for circle in circles(calls(rows))}
        row = min(rows, key=lambda r: os.path.getsize(r["file"]))
        command = row["command"], row["directory"], os.path.abspath(row["file"])
        here = found_headers(*command, allowed + forbidden)
        for header in allowed + forbidden:
            checks += 1
            if (header in here and compiles(*command, header)) != (header in allowed):
                failed.append("%s %s %s" % (folder, "cannot include" if header in allowed else "sees", header))
    with open(os.path.join(top, "ARCHITECTURE.md"), encoding="utf-8") as file:
        text = file.read()
    failed += ["a circle by includes: %s: %s" % (folder, ", ".join(sorted(units))) for folder, units in found["includes"]]
    listed = {(folder, units) for folder, units in listed_circles(text, "By calls, through a header") if folder in built}
    failed += ["a circle by calls that ARCHITECTURE.md does not list: %s: %s" % (folder, ", ".join(sorted(units)))
               for folder, units in found["calls"] - listed]
    failed += ["no circle by calls any more: %s: %s" % (folder, ", ".join(sorted(units)))
               for folder, units in listed - found["calls"]]
    failed += wrong_lines(top)
    for line in failed:
        print("structure: " + line)
    print("%d includes planted, %d circles, %d wrong" % (checks, sum(map(len, found.values())), len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, subprocess takes every end for success
    sys.exit(main())
