# Mode generate: prompts and answers, what bounds them, mixes of queries, inferences beside a training, passes of a diffusion model.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
small='adept:llama?layers=2'
generate="--mode generate --prompt 512 --tokens 64 --gpu h100"

# field NAME: of the last run's JSON, the first of that name
field() {
    grep -o "\"$1\":[[:space:]]*[^,}]*" "$work/out" | head -1 | sed 's/.*:[[:space:]]*//'
}

expect_ok predict llama-3-8b $generate --batch 8
shows '^A batch of 8 queries, each of 512 tokens, answered by 64$'
shows '^  each token .* bound by the host: it launches kernels one by one$'
shows '^  cache .* 128 KiB for each token of a query$'
shows 'a token waits for the host [0-9]+ % of its time, .*execution graphs'
shows 'no measured generation is at hand: the error of time and energy as a whole is not known'
shows 'calibrated with .*mode generate.*: the interval is widened'
expect_ok predict llama-3-8b $generate --batch 8 --execution graphs
shows '^  first token .* bound by arithmetic$'
shows '^  each token .* bound by memory: weights and cache are read$'
expect_ok predict llama-3-8b $generate --batch 8 --execution graphs --json
if command -v python3 >/dev/null 2>&1; then
    checks=$((checks + 1))
    python3 - "$work/out" >"$work/err" 2>&1 <<'END' || fail 'the JSON of a generation'
import json, sys
p = json.load(open(sys.argv[1]))
g, near = p["generate"], lambda a, b: abs(a - b) <= 1e-9 * abs(b)
assert p["config"]["mode"] == "generate" and p["config"]["precision"] == "pure-bf16" and p["config"]["prompt"] == 512
assert near(p["step_time_s"], g["ttft_s"] + 64 * g["tpot_s"]) and near(p["energy_step_j"], p["power_avg_w"] * p["step_time_s"])
assert near(g["tokens_per_s"], 8 * 64 / p["step_time_s"]) and near(p["tokens_per_s"], g["tokens_per_s"])
assert near(g["energy_per_token_j"], p["energy_step_j"] / 512) and near(g["wh_per_query"], p["energy_step_j"] / 8 / 3600)
assert g["kv_bytes_per_token"] == 131072 and g["kv_bytes"] == p["memory"]["kv_bytes"] == 131072 * 8 * 576
assert g["prompt_bound"] == "compute" and g["answer_bound"] == "memory" and g["largest_batch"] > 100 and g["longest_context"] > 1e4
END
fi
expect_ok predict gpt-2 --gpu a100 --json
[ "$(field generate)" = null ] || fail 'a training has a generation'

# weights and cache in fewer bits are faster; a board of less memory says what fits
slower=1
for words in '--weights bf16' '--weights fp8' '--weights int4' '--weights int4 --kv-cache fp8'; do
    expect_ok predict llama-3-8b $generate --batch 32 --execution graphs --json $words
    faster=$(field tpot_s)
    checks=$((checks + 1))
    awk "BEGIN { exit !($faster < $slower) }" || fail "$words: $faster s a token, not less than $slower"
    slower=$faster
done
expect_ok predict llama-3-70b $generate
shows 'DOES NOT FIT'

# a saved profile, layers, sweeps and reasons are as of any workload
expect_ok profile "$small" --mode generate --prompt 512 --tokens 64 -o "$work/saved.json"
expect_ok predict "$small" $generate --json
field step_time_s >"$work/own"
expect_ok predict "$work/saved.json" --gpu h100 --json
[ -s "$work/own" ] && [ "$(field step_time_s)" = "$(cat "$work/own")" ] || fail 'a saved profile predicts another time'
expect_ok predict "$small" $generate --by layer
shows '^  model.layers.\{0,1\}.mlp.down_proj +Linear +130 ' # 65 passes of 2 layers
expect_ok sweep "$small" --mode generate --gpu h100 --vary prompt=128,512 --vary tokens=32 --vary weights=bf16,fp8 --csv
shows '^prompt,tokens,weights,step_time_s,.*,ttft_s,tpot_s,energy_per_token_j,'
expect_ok sweep "$small" $generate --execution graphs --vary batch=1,64,1024 --samples 1000 --minimise energy --within-tpot 1ms
shows '^Best     batch=64: '
shows '^Binding  time of a token of 1.00 ms; with .* it would be batch=1024: '
expect_ok sweep "$small" $generate --execution graphs --vary batch=1,64,1024 --minimise energy_per_token --within-tpot 1ms
shows '^least energy of a token of the job among 2 of 3 points'
shows '^Best     batch=64: .* m?J per token$'
expect_error 2 'minimise energy_per_token need --mode generate' sweep gpt-2 --gpu a100 --vary batch=1 --minimise energy_per_token
run sweep "$small" $generate --vary batch=1 --within-ttft 1us
checks=$((checks + 1))
[ "$rc" -eq 7 ] && grep -q 'no point keeps within the time to the first token of 1.00 us' "$work/err" || fail 'a bound that nothing keeps'
expect_ok explain "$small" $generate
shows '^One batch of queries of '
shows 'The first token comes after'

