"""libadept over ctypes, Python 3.7 or newer.

    import adept
    workload = adept.Workload.open("resnet50.profile.json")
    oracles = {name: adept.Oracle(workload, adept.Gpu.open(name)) for name in ("a100", "v100")}
    requests = [o.request(gpus=n, power_limit_w=w) for o in oracles.values() for n in (1, 2, 4) for w in (150, 200, 250)]
    estimates = adept.predict_many(requests)
    choice = adept.choose(estimates, adept.LEAST_EDP, samples=1.28e6, deadline_s=3600)
    print(choice.best, choice.verdict.time_s, choice.verdict.energy_j)

The names, their meaning and the rules for threads are those of <adept/adept.h> (docs/LIBRARY.md, libadept(3)) without the prefix; errors are
exceptions of class Error. The library is the file named by the environment variable ADEPT_LIBRARY, the one of this package, or libadept.so
as the system finds it.
"""
from __future__ import annotations

import ctypes
import itertools
import json
import os
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

__all__ = [
    "ABI_VERSION", "OK", "E_INTERNAL", "E_NOMEM", "E_IO", "E_USAGE", "E_INVALID", "E_UNSUPPORTED", "E_FIT", "E_UNKNOWN_GPU", "E_CHECK",
    "E_INFEASIBLE", "ALLREDUCE_RING", "ALLREDUCE_TREE", "ALLREDUCE_AUTO", "LINK_BOARD", "LINK_BRIDGE", "SCOPE_GPU", "SCOPE_NODE", "OVERLAP_AUTO", "OVERLAP_FIXED", "OVERLAP_BUCKETED",
    "OVERLAP_NONE", "BOUND_COMPUTE", "BOUND_MEMORY", "BOUND_LAUNCH", "BOUND_COMMUNICATION", "NOTE_UNCALIBRATED", "NOTE_NO_POWER",
    "NOTE_NO_ROOM", "NOTE_OUTSIDE", "NOTE_LIMITED", "NOTE_ABOVE_LIMIT", "NOTE_TRANSFERRED", "LEAST_TIME", "LEAST_ENERGY", "LEAST_EDP", "LEAST_ED2P",
    "CONSTRAINT_POWER", "CONSTRAINT_DEADLINE", "CONSTRAINT_ENERGY", "CONSTRAINT_MEMORY", "CONSTRAINT_PREDICTABLE", "Error", "Infeasible",
    "WorkloadInfo", "GpuInfo", "Request", "Estimate", "LimitEstimate", "BestLimits", "Verdict", "Choice", "Measured", "Workload", "Gpu", "Oracle",
    "predict_many", "choose", "host_names", "node_names", "workload_words", "run_words", "plan_words", "version_text"]

ABI_VERSION = 2

(OK, E_INTERNAL, E_NOMEM, E_IO, E_USAGE, E_INVALID, E_UNSUPPORTED, E_FIT, E_UNKNOWN_GPU, E_CHECK, E_INFEASIBLE) = range(11)
ALLREDUCE_RING, ALLREDUCE_TREE, ALLREDUCE_AUTO = range(3)
LINK_BOARD, LINK_BRIDGE = range(2)
SCOPE_GPU, SCOPE_NODE = range(2)
OVERLAP_AUTO, OVERLAP_FIXED, OVERLAP_BUCKETED, OVERLAP_NONE = range(4)
BOUND_COMPUTE, BOUND_MEMORY, BOUND_LAUNCH, BOUND_COMMUNICATION = range(4)
(NOTE_UNCALIBRATED, NOTE_NO_POWER, NOTE_NO_ROOM, NOTE_OUTSIDE, NOTE_LIMITED, NOTE_ABOVE_LIMIT,
 NOTE_TRANSFERRED) = (1 << i for i in range(7))
