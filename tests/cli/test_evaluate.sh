# adept evaluate: errors of predictions that are known by hand, columns, plots.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
"$ADEPT" evaluate --help >/dev/null 2>&1 || { echo "built without GSL and NLopt"; exit 77; }
XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME
cd "$work" || exit 1

# The prediction itself, from `predict`; measured values that are 0, +25 and -20 % off it.
"$ADEPT" predict "$data/mlp.profile.json" --gpu a100 --json >p.json
number() {
    grep -o "\"$1\":[[:space:]]*[0-9.e+-]*" p.json | head -1 | sed 's/.*:[[:space:]]*//'
}
time=$(number step_time_s)
power=$(number power_avg_w)
awk -v t="$time" -v p="$power" 'BEGIN {
    print "model,step_time_s,avg_power_w,batch_size,optimizer_impl,lab"
    printf "mlp,%.17g,%.17g,256,foreach,x\n", t, p
    printf "mlp,%.17g,,256,foreach,x\n", t / 1.25
    printf "mlp,%.17g,,256,foreach,\"y, z\"\n", t / 0.8
}' >rows.csv
expect_ok evaluate rows.csv --gpu a100 --models "$data"
shows '^GPU +a100-sxm-40gb, calibrated: fitted with [0-9]+ other GPUs to [0-9]+ steps of its own \(fp32, '
# mean of 0, 25 and 20; median 20; largest 25; bias (0 + 25 - 20) / 3; combined 0.6 * 15 + 0.4 * 0
shows '^  all rows +3 +15\.0 +20\.0 +24\.0 +25\.0 +\+1\.67 +0\.00 +0\.00 +\+0\.00 +0\.00 +9\.00 +100$'
expect_ok evaluate rows.csv --gpu a100 --models "$data" --by lab,lab+model
shows '^  x +2 +12\.5 '
shows '^  y, z +1 +20\.0 '
shows '^Errors by lab, model$'
shows '^  y, z, mlp '
expect_ok evaluate rows.csv --gpu a100 --models "$data" --by lab --json
shows '^\{ *"schema_version" *: *1'
shows '"y, z"'
shows '"rows"'
expect_error 2 'colour' evaluate rows.csv --gpu a100 --models "$data" --by colour
expect_error 2 'evaluate needs a MEASUREMENTS.csv' evaluate
expect_error 2 '--gpu is missing' evaluate rows.csv
expect_error 6 'unknown GPU' evaluate rows.csv --gpu b1000
expect_error 2 "unknown option '--seed'" evaluate rows.csv --gpu a100 --seed 1

# A row is predicted with all that its columns say of the run, as predict is.
if python=$(command -v python3); then
    columns=gpus,nodes,internode_bytes_per_s,internode_latency_s,allreduce,clock_hz,host_launch_s,overlap,bucket_bytes,execution,batch_size,optimizer_impl
    printf 'model,step_time_s,%s\nmlp,1,16,2,1e9,2e-5,tree,9e8,3e-5,bucketed,1e6,eager,256,foreach\n' "$columns" >run.csv
    expect_ok evaluate run.csv --gpu a100 --models "$data" --json
    mv out evaluated.json
    expect_ok predict "$data/mlp.profile.json" --gpu a100 --gpus 16 --nodes 2 --internode-bandwidth 1GB/s --internode-latency 20us \
        --allreduce tree --clock 900 --host-launch 30us --overlap bucketed --bucket-bytes 1MB --json
    checks=$((checks + 1))
    "$python" - evaluated.json out >said 2>&1 <<'END' || { fail "a row's run"; cat said; }
import json, sys
row, alone = (json.load(open(f)) for f in sys.argv[1:])
assert row["rows"][0]["predicted"]["step_time_s"] == alone["step_time_s"], (row["rows"][0], alone["step_time_s"])
config = alone["config"]
assert config["internode_bytes_per_s"] == 1e9 and abs(config["internode_latency_s"] - 2e-5) < 1e-15 and config["bucket_bytes"] == 1e6
assert config["allreduce"] == "tree" and config["overlap"] == "bucketed" and config["link"] == "board"
END
fi

# the rows that a fit was made of are in-sample, by their bytes and whatever their name; changed, they are not
if [ -n "${ADEPT_TORCH_MODULE:-}" ]; then
    fitted=$ADEPT_SOURCE_DIR/data/measurements
    cp "$fitted/cpu-xeon-avx512-1core.csv" renamed.csv
    ln -s "$fitted/models" models
    expect_ok evaluate renamed.csv --gpu cpu-xeon-avx512-1core
    shows '^Rows +[0-9]+ of 1 file; in-sample, as the fit was made of them: renamed\.csv$'
    expect_ok evaluate renamed.csv --gpu cpu-xeon-avx512-1core --json
    shows '"in_sample":[[:space:]]*true'
    sed '$d' renamed.csv >fewer.csv
    expect_ok evaluate fewer.csv --gpu cpu-xeon-avx512-1core
    shows '^Rows +[0-9]+ of 1 file$'
fi

# operators without a handler: all of them, as `profile` lists them
if [ -n "${ADEPT_TORCH_MODULE:-}" ]; then
    printf 'model,step_time_s\nunsupported,1\n' >u.csv
    checks=$((checks + 1))
    run evaluate u.csv --gpu a100 --models "$data"
    [ "$rc" -eq 4 ] || fail "exit code $rc instead of 4"
    [ "$(wc -l <err)" -eq 3 ] || fail "not a summary and two operators"
    grep -q '^adept: u\.csv:2: ' err || fail "the row is not named"
    grep -Eq '^adept:   aten::poisson: 2 times, first in mix: ' err || fail 'poisson is not listed'