# over several GPUs: sums of times and of memory, what cannot act, and that one GPU is the ordinary prediction
expect_ok predict llama-3-70b $generate --batch 8 --execution graphs --tp 8
shows '^Layout +dp 1 x tp 8; 1 micro-batch of 8, global batch 8$'
shows '^  cache        180 MiB    40.0 KiB for each token of a query$'
shows '^  fits  .* on a replica, or 8 of '
shows '^Memory of a GPU: .* fits$'
expect_ok predict "$small" $generate --batch 8 --tp 1 --json
cp "$work/out" "$work/said"
expect_ok predict "$small" $generate --batch 8 --json
sed -n '/"generate"/,/}/p' "$work/out" >"$work/one"
sed -n '/"generate"/,/}/p' "$work/said" | cmp -s - "$work/one" || fail 'tp 1 is not one GPU'
expect_ok predict mixtral-8x7b $generate --batch 8 --execution graphs --gpus 8 --ep 8
shows '^  expert parallel '
expect_ok sweep "$small" $generate --gpus 4 --vary tp=1,2,4 --vary power-limit=400,700 --csv
[ "$(grep -c ',true,memory\|,true,launch\|,true,communication' "$work/out")" -eq 6 ] || fail 'layouts in a sweep of generations'
expect_error 2 'of training, and the mode is generate' predict "$small" $generate --gpus 2 --fsdp full
expect_error 2 'sp, cp, schedule, virtual_stages, trainer and what is said by stage do not act' predict "$small" $generate --tp 2 --sp
# shellcheck disable=SC2086
expect_error 2 'what is said by stage do not act' predict "$small" $generate --pp 2 --stage-blocks 1/1

# what bounds a generation over several GPUs, by operator too, and what would help
expect_ok explain "$small" $generate --batch 8 --gpus 4 --tp 2
shows '^  The step is .*tensor parallel sends \('
shows '^  The most expensive kind of operator is linear'
shows '^  With CUDA graphs \(--execution graphs\), batch 8 there would be '
shows '^  With twice as many replicas, --tp 1 there would be '
expect_ok explain "$small" $generate --batch 8 --pp 2 --execution graphs
shows '^  With a batch for each stage in turns, --global-batch 16 there would be '
expect_ok predict "$small" $generate --batch 8 --tp 2 --by kind --json
if command -v python3 >/dev/null 2>&1; then
    checks=$((checks + 1))
    python3 - "$work/out" >"$work/err" 2>&1 <<'END' || fail 'operators of a generation over several GPUs'
import json, sys
p = json.load(open(sys.argv[1]))
sum_s = sum(g["time_s"] or 0 for g in p["groups"])
assert abs(sum_s - p["layout"]["time"]["compute_s"]) < 1e-9 * sum_s and sum_s > 0
END
fi

# queries as they arrive
printf 'prompt,tokens,share\n128,32,0.75\n512,64,0.25\n' >"$work/mix.csv"
mix="--mode generate --gpu h100 --execution graphs --batch 16 --mix $work/mix.csv --requests 2000"
expect_ok predict "$small" $mix --rate 20/s
shows '^As they arrive: 20 queries/s, up to 16 at a time \(2000 simulated\)$'
shows '^answered after '
expect_ok predict "$small" $mix --rate 20/s --json
cp "$work/out" "$work/first"
for key in rate_per_s most_at_a_time steady p99 busy mean_batch wh_per_query; do
    shows "\"$key\":"
