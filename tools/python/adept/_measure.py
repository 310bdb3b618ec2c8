"""Measuring what runs: `with adept.measure() as m`, and marks for a program that runs under `adept measure`."""
from __future__ import annotations

import contextlib
import ctypes
import json
from ctypes import byref, c_char_p, c_void_p
from typing import Any, Dict, Iterator, Optional, Sequence

from . import _lib


class Measurement(_lib._Handle):
    """Sensors of this machine, read until the `with` block ends. Energies are the machine's, not this program's alone."""

    def __init__(self, period_s: float = 0, devices: Sequence[str] = (), sysroot: Optional[str] = None) -> None:
        words = (c_char_p * len(devices))(*[_lib._encode(word) for word in devices])
        options = _lib._MeasureOptions(period_s=period_s, devices=words, n_devices=len(devices), sysroot=_lib._encode(sysroot))
        pointer = c_void_p()
        _lib._call("measure_start", byref(pointer), byref(options))
        super().__init__(pointer, _lib._lib.adept_measure_free)

    def __enter__(self) -> "Measurement":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    @contextlib.contextmanager
    def region(self, name: str) -> Iterator[None]:
        """Measure a part: `with m.region("step")`. Regions nest and may be entered by any thread."""
        with mark(name):
            entered = self._enter(name)
            try:
                yield
            finally:
                self._leave(entered)

    def _enter(self, name: str) -> int:
        return int(_lib._lib.adept_measure_enter(self, _lib._encode(name)))

    def _leave(self, entered: int) -> None:
        _lib._lib.adept_measure_leave(self, entered)

    def stop(self) -> None:
        """End; read() and json() are for what has ended. In a child of fork() nothing happens: the measurement is the parent's."""
        _lib._lib.adept_measure_stop(self)

    def read(self, component: Optional[str] = None, region: Optional[str] = None) -> _lib.Measured:
        """Of a component ("cpu", "gpu", ...), or of cpu, dram and gpu together; of a region, or of the whole."""
        measured = _lib.Measured()
        _lib._call("measure_read", byref(measured), self, _lib._encode(component), _lib._encode(region))
        return measured

    def json(self) -> Dict[str, Any]:
        """What `adept measure --json` prints."""
        return json.loads(_lib._take_text("measure_json", self))


def measure(period_s: float = 0, devices: Sequence[str] = (), sysroot: Optional[str] = None) -> Measurement:
    """Measure this machine until the block ends.

        with adept.measure() as m:
            for batch in data:
                with m.region("step"):
                    train(batch)
        print(m.read("gpu", "step").energy_mean_j)
    """
    return Measurement(period_s, devices, sysroot)


@contextlib.contextmanager
def mark(name: str) -> Iterator[None]:
    """Mark a region of a program that runs under `adept measure`; elsewhere nothing happens."""
    _lib._call("mark", _lib._encode(name), 1)
    try:
        yield
    finally:
        _lib._call("mark", _lib._encode(name), 0)


def cuda_address(index: int = 0) -> str:
    """The PCI address of a GPU as CUDA counts them, which is a word for `devices`. NVML counts boards without regard to
    CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER; the address is common. Raises OSError."""
    cuda = ctypes.CDLL("libcuda.so.1")
    device, text = ctypes.c_int(), ctypes.create_string_buffer(32)
    if cuda.cuInit(0) or cuda.cuDeviceGet(byref(device), index) or cuda.cuDeviceGetPCIBusId(text, len(text), device):
        raise OSError("the CUDA driver does not tell the address of GPU %d" % index)
    return text.value.decode()
