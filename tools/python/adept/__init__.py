"""Time, power and energy of a deep-learning step before it runs.

    import adept
    r = adept.predict(model, torch.zeros(8, 3, 224, 224), gpu="h100", precision="bf16", batch=64)
    r.step_time_s, r.power_avg_w, r.energy_j, r.interval, r.warnings
    r.memory, r.fits, r.bound, r.throughput, r.layers

`predict`, `sweep`, `plan` and `calibrate` run the program adept; `export` writes the file of a model that it reads. `Workload`, `Gpu`, `Oracle`,
`predict_many` and `choose` are libadept in this process, for many predictions a second. docs/LIBRARY.md describes all of it.
"""
from . import _lib
from ._callback import Callback
from ._export import export
from ._lib import *  # the names of <adept/adept.h>
from ._measure import Measurement, cuda_address, mark, measure
from ._predict import Plan, Prediction, Sweep, calibrate, plan, predict, sweep
from ._words import Attention, Execution, Framework, MemoryFormat, Mode, Optimizer, Precision

__all__ = ["Attention", "Callback", "Execution", "Framework", "Measurement", "MemoryFormat", "Mode", "Optimizer", "Plan", "Precision", "Prediction", "Sweep", "calibrate",
           "cuda_address", "export", "mark", "measure", "plan", "predict", "sweep"]
__all__ += _lib.__all__
__version__ = _lib.version_text()
