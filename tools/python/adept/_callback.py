"""Measured steps beside predicted ones, from inside a training loop."""
from __future__ import annotations

import csv
import hashlib
import math
import os
import socket
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, Optional

from ._lib import UsageError, run_words, workload_words
from ._measure import Measurement, cuda_address, measure
from ._predict import Path, Prediction, _si

_CONFIGURATION = ("batch_size gpus precision mode optimizer optimizer_impl optimizer_extras grad_scaler clip_grad_norm grad_accum attention memory_format "
                  "execution overlap host_launch_s host_step_s host_sample_s power_limit_w").split()
_SAID_OTHERWISE = ("seq_length", "framework")  # by the model's file and its profile; by the column torch
_COLUMNS = ["model", "input", "gpu"] + _CONFIGURATION + ["step_time_s", "avg_power_w", "power_scope", "source", "torch",
                                               "driver", "board"]

# A board's counter of energy moves some ten times a second, and between steps a board draws less than in them.
_LEAST_WINDOW_S = 2.0
_LEAST_SHARE_IN_STEPS = 0.9


def _measure_boards(gpus: int) -> Optional[Measurement]:
    """The boards that this process uses, read from now on; None where it uses none, or they are other processes'."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or gpus > torch.cuda.device_count() or not _is_first_process():
        return None
    first = torch.cuda.current_device() if gpus == 1 else 0
    try:
        return measure(devices=[cuda_address(i) for i in range(first, first + gpus)])
    except OSError:  # GPUs of another vendor
        return None


def _now_s() -> float:
    """When all that was launched is done."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def _is_first_process() -> bool:
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return True
    return bool(distributed.get_rank() == 0)


