"""The measurement CSV (columns first those that `adept calibrate` reads, then provenance), written row by row.

Every row is on the disk before the next measurement starts, so a crash loses nothing.
"""
import csv
import io
import os

CONTRACT = ("model", "input", "batch_size", "gpu", "gpus", "precision", "mode", "optimizer", "grad_accum", "attention",
            "memory_format", "execution", "power_limit_w", "step_time_s", "avg_power_w", "power_scope", "source")
PROVENANCE = ("time_min_s", "time_p10_s", "time_p90_s", "time_std_s", "steps", "windows", "repeats", "cpu_share",
              "warmup_steps", "power_method", "idle_power_w", "peak_memory_bytes", "device", "threads", "torch", "date")
STATE = ("driver", "board")    # what `adept calibrate --watch` tells drift by
COLUMNS = CONTRACT + PROVENANCE + STATE
LAYOUT = ("fsdp", "tp")      # only of tables that have rows of layouts
# Two rows that agree in these measure the same thing.
KEY = ("model", "input", "batch_size", "gpu", "gpus", "precision", "mode", "optimizer", "grad_accum", "attention",
       "memory_format", "execution", "power_limit_w", "device", "threads")


class TableError(Exception):
    """The file is not one that this program can append to."""


def drop_torn_row(path):
    """Cut what follows the last line end: a row whose writing was interrupted. No value of ours holds a line end."""
    with open(path, "rb+") as file:
        data = file.read()
        file.truncate(data.rfind(b"\n") + 1)


class Table:
    """Rows are appended to `path`; with `resume`, rows already there count as done: those that agree in `key`."""

    def __init__(self, path, resume=False, columns=COLUMNS, key=KEY):
        self.path, self.columns, self.key, self.done = path, tuple(columns), key, set()
        if os.path.exists(path) and os.path.getsize(path) > 0:
            if not resume:
                raise TableError("{} exists: --resume appends what is missing in it".format(path))
            drop_torn_row(path)
            self.read()
        if not os.path.exists(path) or os.path.getsize(path) == 0:
            self.append_line(self.columns)

    def read(self):
        with open(self.path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames is None:
                return
            if tuple(reader.fieldnames) != self.columns:
                raise TableError("{}:1: not the columns that this program writes".format(self.path))
            self.done = {self.key_of(row) for row in reader}

    def key_of(self, row):
        return tuple(str(row[name]) for name in self.key)

    def append_line(self, values):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(values)
        with open(self.path, "ab") as file:
            file.write(text.getvalue().encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())

    def has(self, row):
        return self.key_of(row) in self.done

    def append(self, row):
        self.append_line([row[name] for name in self.columns])
        self.done.add(self.key_of(row))
