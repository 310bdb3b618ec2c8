"""What compilers and instrumented runs find in adept.

Usage: analyze.py [-j N] coverage|tsan|valgrind|fanalyzer|tidy|all
  coverage   lines that the tests reach: at least 90 % in each of workload, handlers, model, calibrate, whatif, library
  tsan       ThreadSanitizer over the tests that start threads, the commands, and a server with many clients: nothing found
  valgrind   memcheck over unit tests, corpora and commands: no error, nothing definitely lost
  fanalyzer  gcc -fanalyzer over all C of the product: nothing but what allowed.txt lists
  tidy       clang-tidy with the checks of .clang-tidy over the same, likewise

Builds in build-analysis/, which it keeps. Prints a figure of each; exit code 1: one missed its bar. Installs nothing,
and says which Debian package is missing.
"""
import argparse
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCE, "tests", "faults"))
import check_faults  # its commands, and their inputs
import faulty_server
BUILDS = os.path.join(SOURCE, "build-analysis")
FOLDERS = "workload handlers model calibrate whatif library".split()
LEAST_LINES = 90
PACKAGES = {"gcc": "gcc", "gcovr": "gcovr", "valgrind": "valgrind", "clang-tidy": "clang-tidy", "ninja": "ninja-build"}
# Tests that reach no line of the six folders that others do not, and take minutes.
NOT_COUNTED = "python|hostile_memory|_models$|test_language|test_sensor|test_sim|test_slurm|test_report|test_attribution"
COUNTED = r"^(unit|fuzz)\.|^embed\.client|^cli\.test_(scripted|bad_files|unsupported|calibrate_)"
# Libtorch's process may not write files: its lines count in a run in which it may (unconfined.c).
UNCONFINED = r"^unit\.test_torchscript$"
THREADED = ("library_threads serve recorder recording meter kernel_fit shared idle_fit plan calibrate_optimiser "
            "calibrate_checkpoint fit_held_out fit_report").split()
CLIENTS = 6 # at the same time
# Under memcheck more than two minutes of a processor each; about the memory of a process, traps of a processor, or filters of system
# calls, which memcheck changes; a sampler that is to wake up in time.
NOT_CHECKED = (r"_models$|calibrate_(checkpoint|operator)|fit_truth|attribution_coverage|hwprofiles|"
               r"hostile_memory|memory_ends|library_strict|sandbox|test_recording$|sim_traces")
TEST_SECONDS = 3600 # a test may take, instrumented and beside other work


def run(command, **options):
    return subprocess.run(command, check=True, **options)


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            sys.exit(f"analysis: {program} is missing: apt-get install {PACKAGES[program]}")


def build(name, flags, options, targets=(), jobs=2):
    """Configure and build below build-analysis. @return the folder"""
    folder = os.path.join(BUILDS, name)
    run(["cmake", "--no-warn-unused-cli", "-G", "Ninja", "-S", SOURCE, "-B", folder, "-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_C_FLAGS={flags}",
         f"-DADEPT_TEST_SECONDS={TEST_SECONDS}", *options], stdout=subprocess.DEVNULL)
    command = ["ninja", "-C", folder, f"-j{jobs}", *targets]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stdout[-4000:])
    return folder


def ctest(folder, jobs, *options, **environment):
    return subprocess.run(["ctest", "--test-dir", folder, f"-j{jobs}", "--output-on-failure", "--label-exclude", "again|once",
                           *options], env={**os.environ, **environment}).returncode == 0


# ---- warnings that are judged one by one


