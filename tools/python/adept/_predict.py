"""Predictions, sweeps and fits as the program answers them."""
from __future__ import annotations

import html
import os
import shutil
import sys
import tempfile
import weakref
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _export, _lib, _program

Path = Union[str, "os.PathLike[str]"]


def _si(value: Optional[float], unit: str) -> str:
    if value is None:
        return "unknown"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "µ")):
        if abs(value) >= factor or (factor == 1e-6):
            return "%.4g %s%s" % (value / factor, prefix, unit)
    raise AssertionError


class _Model:
    """A file that the program reads: the caller's, or one made of a module, which goes with this object."""

    def __init__(self, model: Any, example_inputs: Any, options: Dict[str, Any], dynamic_shapes: Any) -> None:
        self.temporary = _export.is_module(model)
        if not self.temporary:
            if example_inputs is not None or dynamic_shapes is not None:
                raise _lib.UsageError("example_inputs and dynamic_shapes are of a module; the shapes of a file are given by input=\"Bx3x224x224\"")
            self.path = os.fspath(model)
            return
        if example_inputs is None:
            raise _lib.UsageError("a module needs example_inputs: a tensor, a tuple of arguments, or a dictionary of keywords")
        folder = tempfile.mkdtemp(prefix="adept-")
        weakref.finalize(self, shutil.rmtree, folder, True)
        self.path = os.path.join(folder, type(model).__name__ + _export.default_suffix())
        _export.export(model, example_inputs, self.path, mode=options.get("mode") or "train", dynamic_shapes=dynamic_shapes)
        if options.get("batch") is None:
            options["batch"] = _export.batch_of(example_inputs)
        if sys.modules["torch"].__version__.startswith("1."):
            options.setdefault("framework", "torch1") # whose kernels run the module here


