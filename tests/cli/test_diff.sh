# adept diff: exit codes, the check, sums in the JSON, Markdown that renders, and the golden comments.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
p=$data/mlp.profile.json

# changed SED: the model after it
changed() {
    sed "$1" "$data/mlp.graph" >"$work/changed.graph"
    "$ADEPT_MAKE_PROFILE" "$work/changed.graph"
}

# grown: the first layer under another name and with more work
changed 's/body\.fc1/body.wide/; s/4096/16384/' >"$work/wide.json"
# the same work under another name
changed 's/body\.fc1/trunk.fc1/' >"$work/named.json"

expect_ok diff "$p" "$p" --gpu a100 --fail-above 0 --fail-on time,energy,memory,flops
shows '0 changed, 0 added, 0 removed, 0 renamed, [1-9][0-9]* same'
shows 'Check +at most \+0 %: time 0 %, energy 0 %, memory 0 %, flops 0 %, passed'
expect_ok diff "$p" "$work/named.json" --gpu a100 --fail-above 0
shows 'trunk\.fc1 \(was body\.fc1\) +renamed'
expect_ok diff "$p" "$work/wide.json" --gpu a100
shows 'body\.wide +added'
shows 'body\.fc1 +removed'
expect_ok diff "$p" "$p" --gpu a100 --new-gpu t4
shows 'GPU differs: a100-sxm-40gb before, t4 now'