LEAST_TIME, LEAST_ENERGY, LEAST_EDP, LEAST_ED2P = range(4)
CONSTRAINT_POWER, CONSTRAINT_DEADLINE, CONSTRAINT_ENERGY, CONSTRAINT_MEMORY, CONSTRAINT_PREDICTABLE = (1 << i for i in range(5))


class Error(Exception):
    """What the library refused. `status` is one of the E_ constants."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class UsageError(Error, ValueError, TypeError, OverflowError):
    """What this package refuses before the library is asked: an Error like all others, and what Python calls such."""

    def __init__(self, message: str) -> None:
        super().__init__(E_USAGE, message)


# ---- the structures of the headers, member by member; tests compare sizes and offsets with the C compiler's ----

class _Struct(ctypes.Structure):
    def __setattr__(self, name, value):
        kind = self._integers().get(name)
        if kind is not None and isinstance(value, int) and kind(value).value != value:  # ctypes would cut it
            raise UsageError("%s=%d: not a number of %d bits" % (name, value, 8 * ctypes.sizeof(kind)))
        super().__setattr__(name, value)

    @classmethod
    def _integers(cls):
        if "_integer_kinds" not in cls.__dict__:
            cls._integer_kinds = {field[0]: field[1] for field in cls._fields_ if field[1] in (c_int, c_int32, c_int64, c_uint32, c_uint64, c_size_t)}
        return cls._integer_kinds

    def __init__(self, *values, **members):
        unknown = {name for name in members if not hasattr(type(self), name)}
        if unknown:  # ctypes would take it for a new attribute
            raise UsageError("%s has no member %s" % (type(self).__name__.lstrip("_"), ", ".join(sorted(unknown))))
        super().__init__(*values, **members)

    def __repr__(self):
        shown = ", ".join("%s=%r" % (name, getattr(self, name)) for name, *_ in self._fields_ if not name.startswith(("reserved", "_oracle")))
        return "%s(%s)" % (type(self).__name__, shown)


def _doubles(names):
    return [(name, c_double) for name in names.split()]


_RESERVED = [("reserved", c_double * 4)]


class _Owner(ctypes.Structure):
    """What a handle of the library points to, and what it borrows: freed with the last Python object that keeps it. A structure keeps
    what the pointers in it were set to, and so does an array that it is copied into."""

    def __del__(self) -> None:
        free = getattr(self, "free", None)
        if free:
            free(byref(self))


_Pointer = POINTER(_Owner)


class _Kind:
    """A parameter that takes one kind of handle: to C they are all pointers."""

    def __init__(self, name):
        self.name = name

    def from_param(self, value):
        if not any(base.__name__ == self.name for base in type(value).__mro__ if issubclass(base, _Handle)):
            raise UsageError("a %s is expected, not %s" % (self.name, type(value).__name__))
        return value._owner


_WORKLOAD, _GPU, _ORACLE, _MEASUREMENT = map(_Kind, ("Workload", "Gpu", "Oracle", "Measurement"))


class _Error(_Struct):
    _fields_ = [("status", c_int), ("line", c_int), ("message", c_char * 1024)]


class _ModelOptions(_Struct):
    _fields_ = [("mode", c_char_p), ("precision", c_char_p), ("optimizer", c_char_p), ("attention", c_char_p), ("batch_size", c_int64),
                ("seq_length", c_int64), ("grad_accum", c_int64), ("inputs", POINTER(c_char_p)), ("n_inputs", c_size_t), ("allow_unsupported", c_int),
                ("memory_format", c_char_p), ("optimizer_impl", c_char_p), ("optimizer_extras", c_char_p), ("assume", POINTER(c_char_p)),
                ("execution", c_char_p), ("memory_bytes", c_uint64), ("framework", c_char_p), ("words", POINTER(c_char_p))]


class WorkloadInfo(_Struct):
    _fields_ = [("_model", c_char_p), ("_mode", c_char_p), ("_precision", c_char_p), ("_optimizer", c_char_p), ("_attention", c_char_p),
                ("batch_size", c_int64), ("grad_accum", c_int64), ("params", c_int64),
                ("trainable_params", c_int64)] + _doubles("flops_forward flops_backward macs_forward") + [
                    ("seq_length", c_int64)] + _RESERVED


class GpuInfo(_Struct):
    _fields_ = [("_name", c_char_p), ("_vendor", c_char_p), ("_architecture", c_char_p), ("_granularity", c_char_p), ("transferred", c_int32),
                ("reserved_int", c_int32)] + _doubles(
        "mem_bytes clock_boost_hz clock_min_hz tdp_w power_limit_min_w power_limit_max_w idle_w") + [("_taken", c_char_p), ("reserved", c_double * 3)]


class Request(_Struct):
    """How a step runs; made by Oracle.request(). Zero is the default everywhere."""
    _fields_ = [("_oracle", _Pointer), ("gpus", c_int64), ("nodes", c_int64)] + _doubles(
        "power_limit_w clock_hz internode_bytes_per_s internode_latency_s bucket_bytes") + [("allreduce", c_int32), ("overlap", c_int32)
                                                                                             ] + _doubles(
        "host_launch_s") + [("link", c_int32), ("reserved_int", c_int32), ("_host", c_char_p), ("host_step_s", c_double),
                           ("host_sample_s", c_double), ("words", POINTER(c_char_p)), ("reserved", c_double * 3)]


class Estimate(_Struct):
    """A predicted step. Power and energy are those of all GPUs together, or of their nodes where power_scope says so. NAN: not known."""
    _fields_ = [("status", c_int), ("notes", c_uint32), ("bound", c_int32), ("reserved_int", c_int32)] + _doubles(
        "step_time_s power_avg_w energy_step_j edp_js samples samples_per_s energy_per_sample_j pass_s optimizer_s comm_s "
        "kernel_launch_s fixed_s comm_hidden_s clock_ratio clock_hz peak_bytes capacity_bytes interval_level") + [
            ("interval_time_s", c_double * 2), ("interval_power_w", c_double * 2), ("boards_power_w", c_double),
            ("node_power_w", c_double), ("ttft_s", c_double), ("tpot_s", c_double)]


class LimitEstimate(_Struct):
    _fields_ = _doubles("limit_w clock_hz step_time_s power_avg_w energy_step_j edp_js slowdown energy_saving edp_saving")


class BestLimits(_Struct):
    _fields_ = _doubles("low_w high_w") + [(name, LimitEstimate) for name in ("unset", "energy_optimal", "edp_optimal")]


class _QueryRow(_Struct):
    _fields_ = _doubles("prompt tokens share")


class _Queries(_Struct):
    _fields_ = [("rows", POINTER(_QueryRow)), ("n_rows", c_size_t), ("rate_per_s", c_double), ("requests", c_int64), ("seed", c_int64), ("arrivals_s", POINTER(c_double))] + _RESERVED[:-1] + [("reserved", c_double * 3)]


class _Goal(_Struct):
    _fields_ = [("objective", c_int32), ("ignore_memory", c_int32)] + _doubles(
        "samples steps power_budget_w deadline_s energy_budget_j") + _RESERVED


class Verdict(_Struct):
    _fields_ = _doubles("steps time_s energy_j edp_js power_w") + [("violated", c_uint32), ("reserved", c_uint32)]


class Choice(_Struct):
    """`best` is the index of the option, `verdict` what its job takes; `verdicts` (a list) that of every option."""
    _fields_ = [("best", c_size_t), ("n_feasible", c_size_t), ("binding", c_uint32), ("reserved", c_uint32), ("needed", c_double),
                ("nearest", c_size_t), ("verdict", Verdict)]


class _MeasureOptions(_Struct):
    _fields_ = [("period_s", c_double), ("devices", POINTER(c_char_p)), ("n_devices", c_size_t), ("sysroot", c_char_p), ("reserved", c_void_p * 4)]


class Measured(_Struct):
    """Seconds and joules of a region or of the whole. NAN: not known."""
    _fields_ = [("count", c_size_t)] + _doubles(
        "time_s energy_j low_j high_j avg_power_w time_mean_s time_sd_s energy_mean_j energy_sd_j") + _RESERVED


class Infeasible(Error):
    """No option meets the constraints; `choice` names the binding one."""

    def __init__(self, status: int, message: str, choice: Choice) -> None:
        super().__init__(status, message)
        self.choice = choice


def _text_property(name):
    def get(self):
        value = getattr(self, name)
        return None if value is None else value.decode("utf-8", "replace")

    def put(self, text):
        setattr(self, name, _encode(text))
    return property(get, put)


for _class in (WorkloadInfo, GpuInfo, Request):
    for _field in _class._fields_:
        if _field[1] is c_char_p:
            setattr(_class, _field[0][1:], _text_property(_field[0]))

# ---- the functions ----

_FUNCTIONS = {  # name: (result, arguments)
    "abi_version": (c_int, []),
    "version_text": (c_char_p, []),
    "status_text": (c_char_p, [c_int]),
    "workload_open": (c_int, [POINTER(c_void_p), c_char_p, POINTER(_ModelOptions), POINTER(_Error)]),
    "workload_read": (c_int, [POINTER(c_void_p), c_char_p, c_char_p, c_size_t, POINTER(_ModelOptions), POINTER(_Error)]),
    "workload_at": (c_int, [POINTER(c_void_p), _WORKLOAD, c_int64, c_int64, POINTER(_Error)]),
    "workload_with": (c_int, [POINTER(c_void_p), _WORKLOAD, POINTER(_ModelOptions), POINTER(_Error)]),
    "workload_free": (None, [c_void_p]),
    "workload_to_json": (c_int, [POINTER(c_void_p), _WORKLOAD, POINTER(_Error)]),
    "workload_describe": (None, [POINTER(WorkloadInfo), _WORKLOAD]),
    "text_free": (None, [c_void_p]),
    "gpu_open": (c_int, [POINTER(c_void_p), c_char_p, POINTER(_Error)]),
    "gpu_read": (c_int, [POINTER(c_void_p), c_char_p, c_char_p, c_size_t, POINTER(_Error)]),
    "gpu_free": (None, [c_void_p]),
    "gpu_name": (c_char_p, [c_size_t]),
    "host_name": (c_char_p, [c_size_t]),
    "node_name": (c_char_p, [c_size_t]),
    "workload_word": (c_char_p, [c_size_t]),
    "run_word": (c_char_p, [c_size_t]),
    "gpu_describe": (None, [POINTER(GpuInfo), _GPU]),
    "oracle_new": (c_int, [POINTER(c_void_p), _WORKLOAD, _GPU, c_char_p, POINTER(_Error)]),
    "oracle_free": (None, [c_void_p]),
    "predict_one": (c_int, [POINTER(Estimate), POINTER(Request), POINTER(_Error)]),
    "predict_many": (c_int, [POINTER(Estimate), POINTER(Request), c_size_t, POINTER(_Error)]),
    "predict_best_limits": (c_int, [POINTER(BestLimits), POINTER(Request), POINTER(_Error)]),
    "predict_json": (c_int, [POINTER(c_void_p), POINTER(Request), POINTER(_Error)]),
    "predict_mix": (c_int, [POINTER(c_void_p), _WORKLOAD, POINTER(Request), POINTER(_Queries), c_double, POINTER(_Error)]),
    "predict_details": (c_int, [POINTER(c_void_p), POINTER(Request), POINTER(_Error)]),
    "plan_layouts": (c_int, [POINTER(c_void_p), _WORKLOAD, _GPU, POINTER(c_char_p), c_double, POINTER(_Error)]),
    "plan_word": (c_char_p, [c_size_t]),
    "measure_start": (c_int, [POINTER(c_void_p), POINTER(_MeasureOptions), POINTER(_Error)]),
    "measure_enter": (c_size_t, [_MEASUREMENT, c_char_p]),
    "measure_leave": (None, [_MEASUREMENT, c_size_t]),
    "measure_stop": (None, [_MEASUREMENT]),
    "measure_free": (None, [c_void_p]),
    "measure_read": (c_int, [POINTER(Measured), _MEASUREMENT, c_char_p, c_char_p, POINTER(_Error)]),
    "measure_json": (c_int, [POINTER(c_void_p), _MEASUREMENT, POINTER(_Error)]),
    "mark": (c_int, [c_char_p, c_int, POINTER(_Error)]),
    "choose": (c_int, [POINTER(Choice), POINTER(Verdict), POINTER(Estimate), c_size_t, POINTER(_Goal), POINTER(_Error)]),
}


def _load():
    name = "libadept.so.%d.%d" % divmod(ABI_VERSION, 1000)
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", name)
    library = ctypes.CDLL(os.environ.get("ADEPT_LIBRARY") or (own if os.path.exists(own) else name))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, "adept_" + name)
        function.restype, function.argtypes = result, arguments
    if library.adept_abi_version() != ABI_VERSION:
        raise ImportError("libadept has ABI version %d, this package is for %d" % (library.adept_abi_version(), ABI_VERSION))
    return library


_lib = _load()


def _encode(text):
    if text is None:
        return None
    data = os.fsencode(text)
    if b"\0" in data:  # C would end there
        raise UsageError("a text with a zero byte: %r" % (text,))
    return data


def _call(name, *arguments):
    error = _Error()
    try:
        status = getattr(_lib, "adept_" + name)(*arguments, byref(error))
    except ctypes.ArgumentError as wrong:
        raise UsageError("adept_%s(): %s" % (name, wrong)) from None
    if status != OK:
        raise Error(status, error.message.decode("utf-8", "replace"))


def _take_text(name, *arguments):
    text = c_void_p()
    _call(name, byref(text), *arguments)
    try:
        return ctypes.string_at(text).decode("utf-8")
    finally:
        _lib.adept_text_free(text)


def _names(name_at):
    return [name.decode() for name in iter(map(name_at, itertools.count()).__next__, None)]


def workload_words() -> List[str]:
    """Words of a workload: keywords of Workload.open()."""
    return _names(_lib.adept_workload_word)


def run_words() -> List[str]:
    """Words of a run: keywords of Oracle.request()."""
    return _names(_lib.adept_run_word)


def plan_words() -> List[str]:
    """Words of a search of layouts beside those of a run: keywords of Workload.plan()."""
    return _names(_lib.adept_plan_word)


def host_names() -> List[str]:
    """Measured hosts that `Oracle.request(host=...)` takes."""
    return _names(_lib.adept_host_name)


def node_names() -> List[str]:
    """Servers whose watts are known, for the word `node`."""
    return _names(_lib.adept_node_name)


def _words(given, names, what):
    """Keywords as the library's words, "KEY=VALUE" each. None is not given, and neither is a number 0."""
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise UsageError("%s has no keyword %s" % (what, ", ".join(unknown)))
    cut = [name for name, value in given.items() if isinstance(value, int) and not -2**63 <= value < 2**63]
    if cut:
        raise UsageError("%s: not a number of 64 bits" % ", ".join(cut))
    texts = [name + "=" + (str(value).lower() if isinstance(value, bool) else "%.17g" % value if isinstance(value, float) else str(value))
             for name, value in given.items() if value is not None and (isinstance(value, (bool, str)) or value != 0)]
    return (c_char_p * (len(texts) + 1))(*map(_encode, texts))


