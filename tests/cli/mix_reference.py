#!/usr/bin/env python3
"""Queries as they arrive, simulated with SimPy: queries are objects, each pass an event, times of passes come from
`adept sweep` at every batch. The C code walks sums of lengths, many passes at a time, on a table of a few points.

mix_reference.py ADEPT MIX.csv RATE MOST WORD... -> a line for each number: name, adept's, the mean of the seeds', what
they scatter by. Fails where a mean differs by more than 1 %, or a 99th percentile by more than 3 %; ends with 77 without SimPy."""
import csv
import io
import json
import math
import random
import statistics
import subprocess
import sys

try:
    import simpy
except ImportError:
    print("no SimPy (Debian: python3-simpy3)")
    sys.exit(77)

QUERIES, SEEDS, WARM_UP = 10000, 3, 1000


class Query:
    def __init__(self, arrived, prompt, tokens):
        self.arrived, self.prompt, self.tokens, self.written = arrived, prompt, tokens, 0


def run(adept, *words):
    return subprocess.run([adept, *words], check=True, capture_output=True, text=True).stdout


def pass_times(adept, rows, most, words):
    """Seconds of a prompt by its length, of a token by batch and mean length: linear between three lengths."""
    longest = max(prompt + tokens for prompt, tokens, _ in rows)
    lengths = sorted({min(r[0] for r in rows), longest // 2, longest})
    sweep = ["--mode", "generate", "--tokens", "1", "--csv", *words]
    table = csv.DictReader(io.StringIO(run(adept, "sweep", *sweep, "--vary", f"batch=1:{most}:1", "--vary",
                                           "prompt=" + ",".join(map(str, lengths)))))
    token = {(int(r["batch"]), int(r["prompt"])): float(r["tpot_s"]) for r in table}
    prompts = sorted({r[0] for r in rows})
    first = csv.DictReader(io.StringIO(run(adept, "sweep", *sweep, "--batch", "1", "--vary", "prompt=" + ",".join(map(str, prompts)))))
    prompt_s = {int(r["prompt"]): float(r["ttft_s"]) for r in first}

    def token_s(batch, length):
        low = max(i for i in range(len(lengths) - 1) if i == 0 or lengths[i] <= length)
        a, b = lengths[low], lengths[low + 1]
        return token[batch, a] + (length - a) / (b - a) * (token[batch, b] - token[batch, a])
    return prompt_s, token_s


def simulate(seed, rows, rate, most, prompt_s, token_s):
    draw, env, done = random.Random(seed), simpy.Environment(), []
    waiting = simpy.Store(env)

    def arrivals():
        for _ in range(QUERIES + WARM_UP):
            yield env.timeout(draw.expovariate(rate))
            prompt, tokens, _ = draw.choices(rows, [r[2] for r in rows])[0]
            waiting.put(Query(env.now, prompt, tokens))

    def server():
        answers = []
        while True:
            if not answers or waiting.items and len(answers) < most:
                query = yield waiting.get()
                yield env.timeout(prompt_s[query.prompt])
                query.first = env.now
                answers.append(query)
                continue
            yield env.timeout(token_s(len(answers), statistics.fmean(q.prompt + q.written for q in answers)))
            for q in answers:
                q.written += 1
                if q.written == q.tokens:
                    q.ended = env.now
                    done.append(q)
            answers = [q for q in answers if q.written < q.tokens]

    env.process(arrivals())
    env.process(server())
    env.run()
    done.sort(key=lambda q: q.arrived)
    counted = done[WARM_UP:]
    return {"ttft_s": [q.first - q.arrived for q in counted], "tpot_s": [(q.ended - q.first) / q.tokens for q in counted],
            "latency_s": [q.ended - q.arrived for q in counted]}


def main(adept, mix, rate, most, *words):
    with open(mix) as file:
        rows = [(int(r["prompt"]), int(r["tokens"]), float(r["share"])) for r in csv.DictReader(file)]
    rate, most = float(rate), int(most)
    ours = json.loads(run(adept, "predict", *words, "--mode", "generate", "--batch", str(most), "--mix", mix, "--rate",
                          f"{rate}/s", "--json"))["mix"]
    times = pass_times(adept, rows, most, words)
    runs = [simulate(seed, rows, rate, most, *times) for seed in range(1, SEEDS + 1)]
    worst = 0.0
    for name in ("ttft_s", "tpot_s", "latency_s"):
        for what, of, within in (("mean", statistics.fmean, 0.01), ("p99", lambda v: sorted(v)[math.ceil(0.99 * len(v)) - 1], 0.03)):
            values = [of(r[name]) for r in runs]
            theirs, scatter = statistics.fmean(values), statistics.stdev(values)
            error = ours[name][what] / theirs - 1
            worst = max(worst, abs(error) / within)
            print(f"{name} {what}: {ours[name][what]:.6g}, {theirs:.6g} ({error:+.2%}); 10,000 queries scatter by {scatter / theirs:.2%}")
    return worst > 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
