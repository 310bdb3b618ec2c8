# Layouts, end to end: text, JSON, what disagrees, and that the plain ones are the ordinary prediction.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_python json
cd "$work" || exit 1

keep() { cp out "$1.json"; }
json() {
    checks=$((checks + 1))
    "$python" - "$1" "$2" >said 2>&1 <<'END' || { fail "$1"; cat said; }
import glob, json, sys
names = {f[:-5]: json.load(open(f)) for f in glob.glob("*.json")}
names["near"] = lambda x, y, by=1e-9: abs(x - y) <= by * abs(y)
assert eval("(" + sys.argv[2] + ")", names), {k: (v["step_time_s"], v.get("layout")) for k, v in names.items() if isinstance(v, dict)}
END
}

# ---- a pipeline of tensor parallel stages
m='adept:llama?layers=8&hidden=2048&heads=16&kv_heads=8&ffn=5504&vocab=32000'
on="--gpu h100 --precision bf16 --batch 1 --seq-length 2048"
# shellcheck disable=SC2086 # words
expect_ok predict "$m" $on --gpus 64 --tp 4 --sp --pp 4 --global-batch 32
shows '^Layout +dp 4 x tp 4 with sequence parallel x pp 4 \(1f1b\); 8 micro-batches of 1, global batch 32$'
shows '^Network +8 nodes of 8 GPUs, as dgx-h100, 50.0 GB/s for each GPU between them$'
shows '^  bubble '
shows '^  3 .* slowest$'
shows '^  activations .* of 4 micro-batches in flight'
# shellcheck disable=SC2086
expect_ok predict "$m" $on --gpus 64 --tp 4 --sp --pp 4 --global-batch 32 --json && keep shared
json 'sums, counts and the worst stage' 'near(sum(v for k, v in shared["layout"]["time"].items() if k != "data_hidden_s"), shared["step_time_s"]) and
    [shared["layout"][k] for k in ("gpus", "dp", "tp", "pp", "micro_batches", "global_batch")] == [64, 4, 4, 4, 8, 32] and
    len(shared["layout"]["stages"]) == 4 and shared["layout"]["node"] == "dgx-h100" and
    shared["memory"]["peak_bytes"] == max(s["peak_bytes"] for s in shared["layout"]["stages"]) and
    shared["energy_step_j"] == shared["power_avg_w"] * shared["step_time_s"] and shared["config"]["gpus"] == 64 and shared["config"]["tp"] == 4 and
    near(sum(s["power_w"] for s in shared["layout"]["stages"]) * 16, shared["power_avg_w"])'

# ---- blocks, clocks and limits by stage
p="--gpu a100-sxm-80gb --precision bf16 --batch 1 --seq-length 2048 --pp 4 --global-batch 16"
# shellcheck disable=SC2086
expect_ok predict "$m" $p --json && keep even
# shellcheck disable=SC2086
expect_ok predict "$m" $p --stage-blocks 2/2/2/2 --json && keep two
# shellcheck disable=SC2086
expect_ok predict "$m" $p --stage-blocks 4/2/1/1 --stage-clocks 1410/1410/900/900 --json && keep uneven
# shellcheck disable=SC2086
expect_ok predict "$m" $p --stage-limits 400/400/250/250 --json && keep limits
# shellcheck disable=SC2086
expect_ok predict "$m" $p --stage-clocks 1410/1410/900/900
shows '^Stages +blocks +micro-batch +busy +power +memory +clock$'
shows '^  1 .* 1.[34][0-9]* GHz'
shows '^  2 .* 900 MHz'
json 'even is what nothing said is' 'two["step_time_s"] == even["step_time_s"] and two["layout"]["stages"] == even["layout"]["stages"]'
json 'blocks by stage' '[s["blocks"] for s in uneven["layout"]["stages"]] == [4, 2, 1, 1] and uneven["step_time_s"] > 1.2 * even["step_time_s"] and
    uneven["config"]["stage_blocks"] == "4/2/1/1" and even["config"]["stage_blocks"] is None'