def read_allowed(tool):
    """Lines "FILE | CHECK | SOURCE LINE" of one tool's section; "#" begins the reason of those that follow."""
    allowed, section = set(), None
    with open(os.path.join(HERE, "allowed.txt"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("== "):
                section = line[3:]
            elif section == tool and line and not line.startswith("#"):
                allowed.add(tuple(part.strip() for part in line.split(" | ", 2)))
    return allowed


def judge(tool, text):
    found = set()
    for path, line, message, check in re.findall(r"^(/[^:\n]+):(\d+):\d+: warning: (.*) \[([^\]\n]+)\]$", text, re.M):
        relative = os.path.relpath(path, SOURCE)
        if not relative.startswith("build"):
            found.add((relative, line, message, check))
    allowed, used, new = read_allowed(tool), set(), 0
    for relative, line, message, check in sorted(found):
        with open(os.path.join(SOURCE, relative), encoding="utf-8") as file:
            key = relative, check, file.read().splitlines()[int(line) - 1].strip()
        if key in allowed:
            used.add(key)
        else:
            new += 1
            print(f"{relative}:{line}: {message}\n    {' | '.join(key)}")
    for key in sorted(allowed - used):
        print("allowed.txt lists what is not found: " + " | ".join(key))
    print(f"{tool}: {new} to judge, {len(used)} allowed")
    return not new and allowed == used


def said(folder, command, entry):
    """What a tool says of a source, kept until the source as preprocessed, the tool or its options change."""
    words = shlex.split(entry["command"].split(" -o ")[0])
    text = run([*words, "-E", "-C", entry["file"]], cwd=entry["directory"], stdout=subprocess.PIPE).stdout
    command, version = command(words[1:], entry["file"])
    kept = os.path.join(folder, "said", hashlib.sha256(repr(command).encode() + version + text).hexdigest())
    if not os.path.exists(kept):
        done = run(command, cwd=entry["directory"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(kept + ".new", "wb") as file:
            file.write(done.stdout + done.stderr)
        os.rename(kept + ".new", kept)
    with open(kept, encoding="utf-8", errors="replace") as file:
        return file.read()


def judge_sources(tool, jobs, command):
    """Each source of the product by itself: clang-tidy's check of va_list keeps what it saw in the file before."""
    folder = build("plain", "-O1", ["-DADEPT_TESTS=OFF", "-DADEPT_WITH_TORCH=OFF"], jobs=jobs)
    os.makedirs(os.path.join(folder, "said"), exist_ok=True)
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        entries = {entry["file"]: entry for entry in json.load(file)}
    entries = [entry for source, entry in sorted(entries.items()) if not source.startswith(folder) and source.endswith(".c")]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return judge(tool, "".join(pool.map(lambda entry: said(folder, command, entry), entries)))


def fanalyzer(jobs):
    need("gcc", "ninja")
    version = run(["gcc", "--version"], stdout=subprocess.PIPE).stdout
    options = "-O0 -fanalyzer -fdiagnostics-plain-output -fdiagnostics-path-format=none -c -o /dev/null".split()
    return judge_sources("fanalyzer", jobs, lambda words, source: (["gcc", *words, *options, source], version))


def tidy(jobs):
    need("clang-tidy", "ninja")
    version = b"".join(run(["clang-tidy", option], cwd=SOURCE, stdout=subprocess.PIPE).stdout for option in ("--version", "--dump-config"))
    database = os.path.join(BUILDS, "plain")
    return judge_sources("tidy", jobs, lambda words, source: (["clang-tidy", "-p", database, "--quiet", source], version))


# ---- instrumented runs


def count_lines(folder, jobs):
    good = True
    report = os.path.join(folder, "coverage.json")
    run(["gcovr", "-r", SOURCE, "--object-directory", folder, "--gcov-ignore-parse-errors", "--json", report, "-j", str(jobs),
         *(part for name in FOLDERS for part in ("--filter", os.path.join(SOURCE, name) + "/"))])
    with open(report, encoding="utf-8") as file:
        files = json.load(file)["files"]
    for name in FOLDERS:
        lines = reached = 0
        worst = []
        for entry in files:
            if not entry["file"].startswith(name + "/"):
                continue
            counts = [line["count"] > 0 for line in entry["lines"] if not line.get("gcovr/noncode")]
            lines, reached = lines + len(counts), reached + sum(counts)
            worst.append((len(counts) - sum(counts), entry["file"]))
        share = 100 * reached / lines
        worst = ", ".join(f"{path} {missed}" for missed, path in sorted(worst, reverse=True)[:5])
        print(f"coverage: {name} {share:.1f} % of {lines} lines; most not reached: {worst}")
        good = good and share >= LEAST_LINES
    return good


def coverage(jobs):
    need("gcc", "gcovr", "ninja")
    folder = build("coverage", "--coverage -O1", ["-DCMAKE_C_COMPILER=gcc", "-DCMAKE_CXX_COMPILER=g++",
                                                     "-DCMAKE_CXX_FLAGS=--coverage -O1"], jobs=jobs)
    for path in glob.glob(folder + "/**/*.gcda", recursive=True):
        os.remove(path)
    shim = os.path.join(folder, "unconfined.so")
    run(["gcc", "-shared", "-fPIC", "-o", shim, os.path.join(HERE, "unconfined.c")])
    good = ctest(folder, jobs, "-R", COUNTED, "-E", NOT_COUNTED)
    good = ctest(folder, jobs, "-R", UNCONFINED, LD_PRELOAD=shim) and good
    return count_lines(folder, jobs) and good


def logs(folder):
    """An empty folder for what a tool finds in any process, also in those whose exit code nobody sees."""
    path = os.path.join(folder, "found")
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def judge_logs(tool, path, good):
    texts = [open(name, encoding="utf-8", errors="replace").read() for name in sorted(glob.glob(path + "/*"))]
    texts = [text for text in texts if text.strip()]
    print("\n".join(text[:6000] for text in texts))
    print(f"{tool}: {len(texts)} processes with findings" + ("" if good else "; tests failed"))
    return good and not texts


def tsan(jobs):
    need("gcc", "ninja")
    folder = build("tsan", "-O1", ["-DADEPT_SANITIZE=thread", "-DADEPT_WITH_TORCH=OFF"],
                      ["adept", "make_profile", "make_recording", *("test_" + name for name in THREADED)], jobs)
    found = logs(folder)
    os.environ["TSAN_OPTIONS"] = f"log_path={found}/tsan suppressions={HERE}/tsan.supp"
    good = ctest(folder, jobs, "-R", rf"^unit\.test_({'|'.join(THREADED)})$|^cli\.test_(serve|measure|simulate)$")
    return judge_logs("tsan", found, check_commands(folder, (), check_parallel) and good)


def valgrind(jobs):
    need("valgrind", "ninja")
    found = logs(os.path.join(BUILDS, "valgrind"))
    command = ["valgrind", "-q", "--leak-check=full", "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite",
               "--error-exitcode=99", f"--log-file={found}/%p"]
    folder = build("valgrind", "-O1", ["-DADEPT_WITH_TORCH=OFF", "-DCMAKE_CROSSCOMPILING_EMULATOR=" + ";".join(command)],
                      jobs=jobs)
    good = ctest(folder, jobs, "-R", r"^(unit|fuzz)\.|embed.client", "-E", NOT_CHECKED)
    return judge_logs("valgrind", found, check_commands(folder, command) and good)


def wrapper(folder, wrap, program):
    """A program that runs that one, wrapped."""
    path = os.path.join(folder, "wrapped")
    with open(path, "w") as file:
        file.write(f'#!/bin/sh\nexec {shlex.join([*wrap, program])} "$@"\n')
    os.chmod(path, 0o755)
    return path


def check_commands(folder, wrap, check_more=lambda options: True):
    """The commands of check_faults.py, which end with 0; where they have threads, with several."""
    good = True
    with tempfile.TemporaryDirectory() as inputs:
        options = argparse.Namespace(adept=os.path.join(folder, "tools/adept"), make_recording=os.path.join(folder, "tests/make_recording"),
                                     gpu="fitted.json", inputs=inputs, every=1, brief=False, calls=False)
        check_faults.inputs(options)
        if wrap:
            options.adept = wrapper(inputs, wrap, options.adept)
        for name, words, written in check_faults.COMMANDS:
            case = check_faults.Case(options, name, words.replace("--threads 1", "--threads 3"), written)
            result = case.run({})
            if result["code"] != 0:
                good = False
                print(f"adept {' '.join(case.words)}: exit code {result['code']}: {result['err'][-300:]}")
        return check_more(options) and good


def ask(path, bodies):
    """What a server answers on one connection."""
    connection = faulty_server.Connection(path)
    for body in bodies:
        connection.request("POST", "/v1/predict", json.dumps({"workload": "mlp", **body}), {"Content-Type": "application/json"})
        response = connection.getresponse()
        yield response.status, response.read()
    connection.close()


def check_parallel(options):
    """Several clients of a server with several threads, which ask the same in another order and get the same answers."""
    bodies = [{"gpu": gpu, "gpus": gpus, "batch_size": batch} for gpu in ("a100", "h100", "t4") for gpus in (1, 4) for batch in (8, 64)]
    case = check_faults.Case(options, "serve", "serve @/mlp.profile.json --socket s --threads 4 --cache 5", [])
    with case.folder() as folder, tempfile.TemporaryFile() as err:
        process, path = case.start(folder, {}, is_asked=True, stdout=subprocess.DEVNULL, stderr=err), os.path.join(folder, "s")
        while process.poll() is None and not os.path.exists(path):
            time.sleep(0.05)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            orders = [(bodies[k:] + bodies[:k]) * 4 for k in range(CLIENTS)]
            answers = list(pool.map(lambda order: list(ask(path, order)), orders))
        process.terminate()
        code = process.wait(60)
    seen = {(json.dumps(body), answer) for order, row in zip(orders, answers) for body, answer in zip(order, row)}
    good = code == 0 and len(seen) == len(bodies) and all(answer[0] == 200 for _, answer in seen)
    print(f"serve: {CLIENTS} clients, {sum(map(len, answers))} answers, {len(seen)} different ones to {len(bodies)} questions, exit code {code}")
    return good


def main():
    parts = {"fanalyzer": fanalyzer, "tidy": tidy, "coverage": coverage, "tsan": tsan, "valgrind": valgrind}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("part", choices=[*parts, "all"])
    arguments = parser.parse_args()
    chosen = parts if arguments.part == "all" else [arguments.part]
    missed = [name for name in chosen if not parts[name](arguments.j)]
    if missed:
        sys.exit("analysis: below the bar: " + ", ".join(missed))


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, subprocess takes every end for success
    main()
