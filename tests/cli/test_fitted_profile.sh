# A fitted profile of one's own: targeted scalars change what they cover, intervals are printed, wider outside the range.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
p=$data/mlp.profile.json
sheet=$ADEPT_SOURCE_DIR/hwprofiles/a100-sxm-40gb.json

# fitted NAME MEMBERS: a sheet whose fit has these besides its granularity and one parameter
fitted() {
    sed "s|\"fit\": null|\"fit\": {\"granularity\": \"model\", \"parameters\": {\"c_mem\": 1.5}$2}|" "$sheet" >"$work/$1.json"
}
# number KEY: of the last run's JSON, at any depth, the first
number() {
    sed -n "s/.*\"$1\":[[:space:]]*\([-0-9.e+]*\).*/\1/p" "$work/out" | head -n 1
}
# is EXPRESSION: true in awk's arithmetic
is() {
    checks=$((checks + 1))
    awk "BEGIN { exit !($1) }" || fail "not true: $1"
}

fitted plain ''
expect_ok predict "$p" --gpu "$work/plain.json" --json
plain=$(number gemm_s)
shows '"interval":[[:space:]]*null'
fitted scalar ', "scalars": [{"name": "mlp", "target": {"class": "*Linear"}, "term": "gemm", "value": 1.25}]'
expect_ok predict "$p" --gpu "$work/scalar.json" --json
is "$(number gemm_s) > 1.2499 * $plain && $(number gemm_s) < 1.2501 * $plain"
fitted other ', "scalars": [{"name": "albert", "target": {"model": "albert*"}, "term": "gemm", "value": 1.25}]'
expect_ok predict "$p" --gpu "$work/other.json" --json
is "$(number gemm_s) == $plain"
fitted unknown ', "scalars": [{"name": "s", "target": {"layer": "x"}, "term": "gemm", "value": 1.25}]'
expect_error 3 'unknown.json: fit.scalars\[0\].target "layer" is none of' predict "$p" --gpu "$work/unknown.json"
fitted zero ', "scalars": [{"name": "s", "target": {"model": "*"}, "term": "gemm", "value": 0}]'
expect_error 3 'zero.json: fit.scalars\[0\]: scalar s: value 0 is outside' predict "$p" --gpu "$work/zero.json"

interval='"level": 0.8, "time_log": [-0.1, 0.2], "power_log": [-0.05, 0.05]'
fitted inside ", \"intervals\": {$interval, \"range\": {\"batch_size\": [64, 256]}}"
expect_ok predict "$p" --gpu "$work/inside.json"
shows '^Interval   .* to .*, .* W to .* W with 80.0 % probability$'
expect_ok predict "$p" --gpu "$work/inside.json" --json
shows '"level":[[:space:]]*0.8'
fitted outside ", \"intervals\": {$interval, \"range\": {\"batch_size\": [1, 128], \"precisions\": [\"bf16\"]}}"
expect_ok predict "$p" --gpu "$work/outside.json"
shows 'outside what a100-sxm-40gb was calibrated with \(batch_size 256 above 128, precision fp32\): the interval is widened'
fitted time ", \"intervals\": {\"level\": 0.8, \"time_log\": [-0.1, 0.2], \"power_log\": null}"
expect_ok predict "$p" --gpu "$work/time.json" --json
shows 'interval.power_avg_w is unknown'
fitted bad ", \"intervals\": {\"level\": 80}"
expect_error 3 'bad.json: fit.intervals.level = 80 is not between 0 and 1' predict "$p" --gpu "$work/bad.json"

# No power limit known: times, and no power.
grep -v '"\(tdp_w\|power_limit_min_w\|power_limit_max_w\)"' "$sheet" >"$work/notdp.json"
expect_ok predict "$p" --gpu "$work/notdp.json"
shows '^Power      unknown'
shows 'power and energy are unknown: a100-sxm-40gb has no tdp_w'
expect_ok predict "$p" --gpu "$work/notdp.json" --json
shows '"power_avg_w":[[:space:]]*null'
shows '"energy_step_j":[[:space:]]*null'
expect_error 2 'unknown without specs.tdp_w' predict "$p" --gpu "$work/notdp.json" --power-limit 200
finish