json 'a lower clock draws less and takes longer' 'all(near(s["clock_ratio"], 900 / 1410) for s in uneven["layout"]["stages"][2:]) and min(s["clock_ratio"] for s in uneven["layout"]["stages"][:2]) > 0.9 and
    limits["layout"]["stages"][0]["power_w"] > limits["layout"]["stages"][2]["power_w"] and limits["power_avg_w"] < even["power_avg_w"]'
# shellcheck disable=SC2086
expect_error 2 'stage_blocks says 7 blocks, and the model has 8' predict "$m" $p --stage-blocks 2/2/2/1
# shellcheck disable=SC2086
expect_error 2 'stage_clocks_mhz says 3 stages, and the pipeline has 4' predict "$m" $p --stage-clocks 1000/1000/1000
# shellcheck disable=SC2086
expect_error 2 'clock_hz for all stages, and by stage' predict "$m" $p --stage-clocks 1000/1000/1000/1000 --clock 1200
# shellcheck disable=SC2086
expect_error 2 "stage-limits: '400/4x' is not whole numbers" predict "$m" $p --stage-limits 400/4x
# shellcheck disable=SC2086
expect_error 2 'stage_limits_w says 4 stages, and the pipeline has 1' predict "$m" $on --gpus 8 --stage-limits 400/400/250/250
# shellcheck disable=SC2086
expect_ok sweep "$m" $p --vary stage_clocks=1410/1410/1410/1410,1410/1410/900/900 --json
shows '"1410/1410/900/900"'

# ---- stages that wait run slower: as said, and what is said is what the clocks give
# shellcheck disable=SC2086
expect_ok predict "$m" $p
slower=$(sed -n 's/^ *--stage-clocks //p' out)
# shellcheck disable=SC2086
expect_ok predict "$m" $p --stage-clocks "$slower" --json && keep slower
json 'slack' 'even["layout"]["slack"] == {"stage_clocks_mhz": slower["config"]["stage_clocks_mhz"], "step_time_s": slower["step_time_s"],
    "energy_step_j": slower["energy_step_j"]} and slower["layout"]["slack"] is None'
json 'it saves joules, and the slowest stage is no slower' 'slower["energy_step_j"] < 0.95 * even["energy_step_j"] and slower["step_time_s"] < 1.1 * even["step_time_s"] and
    max(s["micro_batch_s"] for s in slower["layout"]["stages"]) <= max(s["micro_batch_s"] for s in even["layout"]["stages"]) * (1 + 1e-9)'

# ---- shards, recomputation, memory by parts
# shellcheck disable=SC2086
expect_ok predict "$m" $on --gpus 8 --fsdp full --activation-checkpoint full
shows 'parameters, gradients and optimizer state sharded over 8 GPUs'
shows '^         recomputed: full$'
shows 'unsharded blocks'
# shellcheck disable=SC2086
expect_ok predict "$m" $on --gpus 8 --zero 3 --activation-checkpoint blocks:2 --json && keep zero
json 'zero 3 is fsdp full' 'zero["layout"]["sharded"] == "parameters" and zero["layout"]["shard_group"] == 8 and
    zero["layout"]["activation_checkpoint"] == "blocks:2" and zero["config"]["activation_checkpoint"] == "blocks:2"'
# shellcheck disable=SC2086
expect_ok predict "$m" $on --gpus 8 --zero 3 --micro-batch 2 --json && keep micro
json 'micro-batch is batch' 'micro["config"]["batch_size"] == 2 and micro["layout"]["global_batch"] == 16'

