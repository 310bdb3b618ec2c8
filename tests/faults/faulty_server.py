"""A server that lives through faults, each of which is asked for by a `struct order` of walk.h. For check_faults.py.

After each fault the request is asked once more: the answer is the one that it has without a fault. What a fault may do to
the request itself: the same answer, 503 that speaks of memory where memory ended, or a connection that is closed.
"""
import contextlib
import http.client
import json
import mmap
import os
import re
import select
import socket
import struct
import subprocess
import tempfile
import time

ORDER = struct.Struct("<qqq") # at, kind, seen
GOES_ON_S = 0.05 # so long a fault that goes on, and was reached, is let go on without an answer
PATIENCE_S = 600 # for what takes milliseconds where the processors are free
# Name, method, path, body. "%": one of two GPUs in turn, and the server keeps one oracle, so that each has to be made.
REQUESTS = [
    ("serve-predict", "POST", "/v1/predict", {"workload": "mlp", "gpu": "%"}),
    ("serve-compact", "POST", "/v1/predict", {"workload": "mlp", "gpu": "%", "compact": True}),
    ("serve-list", "POST", "/v1/predict", {"workload": "mlp", "requests": [{"gpu": "%"}, {"gpu": "v100"}, {"gpu": "none"}]}),
    ("serve-choose", "POST", "/v1/choose", {"workload": "mlp", "goal": {"objective": "energy", "samples": 1000},
                                            "options": [{"gpu": "%"}, {"gpu": "v100", "gpus": 2}, {"gpu": "none"}]}),
    ("serve-profile", "POST", "/v1/predict", {"profile": None, "gpu": "%", "compact": True}),
    ("serve-unknown", "POST", "/v1/predict", {"workload": "mlp", "gpu": "none"}),
    ("serve-workloads", "GET", "/v1/workloads", None),
    ("serve-gpus", "GET", "/v1/gpus", None),
    ("serve-gpu", "GET", "/v1/gpus/a100", None),
    ("serve-metrics", "GET", "/metrics", None),
]


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(self.path)


class Server:
    def __init__(self, folder, start, variable):
        self.path, self.stack = os.path.join(folder, "s"), os.path.join(folder, "stack")
        orders = os.path.join(folder, "orders")
        with open(orders, "wb+") as file:
            file.write(bytes(ORDER.size))
            file.flush()
            self.orders = mmap.mmap(file.fileno(), ORDER.size)
        self.err = tempfile.TemporaryFile()
        self.process = start(folder, {variable: "order", variable + "_REPORT": self.stack, "ADEPT_FAIL_ORDER": orders},
                             stdout=subprocess.DEVNULL, stderr=self.err)
        while self.process.poll() is None and not isinstance(self.ask("GET", "/v1/health", None), tuple):
            time.sleep(0.01)

    def fail(self, at, kind=0):
        """The how-manieth place from now on; 0: none."""
        for i, value in enumerate((0, kind, 0, at)): # `at` comes last
            struct.pack_into("<q", self.orders, (0, 8, 16, 0)[i], value)

    def seen(self):
        return ORDER.unpack_from(self.orders)[2]

    def let_go(self, sock):
        """A fault that goes on may keep the answer back for ever. Until it is reached, the server may take its time."""
        at, end = ORDER.unpack_from(self.orders)[0], time.monotonic() + PATIENCE_S
        while at and not select.select([sock], [], [], GOES_ON_S)[0]:
            if self.seen() >= at or time.monotonic() > end:
                at = 0
                struct.pack_into("<q", self.orders, 0, at)

    def ask(self, method, path, body):
        """Status, body and headers, or why there are none."""
        connection = Connection(self.path)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            self.let_go(connection.sock)
            response = connection.getresponse()
            return response.status, response.read(), {name: value for name, value in response.getheaders() if name != "Date"}
        except TimeoutError:
            return "hangs"
        except (ConnectionRefusedError, FileNotFoundError):
            return "is gone"
        except (OSError, http.client.HTTPException):
            return "closes the connection"
        finally:
            connection.close()

    def stack_of_fault(self):
        with contextlib.suppress(FileNotFoundError), open(self.stack) as file:
            text = file.read()
            os.remove(self.stack)
            return text
        return ""

    def end(self):
        """What is wrong after all."""
        metrics = self.ask("GET", "/metrics", None)
        held = re.findall(r"(?m)^adept_(?:connections|held_bytes) .*", metrics[1].decode()) if isinstance(metrics, tuple) else metrics
        self.process.terminate()
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = f"no exit within {PATIENCE_S} s"
        self.err.seek(0)
        said = [line for line in self.err.read().decode().splitlines() if "listening on" not in line]
        is_held = held != ["adept_connections 1", "adept_held_bytes 0"]
        return f"exit {code}, said {said}, holds {held}" if code != 0 or said or is_held else None


def steady(answer):
    """Of /metrics the names: numbers differ from request to request."""
    if not isinstance(answer, tuple) or not answer[1].startswith(b"#"):
        return answer
    names = [line for line in answer[1].splitlines(True) if line.startswith(b"# TYPE")]
    return answer[0], b"".join(names), {**answer[2], "Content-Length": ""}


def is_without_memory(answer):
    return isinstance(answer, tuple) and answer[0] == 503 and b"memory" in answer[1]


def is_list_of_both(answer, good):
    """An element that cannot be predicted does not stop the others."""
    if not isinstance(answer, tuple) or answer[0] != 200 or b"estimates" not in answer[1]:
        return False
    pairs = zip(json.loads(answer[1])["estimates"], json.loads(good[1])["estimates"], strict=True)
    return all(one == other or one.get("error", {}).get("status") == 503 and "memory" in one["error"]["message"] for one, other in pairs)


def bodies(request, profile):
    """Of both GPUs."""
    *_, body = request
    if body is None:
        return [None, None]
    whole = {**body, "profile": json.loads(profile)} if "profile" in body else body
    return [json.dumps(whole).replace("%", gpu) for gpu in ("a100", "h100")]


def walk(server, request, profile, orders, judge):
    """Faults, and of those that went wrong number, order, what, and stack.

    orders: pairs of the shim's kind and the step between its places; judge(answer, good, kind) says what is wrong."""
    _, method, path, _ = request
    asked = bodies(request, profile)
    good = [steady(server.ask(method, path, body)) for body in asked]
    if not all(isinstance(answer, tuple) and answer[0] in (200, 404) for answer in good):
        raise SystemExit(f"{request[0]}: without a fault: {good}")
    faults, bad, turn = 0, [], 0
    for kind, every in orders:
        n = every
        while True:
            turn = 1 - turn
            server.fail(n, kind)
            answer = steady(server.ask(method, path, asked[turn]))
            was = server.seen() >= n
            server.fail(0)
            stack = server.stack_of_fault()
            what = judge(answer, good[turn], kind) if was else None if answer == good[turn] else f"without a fault: {answer}"
            next_one = steady(server.ask(method, path, asked[turn]))
            if next_one != good[turn]:
                what = f"the next request: {next_one}"
            faults += was
            if what:
                bad.append((n, kind, what, stack))
            if not was or server.process.poll() is not None:
                break
            n += every
    if what := server.end():
        bad.append((0, 0, what, ""))
    return faults, bad
