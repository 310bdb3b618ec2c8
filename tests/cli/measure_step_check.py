"""What test_measure_step.sh asks of the files that measure_step.py wrote, and of its power meter on a fake NVML."""
import csv
import json
import math
import os
import sys
import time


def check_csv(path, expected_rows):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == expected_rows, "{} rows instead of {}".format(len(rows), expected_rows)
    for row in rows:
        assert row["model"] and row["mode"] in ("train", "fwbw", "infer") and row["precision"] == "fp32", row
        low, middle, high = (float(row[name]) for name in ("time_p10_s", "step_time_s", "time_p90_s"))
        assert 0 < float(row["time_min_s"]) <= low <= middle <= high < 100, row
        assert int(row["steps"]) >= 2 and int(row["batch_size"]) == 2 and int(row["gpus"]) in (1, 2), row
        assert (row["optimizer"] == "none") == (row["mode"] != "train"), row
        # a CPU has no meter: nothing, not 0
        assert row["avg_power_w"] == row["power_scope"] == row["power_limit_w"] == "", row
    with open(path[:-len(".csv")] + ".json", encoding="utf-8") as file:
        facts = json.load(file)
    assert facts["schema_version"] == 1
    named = {name for run in facts["runs"] for name in run["traces"]}
    assert named == {row["model"] for row in rows}, named


def check_power(library):
    """The fake board: 250 W limit; its counter runs at 200 W where it has one; its readings are 120 W."""
    sys.path.insert(0, sys.argv[3])
    import power
    os.environ["ADEPT_NVML_LIBRARY"] = library
    meter = power.Meter("0000:01:00.0", idle_s=0.3)
    assert meter.addresses == ["0000:01:00.0"]
    assert meter.why_no_power is None and meter.limit_w == 250 and meter.driver == "1.2.3", vars(meter)
    expected_w = {"energy counter": 200, "sampling": 120}[meter.method]
    meter.start()
    time.sleep(0.3)
    watts = meter.stop()
    assert math.isclose(watts, expected_w, rel_tol=0.05) and math.isclose(meter.idle_w, expected_w, rel_tol=0.05), (watts, meter.idle_w)
    print(meter.method)
    os.environ["ADEPT_NVML_LIBRARY"] = "libno-such-thing.so"
    meter = power.Meter("0000:01:00.0", idle_s=0)
    meter.start()
    assert meter.method == "none" and meter.stop() is meter.idle_w is None and "no-such-thing" in meter.why_no_power, vars(meter)


if __name__ == "__main__":
    if sys.argv[1] == "csv":
        check_csv(sys.argv[2], int(sys.argv[3]))
    else:
        check_power(sys.argv[2])