# ---- states on the hosts: less memory on the board, copies and the step of the host beside the GPUs' own
# shellcheck disable=SC2086
{
    expect_ok predict "$m" $on --gpus 8 --fsdp full --json && keep there
    expect_ok predict "$m" $on --gpus 8 --fsdp full --offload optimizer --json && keep moved
    json 'states are on the host' 'moved["layout"]["memory"]["host_bytes"] == there["layout"]["memory"]["optimizer_bytes"] > 0 and
        moved["memory"]["optimizer_bytes"] == 0 and moved["memory"]["peak_bytes"] < there["memory"]["peak_bytes"] and
        near(sum(v for k, v in moved["layout"]["time"].items() if k != "data_hidden_s"), moved["step_time_s"]) and
        moved["layout"]["time"]["offload_s"] > 0 and near(moved["layout"]["time"]["optimizer_s"], 0.25e-9 * moved["model"]["params"], 0.01)'
    expect_ok predict "$m" $on --gpus 8 --fsdp full --offload parameters --json && keep all_moved
    json 'parameters, too' 'near(all_moved["layout"]["memory"]["host_bytes"], sum(there["layout"]["memory"][k] for k in ("weights_bytes", "gradients_bytes", "optimizer_bytes")), 1e-6) and
        all_moved["memory"]["weights_bytes"] < 1e4 and all_moved["layout"]["offload"] == "parameters"'
    expect_ok predict "$m" $on --gpus 8 --fsdp full --offload parameters
    shows 'weights, gradients and optimizer on the hosts: .* of memory for each GPU'
    expect_error 2 'of the shards of fsdp full' predict "$m" $on --gpus 8 --offload parameters
    expect_error 2 'the mode is not train' predict "$m" $on --gpus 8 --tp 2 --offload optimizer --mode infer
    expect_error 2 'pcie_bytes_per_s' predict "$m" --gpu cpu-xeon-avx512-1core --seq-length 64 --offload optimizer
    expect_ok plan "$m" $on --gpus 8 --global-batch 32 --offload optimizer --internode-bandwidth 50GB/s --top 1
    shows ' --internode_bytes_per_s 50000000000 --offload optimizer '
}
# shellcheck disable=SC2046 # what it says to copy
expect_ok $(sed -n 's/^  adept  *//p' out) --json && keep again
json 'what is said to copy is what was asked' 'again["layout"]["offload"] == "optimizer"'

# ---- what is plain
# shellcheck disable=SC2086
expect_ok predict "$m" $on --gpus 8 --json && keep ordinary
# shellcheck disable=SC2086
expect_ok predict "$m" $on --dp 8 --tp 1 --pp 1 --cp 1 --json && keep plain
json 'replicas alone are the ordinary prediction' 'all(plain[k] == ordinary[k] for k in ("step_time_s", "power_avg_w", "interval", "time", "memory", "mfu", "layers" if "layers" in plain else "bound"))'
# shellcheck disable=SC2086
expect_ok predict "$m" $on --dp 16 --json && keep nodes
json 'nodes of the usual server' 'nodes["config"]["nodes"] == 2 and nodes["config"]["internode_bytes_per_s"] == 4e11 and nodes["layout"]["node"] == "dgx-h100"'

# ---- what disagrees, or cannot be done
# shellcheck disable=SC2086
{
    expect_error 2 '64 GPUs are not a multiple of tp 3' predict "$m" $on --gpus 64 --tp 3
    expect_error 2 'that would be dp 8' predict "$m" $on --gpus 64 --tp 8 --dp 2
    expect_error 2 'fsdp full and zero 1 differ' predict "$m" $on --gpus 8 --fsdp full --zero 1
    expect_error 2 "'hybrid:x' is not one of none, full, grad, hybrid:N" predict "$m" $on --gpus 8 --fsdp hybrid:x
    expect_error 2 'not a multiple of batch 1 x dp 8' predict "$m" $on --gpus 8 --global-batch 12
    expect_error 2 'the model has 8 blocks' predict "$m" $on --gpus 16 --pp 16
    expect_error 2 'cannot be shared by tp 32' predict "$m" $on --gpus 32 --tp 32
    expect_error 2 'ep 2: this model has no grouped products' predict "$m" $on --gpus 8 --ep 2
    expect_error 2 'its tokens cannot be shared by cp' predict "$m" $on --seq-length 1001 --gpus 8 --cp 8
    expect_error 2 'more than 2.31 GPUs' predict "$m" $on --gpus 9007199254740992
    expect_error 2 'has no units for nvfp4: use --precision fp8' predict "$m" $on --precision nvfp4 --gpus 8 --tp 2
    expect_error 2 'has no units for mxfp8: use --precision fp8' plan "$m" $on --precision mxfp8 --gpus 8 --global-batch 16
    expect_error 2 'nothing is known of what joins them' predict "$m" --gpu a40 --precision bf16 --seq-length 512 --gpus 16 --tp 2
    expect_error 2 'no elasticities of a layout' explain "$m" $on --tp 2 --gpus 2 --all
    expect_error 2 'more than 1000000 events' predict "$m" $on --gpus 64 --pp 8 --tp 8 --global-batch 100000 --timeline t.trace
}
# shellcheck disable=SC2086
expect_ok predict "$m" --gpu a40 --precision bf16 --seq-length 512 --gpus 16 --tp 2 --internode-bandwidth 100Gbit/s
expect_ok predict resnet50 --gpu a100 --gpus 8 --fsdp full
expect_error 2 'cannot be shared by tp 7' predict vgg16 --gpu a100 --gpus 7 --tp 7

