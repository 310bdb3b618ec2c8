# predict --granularity: both sets of equations, what each refuses, and what a fit of the other one is worth.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
p=$data/mlp.profile.json
sheet=$ADEPT_SOURCE_DIR/hwprofiles/a100-sxm-40gb.json

# fitted NAME FIT: a sheet with that fit
fitted() {
    sed "s|\"fit\": null|\"fit\": {$2}|" "$sheet" >"$work/$1.json"
}
# number KEY: of the last run's JSON, at any depth, the first
number() {
    sed -n "s/.*\"$1\":[[:space:]]*\([-0-9.e+]*\).*/\1/p" "$work/out" | head -n 1
}
# same NAME A B, differs NAME A B
same() {
    checks=$((checks + 1))
    [ -n "$2" ] && [ "$2" = "$3" ] || fail "$1: $2 and $3"
}
differs() {
    checks=$((checks + 1))
    [ -n "$2" ] && [ -n "$3" ] && [ "$2" != "$3" ] || fail "$1: $2 and $3"
}

# without a fit: operator; on a host that so small a step does not wait for
host='--host-launch 1us'
# shellcheck disable=SC2086 # words
expect_ok predict "$p" --gpu a100 $host --json
default=$(number step_time_s)
shows '^[[:space:]]*"granularity":[[:space:]]*"operator"'
# shellcheck disable=SC2086 # words
expect_ok predict "$p" --gpu a100 --granularity operator $host --json
same 'step time' "$default" "$(number step_time_s)"
expect_ok predict "$p" --gpu a100 --granularity model --json
differs 'step time' "$default" "$(number step_time_s)"
shows '^[[:space:]]*"granularity":[[:space:]]*"model"'
shows '"calibrated":[[:space:]]*false'
expect_ok predict "$p" --gpu a100
shows '^Method   operator: the time of every kernel from its own dimensions$'
shows '^  The pass computes for .*matrix products'
shows '^  and waits for memory for '
expect_ok predict "$p" --gpu a100 --granularity model
shows '^Method   model: '
shows '^  and, meanwhile, moves data for '
run predict --help-all
shows '--granularity=NAME'

# the saturation function is the model's
expect_ok predict "$p" --gpu a100 --granularity model --saturation tanh
expect_error 2 'granularity "operator" saturates by the sigmoid, not by "tanh"' predict "$p" --gpu a100 --saturation tanh
expect_error 2 "granularity: 'kernel' is not one of model, operator" predict "$p" --gpu a100 --granularity kernel

# a fit: its own equations unless another is asked for, which it does not calibrate
interval='"intervals": {"level": 0.8, "time_log": [-0.1, 0.2], "power_log": null}'
fitted model "\"granularity\": \"model\", \"parameters\": {\"c_mem\": 1.5}, $interval"
expect_ok predict "$p" --gpu "$work/model.json"
shows '^GPU .*, calibrated$'
shows '^Method   model: '
shows '^Interval '
# shellcheck disable=SC2086 # words
expect_ok predict "$p" --gpu "$work/model.json" --granularity operator $host --json
differs 'step time of defaults, which are not those fitted to other GPUs' "$default" "$(number step_time_s)"
shows '"calibrated":[[:space:]]*false'
shows '"interval":[[:space:]]*null'
shows 'is calibrated for granularity model: here parameters are defaults'
fitted operator "\"granularity\": \"operator\", \"parameters\": {\"beta_gemm\": 0.5}, \"tiles\": {\"gemm\": [\"64x64\"]}, $interval"
expect_ok predict "$p" --gpu "$work/operator.json"
shows '^GPU .*, calibrated$'
shows '^Method   operator: '
# shellcheck disable=SC2086 # words
expect_ok predict "$p" --gpu "$work/operator.json" $host --json
shows '"calibrated":[[:space:]]*true'
differs 'fitted step time' "$default" "$(number step_time_s)"
expect_ok predict "$p" --gpu "$work/operator.json" --granularity model
shows ', not calibrated: '
fitted unknown '"granularity": "operator", "parameters": {"c_mem": 1.5}'
expect_error 3 'fit.parameters.c_mem is not a parameter of granularity "operator"' predict "$p" --gpu "$work/unknown.json"
fitted tiles '"granularity": "operator", "parameters": {"beta_gemm": 0.5}, "tiles": {"gemm": ["60x60"]}'
expect_error 3 'tiles.json: fit.tiles.gemm\[0\] is not a tile' predict "$p" --gpu "$work/tiles.json"

# a host that cannot launch as fast as the GPU runs
fitted host '"granularity": "operator", "parameters": {"t_host_s": 1e-4}'
expect_ok predict "$p" --gpu "$work/host.json"
shows '^Bound by +host '
shows '^  The step waits for the host for [0-9.]+ ms \(100\.0 %\), which launches [0-9]+ kernels: [0-9.]+ us of them$'
shows '^  run meanwhile\.$'
finish
