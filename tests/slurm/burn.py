"""A job: compute for a share of the time, then say how long that was. usage: burn.py SHARE SECONDS FILE [EXIT]"""
import os
import sys
import time

try:  # so that it gets its share on a busy machine, also where the kernel shares by session first
    os.nice(-10)
    with open("/proc/self/autogroup", "w") as autogroup:
        autogroup.write("-10")
except OSError:
    pass
share, seconds, path = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
begin_s = time.monotonic()
while (now_s := time.monotonic() - begin_s) < seconds:
    if time.process_time() < share * now_s:
        stop_s = time.process_time() + 0.005
        while time.process_time() < stop_s:
            pass
    else:
        time.sleep(0.005)
with open(path, "w") as out:
    out.write(str(time.process_time()))
sys.exit(int(sys.argv[4]) if len(sys.argv) > 4 else 0)