# ---- tables: operators of the GPU that has them sum to what it computes
for words in "--tp 4 --sp --pp 4" "--fsdp full --activation-checkpoint full" "--tp 2 --pp 2 --schedule zbv"; do
    # shellcheck disable=SC2086
    expect_ok predict "$m" $on --gpus 16 --global-batch 32 $words --by layer --json && keep table
    json "rows of $words" 'near(sum(l["time_s"] for l in table["layers"]),
        sum((s["forward_s"] + s["backward_s"] + s["recompute_s"]) * table["layout"]["micro_batches"] for s in table["layout"]["stages"]), 0.03) and
        all(l["energy_j"] >= 0 for l in table["layers"]) and sum(l["energy_j"] for l in table["layers"]) < table["energy_step_j"]'
    # shellcheck disable=SC2086
    expect_ok predict "$m" $on --gpus 16 --global-batch 32 $words --by kind
    shows "of the GPU that has it; shares are of all stages' time"
done

# ---- traces: a schedule event by event is as long as its closed form, each pass stands in it once, nothing overlaps
for words in "--pp 4" "--pp 4 --virtual-stages 2" "--pp 4 --virtual-stages 2 --global-batch 20" \
    "--pp 4 --virtual-stages 2 --global-batch 36" "--pp 4 --schedule zb1p" "--pp 4 --schedule zbv" "--tp 2 --sp --pp 2 --cp 2 --zero 1" "--fsdp full"; do
    # shellcheck disable=SC2086
    expect_ok predict "$m" $on --gpus 16 --global-batch 64 $words --timeline t.trace --json && keep traced
    checks=$((checks + 1))
    "$python" - "$words" >said 2>&1 <<'END' || { fail "trace of $words"; cat said; }
