# `adept explain`: sentences in three forms, the table of elasticities, errors.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
mlp=$data/mlp.profile.json

expect_ok explain "$mlp" --gpu a100
shows '^One training step of mlp \(fp32, batch [0-9]+\) on a100-sxm-40gb takes [0-9.]+ [mu]?s: [0-9.e+]+ samples/s\. It draws'
shows '^What limits it$'
shows '^  It is limited most(ly| of all) by .* \([0-9.]+ % of the time\)'
shows '^What would help$'
shows '^Warnings$'
checks=$((checks + 1))
awk 'length > 112 && !/^  a100|^  outside/' "$work/out" | grep -q . && fail "a line is not broken"
grep -Eq '[^0-9]0\.0 %|nan|inf[^e]' "$work/out" && fail "a number that is none"

# The numbers are those of predict and of sweep.
expect_ok explain "$mlp" --gpu a100 --power-limit 200 --json
shows '"schema_version":	1'
shows '"sentences":	\['
cp "$work/out" "$work/explained"
run predict "$mlp" --gpu a100 --power-limit 200 --json
checks=$((checks + 1))
time_s=$(grep -o '"step_time_s":[[:space:]]*[0-9.e-]*' "$work/out" | head -n 1 | tr -d '[:space:]')
[ -n "$time_s" ] && tr -d '[:space:]' <"$work/explained" | grep -qF "$time_s" || fail "explain and predict differ: $time_s"

# 10 % less than 200 W is a prediction of its own.
run predict "$mlp" --gpu a100 --power-limit 180 --json
checks=$((checks + 1))
time_s=$(grep -o '"step_time_s":[[:space:]]*[0-9.e-]*' "$work/out" | head -n 1 | tr -d '[:space:]')
tr -d '[:space:]' <"$work/explained" | grep -qF "\"key\":\"power_limit\",\"what\":\"thepowerlimit10%lower(180W)\",\"possible\":true,\"reason\":null,\"fits\":true,\"unmeasured\":false,$time_s" ||
    fail "the limit of 180 W: $time_s"
tr -d '[:space:]' <"$work/explained" | grep -qF '"kind":"spec","key":"mem_bytes_per_s"' || fail "no elasticity by mem_bytes_per_s"

# What limits it is what predict is bound by, but for the power limit, which predict tells as a clock.
need_python json
for options in 'resnet50 --gpu a100 --batch 8' 'resnet50 --gpu a100 --batch 128' 'resnet50 --gpu t4 --batch 64' 'tinyllama_1.1b --gpu h100 --batch 1' \
    'vit_b_16 --gpu a100 --batch 32 --precision bf16' "$mlp --gpu a100 --gpus 8"; do
    # shellcheck disable=SC2086 # words
    "$ADEPT" explain $options --json >"$work/explained" && "$ADEPT" predict $options --json >"$work/predicted"
    checks=$((checks + 1))
    "$python" - "$work/explained" "$work/predicted" <<'CHECK' || fail "what limits it: $options"
import json, sys
waits, bound = [json.load(open(path)) for path in sys.argv[1:]][0]["explain"]["waits"], json.load(open(sys.argv[2]))["bound"]
kinds = {"arithmetic": "compute", "waves": "compute", "gaps": "compute", "memory": "memory", "network": "communication", "host": "launch"}
assert kinds[max(kinds, key=waits.get)] == bound, (bound, waits)
CHECK
done

expect_ok explain "$mlp" --gpu a100 --all --markdown
shows '^### What limits it$'
shows '^\| number \| kind \|'
shows '^\| mem\\?_bytes\\?_per\\?_s \| spec \|'
expect_ok explain "$mlp" --gpu a100 --all --granularity model
shows '^  beta_gemm +parameter'
expect_ok explain "$mlp" --gpu a100 --gpus 8
shows 'The 8 GPUs together are [0-9.]+ times as fast as one'
expect_ok explain "$mlp" --gpu cpu-xeon-avx512-1core
shows 'no tdp_w'