done
expect_ok predict "$small" $mix --rate 1200/min --json
cmp -s "$work/out" "$work/first" || fail 'the same seed gives other numbers'
expect_ok predict "$small" $mix --rate 100000/s --json
[ "$(field steady)" = false ] || fail 'a queue that grows without end is said to be steady'
shows 'mix: more queries arrive than are answered'
expect_ok predict "$small" $mix --gpus 2 --rate 20/s
shows '10 at each GPU'
# an hour of two GPUs is shared by what arrives in it: 2 x 3.6 / 3600 / 20 of each query
expect_ok predict "$small" $mix --gpus 2 --rate 20/s --samples 1000 --gpu-hour-price 3.6
shows 'cost 0\.1000 for 1000 queries at this rate'
expect_ok predict "$small" $mix --gpus 2 --rate 20/s --samples 1000 --gpu-hour-price 3.6 --json
shows '"per_query":[[:space:]]*9\.9998[0-9]*e-05,'
# passes with chunks of prompts hold answers up less; replicas of several GPUs
expect_ok predict "$small" $mix --rate 200/s --json
held_up=$(sed -n '/"tpot_s":[[:space:]]*{/,/}/p' "$work/out" | sed -n 's/.*"p99":[[:space:]]*\([^,]*\),*$/\1/p')
expect_ok predict "$small" $mix --rate 200/s --prefill-chunk 64 --json
checks=$((checks + 1))
in_chunks=$(sed -n '/"tpot_s":[[:space:]]*{/,/}/p' "$work/out" | sed -n 's/.*"p99":[[:space:]]*\([^,]*\),*$/\1/p')
awk "BEGIN { exit !($in_chunks + 0 < $held_up + 0) }" || fail "chunks: $in_chunks s a token, not less than $held_up"
expect_ok predict "$small" $mix --rate 40/s --gpus 4 --tp 2
shows '^As they arrive: 40 queries/s, 20 at each replica, '
expect_ok predict 'adept:mixtral?layers=2' $mix --rate 40/s --gpus 2 --ep 2
shows '^As they arrive: 40 queries/s, 20 at each replica, '
expect_ok predict "$small" $mix --rate 40/s --gpus 2 --pp 2
shows '^As they arrive: 40 queries/s, up to 32 at a time in 2 turns \(2000 simulated\)$'
shows '^  these 2000 queries know the mean answer within .*, 99 % within .* \(19 times of 20\)$'
expect_ok predict "$small" $mix --rate 40/s --gpus 4 --pp 2 --tp 2 --prefill-chunk 64 --global-batch 48
shows '^As they arrive: 40 queries/s, up to 48 at a time in 3 turns '
expect_error 2 'global_batch says how many batches take turns' predict "$small" $mix --rate 40/s --global-batch 32
# queries of a trace
printf 'arrival_s,prompt,tokens\n1e9,128,32\n1000000000.5,512,64\n1000000002,128,32\n' >"$work/trace.csv"
trace="--mode generate --gpu h100 --execution graphs --batch 16 --mix $work/trace.csv"
expect_ok predict "$small" $trace
shows '^As they arrive: 1.5 queries/s, up to 16 at a time \(3 of a trace\)$'
expect_ok sweep "$small" $trace --vary pp=1,2 --gpus 2 --csv
expect_error 2 'do not act with a trace' predict "$small" $trace --rate 3/s
printf 'arrival_s,prompt,tokens\n2,128,32\n1,512,64\n' >"$work/trace.csv"
expect_error 3 'trace.csv.*a trace is in order' predict "$small" $trace
# tables of positions end what fits
expect_ok predict gpt-2 --mode generate --gpu h100 --prompt 128 --tokens 128 --batch 8
shows ', or 8 of 1024 tokens,'
expect_ok predict opt-1.3b --mode generate --gpu h100 --prompt 128 --tokens 128 --batch 8
shows ', or 8 of 2048 tokens,'
# types that a plan tries
plan="--gpus 2 --mode generate --prompt 128 --tokens 32 --execution graphs --batch 8"
expect_ok plan "$small" --gpu a100 $plan --try-precision pure-bf16,fp8 --try-weights auto,int4 --try-kv-cache auto,fp8
shows '^Left out: fp8, weights auto, cache auto: .*'
shows '^ *dp .*precision .*weights .*cache '
shows ' --weights int4'
expect_ok plan "$small" --gpu h100 $plan --try-weights bf16,int4 --json
shows '"left_out":[[:space:]]*\[\]'
shows '"weights":[[:space:]]*"int4"'
expect_error 2 'is said, and several' plan "$small" --gpu h100 $plan --weights int4 --try-weights bf16,int4
expect_error 2 'of mode generate' plan "$small" --gpu h100 --gpus 2 --global-batch 8 --try-weights bf16,int4
expect_error 2 'no room for prompts beside those of 16 answers' predict "$small" $mix --rate 40/s --prefill-chunk 16
expect_error 2 'rate needs --mix' predict "$small" $generate --rate 4/s
expect_error 2 'mix needs --rate' predict "$small" --mode generate --gpu h100 --batch 16 --mix "$work/mix.csv"
expect_error 2 'mix needs --batch' predict "$small" --mode generate --gpu h100 --mix "$work/mix.csv" --rate 1/s
expect_error 2 'mix needs --mode generate' predict "$small" --gpu h100 --batch 4 --mix "$work/mix.csv" --rate 1/s
expect_error 2 'prompt, --tokens and --cached-tokens do not act' predict "$small" $generate --batch 4 --mix "$work/mix.csv" --rate 1/s
printf 'prompt,tokens,share\n128,32,0.75\n512,0,0.25\n' >"$work/zero.csv"
expect_error 3 'zero.csv:3: ' predict "$small" --mode generate --gpu h100 --batch 4 --mix "$work/zero.csv" --rate 1/s
printf 'prompt,tokens\n128,32\n' >"$work/short.csv"
expect_error 3 'short.csv.*share' predict "$small" --mode generate --gpu h100 --batch 4 --mix "$work/short.csv" --rate 1/s
printf 'prompt,tokens,share\n' >"$work/none.csv"
expect_error 3 'none.csv: no rows' predict "$small" --mode generate --gpu h100 --batch 4 --mix "$work/none.csv" --rate 1/s
printf 'prompt,tokens,share\n9000000,32,1\n' >"$work/long.csv"
expect_error 2 'does not fit' predict "$small" --mode generate --gpu h100 --batch 4 --mix "$work/long.csv" --rate 1/s