import collections, json, sys
p, trace = json.load(open("traced.json")), json.load(open("t.trace"))["traceEvents"]
layout, events = p["layout"], [e for e in trace if e["ph"] == "X"]
length = max(e["ts"] + e["dur"] for e in events) / 1e6
assert abs(length / p["step_time_s"] - 1) < 0.1, (length, p["step_time_s"])
chunks = 2 if layout["schedule"] == "zbv" else layout["virtual_stages"]
n = collections.Counter((e["pid"], e["name"], e["args"].get("micro_batch")) for e in events if e["name"] in ("forward", "backward"))
assert n == {(s + 1, name, i): chunks for s in range(layout["pp"]) for name in ("forward", "backward") for i in range(layout["micro_batches"])}
rows = collections.defaultdict(list)
for e in events:
    rows[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
assert all(a[1] <= b[0] + 1e-3 for row in rows.values() for a, b in zip(sorted(row), sorted(row)[1:]))
computed = layout["time"]["compute_s"] + layout["time"]["recompute_s"]
assert abs(p["timeline"]["compute_s"] / computed - 1) < 1e-9 and len({e["pid"] for e in events}) == layout["pp"]
assert any(e["name"] == "process_name" and e["args"]["name"].startswith("stage 0: ") for e in trace)
END
done

# ---- explained: parts, what would help, and slack of stages as joules
# shellcheck disable=SC2086
{
    expect_ok explain "$m" $on --gpus 8 --tp 2 --pp 4 --global-batch 32 --json && keep explained
    json 'parts, changes and their predictions' 'near(sum(explained["explain"]["parts"].values()), explained["step_time_s"]) and
        {"batch", "schedule", "activation_checkpoint", "sp", "stage_clocks", "energy_limit"} <= {c["key"] for c in explained["explain"]["changes"]} and
        all(c["energy_step_j"] < explained["energy_step_j"] for c in explained["explain"]["changes"] if c["key"] in ("stage_clocks", "energy_limit")) and
        all(near(c["step_time_s"], explained["step_time_s"], 0.02) for c in explained["explain"]["changes"] if c["key"] == "stage_clocks")'
    expect_ok predict "$m" $on --gpus 8 --tp 2 --pp 4 --global-batch 32 --schedule zb1p --json && keep zb1p
    json 'a change is its prediction' 'zb1p["step_time_s"] in [c["step_time_s"] for c in explained["explain"]["changes"]]'
    expect_ok explain "$m" $on --gpus 8 --tp 2 --pp 4 --global-batch 32
    shows '^  The step on its slowest stage is '
    shows "the pipeline's bubble"
    shows 'is the slowest and stage 0 has most memory'
    shows 'With lower clocks of the stages that wait \(--stage-clocks '
    expect_ok explain llama-3-8b --gpu h100 --precision bf16 --gpus 8 --batch 2 --seq-length 4096 --fsdp full
    shows 'With full recomputation it would fit: '
}

# ---- keys of sweeps
# shellcheck disable=SC2086
expect_ok sweep "$m" $on --gpus 8 --vary tp=1,2,3,4 --vary fsdp=none,full --csv
shows '^tp,fsdp,'
shows '^4,full,'
shows '8 GPUs are not a multiple of tp 3'

# ---- words of the network that do not act
expect_ok predict "$m" --gpu h100 --gpus 8 --tp 2 --bucket-bytes 1MiB --internode-bandwidth 50GB/s --json && keep idle
json 'words that do not act are named' 'len([w for w in idle["warnings"] if "no effect" in w]) == 2'
expect_ok predict "$m" --gpu h100 --gpus 16 --tp 2 --internode-bandwidth 50GB/s --json && keep busy
json 'and those that act are not' 'not [w for w in busy["warnings"] if "no effect" in w]'

# ---- all layouts
# shellcheck disable=SC2086
expect_ok plan "$m" $on --gpus 16 --global-batch 32 --json && keep plan
json 'the best fit, in order, and none is better than the front' 'len(plan["layouts"]) == 10 and plan["searched"] > 500 and plan["pruned"] > 0 and
    all(l["fits"] and l["layout"]["gpus"] == 16 and l["layout"]["global_batch"] == 32 for l in plan["layouts"]) and
    [l["step_time_s"] for l in plan["layouts"]] == sorted(l["step_time_s"] for l in plan["layouts"]) and
    all(a["step_time_s"] < b["step_time_s"] and a["energy_step_j"] > b["energy_step_j"] for a, b in zip(plan["front"], plan["front"][1:]))' 2>/dev/null
json 'a layout has one number: the front is of the numbers that the best have' 'all(f["peak_bytes"] > 0 for f in plan["front"]) and
    (plan["front"][0]["step_time_s"], plan["front"][0]["energy_step_j"]) == min((l["step_time_s"], l["energy_step_j"]) for l in plan["layouts"]) and
    all(any(f["step_time_s"] <= l["step_time_s"] and f["energy_step_j"] <= l["energy_step_j"] for f in plan["front"]) for l in plan["layouts"])'
# shellcheck disable=SC2086
expect_ok plan "$m" $on --gpus 16 --global-batch 32 --minimise energy --within 5 --top 3
shows '^The best by energy$'
shows '^  Megatron-LM  --tensor-model-parallel-size'
# shellcheck disable=SC2046 # what it says to copy
expect_ok $(sed -n 's/^  adept  *//p' out) --json && keep copied
json 'its words are those of predict' 'copied["layout"]["global_batch"] == 32 and copied["layout"]["gpus"] == 16'
# ---- the edge of memory: 1 KB more than the first one needs at least, so that it is near; and so that it is not
first() { "$python" -c 'import json, sys; m = json.load(open("plan.json"))["layouts"][0]["layout"]["memory"]; print(m["peak_bytes"] + eval(sys.argv[1], m))' "$1"; }
# shellcheck disable=SC2086
expect_ok plan "$m" $on --gpus 16 --global-batch 32 --set specs.mem_bytes="$(first 1000)" --json && keep edge
json 'a first one at the edge, and the best safe one' 'edge["layouts"][0]["near"] and edge["layouts"][0]["fits"] and
    edge["layouts"][0]["step_time_s"] == plan["layouts"][0]["step_time_s"] and not edge["safe"]["near"] and
    edge["safe"]["step_time_s"] > edge["layouts"][0]["step_time_s"] and edge["safe"]["layout"]["memory"]["near"] is False and
    edge["safe"]["layout"]["memory"]["peak_bytes"] + edge["safe"]["layout"]["memory"]["fragmentation_bytes"] <= edge["safe"]["memory"]["capacity_bytes"] and
    all(l["near"] for l in edge["layouts"] if l["step_time_s"] < edge["safe"]["step_time_s"])'
# shellcheck disable=SC2086
expect_ok plan "$m" $on --gpus 16 --global-batch 32 --set specs.mem_bytes="$(first 'fragmentation_bytes + 1000')" --json && keep roomy
json 'not at the edge' 'not roomy["layouts"][0]["near"] and "safe" not in roomy and "safe" not in plan'
# shellcheck disable=SC2086
expect_ok plan "$m" $on --gpus 16 --global-batch 32 --set specs.mem_bytes="$(first 1000)"
shows '^The first one is near the memory: it takes up to '
shows '^The best that fits whatever is lost$'
shows ' near [0-9.]+ GiB '

# ---- copies of experts' weights that autocast makes lie once, split by ep: 6 layers x 3 products x 8 experts x 512 x 1024 in 16 bits; FSDP
# gathers such weights, and compiled kernels cast them as they go
x='adept:mixtral?layers=6&hidden=512&heads=8&kv_heads=8&experts=8&topk=2&ffn=1024&expert_ffn=1024&vocab=32000'
for way in '--zero 1' '--fsdp full' '--zero 1 --execution compile'; do
    for ep in 1 4; do
        # shellcheck disable=SC2086
        expect_ok predict "$x" --gpu h100 --precision bf16 --batch 1 --seq-length 512 --gpus 8 $way --ep "$ep" --json && keep "ep$ep"
    done
    case $way in '--zero 1') less='6 * 3 * 8 * 512 * 1024 * 2 * 3 / 4' ;; *) less=0 ;; esac
    json "copies of experts: $way" "abs(ep1['memory']['activations_bytes'] - ep4['memory']['activations_bytes'] - $less) < 1"