class Callback:
    """Compares a prediction with measured steps, and appends the row that `adept calibrate` reads.

    In a loop of your own, where step() ends a step and begins the next:

        with adept.Callback(prediction, "runs.csv") as callback:
            for batch in loader:
                ...
                callback.step()

    Of Hugging Face: Trainer(..., callbacks=[callback]). Of Lightning: Trainer(callbacks=[callback.lightning()]).

    The first `warmup` steps are not counted. The time is the median of the others, after torch.cuda.synchronize() where there is CUDA.
    The power is that of the boards in these steps by adept.measure(), once finish() has ended it; it needs at least two seconds, of which
    steps took nine tenths, else the column is empty. Without `model`, a file's path goes into the row; of a module the profile is written beside the CSV file.
    In a distributed job only the process of rank 0 reports and writes. Trainer, Lightning and CUDA were tried with stand-ins only.
    """

    def __init__(self, prediction: Prediction, csv: Optional[Path] = None, *, model: Optional[str] = None, source: str = "adept.Callback",
                 warmup: int = 5, report: Optional[Callable[[str], Any]] = print) -> None:
        self.prediction, self.csv, self.model, self.source, self.warmup, self.report = prediction, csv, model, source, warmup, report
        self.times_s: List[float] = []  # of every step after the warm-up
        self.power_avg_w: Optional[float] = None  # of all boards, once it has finished
        self._boards: Optional[Measurement] = None
        self._region: Optional[int] = None  # of the step that runs
        self._seen = 0
        self._begin_s: Optional[float] = None
        self._first_s = self._last_s = 0.0  # when the counted steps began and ended
        self._finished = False
        self._columns, self._configuration = _COLUMNS, {}  # type: List[str], Dict[str, Any]
        if csv is not None:  # what is wrong with it is found before the steps, not after them
            self._configuration = self._configured(csv)
            self._columns = self._columns_of(csv)

    # ---- steps ----

    def begin(self) -> None:
        """A step begins."""
        if self._seen == 0 and self._begin_s is None:
            self._boards = _measure_boards(int(self.prediction["config"]["gpus"]))
        self._leave()
        if self._boards and self._seen >= self.warmup:
            self._region = self._boards._enter("step")
        self._begin_s = _now_s()

    def end(self) -> None:
        """The step ends."""
        if self._begin_s is None:
            raise UsageError("end() of a step without begin()")
        end_s = _now_s()
        self._leave()
        if self._seen >= self.warmup:
            if not self.times_s:
                self._first_s = self._begin_s
            self._last_s = end_s
            self.times_s.append(end_s - self._begin_s)
        self._seen += 1
        self._begin_s = None

    def _leave(self) -> None:
        if self._boards and self._region is not None:
            self._boards._leave(self._region)
        self._region = None

    def step(self) -> None:
        """A step ends, and the next begins."""
        if self._begin_s is not None:
            self.end()
        self.begin()

    def __enter__(self) -> "Callback":
        self.begin()
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.finish()
        elif self._boards:
            self._boards.stop()

    # ---- what came of it ----

    @property
    def step_time_s(self) -> Optional[float]:
        return statistics.median(self.times_s) if self.times_s else None

    def _read_boards(self) -> None:
        if not self._boards:
            return
        self._boards.stop()
        took_s = self._last_s - self._first_s
        if took_s < _LEAST_WINDOW_S or len(self._boards.json()["sensors"]) < self.prediction["config"]["gpus"]:
            return
        measured = self._boards.read("gpu", "step")  # a step that was begun and not ended is in it
        if sum(self.times_s) >= _LEAST_SHARE_IN_STEPS * max(took_s, measured.time_s) and not math.isnan(measured.avg_power_w):
            self.power_avg_w = measured.avg_power_w

    def comparison(self) -> Dict[str, Any]:
        """Predicted and measured, the prediction's error in percent of what was measured, and whether that lies in the interval."""
        row: Dict[str, Any] = {"steps": len(self.times_s)}
        interval = self.prediction.interval or {}
        for name, measured in (("step_time_s", self.step_time_s), ("power_avg_w", self.power_avg_w)):
            predicted, low_high = getattr(self.prediction, name), interval.get(name)
            known = predicted is not None and measured is not None
            row[name] = {"predicted": predicted, "measured": measured,
                         "error_percent": 100 * (predicted / measured - 1) if known and measured else None,
                         "inside": low_high[0] <= measured <= low_high[1] if low_high and measured is not None else None}
        return row

    def __str__(self) -> str:
        parts = []
        comparison = self.comparison()
        for name, unit in (("step_time_s", "s"), ("power_avg_w", "W")):
            c = comparison[name]
            text = "%s measured, %s predicted" % (_si(c["measured"], unit), _si(c["predicted"], unit))
            if c["error_percent"] is not None:
                text += " (%+.0f %%%s)" % (c["error_percent"], {None: "", True: ", inside the interval", False: ", outside the interval"}[c["inside"]])
            if c["measured"] is not None:
                parts.append(text)
        return "adept: %d steps: %s" % (len(self.times_s), "; ".join(parts) or "none after %d of warm-up" % self.warmup)

    # ---- the row of measurements: empty is not known ----

    def _configured(self, path: Path) -> Dict[str, Any]:
        config, options = self.prediction["config"], self.prediction._options
        row = {name: config.get(name, options.get(name)) for name in _CONFIGURATION}
        for name in workload_words() + run_words():  # all others that are said; a number may be said by another name
            value = config.get(name, options.get(name))
            is_said = value is True or (value not in (0, 1) if isinstance(value, (int, float)) else options.get(name))
            if is_said and name not in _CONFIGURATION and name not in _SAID_OTHERWISE:
                row[name] = value
        shapes = options.get("input") or ""
        row.update(model=self.model or self._model_of(path), input=shapes if isinstance(shapes, str) else ";".join(shapes),
                   gpu=self.prediction["gpu"]["name"])
        return {name: "" if value is None or value is False else "true" if value is True else value for name, value in row.items()}

    def _model_of(self, path: Path) -> str:
        """The model's file, from where the measurements lie; a profile made there where it has none that says all."""
        folder, model = os.path.dirname(os.path.abspath(path)), self.prediction._model
        if not model.temporary and self.prediction._options.get("seq_length") is None:
            return os.path.relpath(model.path, folder) if os.path.exists(model.path) else model.path  # the name of a bundled model
        with open(model.path, "rb") as file:
            content = file.read() + str(self.prediction["config"]).encode()
        name = "%s-%s.profile.json" % (os.path.basename(model.path).split(".")[0], hashlib.sha256(content).hexdigest()[:8])
        self.prediction.save_profile(os.path.join(folder, name))
        return name

    def _columns_of(self, path: Path) -> List[str]:
        if not os.path.exists(path) or os.path.getsize(path) == 0:
            return _COLUMNS + [name for name in self._configuration if name not in _COLUMNS]
        with open(path, newline="", encoding="utf-8") as file:
            columns = next(csv.reader(file))
        lacking = [name for name in list(self._configuration) + ["step_time_s"] if self._configuration.get(name) not in ("", "auto") and name not in columns]
        if lacking:
            raise UsageError("%s has no column %s: append to another file" % (os.fspath(path), ", ".join(lacking)))
        return columns

    def _board(self) -> Dict[str, str]:
        """What `adept calibrate --watch` tells drift by: the driver, and which board it was; nothing of several boards or none."""
        sensors = self._boards.json()["sensors"] if self._boards else []
        if len(sensors) != 1:
            return {}
        device, _, driver = sensors[0]["device"].partition(", driver ")
        return {"driver": driver, "board": "%s %s" % (socket.gethostname(), device.split()[-1])}

    def _append(self, path: Path) -> None:
        power_w, torch = self.power_avg_w, sys.modules.get("torch")
        row = dict(self._configuration, step_time_s=self.step_time_s, source=self.source, torch=getattr(torch, "__version__", ""), **self._board())
        if power_w is not None:
            row.update(avg_power_w=power_w, power_scope="gpu")
        with open(path, "a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self._columns, restval="", extrasaction="ignore", lineterminator="\n")
            if file.tell() == 0:
                writer.writeheader()
            writer.writerow(row)

    def finish(self) -> None:
        """Report, and append the row. What calls it twice does so once."""
        if self._finished or not _is_first_process():
            return
        self._finished = True
        self._read_boards()
        if self.report:
            self.report(str(self))
        if self.csv is not None and self.times_s:
            self._append(self.csv)

    # ---- Hugging Face: any object whose methods are called as TrainerCallback's ----

    def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.end()

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.finish()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_"):  # events that are nothing to us
            return lambda *arguments, **keywords: None
        raise AttributeError(name)

    # ---- Lightning takes objects of its own class only ----

    def lightning(self) -> Any:
        """This callback as a Callback of Lightning."""
        try:
            from lightning.pytorch import Callback as Base  # type: ignore[import]
        except ImportError:
            from pytorch_lightning import Callback as Base  # type: ignore[import]
        outer = self

        class LightningCallback(Base):  # type: ignore[misc, valid-type]
            def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
                if batch_idx % trainer.accumulate_grad_batches == 0:
                    outer.begin()

            def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
                if (batch_idx + 1) % trainer.accumulate_grad_batches == 0:
                    outer.end()

            def on_train_end(self, trainer: Any, pl_module: Any) -> None:
                outer.finish()

        return LightningCallback()