# in a sweep: the numbers of predict, rates too high, the best under a bound, what cannot act
latency() {
    sed -n '/"latency_s":[[:space:]]*{/,/}/p' "$work/out" | sed -n 's/.*"p99":[[:space:]]*\([0-9.e+-]*\).*/\1/p'
}
expect_ok predict "$small" $mix --batch 8 --rate 40/s --tp 2 --gpus 2 --kv-cache fp8 --json
told=$(latency)
expect_ok sweep "$small" $mix --gpus 2 --vary rate=20,40/s,100000 --vary batch=8,16 --vary tp=1,2 --vary kv-cache=bf16,fp8 --csv
checks=$((checks + 2))
[ "$(awk -F, -v told="$told" '$1 == 40 && $2 == 8 && $3 == 2 && $4 == "fp8" && $5 == told' "$work/out" | wc -l)" -eq 1 ] ||
    fail "a point of a mix: predict says $told"
[ "$(grep -c 'more queries arrive than are answered: 1e+05/s, of which ' "$work/out")" -eq 8 ] || fail 'rates that are too high'
expect_ok sweep "$small" $mix --vary rate=20,40 --vary batch=1,16 --minimise energy_per_token --within-ttft 100ms --json
checks=$((checks + 1))
[ "$(grep -c '"latency_s":{' "$work/out")" -ge 3 ] || fail 'the JSON of points of a mix'
expect_ok sweep "$small" $mix --rate 40 --vary batch=1,16 --vary power-limit=400,700 --minimise energy_per_token --within-ttft 100ms
shows '^Queries as they arrive: times are those that 99 of 100 keep within, energy is of one query$'
shows '^Best     batch=16, .*: 99 % are answered within .* per token$'
expect_error 2 'rate is of queries that arrive: it needs their mix' sweep "$small" $generate --vary rate=1,2
expect_error 2 'mix needs --rate' sweep "$small" $mix --vary batch=1,2
expect_error 2 'prompt and tokens: they do not vary beside it' sweep "$small" $mix --rate 4 --vary prompt=1,2
expect_error 2 'samples and --steps do not act with --mix' sweep "$small" $mix --rate 4 --vary batch=1,2 --samples 5
expect_error 2 'rate: cannot be relative' sweep "$small" $mix --rate 4 --vary rate=x2

