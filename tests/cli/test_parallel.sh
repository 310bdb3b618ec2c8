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
    expect_error 2 'no multiple of batch 1 x dp 8' predict "$m" $on --gpus 8 --global-batch 12
    expect_error 2 'the model has 8 blocks' predict "$m" $on --gpus 16 --pp 16
    expect_error 2 'cannot be shared by tp 32' predict "$m" $on --gpus 32 --tp 32
    expect_error 2 'ep 2: this model has no grouped products' predict "$m" $on --gpus 8 --ep 2
    expect_error 2 'not of a layout' predict "$m" $on --gpus 8 --tp 2 --by layer
    expect_error 2 'nothing is known of what joins them' predict "$m" --gpu a40 --precision bf16 --seq-length 512 --gpus 16 --tp 2
    expect_error 2 'is what adept predict takes' explain "$m" $on --tp 2 --gpus 2
}
# shellcheck disable=SC2086
expect_ok predict "$m" --gpu a40 --precision bf16 --seq-length 512 --gpus 16 --tp 2 --internode-bandwidth 100Gbit/s
expect_ok predict resnet50 --gpu a100 --gpus 8 --fsdp full
expect_error 2 'cannot be shared by tp 7' predict vgg16 --gpu a100 --gpus 7 --tp 7

# ---- keys of sweeps
# shellcheck disable=SC2086
expect_ok sweep "$m" $on --gpus 8 --vary tp=1,2,3,4 --vary fsdp=none,full --csv
shows '^tp,fsdp,'
shows '^4,full,'
shows '8 GPUs are not a multiple of tp 3'

# ---- all layouts
# shellcheck disable=SC2086
expect_ok plan "$m" $on --gpus 16 --global-batch 32 --json && keep plan
json 'the best fit, in order, and none is better than the front' 'len(plan["layouts"]) == 10 and plan["searched"] > 500 and plan["pruned"] > 0 and
    all(l["fits"] and l["layout"]["gpus"] == 16 and l["layout"]["global_batch"] == 32 for l in plan["layouts"]) and
    [l["step_time_s"] for l in plan["layouts"]] == sorted(l["step_time_s"] for l in plan["layouts"]) and
    all(a["step_time_s"] < b["step_time_s"] and a["energy_step_j"] > b["energy_step_j"] for a, b in zip(plan["front"], plan["front"][1:]))' 2>/dev/null
# shellcheck disable=SC2086
expect_ok plan "$m" $on --gpus 16 --global-batch 32 --minimise energy --within 5 --top 3
shows '^The best by energy$'
shows '^  Megatron-LM  --tensor-model-parallel-size'
# shellcheck disable=SC2046 # what it says to copy
expect_ok $(sed -n 's/^  adept  *//p' out) --json && keep copied
json 'its words are those of predict' 'copied["layout"]["global_batch"] == 32 and copied["layout"]["gpus"] == 16'
expect_error 2 'plan chooses dp, tp' plan "$m" --gpu h100 --gpus 16 --global-batch 32 --tp 2
expect_error 2 'global-batch is missing' plan "$m" --gpu h100 --gpus 16
expect_ok plan llama-3-70b --gpu h100 --gpus 1 --global-batch 1 --precision bf16 --seq-length 512
shows '^None fits the memory of a GPU.$'
finish