def version_text() -> str:
    return _lib.adept_version_text().decode()


class _Handle:
    """Holds one handle of the library, which is freed once it is closed or gone, and nothing made of it is left."""

    def __init__(self, pointer, free, *borrowed):
        owner = _Owner.from_address(pointer.value)
        owner.free, owner.borrowed = free, [handle._owner for handle in borrowed]
        self._held = _Pointer(owner)

    def close(self) -> None:
        self._held = None

    @property
    def _owner(self):
        if self._held is None:
            raise UsageError("used after close()")
        return self._held

    def __reduce_ex__(self, protocol):
        raise UsageError("a %s is a handle of the library in this process: it cannot be copied or pickled" % type(self).__name__)


class Workload(_Handle):
    """What runs: a saved profile, or a model that torch.export saved. Keywords are the words of a workload (docs/WORDS.md), and inputs,
    allow_unsupported and assume, as in adept_model_options."""

    def __init__(self, pointer: c_void_p, source: Optional[Workload] = None) -> None:
        super().__init__(pointer, _lib.adept_workload_free, *([source] if source else []))
        self.source = source  # whose graph this one uses

    @staticmethod
    def _options(inputs=(), allow_unsupported=False, assume=(), **words):
        texts = (c_char_p * (len(assume) + 1))(*[_encode(text) for text in assume])
        specs = (c_char_p * len(inputs))(*[_encode(spec) for spec in inputs])
        return _ModelOptions(inputs=specs, n_inputs=len(inputs), allow_unsupported=int(allow_unsupported), assume=texts,
                             words=_words(words, workload_words(), "a workload"))

    @classmethod
    def open(cls, path: Union[str, os.PathLike[str]], **options: Any) -> Workload:
        pointer = c_void_p()
        _call("workload_open", byref(pointer), _encode(path), byref(cls._options(**options)))
        return cls(pointer)

    @classmethod
    def read(cls, data: Union[str, bytes], name: str = "memory", **options: Any) -> Workload:
        pointer = c_void_p()
        data = data.encode("utf-8") if isinstance(data, str) else bytes(data)
        _call("workload_read", byref(pointer), _encode(name), data, len(data), byref(cls._options(**options)))
        return cls(pointer)

    def at(self, batch_size: int = 0, seq_length: int = 0, **options: Any) -> Workload:
        """The same model at another batch size and sequence length, or under any other options; what is not given is kept."""
        pointer = c_void_p()
        _call("workload_with", byref(pointer), self, byref(self._options(batch_size=batch_size, seq_length=seq_length, **options)))
        return type(self)(pointer, self)

    def to_json(self) -> str:
        return _take_text("workload_to_json", self)

    def plan_json(self, gpu: Gpu, most_s: float = 0.0, **words: Any) -> str:
        """Which layout a training step should have: what `adept plan --json` prints. Keywords are plan_words(), batch_size, and words of a
        run, of which gpus and global_batch are needed."""
        names = plan_words() + run_words() + ["batch_size"]
        return _take_text("plan_layouts", self, gpu, _words(words, names, "a search of layouts"), most_s)

    def describe(self) -> WorkloadInfo:
        info = WorkloadInfo()
        _lib.adept_workload_describe(byref(info), self)
        info.owner = self._owner  # its texts are the workload's
        return info


