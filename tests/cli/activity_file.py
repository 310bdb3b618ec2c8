"""Recordings of `adept attribute record` by hand, for tests: the format that measure/attribute/activity_log.h describes."""
import math
import struct
import zlib

COMPONENTS = ["cpu", "cores", "uncore", "dram", "gpu", "psys", "node", "battery"]
NOT_VISIBLE = 2 ** 64 - 1
KINDS = 7  # what is counted of a process; the first is CPU time, the last memory


def varint(n):
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def text(t, more=0):
    data = t.encode("utf-8", "surrogateescape")
    return varint(len(data) + more) + data


def block(payload):
    head = struct.pack("<II", len(payload), zlib.crc32(payload))
    return head + struct.pack("<I", zlib.crc32(head)) + payload


def items(list_):
    return varint(len(list_)) + b"".join(list_)


class Recording:
    """Meters of constant power. processes: (pid, uid, job, command[, start_ticks]), job -1: none; start_ticks NOT_VISIBLE: of another
    PID namespace."""

    def __init__(self, host, begin_s, meters, processes, n_cpus=4, period_s=1.0):
        self.begin_s, self.period_s, self.meters, self.processes, self.n = begin_s, period_s, meters, processes, 0
        head = b"\x01" + varint(1) + text(host) + struct.pack("<d", period_s) + varint(n_cpus) + varint(1 | 1 << KINDS - 1)
        head += items([text("by hand")])
        head += items([text(name) + text("a test") + varint(COMPONENTS.index(component)) for name, component, _ in meters])
        self.data = bytearray(b"ADEPTACT" + block(head))

    def sample(self, m, time_s):
        power_w = self.meters[m][2]
        return varint(m) + struct.pack("<ddd", time_s, power_w * (time_s - self.begin_s), power_w)

    def interval(self, machine_cpu_s, activities, gpu_uses=()):
        """activities: (process, CPU time, resident bytes); gpu_uses: (process, meter, utilization, bytes[, MIG instance, slices])"""
        begin_s = self.begin_s + self.n * self.period_s
        end_s = begin_s + self.period_s
        payload = b"\x03" + struct.pack("<ddd", begin_s, end_s, machine_cpu_s)
        first = self.n == 0
        payload += items([varint(i) + varint(pid) + varint(uid) + varint(start[0] if start else 1000 + i) + varint(job + 1) + text(command) + text("", 1)
                          for i, (pid, uid, job, command, *start) in enumerate(self.processes)] if first else [])
        payload += items([self.activity(*a) for a in activities])
        payload += items([varint(p) + varint(m) + struct.pack("<ff", use, size) for p, m, use, size, *_ in gpu_uses])
        times = [begin_s, end_s] if first else [end_s]
        payload += items([self.sample(m, t) for m in range(len(self.meters)) for t in times])
        instances = [(i, use[4], use[5]) for i, use in enumerate(gpu_uses) if len(use) > 4]
        if instances:
            payload += items([varint(i) + varint(instance) + struct.pack("<f", slices) for i, instance, slices in instances])
        self.data += block(payload)
        self.n += 1

    @staticmethod
    def activity(process, cpu_s, memory_bytes):
        known, follow, values = 0, 0, b""
        for k, value in ((0, cpu_s), (KINDS - 1, memory_bytes)):
            if math.isnan(value):
                continue
            known |= 1 << k
            if value:
                follow |= 1 << k
                values += struct.pack("<f", value)
        return varint(process) + bytes([known, follow]) + values

    def write(self, path):
        with open(path, "wb") as out:
            out.write(self.data)