# a plan: the best of all points of a sweep within a bound, as predict has it; what cannot act
plan="$generate --gpus 4 --execution graphs"
best="--minimise energy_per_token --within-tpot 1.5ms --limits 2"
expect_ok plan 'adept:mixtral?layers=4' $plan $best --json
cp "$work/out" "$work/plan"
expect_ok plan 'adept:mixtral?layers=4' $plan $best
shows '^The best by energy_per_token$'
shows '^Without bounds it would be$'
shows '^  vLLM +--tensor-parallel-size '
predicted=$(sed -n 's/^  adept *predict adept:mixtral?layers=4 //p' "$work/out")
# shellcheck disable=SC2086
expect_ok predict 'adept:mixtral?layers=4' $predicted --json
planned=$(field energy_per_token_j)
expect_ok sweep 'adept:mixtral?layers=4' $plan --vary batch=1,2,4,8,16,32,64,128,256,512,1024 --vary tp=1,2,4 \
    --vary ep=1,2,4 --vary power-limit=200,700 --minimise energy_per_token --within-tpot 1.5ms --json
if command -v python3 >/dev/null 2>&1; then
    checks=$((checks + 1))
    python3 - "$work/plan" "$work/out" "$planned" >"$work/err" 2>&1 <<'END' || fail 'a plan of a generation'
import json, sys
plan, sweep = (json.load(open(f)) for f in sys.argv[1:3])
best, near = plan["layouts"][0], lambda a, b: abs(a - b) <= 1e-9 * abs(b)
values = [l["generate"]["energy_per_token_j"] for l in plan["layouts"]]
swept = sweep["job"]["best"]["energy_per_token_j"]
assert values == sorted(values) and all(l["generate"]["tpot_s"] <= 1.5e-3 and l["fits"] for l in plan["layouts"])
assert near(values[0], float(sys.argv[3])) and values[0] <= swept * (1 + 1e-9), (values[0], sys.argv[3], swept)
assert best["layout"]["pp"] > 1 or near(values[0], swept)
assert plan["too_slow"] > 0 and plan["asked"]["within_tpot_s"] == 1.5e-3 and set(best["flags"]) == {"vllm"}
front = [(p["tpot_s"], p["energy_per_token_j"]) for p in plan["front"]]
assert front == sorted(front) and [e for _, e in front] == sorted((e for _, e in front), reverse=True)
END
fi
for part in 1 2 3; do
    "$ADEPT" plan 'adept:mixtral?layers=4' $plan $best --shard $part/3 --json >"$work/part$part"
done
expect_ok plan 'adept:mixtral?layers=4' $plan $best --json --merge "$work/part1" --merge "$work/part2" --merge "$work/part3"
sed -n '/"layouts"/,$p' "$work/plan" >"$work/one"
sed -n '/"layouts"/,$p' "$work/out" | cmp -s - "$work/one" || fail 'a plan of parts is another'
expect_ok plan "$small" $plan --within-ttft 1us
shows '^None that fits the memory of a GPU is as fast as asked.$'
expect_error 2 'bounds are those of tokens' plan "$small" $plan --within 5
expect_error 2 'are of mode generate' plan gpt-2 --gpu a100 --gpus 2 --global-batch 4 --within-tpot 5ms
expect_error 4 'key-value cache' plan bert-base $plan

