"""What check_attribute.sh made of its jobs. usage: check_energy.py FOLDER NAME=JOB...

Tolerances. Two jobs run beside each other for 24 s, one computing three times as long as the other. In every interval a job's energy is its
share of the processor time, which the kernel counts exactly; an interval of much other work makes each second of it cheaper, and how the
seconds of the two fall into such intervals is the machine's affair: 40 %, against 300 % between the jobs. (tests/unit/test_accounting.c
has the numbers to the last digit.) Processor time itself: 5 %, and 0.5 s for the shell that starts the job. What the meter said is given out
but for rounding."""
import json
import os
import sys

folder = sys.argv[1]
number = dict(word.split("=") for word in sys.argv[2:])
report = json.load(open(os.path.join(folder, "report.json")))
rows = {row["job"]: row for row in report["rows"]}
failed = []


def expect(truth, what):
    if not truth:
        failed.append(what)
        print("FAILED:", what)


def near(a, b, share, rest=0.0):
    return abs(a - b) <= share * abs(b) + rest


def cpu_s(name):
    return float(open(os.path.join(folder, "cpu." + number[name])).read())


for name, state in {"large": "COMPLETED", "small": "COMPLETED", "late": "TIMEOUT", "gone": "CANCELLED", "bad": "FAILED"}.items():
    row = rows.get(number[name])
    expect(row and row["state"] == state and row["energy_j"] > 0, "%s is %s: %s" % (name, state, row))
    if row and state in ("COMPLETED", "FAILED"):
        expect(near(row["cpu_time_s"], cpu_s(name), 0.05, 0.5), "CPU time of %s: %g, and it says %g" % (name, row["cpu_time_s"], cpu_s(name)))
large, small = rows[number["large"]], rows[number["small"]]
print("CPU time %.2f : %.2f s = %.3f; energy %.1f : %.1f J = %.3f" % (
    cpu_s("large"), cpu_s("small"), cpu_s("large") / cpu_s("small"), large["energy_j"], small["energy_j"], large["energy_j"] / small["energy_j"]))
expect(near(large["energy_j"] / small["energy_j"], large["cpu_time_s"] / small["cpu_time_s"], 0.4), "energy is as processor time")

parts = sum(report[key]["energy_j"] for key in ("jobs", "system", "idle"))
node = report["nodes"][0]
expect(near(parts, report["all"]["energy_j"], 1e-9), "parts %r J of %r J" % (parts, report["all"]["energy_j"]))
expect(near(parts, node["node_meter_j"], 1e-9), "parts %r J of what the meter says, %r J" % (parts, node["node_meter_j"]))
expect(node["cpu_by"] == "node" and node["unknown_s"]["cpu"] <= 0.3 * node["recorded_s"], "nearly all of it was measured: %r" % node["unknown_s"])
lost = sum(rows[number[name]]["energy_j"] for name in ("late", "gone", "bad"))
expect(near(report["not_completed"]["energy_j"], lost, 1e-9) and report["not_completed"]["jobs"] == 3, "energy of jobs that did not complete")
tasks = [row for row in report["rows"] if row["name"] and row["name"].startswith(number["array"] + "_")]
expect(len(tasks) == 2 and all(task["state"] == "COMPLETED" for task in tasks), "tasks of an array: %s" % tasks)

by_file = {row["job"]: row for row in json.load(open(os.path.join(folder, "jobcomp.json")))["rows"]}
for name in ("large", "late", "gone", "bad"):
    expect(by_file[number[name]]["state"] == rows[number[name]]["state"], "jobcomp has the same state of %s" % name)
    expect(near(by_file[number[name]]["energy_j"], rows[number[name]]["energy_j"], 1e-9), "and the same energy of %s" % name)
hooked = {row["job"]: row for row in json.load(open(os.path.join(folder, "hooked.json")))["rows"]}
for name in ("large", "small"):  # another recorder, whose intervals lie elsewhere
    expect(near(hooked[number[name]]["energy_j"], rows[number[name]]["energy_j"], 0.4, 5), "prolog and epilog record the same energy of %s: %g, %g J" % (
        name, hooked[number[name]]["energy_j"], rows[number[name]]["energy_j"]))
if number["placed"]:
    predicted = rows[number["placed"]]["predicted"]
    expect(predicted and predicted["steps"] == 1000 and predicted["time_s"]["measured"] >= 4, "predicted beside measured: %s" % predicted)
sys.exit(1 if failed else 0)
