"""Talks to `adept serve` over sockets, as test_serve.sh asks: all answers are checked against the server's own description.
usage: serve_check.py ADEPT PROFILE BASE_URL_PORT SOCKET"""
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import zipfile

adept, profile, port, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
failures = []
checks = 0


def check(condition, what):
    global checks
    checks += 1
    if not condition:
        failures.append(what)
        print("FAILED:", what)


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(300)
        self.sock.connect(path)


def connect(unix=False):
    return UnixConnection("localhost") if unix else http.client.HTTPConnection("127.0.0.1", port, timeout=300)


def ask(method, url, body=None, unix=False, headers=None):
    connection = connect(unix)
    if headers is None:
        headers = {"Content-Type": "application/json"} if body is not None else {}
    data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
    connection.request(method, url, data, headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response, text


# ---- as much of JSON Schema as the description uses ----

description = json.loads(ask("GET", "/openapi.json")[1])
kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "number": (int, float), "integer": int}


def is_a(value, kind):
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, kinds[kind])


def faults(value, schema, at="body"):
    if "$ref" in schema:
        return faults(value, description["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]], at)
    if "anyOf" in schema:
        found = [faults(value, s, at) for s in schema["anyOf"]]
        return [] if any(not f for f in found) else min(found, key=len)
    types = schema.get("type")
    types = [types] if isinstance(types, str) else types
    if types and not any(is_a(value, t) for t in types):
        return [f"{at}: {value!r:.60} is no {types}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: {value!r} is none of {schema['enum']}"]
    result = []
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        result += [f"{at}: {key} is missing" for key in schema.get("required", []) if key not in value]
        for key, item in value.items():
            if key in properties:
                result += faults(item, properties[key], f"{at}.{key}")
            elif schema.get("additionalProperties") is False:
                result.append(f"{at}: {key} is not described")
            elif isinstance(schema.get("additionalProperties"), dict):
                result += faults(item, schema["additionalProperties"], f"{at}.{key}")
    if isinstance(value, list):
        for i, item in enumerate(value):
            result += faults(item, schema.get("items", {}), f"{at}[{i}]")
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            result.append(f"{at}: {len(value)} elements")
    return result


def template(url):
    return "/v1/gpus/{name}" if url.startswith("/v1/gpus/") else url


def expect(status, method, url, body=None, code=None, schema=None, unix=False, headers=None):
    """The answer as JSON: of this status, and as described for it (`schema`: one of those that it may be)."""
    response, text = ask(method, url, body, unix, headers)
    what = f"{method} {url} {body!r:.80}"
    check(response.status == status, f"{what}: status {response.status}, expected {status}: {text[:200]}")
    check(response.getheader("Content-Type") == "application/json", f"{what}: no JSON")
    answer = json.loads(text)
    operation = description["paths"].get(template(url), {}).get(method.lower())
    if operation and schema is None:
        check(str(response.status) in operation["responses"], f"{what}: status {response.status} is not described")
        described = operation["responses"].get(str(response.status), {"content": {"application/json": {"schema": {}}}})
        wrong = faults(answer, described["content"]["application/json"]["schema"])
    else:
        wrong = faults(answer, {"$ref": "#/components/schemas/" + (schema or "Error")})
    check(not wrong, f"{what}: {wrong[:3]}")
    if code:
        check(answer["error"]["code"] == code and answer["error"]["status"] == status, f"{what}: {answer['error']}")
    return answer


def program(*arguments):
    return json.loads(subprocess.run([adept, *arguments, "--json"], check=True, capture_output=True).stdout)


# ---- what it knows ----

check(expect(200, "GET", "/v1/health")["workloads"] == 1, "one workload")
workloads = expect(200, "GET", "/v1/workloads")["workloads"]
check([w["name"] for w in workloads] == ["mlp"] and workloads[0]["batch_size"] == 256, f"workloads {workloads}")
check(expect(200, "GET", "/v1/gpus") == program("gpus"), "GPUs as the program lists them")
check(expect(200, "GET", "/v1/gpus/A100", unix=True) == program("gpus", "a100"), "a GPU as the program prints it")
expect(404, "GET", "/v1/gpus/a1000000", code="unknown_gpu")

# ---- predictions: the program's, field by field ----

for keys, options in [
    ({}, []),
    ({"gpus": 4, "power_limit_w": 250}, ["--gpus", "4", "--power-limit", "250"]),
    ({"clock_hz": 1.2e9, "granularity": "model"}, ["--clock", "1200", "--granularity", "model"]),
    ({"gpus": 8, "nodes": 2, "internode_bytes_per_s": 5e9, "internode_latency_s": 2e-6, "allreduce": "tree", "overlap": "fixed"},
     ["--gpus", "8", "--nodes", "2", "--internode-bandwidth", "5e9B/s", "--internode-latency", "2us", "--allreduce", "tree", "--overlap",
      "fixed"]),
    ({"host": "torch2"}, ["--host", "torch2"]),
    ({"gpu": "h100", "batch_size": 256}, ["--batch", "256"]),
    ({"gpu": "h100", "batch_size": 77, "gpus": 2, "overlap": "bucketed", "bucket_bytes": 1e6},
     ["--batch", "77", "--gpus", "2", "--overlap", "bucketed", "--bucket-bytes", "1e6"]),
]:
    run = {"workload": "mlp", "gpu": "a100", **keys}
    printed = program("predict", profile, "--gpu", run["gpu"], *options)
    printed["warnings"] = [w for w in printed["warnings"] if "power_limits" not in w]
    del printed["power_limits"]
    for unix in (False, True):
        check(expect(200, "POST", "/v1/predict", run, schema="Prediction", unix=unix) == printed, f"prediction of {keys}")
    estimate = expect(200, "POST", "/v1/predict", {**run, "compact": True}, schema="Estimate")
    for key in ("step_time_s", "power_avg_w", "energy_step_j", "edp_js", "samples_per_s"):
        check(abs(estimate[key] - printed[key]) <= 1e-12 * abs(printed[key]), f"{key} of {keys}: {estimate[key]}, {printed[key]}")
    check(estimate["bound"] == printed["bound"] and estimate["memory"]["peak_bytes"] == printed["memory"]["peak_bytes"], f"{keys}")
    with open(profile, encoding="utf-8") as file:
        own = {"profile": json.load(file), **{k: v for k, v in run.items() if k != "workload"}}
    check(expect(200, "POST", "/v1/predict", {**own, "compact": True}, schema="Estimate") == estimate, f"inline profile, {keys}")

# a profile of many batch sizes and sequence lengths
sizes = profile.replace("mlp.", "lengths.")
with open(sizes, encoding="utf-8") as file:
    own = {"profile": json.load(file), "gpu": "a100"}
for batch_size, seq_length in ((4, 16), (3, 33), (1, 1), (12, 100)):
    out = subprocess.run([adept, "predict", sizes, "--gpu", "a100", "--batch", str(batch_size), "--seq-length", str(seq_length), "--json"],
                         check=True, stdout=subprocess.PIPE).stdout
    asked = expect(200, "POST", "/v1/predict", {**own, "batch_size": batch_size, "seq_length": seq_length}, schema="Prediction")
    check(asked["step_time_s"] == json.loads(out)["step_time_s"] and asked["config"]["seq_length"] == seq_length, f"length {seq_length}")
expect(422, "POST", "/v1/predict", {**own, "seq_length": 101}, code="cannot_predict")
expect(422, "POST", "/v1/predict", {"workload": "mlp", "gpu": "a100", "seq_length": 7}, code="cannot_predict")
expect(400, "POST", "/v1/predict", {**own, "seq_length": 0}, code="bad_request")

single = expect(200, "POST", "/v1/predict", {"workload": "mlp", "gpu": "a100", "gpus": 2, "compact": True}, schema="Estimate")
del single["schema_version"]
many = {"workload": "mlp", "requests": [{"gpu": "a100", "gpus": 2}, {"gpu": "a10O"}, {"gpu": "a100", "gpus": 0}, {"gpu": "a100", "color": 1},
                                        {"gpu": "t4", "power_limit_w": 1}, {}, 7, {"workload": "mpl", "gpu": "t4"}]}
estimates = expect(200, "POST", "/v1/predict", many, schema="Estimates")["estimates"]
check(estimates[0] == single, "an element is a single estimate")
check([e["error"]["code"] for e in estimates[1:]] ==
      ["unknown_gpu", "bad_request", "bad_request", "cannot_predict", "bad_request", "bad_request", "unknown_workload"], f"{estimates[1:]}")
check("'mlp'" in estimates[7]["error"]["message"] and '"color"' in estimates[3]["error"]["message"], "messages name what is wrong")
check(expect(200, "POST", "/v1/predict", {"requests": []}, schema="Estimates")["estimates"] == [], "no requests")

# ---- choices ----

options = [{"gpu": gpu, "gpus": n} for gpu in ("a100", "t4", "h100") for n in (1, 2)] + [{"gpu": "none"}]
estimates = expect(200, "POST", "/v1/predict", {"workload": "mlp", "requests": options}, schema="Estimates")["estimates"][:6]
jobs = [-(-1e6 // e["samples"]) * e["step_time_s"] for e in estimates]
choice = expect(200, "POST", "/v1/choose", {"workload": "mlp", "goal": {"samples": 1e6}, "options": options})
check(choice["best"] == jobs.index(min(jobs)) and choice["verdict"]["time_s"] == min(jobs), f"least time {choice['best']}, {jobs}")
check(choice["estimate"] == estimates[choice["best"]] and choice["options"][choice["best"]] == choice["verdict"], "its estimate and verdict")
check(choice["options"][6]["error"]["code"] == "unknown_gpu" and choice["n_feasible"] == 6, "an option that is none")
steps = [e["energy_step_j"] for e in estimates]
choice = expect(200, "POST", "/v1/choose", {"workload": "mlp", "goal": {"objective": "energy"}, "options": options})
check(choice["best"] == steps.index(min(steps)), f"least energy {choice['best']}, {steps}")
late = expect(422, "POST", "/v1/choose", {"workload": "mlp", "goal": {"samples": 1e6, "deadline_s": 0.5 * min(jobs)}, "options": options}, code="infeasible")
check(late["best"] is None and late["binding"]["constraint"] == "deadline" and late["binding"]["nearest"] == jobs.index(min(jobs)), f"{late}")
check("option" in late["error"]["message"] and late["binding"]["needed"] == min(jobs), "the binding constraint")
expect(422, "POST", "/v1/choose", {"options": []}, code="infeasible")

# ---- refusals ----

run = {"workload": "mlp", "gpu": "a100"}
for body, status, code in [
    ("", 400, "bad_json"), ("{", 400, "bad_json"), ("[1,]", 400, "bad_json"), ("{} x", 400, "bad_json"), ('{"gpu":NaN}', 400, "bad_json"),
    ('{"gpu":"\xff"}'.encode("latin-1"), 400, "bad_json"), ("[" * 100000, 400, "bad_json"), ('{"a":"\x00"}', 400, "bad_json"),
    ('{"gpu":"a100","gpu":"t4"}', 400, "bad_json"), ("[]", 400, "bad_request"), ("null", 400, "bad_request"),
    ('{"gpus":1e999}', 400, "bad_request"), ('{"gpus":1.5}', 400, "bad_request"), ('{"gpus":"2"}', 400, "bad_request"),
    ('{"gpu":"a\\u0000"}', 400, "bad_json"), ({"workload": "mlp"}, 400, "bad_request"), ({"gpu": "a100"}, 400, "bad_request"),
    ({**run, "gpux": 1}, 400, "bad_request"), ({**run, "goal": {}}, 400, "bad_request"), ({**run, "power_limit_w": -1}, 400, "bad_request"),
    ({**run, "compact": True, "requests": []}, 400, "bad_request"), ({**run, "details": True, "compact": True}, 400, "bad_request"),
    ({**run, "details": True, "requests": []}, 400, "bad_request"), ({**run, "profile": {}}, 400, "bad_request"),
    ({**run, "requests": {}}, 400, "bad_request"), ({**run, "allreduce": "star"}, 400, "bad_request"),
    ({**run, "host": "torch9"}, 400, "bad_request"), ({**run, "host": "torch2", "host_launch_s": 1e-5}, 422, "cannot_predict"),
    ({**run, "workload": "../../etc/passwd"}, 404, "unknown_workload"), ({**run, "gpu": "/etc/passwd"}, 404, "unknown_gpu"),
    ({**run, "gpu": "./mine.json"}, 404, "unknown_gpu"), ({**run, "gpu": "x" * 128}, 400, "bad_request"),
    ({**run, "seq_length": 255}, 422, "cannot_predict"), ({**run, "batch_size": 2**53}, 422, "cannot_predict"), ({**run, "power_limit_w": 1e6}, 422, "cannot_predict"),
    ({**run, "nodes": 2, "gpus": 2}, 422, "cannot_predict"),
    ({**run, "gpus": 2, "overlap": "bucketed", "granularity": "model"}, 422, "cannot_predict"), ({"gpu": "a100", "profile": {}}, 422, "bad_profile"),
    ({"requests": [{}] * 10001}, 413, "too_large"), ("1" * 200000, 413, "too_large"),
]:
    expect(status, "POST", "/v1/predict", body, code=code)
expect(400, "POST", "/v1/choose", run, code="bad_request")
expect(400, "POST", "/v1/choose", {"options": [], "goal": {"samples": 1, "steps": 1}}, code="bad_request")
expect(415, "POST", "/v1/predict", "{}", code="unsupported_media_type", headers={})
expect(415, "POST", "/v1/predict", "{}", code="unsupported_media_type", headers={"Content-Type": "text/plain"})
for method, url, status in [("GET", "/v1/predict", 405), ("POST", "/v1/gpus", 405), ("DELETE", "/v1/gpus/a100", 405), ("PUT", "/metrics", 405),
                            ("POST", "/", 405), ("GET", "/v1/gpus/", 404), ("GET", "/v1/gpus/../gpus", 404), ("GET", "/v1", 404),
                            ("OPTIONS", "*", 404), ("POST", "/v1/predict/", 404)]:
    expect(status, method, url, code="method_not_allowed" if status == 405 else "not_found", schema="Error")
check(ask("GET", "/v1/predict")[0].getheader("Allow") == "POST", "405 says what is allowed")
response, text = ask("HEAD", "/v1/health")
check(response.status == 200 and text == b"" and int(response.getheader("Content-Length")) > 40, "HEAD")

# ---- the page: its own script and style, a policy that allows no other, figures that are the API's ----

for url, kind, sign in (("/", "text/html", b'<script type="module" src="page.js">'), ("/page.css", "text/css", b"--ink"), ("/page.js", "text/javascript", b"live(main)")):
    response, text = ask("GET", url)
    check(response.status == 200 and response.getheader("Content-Type").startswith(kind) and sign in text, f"{url}: {response.status}")
    check(response.getheader("X-Content-Type-Options") == "nosniff", f"{url}: may be sniffed")
policy = ask("GET", "/")[0].getheader("Content-Security-Policy") or ""
check("default-src 'none'" in policy and "script-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy, f"policy {policy}")
check(ask("GET", "/page.js")[1].count(b"innerHTML") == 0 and b" style=" not in ask("GET", "/")[1], "markup is made of text")
detailed = expect(200, "POST", "/v1/predict", {**run, "details": True}, schema="Prediction")
details = detailed.pop("details")
check(detailed == expect(200, "POST", "/v1/predict", run, schema="Prediction"), "details stand beside the prediction")
check(abs(sum(o["time_s"] for o in details["operators"]) - detailed["time"]["pass_s"]) < 1e-4 * detailed["time"]["pass_s"], "operators are the pass")
check(len(details["limits"]) == 49 and details["limits"][-1]["interval"]["level"] == 0.8 and details["roofs"][0]["flops_per_s"] > 1e12, "limits and roofs")

# ---- models that clients send: a name of their content, the numbers of the program, limits ----

def send(body, kind="application/octet-stream", **headers):
    response, text = ask("POST", "/v1/workloads", body, headers={"Content-Type": kind, **headers})
    return response.status, json.loads(text)


config = json.dumps({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
                     "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 512}).encode()
status, sent = send(config)
check(status == 200 and sent["name"].startswith("upload-") and send(config)[1]["name"] == sent["name"], f"a config.json: {sent}")
with open(profile, "rb") as file:
    status, same = send(file.read())
own = {"gpu": "a100", "compact": True}
check(expect(200, "POST", "/v1/predict", {**own, "workload": same["name"]}, schema="Estimate") ==
      expect(200, "POST", "/v1/predict", {**own, "workload": "mlp"}, schema="Estimate"), "a profile that was sent")
with open(os.path.join(os.environ["ADEPT_SOURCE_DIR"], "tests/golden/export/basic.json"), "rb") as file:
    exported = file.read()
with zipfile.ZipFile(path + ".pt2", "w") as archive:
    archive.writestr("serialized_exported_program.json", exported)
    archive.writestr("version", "8.2")
with open(path + ".pt2", "rb") as file:
    package = file.read()
status, exported = send(package)
check(status == 200 and exported["workloads"][0]["params"] > 0, f"a .pt2: {exported}")
said = json.loads(subprocess.run([adept, "predict", path + ".pt2", "--gpu", "a100", "--json"], check=True, stdout=subprocess.PIPE).stdout)
check(expect(200, "POST", "/v1/predict", {**own, "workload": exported["name"]}, schema="Estimate")["step_time_s"] == said["step_time_s"], "a .pt2 that was sent")
check(send(package[:len(package) // 2])[0] == 422 and send(package.replace(b"torch.ops.aten", b"torch.ops.mine"))[0] == 422, "half a .pt2, and a .pt2 whose bytes were changed")

# layouts of the config.json: the program's, while others are answered; two searches at a time
with open(path + ".config.json", "wb") as file:
    file.write(config)
words = {"gpu": "h100", "gpus": 8, "global_batch": 32, "seq_length": 64, "precision": "bf16", "minimise": "energy", "within_percent": 5, "limits": 2, "top": 3}
planned = expect(200, "POST", "/v1/plan", {"workload": sent["name"], **words}, schema="Plan")
out = subprocess.run([adept, "plan", path + ".config.json"] + "--gpu h100 --gpus 8 --global-batch 32 --seq-length 64 --precision bf16 --minimise energy "
                     "--within 5 --limits 2 --top 3 --json".split(), check=True, stdout=subprocess.PIPE).stdout
printed = json.loads(out)
os.unlink(path + ".config.json")
check(all(planned[key] == printed[key] for key in printed if key != "asked") and len(planned["layouts"]) == 3, "a plan is the program's")
asked = [threading.Thread(target=lambda: codes.append(ask("POST", "/v1/plan", {"workload": sent["name"], **words, "limits": 32})[0].status)) for _ in range(5)]
codes = []
for thread in asked:
    thread.start()
expect(200, "POST", "/v1/predict", {"gpu": "a100", "compact": True, "workload": "mlp"}, schema="Estimate")
for thread in asked:
    thread.join()
check(set(codes) <= {200, 503} and 200 in codes, f"five plans at once: {codes}")

answer = expect(200, "POST", "/v1/plan", {"workload": sent["name"], "gpu": "h100", "gpus": 2, "mode": "generate", "prompt": 20, "tokens": 8, "execution": "graphs",
                                          "minimise": "energy_per_token", "within_tpot_s": 1e-4, "batch_size": 4}, schema="Plan")
check(all(p["generate"]["tpot_s"] <= 1e-4 for p in answer["layouts"]) and len(answer["front"]) > 0, "a plan of a generation")

# queries as they arrive: the program's numbers
with open(path + ".csv", "w") as file:
    file.write("prompt,tokens,share\n20,8,3\n60,20,1\n")
with open(path + ".config.json", "wb") as file:
    file.write(config)
mixed = {"workload": sent["name"], "gpu": "h100", "batch_size": 4, "rate_per_s": 30, "requests": 2000, "mode": "generate", "execution": "graphs",
         "mix": [{"prompt": 20, "tokens": 8, "share": 3}, {"prompt": 60, "tokens": 20, "share": 1}]}
out = subprocess.run([adept, "predict", path + ".config.json", "--mix", path + ".csv"] + "--gpu h100 --batch 4 --rate 30/s --requests 2000 --mode generate "
                     "--execution graphs --json".split(), check=True, stdout=subprocess.PIPE).stdout
check(expect(200, "POST", "/v1/mix", mixed, schema="MixAnswer")["mix"] == json.loads(out)["mix"], "a mix is the program's")
os.unlink(path + ".config.json")
os.unlink(path + ".csv")
expect(422, "POST", "/v1/plan", {"workload": "mlp", "gpu": "a100", "gpus": 3, "global_batch": 32, "pp": 3}, code="cannot_predict")
expect(404, "POST", "/v1/plan", {"workload": "mpl", "gpu": "a100"}, code="unknown_workload")
check(len(expect(200, "GET", "/v1/workloads")["workloads"]) == 1, "what one client sent is not told to others")
check(send(b"PK\x03\x04 no model")[0] == 422 and send(b"{}")[0] == 422 and send(b"")[0] == 400, "what is no model")
check(send(config, "application/json")[0] == 415 and send(config, Origin="http://elsewhere.example")[0] == 403, "pages of others")
check(ask("DELETE", "/v1/workloads")[0].getheader("Allow") == "GET, HEAD, POST", "what is allowed")
kept = [send(config.replace(b"256", str(256 * i).encode()))[0] for i in range(2, 12)]
check(kept == [200] * 5 + [503] * 5, f"eight models of a client: {kept}")
expect(404, "POST", "/v1/predict", {**own, "workload": "upload-0123456789abcdef"}, code="unknown_workload")

# ---- the Kubernetes extender of docs/examples ranks boards by what a pod would take on them ----

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["ADEPT_SOURCE_DIR"], "docs/examples"))
import extender  # noqa: E402

pod = {"metadata": {"annotations": {"adept.dev/workload": "mlp"}}}
nodes = [{"metadata": {"name": name, "labels": labels}} for name, labels in
         (("a", {"adept.dev/gpu": "h100"}), ("b", {"nvidia.com/gpu.product": "NVIDIA-T4"}), ("c", {}), ("d", {"adept.dev/gpu": "no-such"}))]
for objective in ("time", "edp", "ed2p"):
    pod["metadata"]["annotations"]["adept.dev/objective"] = objective
    ranked = {row["Host"]: row["Score"] for row in extender.scores(f"http://127.0.0.1:{port}", pod, nodes)}
    check(ranked["a"] == 10 and ranked["b"] < 10 and ranked["c"] == ranked["d"] == 0, f"the extender's scores by {objective} {ranked}")
    check(objective != "time" or ranked["b"] > 0, f"the extender's scores {ranked}")
by_energy = extender.scores(f"http://127.0.0.1:{port}", {"metadata": {"annotations": {"adept.dev/workload": "mlp"}}}, nodes)
pod["metadata"]["annotations"]["adept.dev/objective"] = "money"
check(extender.scores(f"http://127.0.0.1:{port}", pod, nodes) == by_energy, "an objective that the extender does not know is energy")
check(all(row["Score"] == 0 for row in extender.scores(f"http://127.0.0.1:{port}", {}, nodes)), "a pod that says nothing")

# ---- every key that is described is known, and answers say so of no other ----

for schema, url, rest in [("PredictRequest", "/v1/predict", run), ("ChooseRequest", "/v1/choose", {**run, "options": [{}]}),
                          ("PlanRequest", "/v1/plan", {**run, "gpus": 2, "global_batch": 4}), ("MixRequest", "/v1/mix", mixed)]:
    expect(200, "POST", url, {**dict.fromkeys(description["components"]["schemas"][schema]["properties"]), **rest})
check(expect(200, "POST", "/v1/choose", {**run, "options": [{}], "goal": {k: None for k in description["components"]["schemas"]["Goal"]["properties"]}})
      ["best"] == 0, "all keys of a goal")

# ---- connections: kept alive, pipelined, half closed, broken ----

connection = connect()
for _ in range(3):
    connection.request("POST", "/v1/predict", json.dumps(run), {"Content-Type": "application/json"})
    check(connection.getresponse().read().startswith(b"{"), "kept alive")
connection.close()


def raw(data, unix=False, shut=False):
    s = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
    s.settimeout(300)
    s.connect(path if unix else ("127.0.0.1", port))
    s.sendall(data)
    if shut:
        s.shutdown(socket.SHUT_WR)
    received = b""
    try:
        while True:
            more = s.recv(65536)
            if not more:
                break
            received += more
    except ConnectionResetError:
        pass
    s.close()
    return received


body = json.dumps({**run, "compact": True}).encode()
post = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
get = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n"
for unix in (False, True):
    check(raw(post + post + get + b"Connection: close\r\n\r\n", unix).count(b"HTTP/1.1 200") == 3, "pipelined")
    check(b"HTTP/1.1 200" in raw(post, unix, shut=True), "half closed")
chunked = post.replace(b"Content-Length: %d" % len(body), b"Transfer-Encoding: chunked\r\nConnection: close")
chunks = b"".join(b"%x\r\n%s\r\n" % (1, body[i:i + 1]) for i in range(len(body))) + b"0\r\n\r\n"
check(b"HTTP/1.1 200" in raw(chunked[:-len(body)] + chunks), "chunked")
check(b"HTTP/1.1 413" in raw(b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n"), "announced too large")
huge = b"8000\r\n" + b" " * 0x8000 + b"\r\n"
check(b"HTTP/1.1 413" in raw(chunked[:-len(body)] + 8 * huge + b"0\r\n\r\n"), "too large in chunks")
check(b" 4" in raw(b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")[:12], "a long address")
for broken in (b"\x16\x03\x01\x02\x00\x01\x00", b"\r\n\r\n\r\n", b"GET\r\n\r\n", post[:-5], b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"):
    raw(broken, shut=True)

# ---- who may not ask: pages that call the server by a name of theirs, and requests that a proxy could read in two ways ----

def status_of(*headers, unix=False, version=b"1.1", path=b"/v1/health", data=b""):
    lines = b"".join(h.encode() + b"\r\n" for h in headers)
    answer = raw(b"GET " + path + b" HTTP/" + version + b"\r\nConnection: close\r\n" + lines + b"\r\n" + data, unix)
    return int(answer[9:12] or 0)


for host, status in [("localhost", 200), ("LocalHost:1", 200), ("10.1.2.3:80", 200), ("[::1]", 200), ("[fe80::1]:8787", 200),
                     ("adept.example", 200), ("ADEPT.example:443", 200), ("evil.example", 403), ("localhost.evil.example", 403),
                     ("adept.example.evil", 403), ("127.0.0.1.evil.example", 403), ("127.1", 403), ("::1", 403), ("[::1", 403), ("[localhost]", 403),
                     ("localhost:80x", 403), ("localhost:80@evil.example", 403), ("", 403), ("x" * 300, 403)]:
    check(status_of("Host: " + host) == status, f"Host: {host}: not {status}")
    check(status_of("Host: " + host, unix=True) == 200, f"Host: {host} on the Unix socket")
check(status_of() == 400 and status_of(version=b"1.0") == 200, "without Host")
check(status_of("Host: localhost", "Host: localhost") == 400, "Host twice")
for origin, status in [("http://localhost", 200), ("https://LOCALHOST", 200), ("http://localhost:81", 403), ("http://evil.example", 403),
                       ("null", 403), ("", 403), ("file://localhost", 403)]:
    for unix in (False, True):
        check(status_of("Host: localhost", "Origin: " + origin, unix=unix) == status, f"Origin: {origin}: not {status}")
for headers in [("Content-Length: 4", "Transfer-Encoding: chunked"), ("Transfer-Encoding: chunked", "Content-Length: 4"),
                ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"), ("Transfer-Encoding: gzip, chunked",), ("Transfer-Encoding: xchunked",),
                ("Content-Length: 4", "Content-Length: 4"), ("Content-Length: 4", "Content-Length: 0")]:
    check(status_of("Host: localhost", *headers, data=b"0\r\n\r\n") == 400, f"{headers}: not 400")
answer = raw(post.replace(b"Content-Length", b"Transfer-Encoding: chunked\r\nContent-Length") + b"0\r\n\r\n" + get + b"\r\n")
check(answer.startswith(b"HTTP/1.1 400") and answer.count(b"HTTP/1.1") == 1, "what follows such a request is not read")
# What a proxy could take for one request and the server for two (or the other way round) is refused, and nothing that follows is read.
smuggled = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
lead, size = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n", b"%d" % len(smuggled)
head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
chunked = head + b"Transfer-Encoding: chunked\r\n\r\n"
for data in [lead + b"Content-Length : " + size + b"\r\n\r\n", head + b"Content-Length\t: " + size + b"\r\n\r\n",
             lead + b"Content_Length: " + size + b"\r\n\r\n", lead + b"Content-Length: +" + size + b"\r\n\r\n",
             lead + b"Content-Length: 0x10\r\n\r\n", lead + b"Content-Length: 0 0\r\n\r\n", lead + b"Content-Length:\r\n\r\n",
             lead + b"Content-Length:\x0b" + size + b"\r\n\r\n", lead + b"Content-Length " + size + b"\r\n\r\n",
             lead + b"Transfer-Encoding : chunked\r\n\r\n", lead + b"Transfer-Encoding: chunked" + b" " * 30 + b", x\r\n\r\n",
             lead + b"X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", lead + b"X: a\rContent-Length: " + size + b"\r\n\r\n",
             lead + b"X: a\nContent-Length: " + size + b"\r\n\r\n", lead + b"X: a\r\r", lead + b"X: a\n\n", lead + b"X: a\r\n\n",
             lead + b" folded: a\r\n\r\n", lead + b"X: a\x00b\r\n\r\n", lead + b": a\r\n\r\n", lead.replace(b"\r\n", b"\n") + b"\n",
             b"GET /v1/health HTTP/1.1\r\n Content-Length: " + size + b"\r\nHost: localhost\r\n\r\n",
             b"GET  /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /v1/health  HTTP/1.1\r\nHost: localhost\r\n\r\n",
             b"GET\t/v1/health\tHTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /v1/health x HTTP/1.1\r\nHost: localhost\r\n\r\n",
             b"GET /v1/health\x0b HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /v1/health HTTP/1.2\r\nHost: localhost\r\n\r\n",
             b"GET /v1/health\r\n\r\n", b" GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
             chunked.replace(b"HTTP/1.1", b"HTTP/1.0") + b"0\r\n\r\n", chunked + b"0\n\n", chunked + b"2;\nxx\r\n0\r\n\r\n",
             chunked + b"2\r\n{}0\r\n\r\n", chunked + b"2 \r\n{}\r\n0\r\n\r\n", chunked + b"0x2\r\n{}\r\n0\r\n\r\n",
             chunked + b"10000000000000002\r\n{}\r\n0\r\n\r\n", chunked + b"0\r\nX : y\r\n\r\n"]:
    for unix in (False, True):
        answer = raw(data + smuggled, unix)
        check(answer.startswith(b"HTTP/1.1 400") and answer.count(b"HTTP/1.1 ") == 1 and b"Connection: close" in answer, f"{data}: {answer[:200]}")
        answer = raw(get + b"\r\n" + data + smuggled, unix)
        check([part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"400"], f"after another request, {data}: {answer}")
answer = raw(b"\r\n" + chunked + b"2;a=b\r\n{}\r\n0;c\r\nX: y\r\n\r\n" + get + b"Connection: close\r\n\r\n")
check([part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"400", b"200"], f"chunks with all that may stand in them: {answer}")
answer = raw(lead.replace(b"localhost", b"evil.example") + b"Content-Length: " + size + b"\r\n\r\n" + smuggled)
check(answer.startswith(b"HTTP/1.1 403") and answer.count(b"HTTP/1.1 ") == 1, "nothing follows who may not ask")
for path, status in [(b"/v1/health%00", 404), (b"/v1/health%00x", 404), (b"/v1/gpus/a100%00", 404), (b"/v1/gpus/a%31%30%30", 200)]:
    check(status_of("Host: localhost", path=path) == status, f"{path}: not {status}")

metrics = ask("GET", "/metrics")[1].decode()
check('adept_requests_total{route="POST /v1/predict",status="200"}' in metrics, "requests are counted")
check('adept_requests_total{route="GET /v1/health",status="200"}' in metrics and "adept_oracle_cache_hits_total" in metrics, metrics[:200])
for line in metrics.splitlines():
    check(line.startswith("# ") or (line.rsplit(" ", 1)[1].replace(".", "").isdigit() and line.startswith("adept_")), f"metrics: {line}")
check(expect(200, "GET", "/v1/health")["status"] == "ok", "still there")
print(f"{checks} checks, {len(failures)} failed")
sys.exit(bool(failures))
