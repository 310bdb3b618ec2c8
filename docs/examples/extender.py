#!/usr/bin/env python3
"""A scheduler extender for Kubernetes: nodes are ranked by the joules that a pod's training step would take on their GPUs.

    adept serve --listen 127.0.0.1:8787 &
    python3 extender.py --adept http://127.0.0.1:8787 --port 8888

A pod says what it runs in annotations: adept.dev/workload (a name that the server knows), adept.dev/gpus, adept.dev/batch-size,
adept.dev/objective (energy, time, edp or ed2p; default energy). A node says its board in the label adept.dev/gpu, else nvidia.com/gpu.product.
Pods without the annotation, and nodes without a board, all score 0. Tried against `adept serve`, not in a cluster."""
import argparse
import http.server
import json
import urllib.request

OBJECTIVES = {"energy": lambda e: e["energy_step_j"], "time": lambda e: e["step_time_s"], "edp": lambda e: e["edp_js"],
              "ed2p": lambda e: e["edp_js"] * e["step_time_s"]}
MOST = 10  # the highest score that an extender may give


def board_of(node):
    labels = node.get("metadata", {}).get("labels", {})
    return labels.get("adept.dev/gpu") or labels.get("nvidia.com/gpu.product", "").lower().removeprefix("nvidia-")


def ask(server, pod, boards):
    """Least joules (or seconds) of each board; None where it cannot run there."""
    notes = pod.get("metadata", {}).get("annotations", {})
    if "adept.dev/workload" not in notes or not boards:
        return {}
    body = {"workload": notes["adept.dev/workload"], "gpus": int(notes.get("adept.dev/gpus", 1)), "requests": [{"gpu": board} for board in boards]}
    if "adept.dev/batch-size" in notes:
        body["batch_size"] = int(notes["adept.dev/batch-size"])
    request = urllib.request.Request(server + "/v1/predict", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=5) as reply:
        estimates = json.load(reply)["estimates"]
    number = OBJECTIVES.get(notes.get("adept.dev/objective"), OBJECTIVES["energy"])  # a pod that is misspelt runs all the same
    return {board: number(e) for board, e in zip(boards, estimates) if e.get("memory", {}).get("fits")}


def scores(server, pod, nodes):
    """What the scheduler's "prioritize" call gets: the best board has 10 points, others their share of it."""
    boards = sorted({board_of(node) for node in nodes} - {""})
    cost = {board: value for board, value in ask(server, pod, boards).items() if value}
    least = min(cost.values(), default=0)
    return [{"Host": node["metadata"]["name"], "Score": round(MOST * least / cost[board_of(node)]) if board_of(node) in cost else 0} for node in nodes]


def handler_of(server):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(scores(server, asked["Pod"], asked["Nodes"]["items"])).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    return Handler


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--adept", default="http://127.0.0.1:8787")
    parser.add_argument("--port", type=int, default=8888)
    o = parser.parse_args()
    http.server.ThreadingHTTPServer(("", o.port), handler_of(o.adept)).serve_forever()


if __name__ == "__main__":
    main()
