#!/usr/bin/env python3
"""Queries as they arrive, simulated with SimPy: queries are objects, stages resources, each batch that takes turns a process, and
times of passes come from adept at every batch. The C code counts lengths in sums, many passes at a time, on a table of a few
points. Both have the same 10,000 queries: a trace that this program draws.

mix_reference.py ADEPT MIX.csv MOST LOADS WORD... -> a line for each load (a share of what is answered at most: 0.2,0.5,0.8) and
number: adept's, SimPy's, what adept says the percentile scatters by. Fails where a mean differs by more than 1 %, or a 99th
percentile by more than 3 %; ends with 77 without SimPy."""
import csv
import io
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

try:
    import simpy
except ImportError:
    print("no SimPy (Debian: python3-simpy3)")
    sys.exit(77)

QUERIES = 10000


class Query:
    def __init__(self, arrived, prompt, tokens):
        self.arrived, self.prompt, self.tokens, self.written = arrived, prompt, tokens, 0


def run(adept, *words):
    return subprocess.run([adept, *words], check=True, capture_output=True, text=True).stdout


def stages_s(adept, words, batch, prompt):
    """What a prompt, and a token behind it, take of each stage: with what is sent on to the next."""
    answer = json.loads(run(adept, "predict", "--mode", "generate", "--tokens", "1", "--batch", str(batch), "--prompt", str(prompt),
                            "--json", *words))
    stages, whole = answer["layout"]["stages"], answer["generate"]
    prompt_s = [s["prompt_s"] for s in stages]
    token_s = [s["micro_batch_s"] - s["prompt_s"] for s in stages]
    for times, all_s in (prompt_s, whole["ttft_s"]), (token_s, whole["tpot_s"]):
        hop = (all_s - sum(times)) / (len(stages) - 1)
        times[:-1] = [t + hop for t in times[:-1]]
    return prompt_s, token_s


def pass_times(adept, rows, most, words):
    """Seconds of each stage: of a prompt by its length, of a token by batch and mean length, linear between three lengths."""
    longest = max(prompt + tokens for prompt, tokens, _ in rows)
    lengths = sorted({min(r[0] for r in rows), longest // 2, longest})
    prompts = sorted({r[0] for r in rows})
    if "--pp" in words:
        token = {(b, n): stages_s(adept, words, b, n)[1] for b in range(1, most + 1) for n in lengths}
        prompt_s = {n: stages_s(adept, words, 1, n)[0] for n in prompts}
    else:
        sweep = ["--mode", "generate", "--tokens", "1", "--csv", *words]
        table = csv.DictReader(io.StringIO(run(adept, "sweep", *sweep, "--vary", f"batch=1:{most}:1", "--vary",
                                               "prompt=" + ",".join(map(str, lengths)))))
        token = {(int(r["batch"]), int(r["prompt"])): [float(r["tpot_s"])] for r in table}
        first = csv.DictReader(io.StringIO(run(adept, "sweep", *sweep, "--batch", "1", "--vary", "prompt=" + ",".join(map(str, prompts)))))
        prompt_s = {int(r["prompt"]): [float(r["ttft_s"])] for r in first}

    def token_s(batch, length):
        low = max(i for i in range(len(lengths) - 1) if i == 0 or lengths[i] <= length)
        a, b = lengths[low], lengths[low + 1]
        return [s + (length - a) / (b - a) * (t - s) for s, t in zip(token[batch, a], token[batch, b])]
    return prompt_s, token_s


def simulate(trace, most, turns, prompt_s, token_s):
    env, done, waiting = simpy.Environment(), [], []
    stages = [simpy.Resource(env) for _ in next(iter(prompt_s.values()))]
    arrived = [env.event()]

    def arrivals():
        for at, prompt, tokens in trace:
            yield env.timeout(at - env.now)
            waiting.append(Query(at, prompt, tokens))
            arrived[0].succeed()
            arrived[0] = env.event()

    def turn():
        answers = []
        while True:
            while not answers and not waiting:
                yield arrived[0]
            held = stages[0].request()
            yield held
            query = waiting.pop(0) if waiting and len(answers) < most else None
            if not query and not answers:
                stages[0].release(held)
                continue
            times = prompt_s[query.prompt] if query else token_s(len(answers), statistics.fmean(q.prompt + q.written for q in answers))
            for k, time_s in enumerate(times):
                if k > 0:
                    held = stages[k].request()
                    yield held
                yield env.timeout(time_s)
                stages[k].release(held)
            if query:
                query.first = env.now
                answers.append(query)
                continue
            for q in answers:
                q.written += 1
                if q.written == q.tokens:
                    q.ended = env.now
                    done.append(q)
            answers = [q for q in answers if q.written < q.tokens]

    env.process(arrivals())
    for _ in range(turns):
        env.process(turn())
    env.run()
    assert len(done) == len(trace)
    return {"ttft_s": [q.first - q.arrived for q in done], "tpot_s": [(q.ended - q.first) / q.tokens for q in done],
            "latency_s": [q.ended - q.arrived for q in done]}


def main(adept, mix, most, loads, *words):
    with open(mix) as file:
        rows = [(int(r["prompt"]), int(r["tokens"]), float(r["share"])) for r in csv.DictReader(file)]
    most, turns = int(most), int(words[words.index("--pp") + 1]) if "--pp" in words else 1
    generate = ["predict", *words, "--mode", "generate", "--batch", str(most), "--json", "--mix"]
    times = pass_times(adept, rows, most, words)
    at_most = json.loads(run(adept, *generate, mix, "--rate", "1000000/s", "--requests", "5000"))["mix"]["queries_per_s"]
    worst = 0.0
    for load in map(float, loads.split(",")):
        draw, now, trace = random.Random(load), 0.0, []
        for prompt, tokens, _ in draw.choices(rows, [r[2] for r in rows], k=QUERIES):
            now += draw.expovariate(load * at_most)
            trace.append((now, prompt, tokens))
        with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as file:
            file.write("arrival_s,prompt,tokens\n" + "".join("%.17g,%d,%d\n" % row for row in trace))
        ours = json.loads(run(adept, *generate, file.name))["mix"]
        os.unlink(file.name)
        theirs = simulate(trace, most, turns, *times)
        for name in ("ttft_s", "tpot_s", "latency_s"):
            for what, of, within in (("mean", statistics.fmean, 0.01), ("p99", lambda v: sorted(v)[math.ceil(0.99 * len(v)) - 1], 0.03)):
                a, b = ours[name][what], of(theirs[name])
                worst = max(worst, abs(a / b - 1) / within)
                print(f"load {load:g}, {load * at_most:.4g}/s: {name} {what} {a:.6g}, {b:.6g} ({a / b - 1:+.2%}); "
                      f"scatters by {ours[name][what + '_within']:.1%}")
    return worst > 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
