# predict --timeline: a trace for Perfetto, whose rows sum to what the prediction says.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
p=$data/mlp.profile.json
t=$work/trace.json

cat >"$work/check.py" <<'END'
import json, sys
p, trace = (json.load(open(f)) for f in sys.argv[1:3])
events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
rows = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
sums, ends = dict.fromkeys(rows.values(), 0.0), dict.fromkeys(rows, 0.0)
step_us = 1e6 * p["step_time_s"]
near = lambda a, b: abs(a - b) <= 1e-9 * step_us
for e in events:
    assert e["dur"] > 0 and e["ts"] >= ends[e["tid"]] - 1e-9 * step_us, e
    ends[e["tid"]] = e["ts"] + e["dur"]
    sums[rows[e["tid"]]] += e["dur"]
assert near(max(ends.values()), step_us)
link_us = sums.get("links in the node", 0) + sums.get("links between nodes", 0)
assert near(sums["compute"], 1e6 * p["time"]["pass_s"]) and near(sums.get("optimizer", 0), 1e6 * p["time"]["optimizer_s"])
assert near(link_us, 1e6 * ((p["communication"] or {}).get("total_s") or 0))
timeline = p["timeline"]
assert near(1e6 * timeline["compute_s"], sums["compute"]) and near(1e6 * timeline["host_s"], sums["host"])
assert near(1e6 * (timeline["link_s"] + timeline["between_nodes_s"]), link_us)
for word in sys.argv[3:]:
    assert any(word in e["name"] for e in events), word
forward = [e for e in events if e.get("cat") == "forward" and rows[e["tid"]] == "compute"]
backward = [e for e in events if e.get("cat") == "backward" and rows[e["tid"]] == "compute"]
if p["config"]["grad_accum"] == 1 and backward: # one pass each: the model's order, and then from its end
    both = [e["args"]["module"] for e in forward if any(e["args"]["module"] == b["args"]["module"] for b in backward)]
    starts = {e["args"]["module"]: e["ts"] for e in backward}
    assert starts[both[0]] > starts[both[-1]] or both[0] == both[-1]
    assert forward[-1]["ts"] < backward[0]["ts"]
END

# looks WORD... -- OPTION...
looks() {
    words=
    while [ "$1" != -- ]; do
        words="$words $1"
        shift
    done
    shift
    expect_ok predict "$@" --timeline "$t" --json
    command -v python3 >/dev/null 2>&1 || return
    checks=$((checks + 1))
    # shellcheck disable=SC2086
    python3 "$work/check.py" "$work/out" "$t" $words >"$work/err" 2>&1 || fail "the trace of $*"
}

looks linear adamw 'launch' fixed -- "$p" --gpu v100-pcie-32gb
looks all-reduce -- "$p" --gpu v100-pcie-32gb --gpus 8
looks all-reduce -- "$p" --gpu v100-pcie-32gb --gpus 8 --nodes 2 --internode-bandwidth 1GB/s --bucket-bytes 1000
looks all-reduce -- gpt2 --gpu v100-pcie-32gb --gpus 8 --overlap fixed
looks copies -- "$p" --gpu v100-pcie-32gb --gpus 8 --overlap none
looks forward backward -- "$p" --gpu a100 --grad-accum 5 --power-limit 250
looks linear -- "$p" --gpu a100 --mode infer
looks linear -- "$p" --gpu a100 --host-launch 1ms
looks transformer.h.11.mlp -- gpt2 --gpu h100 --gpus 4
looks transformer.h.11.mlp -- gpt-2 --gpu h100 --precision bf16 --batch 8 --seq-length 512 --grad-accum 3

expect_ok predict "$p" --gpu a100 --timeline "$t"
shows '^Step time '
expect_ok predict "$p" --gpu a100 --json
checks=$((checks + 1))
! grep -q '"timeline"' "$work/out" || fail 'a timeline that nobody asked for'
expect_error 2 'a timeline needs the time of every operator: granularity "model" has none$' predict "$p" --gpu a100 --granularity model --timeline "$t"
expect_error 2 'timeline' predict "$p" --gpu a100 --timeline
expect_error 1 'nowhere' predict "$p" --gpu a100 --timeline "$work/nowhere/trace.json"
finish