class Gpu(_Handle):
    """Where it runs: by name ("a100"), or by the file or the text of a hardware profile."""

    def __init__(self, pointer):
        super().__init__(pointer, _lib.adept_gpu_free)

    @classmethod
    def open(cls, name_or_path: Union[str, os.PathLike[str]]) -> Gpu:
        pointer = c_void_p()
        _call("gpu_open", byref(pointer), _encode(name_or_path))
        return cls(pointer)

    @classmethod
    def read(cls, data: Union[str, bytes], name: str = "memory") -> Gpu:
        pointer = c_void_p()
        data = data.encode("utf-8") if isinstance(data, str) else bytes(data)
        _call("gpu_read", byref(pointer), _encode(name), data, len(data))
        return cls(pointer)

    @staticmethod
    def names() -> List[str]:
        return _names(_lib.adept_gpu_name)

    def describe(self) -> GpuInfo:
        info = GpuInfo()
        _lib.adept_gpu_describe(byref(info), self)
        info.owner = self._owner
        return info


class Oracle(_Handle):
    """One workload on one GPU, compiled. Keeps both."""

    def __init__(self, workload: Workload, gpu: Gpu, granularity: Optional[str] = None) -> None:
        pointer = c_void_p()
        _call("oracle_new", byref(pointer), workload, gpu, _encode(granularity))
        super().__init__(pointer, _lib.adept_oracle_free, workload, gpu)
        self.workload, self.gpu = workload, gpu

    def request(self, **members: Any) -> Request:
        """A Request: gpus, nodes, power_limit_w, clock_hz, host="torch2", ... by keyword."""
        words = {name: members.pop(name) for name in list(members) if not hasattr(Request, name)}
        request = Request(**members)
        if words:
            request.words = _words(words, run_words(), "a request")
        request._oracle = self._owner  # lives as long as what asks it
        request.oracle = self
        return request

    def predict(self, **members: Any) -> Estimate:
        """The Estimate of one request."""
        estimate = Estimate()
        _call("predict_one", byref(estimate), byref(self.request(**members)))
        return estimate

    def predict_json(self, **members: Any) -> str:
        return _take_text("predict_json", byref(self.request(**members)))

    def predict_mix(self, rows: Iterable[Sequence[float]], rate_per_s: float = 0.0, requests: int = 0, seed: int = 0, **members: Any) -> Dict[str, Any]:
        """What queries wait and cost that arrive so often: `rows` are (prompt, tokens, share); or that arrive as a trace has it: rows
        (arrival_s, prompt, tokens) in order, without rate_per_s. The workload is of mode "generate", and its
        batch the most at a time. As `predict --mix --json` has it: "ttft_s", "latency_s", "energy_per_query_j", ..."""
        rows = list(rows)
        arrivals = None if rate_per_s else (c_double * len(rows))(*(row[0] for row in rows))
        lengths = [_QueryRow(*row) if rate_per_s else _QueryRow(row[1], row[2], 1) for row in rows]
        queries = _Queries(rows=(_QueryRow * len(lengths))(*lengths), n_rows=len(lengths), rate_per_s=rate_per_s, requests=requests, seed=seed, arrivals_s=arrivals)
        mix: Dict[str, Any] = json.loads(_take_text("predict_mix", self.workload, byref(self.request(**members)), byref(queries), 0.0))["mix"]
        return mix

    def predict_best_limits(self, **members: Any) -> BestLimits:
        best = BestLimits()
        _call("predict_best_limits", byref(best), byref(self.request(**members)))
        return best


