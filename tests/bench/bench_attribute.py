#!/usr/bin/env python3
"""What `adept attribute record` costs and finds: bench_attribute.py ADEPT STORM [SECONDS]

ADEPT is the program, STORM is tests/attribute/attribute_storm. For each source that can be had: processor time of the recorder as a share of
one core, and its memory, beside 1,000 processes that sleep and 1,000 that all work a little in every interval; and what is found of 10,000
processes of 1 ms. Goals: less than 1 % of a core, memory that does not grow, 2 % of RUSAGE_CHILDREN."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

COUNT = 1000
HZ = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGESIZE")


def crowd(work_s):
    """COUNT children, each of which works so long ten times a second; 0: they sleep."""
    pids = []
    for i in range(COUNT):
        pid = os.fork()
        if pid:
            pids.append(pid)
            continue
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        while True:
            time.sleep(0.1 if work_s else 3600)
            end = time.thread_time() + work_s
            while time.thread_time() < end:
                pass
    return pids


def used(pid):
    """Processor time, without that of children, and resident bytes."""
    with open(f"/proc/{pid}/schedstat") as f:
        main = int(f.read().split()[0]) * 1e-9
    threads = [int(open(f"/proc/{pid}/task/{t}/schedstat").read().split()[0]) * 1e-9 for t in os.listdir(f"/proc/{pid}/task")]
    with open(f"/proc/{pid}/statm") as f:
        return max(main, sum(threads)), int(f.read().split()[1]) * PAGE


def load(adept, source, seconds, folder):
    log = os.path.join(folder, f"{source}-{time.time()}.adept")
    recorder = subprocess.Popen([adept, "attribute", "record", "--without-meter", "--source", source, "-o", log], stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    if recorder.poll() is not None:
        print(f"  {source}: {recorder.stderr.read().strip()}")
        return
    begin, memory = used(recorder.pid)
    bytes_begin, begin_s = os.path.getsize(log), time.monotonic()
    time.sleep(seconds)
    end, memory_end = used(recorder.pid)
    passed_s, size = time.monotonic() - begin_s, os.path.getsize(log) - bytes_begin
    recorder.terminate()
    recorder.wait()
    print(f"  {source}: {100 * (end - begin) / passed_s:.3f} % of a core, {memory_end / 1e6:.1f} MB resident ({(memory_end - memory) / 1e6:+.2f} MB "
          f"in {passed_s:.0f} s), {size / passed_s / 1e3:.2f} kB/s written")


def main():
    adept, storm = sys.argv[1], sys.argv[2]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 20
    with tempfile.TemporaryDirectory() as folder:
        for name, work_s in [("that sleep", 0), ("that work every 100 ms", 20e-6)]:
            print(f"{COUNT} processes {name}:")
            pids = crowd(work_s)
            for source in ["bpf", "taskstats", "proc"]:
                load(adept, source, seconds, folder)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            for pid in pids:
                os.waitpid(pid, 0)
        print("10000 processes of 1 ms:")
        for source in ["bpf", "taskstats"]:
            out = subprocess.run([storm, adept, source, "10000"], capture_output=True, text=True)
            found = re.search(r"[0-9]+ children found.*", out.stdout)
            print(f"  {source}: {found.group() if found else 'cannot be had'}")


if __name__ == "__main__":
    main()
