"""The power of an NVIDIA GPU, read from the driver's library (NVML) without any Python package.

Boards since Volta count their energy; it is read before and after. Older ones are sampled. Without the library, or
without a meter on the board, there is no value: never a zero.
"""
import ctypes
import os
import threading
import time

SAMPLE_INTERVAL_S = 0.02


class NvmlError(Exception):
    """The library is missing or refused a call."""


class Nvml:
    """One GPU of NVML. `path` names another library, for tests."""

    def __init__(self, pci_bus_id=None, index=0, path="libnvidia-ml.so.1"):
        try:
            self.library = ctypes.CDLL(path)
        except OSError as error:
            raise NvmlError(str(error)) from None
        self.call("nvmlInit_v2")
        self.device = ctypes.c_void_p()
        if pci_bus_id is not None:
            self.call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.encode(), ctypes.byref(self.device))
        else:
            self.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(self.device))

    def call(self, name, *arguments):
        function = getattr(self.library, name, None)
        if function is None:
            raise NvmlError(name + " is not in this library")
        status = function(*arguments)
        if status != 0:
            raise NvmlError("{} failed with status {}".format(name, status))

    def number(self, name, kind):
        value = kind()
        self.call(name, self.device, ctypes.byref(value))
        return value.value

    def energy_j(self):
        return self.number("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong) / 1e3    # mJ

    def power_w(self):
        return self.number("nvmlDeviceGetPowerUsage", ctypes.c_uint) / 1e3     # mW

    def limit_w(self):
        return self.number("nvmlDeviceGetEnforcedPowerLimit", ctypes.c_uint) / 1e3

    def driver(self):
        text = ctypes.create_string_buffer(96)
        self.call("nvmlSystemGetDriverVersion", text, ctypes.c_uint(len(text)))
        return text.value.decode()


class EnergyMeter:
    """Mean power between start() and stop() from the board's energy counter."""
    method = "energy counter"

    def __init__(self, nvml):
        self.nvml = nvml
        nvml.energy_j()     # fails here where there is no counter

    def start(self):
        self.energy_j, self.time_s = self.nvml.energy_j(), time.perf_counter()

    def stop(self):
        energy_j, time_s = self.nvml.energy_j(), time.perf_counter()
        return (energy_j - self.energy_j) / (time_s - self.time_s)


class SamplingMeter:
    """Mean power between start() and stop() from readings in a thread: the trapezoid rule over their times."""
    method = "sampling"

    def __init__(self, nvml):
        self.nvml = nvml
        nvml.power_w()

    def start(self):
        self.samples, self.done = [], threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            self.samples.append((time.perf_counter(), self.nvml.power_w()))
            if self.done.wait(SAMPLE_INTERVAL_S):
                return

    def stop(self):
        self.done.set()
        self.thread.join()
        self.samples.append((time.perf_counter(), self.nvml.power_w()))
        pairs = list(zip(self.samples, self.samples[1:]))
        energy_j = sum((t1 - t0) * (p0 + p1) / 2 for (t0, p0), (t1, p1) in pairs)
        return energy_j / (self.samples[-1][0] - self.samples[0][0])


class NoMeter:
    """Where nothing can be measured."""
    method = "none"
    nvml = None

    def start(self):
        pass

    def stop(self):
        return None


def open_meter(pci_bus_id=None, index=0, path=None):
    """The best meter there is; returns (meter, why there is none or None)."""
    path = path or os.environ.get("ADEPT_NVML_LIBRARY", "libnvidia-ml.so.1")
    try:
        nvml = Nvml(pci_bus_id, index, path)
    except NvmlError as error:
        return NoMeter(), str(error)
    for kind in (EnergyMeter, SamplingMeter):
        try:
            return kind(nvml), None
        except NvmlError as error:
            reason = str(error)
    return NoMeter(), reason


def idle_power_w(meter, seconds=2.0):
    """Mean power while nothing runs."""
    meter.start()
    time.sleep(seconds)
    return meter.stop()