def predict_many(requests: Union[Sequence[Request], ctypes.Array[Request]], strict: bool = True) -> ctypes.Array[Estimate]:
    """A ctypes array of Estimates, one for each request: a sequence of them, or a ctypes array, which is not copied. Raises what the first
    bad request caused, unless `strict` is false: then its estimate's `status` says so."""
    array = requests if isinstance(requests, ctypes.Array) else (Request * len(requests))(*requests)
    estimates = (Estimate * len(array))()
    try:
        _call("predict_many", estimates, array, len(array))
    except Error:
        if strict:
            raise
    return estimates


def choose(estimates: Union[Sequence[Estimate], ctypes.Array[Estimate]], objective: int = LEAST_TIME, **goal: Any) -> Choice:
    """The best option: a Choice. Keywords are the members of adept_goal. Raises Infeasible."""
    array = estimates if isinstance(estimates, ctypes.Array) else (Estimate * len(estimates))(*estimates)
    choice, verdicts = Choice(), (Verdict * len(array))()
    try:
        _call("choose", byref(choice), verdicts, array, len(array), byref(_Goal(objective=objective, **goal)))
    except Error as error:
        if error.status == E_INFEASIBLE:
            choice.verdicts = list(verdicts)
            raise Infeasible(error.status, str(error), choice) from None
        raise
    choice.verdicts = list(verdicts)
    return choice
