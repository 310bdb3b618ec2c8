"""`adept attribute` end to end: real processes, and a meter on the loopback whose watts follow their processor time.

Usage: bench_attribution.py ADEPT

Three children work and sleep in turns of their own, first together, then each alone. The meter reads 50 W and 20 W more for each
core that they keep busy, as GUDE's meters write it, and is at times late, broken, stuck, or ends with 500. What adept gives each
child must be what its rusage says, and the same alone as together, within 5 %.

Exit code 77 if the machine was too busy to tell: the children did not get the processors when they wanted them.
"""
import ctypes
import http.server
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

STATIC_W, CORE_W = 50.0, 20.0
NAMES = {"kid-a": 0.3, "kid-b": 0.4, "kid-c": 0.5}  # and the share of the time that each works
ENOUGH = 0.7  # of two processors, three children may want more than there is
TOGETHER_S, ALONE_S, SLACK = 100, 12, 0.05


def work(name, busy, duration_s):
    """What a child does: long turns, which a meter at 4 Hz does not smear."""
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME
    turns, end, wanted_s = random.Random(name), time.monotonic() + duration_s, 0
    while time.monotonic() < end:
        turn_end = min(end, time.monotonic() + turns.uniform(2, 5))
        if turns.random() < busy:
            wanted_s += turn_end - time.monotonic()
            while time.monotonic() < turn_end:
                sum(range(2000))
        else:
            time.sleep(max(0, turn_end - time.monotonic()))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(usage.ru_utime + usage.ru_stime, wanted_s)


class Meter(http.server.ThreadingHTTPServer):
    """Reads what its children's schedulers count, four times a second."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Reply)
        self.children, self.power_w, self.requests, self.ends = [], STATIC_W, 0, False
        threading.Thread(target=self.serve_forever, daemon=True).start()
        threading.Thread(target=self.follow, daemon=True).start()

    def cpu_s(self):
        total_ns = 0
        for pid in self.children:
            try:
                with open(f"/proc/{pid}/schedstat") as file:
                    total_ns += int(file.read().split()[0])
            except (OSError, IndexError):
                pass
        return total_ns / 1e9

    def follow(self):
        before_s, before_cpu_s = time.monotonic(), self.cpu_s()
        while not self.ends:
            time.sleep(0.25)
            now_s, now_cpu_s = time.monotonic(), self.cpu_s()
            if now_cpu_s >= before_cpu_s:  # else a child has ended
                self.power_w = STATIC_W + CORE_W * (now_cpu_s - before_cpu_s) / (now_s - before_s)
            before_s, before_cpu_s = now_s, now_cpu_s


class Reply(http.server.BaseHTTPRequestHandler):
    stuck_w = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        meter = self.server
        meter.requests += 1
        n, power_w = meter.requests, meter.power_w
        if n % 43 in (20, 21):  # a value that stays
            power_w = Reply.stuck_w or power_w
        Reply.stuck_w = power_w
        body = json.dumps({"sensor_values": [{"type": 8, "values": [[{"v": 230}, {"v": 0.5}, {"v": 50}, {"v": 0}, {"v": power_w}]]}]})
        if n % 61 == 30:
            time.sleep(2.5)
        if n % 37 == 10:
            body = body[:-20]
        try:
            self.send_response(500 if n % 53 == 40 else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())
        except OSError:
            pass  # adept did not wait


def record(adept, meter, path, names, duration_s):
    """Processor time of each child, while adept records."""
    url = f"http://127.0.0.1:{meter.server_port}/status.json /sensor_values/0/values/0/4/v W node"
    recorder = subprocess.Popen([adept, "attribute", "record", "-o", path, "--meter", url, "--devices", "node"],
                                stderr=subprocess.PIPE, text=True)
    time.sleep(2)
    children = [subprocess.Popen([sys.executable, __file__, "--child", name, str(NAMES[name]), str(duration_s)], stdout=subprocess.PIPE,
                                 text=True) for name in names]
    meter.children = [child.pid for child in children]
    cpu_s, wanted_s = {}, 0
    for name, child in zip(names, children):
        used, wanted = map(float, child.communicate()[0].split())
        cpu_s[name], wanted_s = used, wanted_s + wanted
    time.sleep(2)
    recorder.send_signal(signal.SIGINT)
    said = recorder.communicate()[1]
    if recorder.returncode not in (0, 130):
        raise SystemExit(f"record: exit code {recorder.returncode}: {said}")
    if sum(cpu_s.values()) < ENOUGH * wanted_s:
        print(f"the machine is busy: {sum(cpu_s.values()):.1f} s of the {wanted_s:.1f} s wanted")
        sys.exit(77)
    return cpu_s


def report(adept, *arguments):
    done = subprocess.run([adept, "attribute", "report", "--by", "command", "--only", ",".join(NAMES), "--json", *arguments],
                          capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"report: {done.stderr}")
    return {row["name"]: row["energy_j"] for row in json.loads(done.stdout)["groups"]}


def main():
    adept = sys.argv[1]
    meter, failures, per_cpu_s = Meter(), 0, {}
    with tempfile.TemporaryDirectory(prefix="adept-attribute-") as folder:
        cpu_s = record(adept, meter, f"{folder}/together.adept", list(NAMES), TOGETHER_S)
        subprocess.run([adept, "attribute", "fit", f"{folder}/together.adept", "--only", ",".join(NAMES), "--features", "cpu_time_s", "--interval", "2s",
                        "-o", f"{folder}/model.json"], check=True)
        energy_j = report(adept, f"{folder}/together.adept", "--model", f"{folder}/model.json")
        for name in NAMES:
            per_cpu_s[name] = energy_j[name] / cpu_s[name]
            ratio = per_cpu_s[name] / CORE_W
            print(f"together: {name}: {cpu_s[name]:.2f} s, {energy_j[name]:.1f} J, {ratio:.3f} of its rusage's")
            failures += abs(ratio - 1) > SLACK
        for name in NAMES:
            alone_cpu_s = record(adept, meter, f"{folder}/{name}.adept", [name], ALONE_S)[name]
            alone_j = report(adept, f"{folder}/{name}.adept", "--model", f"{folder}/model.json")[name]
            ratio = alone_j / alone_cpu_s / per_cpu_s[name]
            print(f"alone: {name}: {alone_cpu_s:.2f} s, {alone_j:.1f} J, {ratio:.3f} of what it got together")
            failures += abs(ratio - 1) > SLACK
    print(f"{meter.requests} requests; {failures} of {2 * len(NAMES)} differ by more than {SLACK:.0%}")
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        work(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
    else:
        sys.exit(main())