def _table(rows: List[Dict[str, Any]]) -> Any:
    """Rows as pandas has them, where it is installed."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def _bar(share: float) -> str:
    return ("<svg width='120' height='10' role='img' aria-label='%.0f %%'><rect width='%.1f' height='10' fill='#0072B2'/></svg>" %
            (100 * share, 120 * share))


def _picture(parts: List[Tuple[str, float, str]], whole_s: float) -> str:
    """A bar of the step: what it is spent on."""
    at, drawn = 0.0, []
    for name, time_s, color in parts:
        width = 480 * time_s / whole_s
        drawn.append("<rect x='%.1f' width='%.1f' height='18' fill='%s'><title>%s: %s</title></rect>" % (at, width, color, name, _si(time_s, "s")))
        at += width
    said = ", ".join("%s %.0f %%" % (name, 100 * time_s / whole_s) for name, time_s, _ in parts)
    return "<svg width='480' height='18' role='img' aria-label='%s'>%s</svg><p>%s</p>" % (said, "".join(drawn), said)


class Prediction:
    """One predicted step. `json` is all that `adept predict --by layer --json` says, and `r["mfu"]` a member of it. None: not known."""

    def __init__(self, json: Dict[str, Any], model: _Model, options: Dict[str, Any]) -> None:
        self.json, self._model, self._options = json, model, options

    def __getitem__(self, name: str) -> Any:
        return self.json[name]

    @property
    def step_time_s(self) -> float:
        """One step, wall clock."""
        return float(self.json["step_time_s"])

    @property
    def power_avg_w(self) -> Optional[float]:
        """Mean over the step, all GPUs together."""
        value: Optional[float] = self.json["power_avg_w"]
        return value

    @property
    def energy_j(self) -> Optional[float]:
        """Of one step: power_avg_w * step_time_s."""
        value: Optional[float] = self.json["energy_step_j"]
        return value

    @property
    def interval(self) -> Optional[Dict[str, Any]]:
        """{"level": 0.8, "step_time_s": [low, high], "power_avg_w": [low, high] or None}, or None where the fit has no residuals."""
        value: Optional[Dict[str, Any]] = self.json["interval"]
        return value

    @property
    def layers(self) -> Any:
        """A row for each module, in the model's order: path, module_class, count, time_s, energy_j, flops, ... Times sum to
        r["time"]["pass_s"]. A pandas.DataFrame where pandas is there, else a list of dictionaries, which is r["layers"] in any case.
        None of a query that several GPUs share."""
        return _table(self.json["layers"]) if "layers" in self.json else None

    @property
    def memory(self) -> Dict[str, Any]:
        """Of one GPU, in bytes: weights_bytes, gradients_bytes, ..., peak_bytes, capacity_bytes."""
        parts: Dict[str, Any] = self.json["memory"]
        return parts

    @property
    def fits(self) -> bool:
        """Whether memory.peak_bytes fits the GPU."""
        return bool(self.json["memory"]["fits"])

    @property
    def bound(self) -> str:
        """What takes most of the step: "compute", "memory", "launch" or "communication"."""
        return str(self.json["bound"])

    @property
    def throughput(self) -> float:
        """Samples a second, of all GPUs."""
        return float(self.json["samples_per_s"])

    @property
    def warnings(self) -> List[str]:
        """What to know before trusting the numbers."""
        texts: List[str] = self.json["warnings"]
        return texts

    def save_profile(self, path: Path) -> str:
        """Write the profile of the model under these options: `predict(path, gpu=...)` says the same of it, without PyTorch."""
        kept = {name: value for name, value in self._options.items() if name in _WORKLOAD_OPTIONS}
        _program.run("profile", [self._model.path], dict(kept, output=os.fspath(path)), json_output=False)
        return os.fspath(path)

    def _rows(self) -> List[Tuple[str, str]]:
        level, low_high = "", self.interval
        if low_high and low_high["step_time_s"]:
            level = " (%g %%: %s to %s)" % ((100 * low_high["level"],) + tuple(_si(v, "s") for v in low_high["step_time_s"]))
        config = self.json["config"]
        return [("model", str(self.json["model"]["path"] if not self._model.temporary else os.path.basename(self._model.path).split(".")[0])),
                ("GPU", "%d x %s%s" % (config["gpus"], self.json["gpu"]["name"], "" if self.json["gpu"]["calibrated"] else ", not calibrated")),
                ("run", "%s, %s, batch %d, %s" % (config["mode"], config["precision"], config["batch_size"], config["optimizer"])),
                ("step time", _si(self.step_time_s, "s") + level),
                ("mean power", _si(self.power_avg_w, "W")),
                ("energy of a step", _si(self.energy_j, "J"))]

    def __repr__(self) -> str:
        return "<Prediction: %s>" % "; ".join("%s %s" % row for row in self._rows())

    def _repr_html_(self) -> str:
        rows = "".join("<tr><th style='text-align:left'>%s</th><td style='text-align:left'>%s</td></tr>" %
                       (html.escape(name), html.escape(text)) for name, text in self._rows())
        notes = "".join("<li>%s</li>" % html.escape(text) for text in self.warnings)
        time = self.json["time"]
        parts = [("forward, backward", time["pass_s"], "#0072B2"), ("waiting for the host", time["kernel_launch_s"], "#CC79A7"),
                 ("communication", time["comm_s"], "#D55E00"), ("optimizer", time["optimizer_s"], "#009E73"), ("fixed", time["fixed_s"], "#999999")]
        return "<table><caption>predicted, not measured</caption>%s</table>%s%s" % (
            rows, _picture([part for part in parts if part[1] > 0], self.step_time_s), "<ul>%s</ul>" % notes if notes else "")


_WORKLOAD_OPTIONS = frozenset("batch input allow_unsupported assume assume_branch assume_trips assume_fraction trust memory_limit".split() +
                              _lib.workload_words())


def predict(model: Any, example_inputs: Any = None, *, gpu: Path, batch: Optional[int] = None, precision: Any = None, mode: Any = None,
            optimizer: Any = None, dynamic_shapes: Any = None, **options: Any) -> Prediction:
    """Predict one step.

    `model` is a file (.pt, .pt2 or a saved profile) or a torch.nn.Module, which export() makes a file of: its weights are not read, and may
    be on the device "meta". Without `batch`, a module's is that of `example_inputs`. `gpu` is a name ("h100") or a hardware profile's file.
    `options` are those of `adept predict` with underscores: gpus=8, grad_accum=2, execution="compile", input=["i64:Bx512"]; quantities may
    name their unit: power_limit_w=250, clock_hz=1.2e9, host_launch_s=2e-5, internode_bytes_per_s=25e9.
    Queries that arrive (docs/INFERENCE.md): mix=[(prompt, tokens, share), ...], rate="8/s", or without a rate a trace,
    mix=[(arrival_s, prompt, tokens), ...], or a file of either; the answer is r.json["mix"].
    Raises Error with the program's message; its `status` is one of the E_ constants.
    """
    options.update(batch=batch, precision=precision, mode=mode, optimizer=optimizer)
    source = _Model(model, example_inputs, options, dynamic_shapes)
    generates = getattr(mode, "value", mode) == "generate" # of which no rows are told apart where several GPUs share a query
    by = None if generates and any(options.get(word) for word in ("tp", "pp", "cp", "ep", "sp", "fsdp")) else "layer"
    with tempfile.TemporaryDirectory() as folder:
        mix = options.get("mix")
        if mix is not None and not isinstance(mix, (str, os.PathLike)):
            options["mix"] = os.path.join(folder, "mix.csv")
            with open(options["mix"], "w", encoding="utf-8") as file:
                file.write(("prompt,tokens,share\n" if options.get("rate") else "arrival_s,prompt,tokens\n") + "".join("%s,%s,%s\n" % tuple(row) for row in mix))
        return Prediction(_program.run("predict", [source.path], dict(options, gpu=gpu, by=by)), source, options)


class Sweep:
    """Many predicted steps. `json` is all that `adept sweep --json` says."""

    def __init__(self, json: Dict[str, Any]) -> None:
        self.json = json

    @property
    def points(self) -> List[Dict[str, Any]]:
        """A dictionary for each: what varies, step_time_s, power_avg_w, ..."""
        rows: List[Dict[str, Any]] = self.json["points"]
        return rows

    @property
    def table(self) -> Any:
        """The same as a pandas.DataFrame where pandas is there."""
        return _table(self.points)

    @property
    def answers(self) -> Dict[str, Any]:
        """Which points are best in time, energy and their product, and the Pareto front."""
        answers: Dict[str, Any] = self.json["answers"]
        return answers

    @property
    def best(self) -> Optional[Dict[str, Any]]:
        """The point of least `objective` per sample, with its index in `points`."""
        best: Optional[Dict[str, Any]] = self.answers["best"]
        return best

    @property
    def job(self) -> Optional[Dict[str, Any]]:
        """The job's best point within its limits, where a job was given."""
        job: Optional[Dict[str, Any]] = self.json.get("job")
        return job

    def __repr__(self) -> str:
        return "<Sweep: %d points, best %r>" % (len(self.points), self.best)

    def _repr_html_(self) -> str:
        keys = [axis["key"] for axis in self.json["vary"]]
        rows = [p for p in self.points if p["step_time_s"] is not None]
        most = max([p["step_time_s"] for p in rows], default=1)
        cells = [(", ".join("%s=%s" % (key, p.get(key)) for key in keys), _bar(p["step_time_s"] / most), _si(p["step_time_s"], "s"),
                  _si(p["energy_step_j"], "J"), "" if p["fits"] else "does not fit") for p in rows[:200]]
        return ("<table><caption>predicted, not measured</caption>%s</table>" %
                "".join("<tr><th style='text-align:left'>%s</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>" %
                        (html.escape(name), bar, html.escape(time), html.escape(energy), note) for name, bar, time, energy, note in cells))