# A change that costs time and energy is no help; the JSON has it all the same.
if python=$(command -v python3); then
    expect_ok explain "$mlp" --gpu l4 --batch 256 --json
    shows 'less time for arithmetic \(-[0-9.]+ %\) would not make the step shorter: '
    checks=$((checks + 1))
    "$python" - "$work/out" >"$work/said" 2>&1 <<'END' || { fail 'what does not help'; cat "$work/said"; }
import json, sys
now = json.load(open(sys.argv[1]))
said = [s['text'] for s in now['explain']['sentences'] if s['topic'] == 'change']
no_help = 0
for c in now['explain']['changes']:
    if c['key'] == 'batch' or not c['possible'] or not c['fits']:
        continue
    saved = max(1 - c[key] / now[key] for key in ('step_time_s', 'energy_step_j'))
    no_help += saved < -0.01
    assert any(t.startswith('With ' + c['what'] + ' ') for t in said) == (saved >= 0.00051), (c, said)
assert no_help > 0, now['explain']['changes']
END
fi

# What would help is of the run and the workload that were asked for, whatever they say.
if [ -n "${python:-}" ]; then
    for asked in '--execution compile' '--memory-format channels_last --framework torch1' '--optimizer sgd --optimizer-impl fused --grad-accum 2' \
        '--gpus 8 --overlap none --host-launch 30us' '--gpus 16 --nodes 2 --internode-bandwidth 1GB/s --bucket-bytes 1MB' '--clock 900 --mode infer'; do
        # shellcheck disable=SC2086  # words
        expect_ok explain "$mlp" --gpu a100 $asked --json
        mv "$work/out" "$work/explained"
        # shellcheck disable=SC2086
        run predict "$mlp" --gpu a100 $asked --precision bf16 --json
        checks=$((checks + 1))
        "$python" - "$work/explained" "$work/out" >"$work/said" 2>&1 <<'END' || { fail "explain $asked"; cat "$work/said"; }
import json, sys
explained, alone = (json.load(open(f)) for f in sys.argv[1:])
bf16 = next(c for c in explained["explain"]["changes"] if c["what"] == "bf16 autocast")
assert bf16["step_time_s"] == alone["step_time_s"], (bf16["step_time_s"], alone["step_time_s"])
END
    done
fi

# A hypothetical GPU is one for explain too.
expect_ok explain "$mlp" --gpu a100 --set specs.mem_bytes_per_s=x2 --json
mv "$work/out" "$work/explained"
run predict "$mlp" --gpu a100 --set specs.mem_bytes_per_s=x2 --json
checks=$((checks + 1))
time_s=$(grep -o '"step_time_s":[[:space:]]*[0-9.e-]*' "$work/out" | head -n 1 | tr -d '[:space:]')
tr -d '[:space:]' <"$work/explained" | grep -qF "$time_s" || fail "explain and predict differ with --set: $time_s"
grep -q 'a hypothetical GPU: specs.mem_bytes_per_s set to x2' "$work/explained" || fail "no warning of --set"

# What does not fit wants less, not more.
if [ -n "${ADEPT_TORCH_MODULE:-}" ]; then
    expect_ok explain "$models/tinyllama_1.1b.pt" --gpu a100 --precision bf16 --batch 64
    shows 'With a batch of 8 it would fit: [0-9.]+ GiB of 40\.0 GiB\.'
    run predict "$models/tinyllama_1.1b.pt" --gpu a100 --precision bf16 --batch 16
    shows 'DOES NOT FIT'
fi

# Twice the batch, or the largest that fits.
expect_ok explain resnet50 --gpu a100 --batch 128
shows 'With twice the batch \(256\) there would be'
expect_ok explain resnet50 --gpu a100 --batch 256
shows 'With the largest batch that fits \([0-9]+\) there would be'

expect_error 2 'needs a MODEL or PROFILE' explain --gpu a100
expect_error 2 '--gpu is missing' explain "$mlp"
expect_error 2 'one too many' explain "$mlp" "$mlp" --gpu a100
expect_error 2 'exclude each other' explain "$mlp" --gpu a100 --json --markdown
expect_error 2 'power limit 5000' explain "$mlp" --gpu a100 --power-limit 5000
expect_error 3 'missing.json' explain "$work/missing.json" --gpu a100
expect_error 6 'did you mean|nearest|unknown GPU' explain "$mlp" --gpu a1000
finish
