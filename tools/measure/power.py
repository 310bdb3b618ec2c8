"""The power of an NVIDIA GPU, by adept.measure(): libadept reads the board and integrates.

Where there is no library of the driver, or no meter on the board, there is no value: never a zero.
"""
import math
import os
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
METHODS = {True: "energy counter", False: "sampling"}


def import_adept():
    """The package of this source, with the library that ADEPT_LIBRARY names, or that of its build."""
    built = os.path.join(TOP, "build", "library", "libadept.so")
    if os.path.exists(built):
        os.environ.setdefault("ADEPT_LIBRARY", built)
    sys.path.insert(0, os.path.join(TOP, "tools", "python"))
    try:
        import adept
    except (OSError, AttributeError, ImportError) as error:     # none, or an older one
        sys.exit("libadept, which measures the power, is not usable: {}\n"
                 "Build it (sh tools/build.sh build), or set ADEPT_LIBRARY to libadept.so.".format(error))
    return adept


class Meter:
    """Mean power of the first `gpus` that CUDA counts, together, between start() and stop(); None: not known. What they draw idle is
    measured at once."""
    method, limit_w, driver, board, why_no_power = "none", None, None, None, None

    def __init__(self, address=None, idle_s=2.0, gpus=1):
        adept = import_adept()
        self.measure = adept.measure
        self.addresses = [address] if address else [adept.cuda_address(i) for i in range(gpus)]
        self.start()
        time.sleep(idle_s)
        self.idle_w = self.stop()
        facts = self.measurement.json()
        if len(facts["sensors"]) == len(self.addresses):
            self.describe(facts["sensors"][0])
        else:
            self.why_no_power = "; ".join("{name}: {why}".format(**note) for note in facts["missing"]
                                          if note["name"] in ["nvml"] + self.addresses or note["name"].startswith("gpu-"))

    def describe(self, board):
        self.method, self.why_no_power = METHODS[board["by_counter"]], board["lost"]
        device, _, self.driver = board["device"].rpartition(", driver ")
        address = device.split()[-1]  # NVML's has eight digits of the domain, Linux's four
        self.board = address[4:] if len(address) == 16 and address.startswith("0000") else address
        limit = board["gauges"]["power_limit_w"]
        if limit:
            self.limit_w = round(limit["least"], 3)     # a mean of equal numbers need not be the number

    def start(self):
        self.measurement = self.measure(devices=self.addresses)

    def stop(self):
        self.measurement.stop()
        power_w = self.measurement.read("gpu").avg_power_w
        some = len(self.measurement.json()["sensors"]) < len(self.addresses)   # of some boards it is not that of all
        return None if some or math.isnan(power_w) else power_w


class NoMeter:
    """Of a CPU, which has no meter of its own that a row could name."""
    method, idle_w, limit_w, driver, board, why_no_power = "none", None, None, None, None, "no meter for a CPU"

    def start(self):
        pass

    def stop(self):
        return None