fi

# plots
ln -s rows.csv rows.svg
expect_error 2 'is read: it would be written over' evaluate rows.csv --gpu a100 --models "$data" --plot rows.svg
expect_error 2 'file name is empty' evaluate rows.csv --gpu a100 --plot ''
checks=$((checks + 1))
PATH=/nonexistent "$ADEPT" evaluate rows.csv --gpu a100 --models "$data" --plot x.svg >out 2>err
rc=$?
[ "$rc" -eq 1 ] && grep -q 'needs gnuplot' err && [ ! -e x.svg ] || fail "no gnuplot: exit code $rc"
if command -v gnuplot >/dev/null; then
    # a model whose name is a program for a shell, and one for gnuplot
    cp "$data/mlp.profile.json" "\`touch hacked\`.profile.json"
    cp "$data/mlp.profile.json" 'a"; system("touch hacked"); x=".profile.json'
    {
        cat rows.csv
        echo '`touch hacked`.profile.json,0.002,200,256,foreach,z'
        echo '"a""; system(""touch hacked""); x="".profile.json",0.003,250,256,foreach,z'
    } >names.csv
    expect_ok evaluate names.csv --gpu a100 --models "$data" --plot p.svg
    checks=$((checks + 1))
    grep -q '</svg>' p.svg || fail "no picture"
    [ ! -e hacked ] || fail "gnuplot ran what a model is called"
    expect_error 1 'no/such/p.svg' evaluate rows.csv --gpu a100 --models "$data" --plot no/such/p.svg
fi

# Ten campaigns of the same five steps, by awk with noise of 1.5 %: how far rows of one step differ is said; so is the campaign that took 9 %
# longer, which no row of it says, and the row that is alone with 1.6 times the time. The watts of the third are 20 % lower.
campaigns() {
    for c in 1 2 3 4 5 6 7 8 9 10; do
        awk -v c=$c -v slow="$1" -v odd="$2" -v low="$3" 'BEGIN {
            srand(7919 * c); print "model,batch_size,step_time_s,avg_power_w"
            for (i = 1; i <= 5; i++) {
                noise = 0; for (k = 0; k < 12; k++) noise += rand()
                t = 0.002 * i * exp(0.015 * (noise - 6)) * (c == 7 ? slow : 1) * (c == 4 && i == 3 ? odd : 1)
                printf "mlp,%d,%.9g,%.9g\n", 256 * i, t, 200 * (1 + 0.01 * (rand() - 0.5)) * (c == 3 ? low : 1)
            }
        }' >c$c.csv
    done
    expect_ok evaluate c?.csv c10.csv --gpu a100 --models "$data" --json
}
campaigns 1.09 1.6 0.8
checks=$((checks + 1))
python3 - out <<'CHECK' >err 2>&1 || fail "ten campaigns"
import json, sys
d = json.load(open(sys.argv[1]))
r = d["repeats"]
assert (r["configurations"], r["rows"]) == (5, 50) and 1 < r["time_sd_percent"] < 4 and r["power_sd_percent"] < 1, r
off = [w for w in d["warnings"] if "in the other files" in w]
assert len(off) == 2 and off[0].startswith("c7.csv: its step_time_s is +"), off
assert off[1].startswith(("c3.csv: its avg_power_w is -19.", "c3.csv: its avg_power_w is -20.")), off
named = [w.split(": ")[0] for w in d["warnings"] if "disagrees with 9 other rows" in w]
assert [n for n in named if n.startswith("c4.csv")] == ["c4.csv:4"] and {n.split(":")[0] for n in named} <= {"c3.csv", "c4.csv", "c7.csv"}, named
CHECK
run evaluate c?.csv c10.csv --gpu a100 --models "$data"
shows '^Repeats 5 configurations in 50 rows; their standard deviation is [1-4]\.[0-9] % of the time, 0\.[0-9]+ % of the power$'
campaigns 1 1 1
checks=$((checks + 1))
if grep -q 'other files\|disagrees' out; then fail "ten campaigns that agree"; fi
# what was measured once has no repeats
expect_ok evaluate c1.csv --gpu a100 --models "$data" --json
shows '"repeats":[[:space:]]*null'
expect_ok evaluate c1.csv --gpu a100 --models "$data"
if grep -q Repeats out; then fail "repeats of what was measured once"; fi

# The profile whose measurements are bundled repeats them as it says itself: a law that changed wants a new fit.
if [ -n "${ADEPT_TORCH_MODULE:-}" ]; then
    name=cpu-xeon-avx512-1core
    expect_ok evaluate "$ADEPT_SOURCE_DIR/data/measurements/$name.csv" --gpu $name --models "$ADEPT_SOURCE_DIR/data/models" --json
    now=$(sed -n 's/.*"mape_time":[[:space:]]*\([0-9.e+-]*\).*/\1/p' out | head -1)
    then=$(sed -n '/"in_sample"/,/"mape_time"/s/.*"mape_time":[[:space:]]*\([0-9.e+-]*\).*/\1/p' "$ADEPT_SOURCE_DIR/hwprofiles/$name.json" | head -1)
    awk -v now="$now" -v then="$then" 'BEGIN { exit !(then > 1 && now > 0 && now < then + 0.5) }' ||
        fail "$name: $now % off its own measurements, $then % when it was fitted: tools/fit_cpu.sh"
fi
finish