# inferences beside a training
expect_ok predict "$small" --gpu h100 --precision bf16 --batch 4 --steps 1000 --inferences 1000000 --prompt 512 --tokens 64 --country DE --price 0.2
shows '^Over its life, with 1e\+06 inferences: .*Wh .*CO2e, cost '
shows '^  They are queries of 512 \+ 64 tokens, pure-bf16, 4 at a time$'
expect_ok predict gpt-2 --gpu a100 --batch 8 --steps 1000 --inferences 1000000 --inference-batch 64 --country DE --price 0.2 --label "$work/label.json" --json
if command -v python3 >/dev/null 2>&1; then
    "$ADEPT" predict gpt-2 --gpu a100 --batch 64 --mode infer --samples 1000000 --country DE --price 0.2 --json >"$work/infer"
    checks=$((checks + 1))
    python3 - "$work/out" "$work/infer" "$work/label.json" >"$work/err" 2>&1 <<'END' || fail 'the JSON of a lifetime, or its label'
import json, sys
both, infer, label = (json.load(open(f)) for f in sys.argv[1:])
life, near = both["lifetime"], lambda a, b: abs(a - b) <= 1e-9 * abs(b)
for key in ("energy_kwh", "site_energy_kwh", "co2e_g", "cost"):
    assert near(life["inference"][key], infer["total"][key]), key
    assert near(life[key], infer["total"][key] + both["total"][key]), key
assert near(life["break_even_inferences"] * life["inference"]["energy_j"], both["total"]["energy_kwh"] * 3.6e6)
assert life["inference"]["batch_size"] == 64 and life["interval_energy_kwh"][0] < life["energy_kwh"] < life["interval_energy_kwh"][1]
assert label["lifetime"] == life and "/" not in label["model"]["path"]
END
fi
expect_ok predict "$data/mlp.profile.json" --gpu cpu-xeon-avx512-1core --steps 9 --inferences 9 --label "$work/unknown.md"
checks=$((checks + 1))
! grep -qi 'nan' "$work/out" "$work/unknown.md" || fail 'how many inferences take as much as a training whose energy nobody knows'
expect_error 2 'inferences needs --steps' predict gpt-2 --gpu a100 --inferences 5
expect_error 2 'inference-batch needs --inferences' predict gpt-2 --gpu a100 --steps 5 --inference-batch 5
expect_error 2 'inferences stands beside a training' predict gpt-2 --gpu a100 --mode infer --steps 4 --inferences 5

# passes of a diffusion model
expect_ok predict vit-b-16 --gpu a100 --mode infer --batch 8 --denoise-steps 50 --json
[ "$(field denoise_steps)" = 50 ] || fail 'the JSON has no denoise_steps'
expect_error 2 'denoise_steps acts in mode infer only' predict vit-b-16 --gpu a100 --denoise-steps 50
expect_error 2 'a timeline shows one pass' predict vit-b-16 --gpu a100 --mode infer --denoise-steps 50 --timeline "$work/t.json"

# what cannot act, and what has no cache
expect_error 4 'resnet50.pt: mode generate needs a model with a key-value cache, .*config.json' predict resnet50 $generate
for model in bert-base vit-b-16 t5-base; do
    expect_error 4 'decoders alone.* is an encoder, or has one; mode infer' predict $model $generate
done
if command -v python3 >/dev/null 2>&1; then # a token of a torch.export, whose cache is an input
    python3 - "$ADEPT_SOURCE_DIR/tests/golden/export/basic.json" "$work/token.pt2" <<'END'
import sys, zipfile
text = open(sys.argv[1]).read().replace('"x"', '"past_key_values_0_key"')
with zipfile.ZipFile(sys.argv[2], "w") as file:
    file.writestr("serialized_exported_program.json", text)
    file.writestr("version", "8.2")
END
    expect_ok predict "$work/token.pt2" --mode infer --gpu h100
    expect_error 4 'its cache, past_key_values_0_key, has the length .*mode infer predicts that' predict "$work/token.pt2" $generate
fi
expect_error 2 'needs the lengths of prompt and answer: --prompt 512 --tokens 256' predict "$small" --mode generate --gpu h100
expect_error 2 'prompt says how many tokens are read' predict "$small" $generate --seq-length 9
for option in '--prompt 4' '--tokens 4' '--weights fp8' '--kv-cache fp8'; do
    expect_error 2 'acts in mode generate only' predict "$small" --gpu h100 $option
done
expect_error 2 "'int4' is not one of" predict "$small" $generate --kv-cache int4
expect_error 2 'beyond the table' predict gpt-2 --gpu a100 --mode generate --prompt 1000 --tokens 25
finish