def sweep(model: Any, example_inputs: Any = None, *, vary: Mapping[str, Iterable[Any]], gpu: Optional[Path] = None, dynamic_shapes: Any = None,
          **options: Any) -> Sweep:
    """Predict all combinations: sweep(model, x, gpu="a100", vary={"batch": [16, 32, 64], "precision": ["fp32", "bf16"]}).

    Keys of `vary` are those of `adept sweep --vary`, "gpu" too. Other options are as of predict(), and those of a job: samples=1e6,
    within_time_s=3600, within_energy_j=..., minimise="energy".
    """
    source = _Model(model, example_inputs, options, dynamic_shapes)
    axes = {key: values if isinstance(values, str) else list(values) for key, values in vary.items()}
    return Sweep(_program.run("sweep", [source.path], dict(options, gpu=gpu, vary=axes)))


class Plan:
    """Layouts of a training step. `json` is all that `adept plan --json` says."""

    def __init__(self, json: Dict[str, Any]) -> None:
        self.json = json

    @property
    def layouts(self) -> List[Dict[str, Any]]:
        """The best, each with layout, step_time_s, energy_step_j, memory, flags, ..."""
        rows: List[Dict[str, Any]] = self.json["layouts"]
        return rows

    @property
    def best(self) -> Optional[Dict[str, Any]]:
        """The first of them; None where none fits."""
        return self.layouts[0] if self.layouts else None

    @property
    def front(self) -> List[Dict[str, Any]]:
        """None is better in time and joules, by the search's closed forms."""
        rows: List[Dict[str, Any]] = self.json["front"]
        return rows

    @property
    def table(self) -> Any:
        """A row for each of layouts, as a pandas.DataFrame where pandas is there."""
        words = "dp tp pp virtual_stages cp ep micro_batch schedule sharded activation_checkpoint".split()
        return _table([dict({word: row["layout"][word] for word in words}, step_time_s=row["step_time_s"], energy_step_j=row["energy_step_j"],
                            cost=row["cost"], peak_bytes=row["memory"]["peak_bytes"]) for row in self.layouts])

    def __repr__(self) -> str:
        asked = self.json["asked"]
        return "<Plan: %d layouts of %s on %d x %s, %d shown>" % (self.json["searched"], asked["model"], asked["gpus"], asked["gpu"], len(self.layouts))


def plan(model: Any, example_inputs: Any = None, *, gpu: Path, gpus: int, global_batch: int, dynamic_shapes: Any = None, **options: Any) -> Plan:
    """Search all layouts of a training step: plan("llama-3-8b", gpu="h100", gpus=64, global_batch=256, precision="bf16", minimise="energy").

    Other options are those of `adept plan` with underscores: within=5, limits=8, gpu_hour_price=2.5, top=20.
    """
    source = _Model(model, example_inputs, dict(options), dynamic_shapes)
    return Plan(_program.run("plan", [source.path], dict(options, gpu=gpu, gpus=gpus, global_batch=global_batch)))


def calibrate(measurements: Union[Path, Sequence[Path]] = (), *, gpu: Path, output: Path, **options: Any) -> Dict[str, Any]:
    """Fit a GPU to measured steps, write the hardware profile `output`, and return the report of `adept calibrate --json`.

    `measurements` is one CSV file or several, as Callback writes them. `options` are those of `adept calibrate`: models="folder",
    kernels=["gemm.csv"], leave_out="model".
    """
    files = [measurements] if isinstance(measurements, (str, os.PathLike)) else list(measurements)
    return _program.run("calibrate", files, dict(options, gpu=gpu, output=os.fspath(output)))