done

# shellcheck disable=SC2086
{
    # ---- parts of the search by several machines are the whole
    for options in "--limits 3" "--minimise energy --top 20" "--minimise cost --price 0.2 --pue 1.3 --gpu-hour-price 2"; do
        expect_ok plan "$m" $on --gpus 16 --global-batch 32 $options --json && keep whole
        merge=
        for part in 1 2 3 4 5; do
            expect_ok plan "$m" $on --gpus 16 --global-batch 32 $options --shard $part/5 --json && cp out part$part.txt
            merge="$merge --merge part$part.txt"
        done
        expect_ok plan "$m" $on --gpus 16 --global-batch 32 $options $merge --json && keep merged
        json "parts are the whole: $options" 'whole == merged and whole["layouts"] and whole["searched"] > 500'
    done
    # ---- prices: whole nodes by the hour, and kWh
    json 'a cost is its parts' 'all(near(l["cost"], l["step_time_s"] / 3600 * 2 * 16 + l["energy_step_j"] / 3.6e6 * 0.2 * 1.3) for l in whole["layouts"]) and
        [l["cost"] for l in whole["layouts"]] == sorted(l["cost"] for l in whole["layouts"])'
    expect_ok plan "$m" $on --gpus 12 --nodes 2 --global-batch 24 --gpu-hour-price 36 --json && keep part
    json 'two servers of eight are paid, of which 12 are used' 'all(near(l["cost"], l["step_time_s"] / 100 * 16) for l in part["layouts"])'
    expect_ok plan "$m" $on --gpus 16 --global-batch 32 --minimise cost --json && keep hours
    json 'without prices in GPU hours' 'all(near(l["cost"], l["step_time_s"] / 3600 * 16) for l in hours["layouts"])'
    # ---- joules that cost: of layouts in which each GPU has the whole model, too
    expect_ok plan gpt2 --gpu a100 --gpus 4 --global-batch 8 --minimise cost --price 0.36 --top 64 --json && keep priced
    json 'a price of kWh alone' 'all(near(l["cost"], l["energy_step_j"] * 0.36 / 3.6e6) for l in priced["layouts"]) and
        any(l["layout"]["dp"] == 4 and l["layout"]["sharded"] == "none" for l in priced["layouts"])'
    # ---- power limits
    expect_ok plan "$m" $on --gpus 16 --global-batch 32 --minimise energy --limits 6 --json && keep limits
    json 'the first of the front is what predict says' 'limits["front"][-1]["energy_step_j"] == limits["layouts"][0]["energy_step_j"] and
        limits["front"][-1]["power_limit_w"] == limits["layouts"][0]["power_limit_w"]'
    json 'a limit of least energy, and what predict says of it' 'limits["layouts"][0]["power_limit_w"] < 700 and
        limits["layouts"][0]["energy_step_j"] < 0.95 * plan["layouts"][0]["energy_step_j"] and len(limits["front"]) > 2 and
        len({l["power_limit_w"] for l in limits["front"]}) > 2 and
        near(limits["front"][0]["step_time_s"], plan["layouts"][0]["step_time_s"], 0.02) and
        near(limits["front"][-1]["energy_step_j"], limits["layouts"][0]["energy_step_j"], 0.02) and limits["searched"] == 6 * plan["searched"]'
    # ---- flags of trainers, of the first layout that each can do
    json 'flags' 'all(l["layout"]["pp"] == 1 or l["flags"]["accelerate"] is None for l in plan["layouts"]) and
        all(l["layout"]["sharded"] != "parameters" or "--use-torch-fsdp2" in (l["flags"]["megatron"] or "--use-torch-fsdp2") for l in plan["layouts"]) and
        all(l["layout"]["sharded"] not in ("optimizer", "gradients") or l["flags"]["torchtitan"] is None for l in plan["layouts"])'
    expect_ok plan "$m" $on --gpus 1 --global-batch 8 --json && keep alone
    expect_ok plan resnet50 --gpu h100 --gpus 2 --global-batch 8 --json && keep pair
    json 'accelerate refuses several GPUs of one process' '"--multi_gpu" not in alone["layouts"][0]["flags"]["accelerate"] and
        any("--num_processes 2" in (l["flags"]["accelerate"] or "") and "--multi_gpu" in l["flags"]["accelerate"] for l in pair["layouts"])'
    expect_ok plan "$m" $on --gpus 16 --global-batch 32 --top 64
    shows '^  Megatron-LM  .*--tensor-model-parallel-size [0-9]+ '
    shows '^  torchtitan   .*--parallelism.tensor_parallel_degree [0-9]+ '
    shows '^  accelerate   .*--num_processes 16 --num_machines 2 '
    # ---- what disagrees
    expect_error 2 'needs the shortest step of all layouts' plan "$m" $on --gpus 16 --global-batch 32 --within 5 --shard 1/2 --json
    expect_error 2 'add --json' plan "$m" $on --gpus 16 --global-batch 32 --shard 1/2
    expect_error 2 'several are to be tried' plan "$m" $on --gpus 16 --global-batch 32 --limits 2 --power-limit 400
    expect_error 2 'does not say which it takes' plan "$m" --gpu b200 --precision bf16 --seq-length 512 --gpus 2 --global-batch 4 --limits 2
    expect_error 2 '\-\-price is missing' plan "$m" $on --gpus 16 --global-batch 32 --pue 1.5
    expect_error 3 'part of another search' plan "$m" $on --gpus 16 --global-batch 32 --merge part1.txt
    expect_error 3 'shard 2/5 is missing' plan "$m" $on --gpus 16 --global-batch 32 $options --merge part1.txt
    sed 's/tp=1;/tq=1;/' part1.txt >broken.txt
    expect_error 3 "'tq=1' is no word of a run" plan "$m" $on --gpus 16 --global-batch 32 $options --merge broken.txt
    sed 's/"profile":.*/"profile": 9,/' part1.txt >broken.txt
    expect_error 3 'profile: there are' plan "$m" $on --gpus 16 --global-batch 32 $options --merge broken.txt
}
# shellcheck disable=SC2086
expect_ok plan "$m" $on --gpus 16 --global-batch 32 --set specs.mem_bytes=x2 --json && keep hypothetical
json 'a hypothetical GPU' 'hypothetical["layouts"][0]["memory"]["capacity_bytes"] == 2 * plan["layouts"][0]["memory"]["capacity_bytes"]'
expect_error 2 'plan chooses dp, tp' plan "$m" --gpu h100 --gpus 16 --global-batch 32 --tp 2
expect_error 2 'global-batch is missing' plan "$m" --gpu h100 --gpus 16
# ---- jobs of a cluster, whose layouts policies choose with their GPUs
cat >cluster.json <<'END'
{"schema_version": 1, "name": "two", "nodes": [{"name": "n", "count": 2, "gpu": "h100", "gpus": 8}], "internode_bytes_per_s": 4e11}
END
cat >jobs.txt <<END
{"schema_version": 1, "name": "layouts", "templates": [{"name": "l", "model": "$m", "precision": "bf16", "seq_length": 2048, "gpus": [16],
 "global_batches": [32], "layouts": "plan", "samples": 3200}], "arrivals": {"rate_per_s": 0.01, "horizon_s": 1000}, "users": 1}
END
# shellcheck disable=SC2086
expect_ok plan "$m" --gpu h100 --precision bf16 --seq-length 2048 --gpus 16 --nodes 2 --internode-bandwidth 400GB/s --global-batch 32 --top 1 --json && keep planned
expect_ok simulate cluster.json jobs.txt --policy fcfs --jobs-csv ran.csv
checks=$((checks + 1))
"$python" -c 'import csv, json
best, rows = json.load(open("planned.json"))["layouts"][0], list(csv.DictReader(open("ran.csv")))
assert rows and all(abs(float(r["finish_s"]) - float(r["start_s"]) - 100 * best["step_time_s"]) < 1e-6 for r in rows), rows
assert all(abs(float(r["energy_j"]) / (100 * best["energy_step_j"]) - 1) < 1e-9 for r in rows), rows' >said 2>&1 || { fail 'jobs have the best layout'; cat said; }
sed 's/"plan"/"best"/' jobs.txt >wrong.txt
expect_error 3 '"layouts" is "plan", and needs "global_batches"' simulate cluster.json wrong.txt --policy fcfs
expect_ok plan llama-3-70b --gpu h100 --gpus 1 --global-batch 1 --precision bf16 --seq-length 512
shows '^None fits the memory of a GPU.$'
finish