# what fails: exit code 7 with the whole result on stdout, one line on stderr
run diff "$p" "$work/wide.json" --gpu a100 --fail-above 5
checks=$((checks + 1))
[ "$rc" -eq 7 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -Eq '^adept: grew by more than 5 %: time by [0-9.]+ %' "$work/err" ||
    fail "exit code $rc of a step that became slower"
shows 'too much'
expect_ok diff "$work/wide.json" "$p" --gpu a100 --fail-above 5
expect_ok diff "$p" "$work/wide.json" --gpu a100 --fail-above 50 --fail-on memory
expect_ok diff "$p" "$work/wide.json" --gpu a100 --fail-above 100000
run diff "$p" "$work/wide.json" --gpu a100 --fail-above 5 --fail-on flops --json
checks=$((checks + 1))
[ "$rc" -eq 7 ] && grep -q 'flops by' "$work/err" && grep -q '"failed":.*true' "$work/out" || fail "exit code $rc with --json"

expect_error 2 'needs an OLD and a NEW' diff "$p" --gpu a100
expect_error 2 "'three' is one too many" diff "$p" "$p" three --gpu a100
expect_error 2 '--gpu is missing' diff "$p" "$p"
expect_error 2 "--fail-on: 'watts' is not one of time, energy, memory, flops" diff "$p" "$p" --gpu a100 --fail-on time,watts
expect_error 2 "--fail-on: '' is not one of" diff "$p" "$p" --gpu a100 --fail-on time,
expect_error 2 '--fail-on needs --fail-above' diff "$p" "$p" --gpu a100 --fail-on time
expect_error 2 "--fail-above: '5%' is not a number" diff "$p" "$p" --gpu a100 --fail-above 5%
expect_error 2 "--sort: 'size' is not one of time, energy" diff "$p" "$p" --gpu a100 --sort size
expect_error 2 "markdown and --json exclude" diff "$p" "$p" --gpu a100 --markdown --json
expect_error 2 '--internode-bandwidth and --internode-latency need --nodes' diff "$p" "$p" --gpu a100 --internode-latency 1us
expect_error 2 "--new-precision: 'int4' is not one of fp32, tf32" diff "$p" "$p" --gpu a100 --new-precision int4
expect_error 2 "--new-batch: '0' is too small" diff "$p" "$p" --gpu a100 --new-batch 0
expect_ok diff "$p" "$p" --gpu a100 --new-precision bf16 --new-batch 64
shows 'precision differs: fp32 before, bf16 now'
shows 'batch size differs: 256 before, 64 now'
expect_error 3 'nowhere' diff "$p" nowhere.json --gpu a100
expect_error 6 'h9000' diff "$p" "$p" --gpu h9000
expect_error 6 'h9000' diff "$p" "$p" --gpu a100 --new-gpu h9000
# a board without a power figure: the default check cannot be made, and says so
sed 's/"tdp_w"/"tdp_unknown"/' "$ADEPT_SOURCE_DIR/hwprofiles/cpu-xeon-avx512-1core.json" >"$work/sheet.json"
expect_error 2 'the energy is not known on this GPU' diff "$p" "$p" --gpu cpu-xeon-avx512-1core --fail-above 5
expect_ok diff "$p" "$p" --gpu cpu-xeon-avx512-1core --fail-above 5 --fail-on time

# how the optimizer runs is said, and changes its time, not its bytes: those of `predict`, 28 for each of 4239370 parameters
for impl in foreach fused; do
    "$ADEPT" profile "$p" --optimizer-impl $impl -o "$work/$impl.json" >"$work/out"
done
"$ADEPT" profile "$p" --optimizer-extras ema --memory-format nhwc --execution graphs -o "$work/ema.json" >"$work/out"
expect_ok diff "$work/foreach.json" "$work/fused.json" --gpu a100
shows "the optimizer's implementation differs: foreach before, fused now"
shows '^ *read and written +197 MB +197 MB +0 %'
shows '^ *\(optimizer\) +no module +-0\.[0-9]+ '
expect_ok diff "$p" "$work/ema.json" --gpu a100
shows 'what runs beside the optimizer differs: nothing before, ema now'
shows 'execution differs: eager before, graphs now'
shows 'memory format differs: nchw before, channels_last now'
expect_ok predict "$work/fused.json" --gpu a100 --json
cp "$work/out" "$work/predicted"

# JSON: the parts sum to the totals
if command -v python3 >/dev/null 2>&1; then
    expect_ok diff "$work/foreach.json" "$work/fused.json" --gpu a100 --json
    checks=$((checks + 1))
    python3 - "$work/out" "$work/predicted" >"$work/err" 2>&1 <<'END' || fail "bytes of diff and of predict"
import json, sys
diff, predicted = (json.load(open(path)) for path in sys.argv[1:])
part = next(p for p in diff["parts"] if p["name"] == "optimizer")
assert part["old"]["bytes"] == part["new"]["bytes"] == 28 * predicted["model"]["trainable_params"], part
assert diff["totals"]["new"]["bytes"] == predicted["bytes"]["read"] + predicted["bytes"]["written"]
END
    for options in '' '--depth 1' '--gpus 4' '--granularity model'; do
        expect_ok diff "$p" "$work/wide.json" --gpu a100 --json $options
        checks=$((checks + 1))
        python3 - "$work/out" >"$work/err" 2>&1 <<'END' || fail "JSON of diff $options"
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema_version"] == 1 and d["check"] is None and d["layers"] and len(d["parts"]) == 4
for key in ("time_s", "energy_j", "flops", "bytes", "activations_bytes"):
    for side in ("old", "new", "delta"):
        total = d["totals"][side][key]
        parts = sum(r[side][key] for r in d["layers"] + d["parts"])
        assert abs(parts - total) <= 1e-9 * (abs(d["totals"]["old"][key]) + abs(d["totals"]["new"][key])), (key, side, parts, total)
c = d["change"]["step_time_s"]
assert c["delta"] == c["new"] - c["old"] and abs(c["percent"] - 100 * (c["new"] / c["old"] - 1)) < 1e-9
assert {r["status"] for r in d["layers"]} & {"added", "changed"}
END
    done
fi

# Markdown: a row of a table has as many cells as its head, whatever the names are
changed 's/body\.fc1/a|b`<img>@me_x_*y*/' >"$work/evil.json"
expect_ok diff "$p" "$work/evil.json" --gpu a100 --markdown
shows '^<details>$'
shows '^</details>$'
shows 'a\\\|b\\`&lt;img>&#64;me\\_x\\_\\\*y\\\*'
checks=$((checks + 1))
sed 's/\\|//g' "$work/out" | awk -F'|' '/^\|/ { if (n && NF != n) bad = 1; n = NF; next } { n = 0 } END { exit bad }' ||
    fail 'a table of the Markdown is torn'

# golden NAME ARGUMENT...: the comment as it stands in tests/golden/diff, but for the version; ADEPT_UPDATE_GOLDEN=1 writes it anew
cd "$ADEPT_SOURCE_DIR" || exit 1
golden() {
    file=tests/golden/diff/$1.md
    shift
    run diff "$@" --markdown
    checks=$((checks + 1))
    sed 's#adept [0-9.]*, not#adept VERSION, not#' "$work/out" >"$work/comment"
    [ -z "${ADEPT_UPDATE_GOLDEN:-}" ] || cp "$work/comment" "$file"
    cmp -s "$work/comment" "$file" || fail "differs from $file: $(diff "$file" "$work/comment" | sed -n 2,4p)"
}
golden mlp "$p" "$work/wide.json" --gpu a100 --fail-above 5
if [ -n "${ADEPT_TORCH_MODULE:-}" ]; then
    golden resnet50-on-v100 data/models/resnet50.pt data/models/resnet50.pt --gpu a100 --new-gpu v100 --batch 32 --rows 6
    expect_ok diff data/models/resnet50.pt data/models/resnet50.pt --gpu a100 --batch 16 --new-precision bf16 --new-batch 32 --depth 1
    shows 'precision differs: fp32 before, bf16 now'
    shows 'batch size differs: 16 before, 32 now'
    golden qwen data/models/qwen2.5_0.5b.pt data/models/qwen2.5_1.5b.pt --gpu a100 --precision bf16 --batch 2 --depth 2
fi
finish
