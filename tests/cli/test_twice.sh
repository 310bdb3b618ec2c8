# A key or a column that is given twice: every kind of file is refused, with its line, instead of one of the two being taken.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
profile=$data/mlp.profile.json
clusters=$ADEPT_SOURCE_DIR/data/clusters
twice='[^ ]*:[0-9]+:[0-9]+: not valid JSON: in this object the key "[a-z_0-9]+" is given twice'

# repeat KEY FILE: the first member of that name, which is a text or a number on a line of its own, once more
repeat() {
    awk -v key="\"$1\"" '{ print } !done && index($0, key ":") && /,$/ { print; done = 1 } END { exit !done }' "$2" \
        >"$work/twice.json" || { : >"$work/out"; : >"$work/err"; fail "no $1 in $2"; }
}

repeat kind "$profile"
for command in "predict --gpu a100" "explain --gpu a100" profile "sweep --gpu a100 --vary batch=1"; do
    expect_error 3 "$twice" $command "$work/twice.json"
done
expect_error 3 "$twice" diff "$profile" "$work/twice.json" --gpu a100
if "$ADEPT" serve --help >/dev/null 2>&1; then
    expect_error 3 "$twice" serve "$work/twice.json"
fi
repeat batch_size "$profile"
expect_error 3 "$twice" predict "$work/twice.json" --gpu a100

"$ADEPT" gpus a100 --json >"$work/gpu.json"
repeat name "$work/gpu.json"
expect_error 3 "$twice" predict "$profile" --gpu "$work/twice.json"
expect_error 3 "$twice" gpus "$work/twice.json"
repeat value "$work/gpu.json"
expect_error 3 "$twice" predict "$profile" --gpu "$work/twice.json"

jobs=$clusters/thesis_jobs.json
cp "$profile" "$work/"
repeat schema_version "$clusters/thesis.json"
expect_error 3 "$twice" simulate "$work/twice.json" "$jobs" --policy fcfs
repeat schema_version "$jobs"
expect_error 3 "$twice" simulate "$clusters/thesis.json" "$work/twice.json" --policy fcfs
printf 'job_id,submit_s,submit_s,template\n' >"$work/trace.csv"
if [ -n "${ADEPT_TORCH_MODULE:-}" ]; then # the models of these jobs come first
    expect_error 3 'twice' simulate "$clusters/thesis.json" "$work/trace.csv" --templates "$jobs" --policy fcfs
fi

"$ADEPT" predict "$profile" --gpu a100 --json >"$work/a.json"
repeat step_time_s "$work/a.json"
expect_error 3 "$twice" compare "$work/a.json" "$work/twice.json"
cat >"$work/goal.json" <<'EOF'
{
  "schema_version": 1,
  "goals": [{
    "metric": "step time", "direction": "lower",
    "threshold_percent": 50,
    "tolerance_sigma": 0
  }]
}
EOF
repeat threshold_percent "$work/goal.json"
expect_error 3 "$twice" compare "$work/a.json" "$work/a.json" --goal "$work/twice.json"

if "$ADEPT" calibrate --help >/dev/null 2>&1; then
    printf 'model,step_time_s,batch_size,batch_size\nmlp,0.1,1,2\n' >"$work/rows.csv"
    expect_error 3 'column batch_size stands twice' evaluate "$work/rows.csv" --gpu a100
    printf 'model,step_time_s,mine,mine\nmlp,0.1,1,2\n' >"$work/rows.csv"
    expect_error 3 'column mine stands twice' calibrate "$work/rows.csv" --gpu a100 -o "$work/o.json"
    printf 'op,M,M,latency_ms\nlinear,1,2,3\n' >"$work/kernels.csv"
    expect_error 3 'column "M" occurs twice' calibrate --kernels "$work/kernels.csv" --gpu a100 -o "$work/o.json"
    printf 'op,gpus,gpus,size_bytes,time_us\nall_reduce,2,2,1,3\n' >"$work/links.csv"
    expect_error 3 'twice' calibrate --collectives "$work/links.csv" --gpu a100 -o "$work/o.json"
fi
finish
