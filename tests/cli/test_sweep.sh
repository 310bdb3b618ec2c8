# adept sweep: every row is what adept predict says, in CSV and in JSON; points that cannot run; wrong usage; interruption.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
python=$(command -v python3) || { echo "no python3"; exit 77; }
profile=$data/mlp.profile.json

# check TEXT PYTHON: the last run's stdout as `text`, and `fail(...)`
check() {
    checks=$((checks + 1))
    "$python" -c "
import csv, io, json, math, sys
text = open('$work/out').read()
$2" >"$work/said" 2>&1 || { fail "$1"; sed 's/^/    /' "$work/said"; }
}

expect_ok sweep "$profile" --gpu a100 --vary power_limit_w=100:250:50 --vary gpus=1,2,4
shows '^12 points: power_limit_w \(4 values\), gpus \(3 values\)$'
shows '^least time \(objective\)'
shows '^least energy times time'
shows 'compared per sample'

# each objective has the point of its own product
for objective in step_time_s energy_step_j edp ed2p; do
    expect_ok sweep vit_b_16 --batch 128 --gpu a100-sxm-40gb --vary power_limit_w=150:400:50 --objective "$objective" --json
    check "least $objective" "
d = json.loads(text)
by = {'step_time_s': (0, 1), 'energy_step_j': (1, 0), 'edp': (1, 1), 'ed2p': (1, 2)}['$objective']
least = min(d['points'], key=lambda p: p['energy_step_j'] ** by[0] * p['step_time_s'] ** by[1])
assert d['answers']['best']['power_limit_w'] == least['power_limit_w'] and d['answers']['objective'] == '$objective', (d['answers'], least)
assert d['answers']['least_edp']['power_limit_w'] < d['answers']['least_ed2p']['power_limit_w'], d['answers']"
done
expect_ok sweep vit_b_16 --batch 128 --gpu a100-sxm-40gb --vary power_limit_w=150:400:50 --objective ed2p
shows '^least energy times time squared [(]objective[)]'

# rows equal single predictions to the last bit
expect_ok sweep "$profile" --gpu t4 --vary power_limit_w=60:70:2.5 --vary gpus=1,2 --csv
cp "$work/out" "$work/rows.csv"
"$python" - "$ADEPT" "$profile" "$work/rows.csv" >"$work/said" 2>&1 <<'END' || { fail 'rows and predictions differ'; cat "$work/said"; }
import csv, json, subprocess, sys
rows = list(csv.DictReader(open(sys.argv[3])))
assert len(rows) == 10, len(rows)
for row in rows:
    said = json.loads(subprocess.check_output([sys.argv[1], 'predict', sys.argv[2], '--gpu', 't4', '--json',
        '--power-limit', row['power_limit_w'], '--gpus', row['gpus']]))
    for key in ('step_time_s', 'power_avg_w', 'energy_step_j', 'edp_js', 'samples_per_s', 'energy_per_sample_j'):
        assert float(row[key]) == said[key], (row, key, said[key])
    assert row['bound'] == said['bound'] and row['fits'] == ('true' if said['memory']['fits'] else 'false')
END
checks=$((checks + 1))

expect_ok sweep "$profile" --gpu a100 --vary specs.mem_bytes_per_s=x0.5,x1,x2 --vary grad_accum=1,2 --json
check 'JSON of a hardware grid' "
d = json.loads(text)
assert d['schema_version'] == 1 and d['hypothetical'] is True and d['interrupted'] is False
p = d['points']
assert len(p) == 6 and [q['grad_accum'] for q in p] == [1, 1, 1, 2, 2, 2]
assert p[0]['specs.mem_bytes_per_s'] * 2 == p[1]['specs.mem_bytes_per_s']
assert p[0]['step_time_s'] >= p[1]['step_time_s'] >= p[2]['step_time_s']
a = d['answers']
assert a['points'] == 6 and a['failed'] == 0 and a['compared_per'] == 'sample'
best = min(range(6), key=lambda i: p[i]['step_time_s'] / p[i]['grad_accum'])
assert a['best']['index'] == a['least_time']['index'] == best
front = [i for i in range(6) if not any(
    p[j]['samples_per_s'] >= p[i]['samples_per_s'] and p[j]['energy_per_sample_j'] <= p[i]['energy_per_sample_j'] and
    (p[j]['samples_per_s'] > p[i]['samples_per_s'] or p[j]['energy_per_sample_j'] < p[i]['energy_per_sample_j']) for j in range(6))]
assert sorted(q['index'] for q in a['pareto']['points']) == front, (a['pareto'], front)"

# points that cannot run are rows with a reason
expect_ok sweep "$profile" --vary gpu=t4,a100 --vary power_limit_w=65,200 --csv
check 'limits out of range' "
rows = list(csv.DictReader(io.StringIO(text)))
assert [(r['gpu'], r['power_limit_w'], r['reason'] == '') for r in rows] == [
    ('t4', '65', True), ('t4', '200', False), ('a100-sxm-40gb', '65', False), ('a100-sxm-40gb', '200', True)], rows
assert 'outside the range' in rows[1]['reason'] and rows[1]['step_time_s'] == ''"
# every word of a workload is a key, and a point is what predict says
while read -r key value option; do
    expect_ok predict "$profile" --gpu a100 $option --json
    mv "$work/out" "$work/predicted"
    expect_ok sweep "$profile" --gpu a100 --vary "$key=$value" --json
    check "the point $key=$value" "
step, point = json.load(open('$work/predicted')), json.loads(text)['points'][-1]
assert point['step_time_s'] == step['step_time_s'] and '$key' in point, point"
done <<'WORDS'
optimizer adamw,muon --optimizer muon
optimizer_impl foreach,fused --optimizer-impl fused
optimizer_extras none,clip+ema --optimizer-extras clip,ema
framework torch2,torch1 --framework torch1
memory_format nchw,nhwc --memory-format nhwc
grad_scaler false,true --grad-scaler
clip_grad_norm true --clip-grad-norm
batch 7 --batch-size 7
WORDS
# where no point can run it ends as predict does, and where one can or does but not fit, with 0
for form in "" --csv --json; do
    run sweep "$profile" --gpu a100 --vary power_limit_w=1,2 $form
    checks=$((checks + 1))
    [ "$rc" -eq 2 ] && grep -q '^adept: no point can run; the first: power limit 1 W is outside' "$work/err" || fail "$form: $rc, $(cat "$work/err")"
    shows "$([ -n "$form" ] && echo power_limit_w || echo '^No point can run$')"
done
expect_ok sweep "$profile" --gpu a100 --vary power_limit_w=1,200
expect_ok sweep "$profile" --gpu a100 --vary batch_size=20000000,40000000
shows '^No point that can run fits the memory$'
expect_ok sweep "$profile" --gpu a100 --vary power_limit_w=1,2 --shard 1/2 --csv # others may

# one at a time, and what is set for all points
expect_ok sweep "$profile" --gpu a100 --one-at-a-time --vary gpus=1,2,3 --vary specs.l2_bytes=x1,x2 --set specs.tdp_w=x0.9 --csv
check 'one at a time' "
rows = list(csv.DictReader(io.StringIO(text)))
assert [(r['gpus'], r['specs.l2_bytes']) for r in rows] == [('1', '41943040'), ('2', '41943040'), ('3', '41943040'),
    ('1', '41943040'), ('1', '83886080')], rows
assert rows[0]['step_time_s'] == rows[3]['step_time_s']"

# a job whose power nobody knows
expect_ok sweep "$profile" --gpu cpu-xeon-avx512-1core --vary grad_accum=1,2 --samples 1e6 --price 0.3
shows '^Best +grad_accum=2: 1954 steps, .*, power and energy unknown, cost unknown$'

# ranges end where they say
expect_ok sweep "$profile" --gpu a100 --vary specs.mem_bytes_per_s=1e12:2e12:1e11 --vary power_limit_w=x0.5:x1:x0.1 --csv
check 'ends of ranges' "
rows = list(csv.DictReader(io.StringIO(text)))
assert len(rows) == 66 and rows[0]['specs.mem_bytes_per_s'] == '1000000000000' and rows[-1]['specs.mem_bytes_per_s'] == '2000000000000'
assert [float(r['power_limit_w']) for r in rows[:6]] == [200, 240, 280, 320, 360, 400], rows[:6]"

# into a file, and the answers as text
expect_ok sweep "$profile" --gpu a100 --vary gpus=1:64:1 -o "$work/points.csv"
[ "$(wc -l <"$work/points.csv")" -eq 65 ] || fail 'rows in the file'
expect_ok sweep "$profile" --gpu a100 --vary gpus=1:64:1 --json -o "$work/points.json"
"$python" -m json.tool "$work/points.json" >"$work/said" 2>&1 || fail 'JSON in the file'

# wrong usage
expect_error 2 "did you mean 'batch'" sweep "$profile" --gpu a100 --vary bach=1
expect_error 2 "did you mean 'specs.l2_bytes'" sweep "$profile" --gpu a100 --vary specs.l2_byte=1
expect_error 2 "did you mean 'fit.parameters.beta_gemm'" sweep "$profile" --gpu a100 --vary fit.parameters.beta_gem=1
expect_error 2 'not KEY=VALUES' sweep "$profile" --gpu a100 --vary batch
expect_error 2 'an empty value' sweep "$profile" --gpu a100 --vary gpus=1,,2
expect_error 2 'FROM:TO:STEP' sweep "$profile" --gpu a100 --vary gpus=1:2
expect_error 2 'do not lead' sweep "$profile" --gpu a100 --vary gpus=2:1:1
expect_error 2 'steps of 0 do not lead from 1 to 8' sweep "$profile" --gpu a100 --vary gpus=1:8:0
expect_error 2 'more than' sweep "$profile" --gpu a100 --vary clock_hz=1:2e9:1
expect_error 2 'not a whole number' sweep "$profile" --gpu a100 --vary gpus=1.5
expect_error 2 'is not a number' sweep "$profile" --gpu a100 --vary gpus=0x10
expect_error 2 'relative' sweep "$profile" --gpu a100 --vary specs.l2_bytes=x1,2
expect_error 2 'relative' sweep "$profile" --gpu a100 --vary power_limit_w=energy-optimal,edp-optimal,energy-optimal,x0.5,200
expect_error 2 'cannot be relative \(x2\)' sweep "$profile" --gpu a100 --vary batch=x2
expect_error 2 'not a whole number below 9e\+15' sweep "$profile" --gpu a100 --vary batch=9007199254740992
expect_error 2 'internode_latency_s: 0 is not above 0' sweep "$profile" --gpu a100 --gpus 4 --vary internode_latency_s=0
expect_error 2 'given twice' sweep "$profile" --gpu a100 --vary gpus=1 --vary gpus=2
expect_error 2 'batch: 8 is given twice' sweep "$profile" --gpu a100 --vary batch=8,16,8
expect_error 2 'gpus: 3 is given twice' sweep "$profile" --gpu a100 --vary gpus=1:4:1,3
expect_error 2 'power_limit_w: x0.5 is given twice' sweep "$profile" --gpu a100 --vary power_limit_w=x0.5,x1,x0.5
expect_error 2 'power_limit_w: edp-optimal is given twice' sweep "$profile" --gpu a100 --vary power_limit_w=edp-optimal,200,edp-optimal
expect_error 2 'gpu: h100 is given twice' sweep "$profile" --vary gpu=h100,a100,h100
expect_error 2 'precision: bf16 is given twice' sweep "$profile" --gpu a100 --vary precision=bf16,bf16
expect_error 2 'batch max is for predict, explain and report' sweep "$profile" --gpu a100 --batch max --vary gpus=1,2
expect_error 2 'not one of fp32' sweep "$profile" --gpu a100 --vary precision=fp31
# How it runs: each point is what predict says of those options, and only graphs do not depend on the host.
expect_ok sweep "$profile" --gpu a100 --vary execution=eager,graphs,compile --vary host_launch_s=1e-5,2e-4 --csv
cp "$work/out" "$work/executions"
run predict "$profile" --gpu a100 --execution compile --host-launch 2e-4s --json
checks=$((checks + 1))
"$python" - "$work/executions" "$work/out" <<'END' || fail "execution and host_launch_s"
import csv, json, sys
rows = {(r["execution"], float(r["host_launch_s"])): float(r["step_time_s"]) for r in csv.DictReader(open(sys.argv[1]))}
assert rows["compile", 2e-4] == json.load(open(sys.argv[2]))["step_time_s"]
assert rows["graphs", 1e-5] == rows["graphs", 2e-4] < rows["compile", 2e-4] < rows["eager", 2e-4]
END
# SMs come with their peaks: the same as all of these numbers set one by one.
expect_ok predict "$profile" --gpu a100 --set sms=x2 --json
cp "$work/out" "$work/sms"
expect_ok predict "$profile" --gpu a100 --set specs.sm_count=x2 --set peaks=x2 --json
checks=$((checks + 1))
"$python" - "$work/sms" "$work/out" <<'END' || fail "sms"
import json, sys
a, b = (json.load(open(path)) for path in sys.argv[1:])
assert a["step_time_s"] == b["step_time_s"] and a["mfu"] == b["mfu"]
END
expect_ok sweep "$profile" --gpu a100 --vary sms=54,108 --vary core_clock=1.2GHz,1.41GHz --csv
grep -q '^54,1200000000,' "$work/out" || fail "sms and core_clock: $(cat "$work/out")"
expect_error 2 'sms: 0 is not above 0' sweep "$profile" --gpu a100 --vary sms=0
expect_ok sweep "$profile" --gpu a100 --vary precision=fp32,bf16 --vary mode=train,infer --csv
expect_error 2 'vary is missing' sweep "$profile" --gpu a100
expect_error 2 'gpu is missing' sweep "$profile" --vary batch=1
expect_error 2 'exclude each other' sweep "$profile" --gpu a100 --vary gpu=t4
expect_error 2 'not a number of the hardware' sweep "$profile" --gpu a100 --vary gpus=1 --set batch=4
expect_error 6 'nearest' sweep "$profile" --vary gpu=a100,h1000
expect_error 3 'cannot open' sweep "$work/none.json" --gpu a100 --vary gpus=1

# a job: which point does it best, and what stands in the way of a better one
set -- $(sed -n 's/.*"batch_size":[[:space:]]*\([0-9]*\).*/\1/p' "$profile" | head -n 1)
job="$profile --vary gpu=a100,t4 --vary gpus=1,2,4 --vary power_limit_w=x1,energy-optimal --vary batch=$1 --samples 1000000000"
expect_ok sweep $job --minimize energy
shows '^least energy of the job among 12 of 12'
expect_ok sweep $job --minimise energy
shows '^least energy of the job among 12 of 12 points that keep within everything:$'
expect_ok sweep $job --minimise cost --gpu-hour-price a100=1.2,t4=0.3 --price 0.3 --pue 1.2 --json
check 'the cheapest' "
d = json.loads(text)
b = d['job']['best']
def cost(p):
    steps = math.ceil(1e9 / round(p['samples_per_s'] * p['step_time_s']))
    return steps * (p['step_time_s'] * p['gpus'] * {'t4': 0.3, 'a100-sxm-40gb': 1.2}[p['gpu']] / 3600 + p['energy_step_j'] * 0.3 * 1.2 / 3.6e6)
costs = [cost(p) for p in d['points']]
assert costs.index(min(costs)) == b['index'] and abs(min(costs) / b['cost'] - 1) < 1e-9, (costs, b)"
run sweep $job --within-time 1s
checks=$((checks + 1))
[ "$rc" -eq 7 ] && grep -q '^adept: no point keeps within the deadline of 1.00 s: the nearest (gpu=' "$work/err" || fail "a deadline ($rc)"
expect_error 2 'not one of time, energy, edp, ed2p, cost' sweep $job --minimise coast
expect_error 2 'a cost needs --price' sweep $job --minimise cost
expect_error 2 'exclude each other' sweep $job --steps 3
expect_error 2 'gpu-hour-price: ' sweep $job --gpu-hour-price a1000=3
expect_error 2 'with a unit' sweep $job --within-time 3weeks
run sweep $job --within-power 1W --json
checks=$((checks + 1))
[ "$rc" -eq 7 ] || fail "exit code $rc of a job that cannot be done"
check 'what would be needed' "
b = json.loads(text)['job']['binding']
assert b['constraint'] == 'power budget' and b['allowed'] == 1 and b['needed'] > 1 and json.loads(text)['job']['best'] is None"

# predict --set is the sweep's point
expect_ok predict "$profile" --gpu a100 --set specs.mem_bytes_per_s=x1.2 --set specs.l2_bytes=2e7 --json
cp "$work/out" "$work/set.json"
expect_ok sweep "$profile" --gpu a100 --vary specs.mem_bytes_per_s=x1.2 --vary specs.l2_bytes=2e7 --csv
check 'predict --set' "
d, row = json.load(open('$work/set.json')), next(csv.DictReader(io.StringIO(text)))
assert float(row['step_time_s']) == d['step_time_s'] and float(row['energy_step_j']) == d['energy_step_j']
assert any('hypothetical' in w for w in d['warnings']), d['warnings']"
expect_error 2 'set: specs.l2_bytes = 1 is outside' predict "$profile" --gpu a100 --set specs.l2_bytes=1
expect_error 2 "did you mean 'specs.sm_count'" predict "$profile" --gpu a100 --set specs.sm_counts=1

# parts put together are one run, wherever they begin: also among points that cannot run
shards() { # how many parts, the grid
    n=$1
    shift
    : >"$work/cat.csv"
    for k in $(seq "$n"); do
        "$ADEPT" sweep "$profile" "$@" --shard "$k/$n" --csv >>"$work/cat.csv" 2>"$work/err" || fail "shard $k/$n: $(cat "$work/err")"
    done
    checks=$((checks + 1))
    cmp -s "$work/cat.csv" "$work/one.csv" || fail "the sum of $n shards is not one run: $*"
}
grid() { # rows that one run has, the grid
    lines=$(($1 + 1))
    shift
    expect_ok sweep "$profile" "$@" --csv
    cp "$work/out" "$work/one.csv"
    [ "$(wc -l <"$work/one.csv")" -eq "$lines" ] || fail "rows of $*"
    for parts in 1 3 7; do shards "$parts" "$@"; done
}
grid 72 --vary gpu=t4,a100 --vary power_limit_w=65,200,100 --vary specs.tdp_w=x1,x1e9 --vary gpus=1,2 --vary grad_accum=1,2,3
grep -q 'outside the range' "$work/one.csv" || fail 'no limit is out of range'
grid 18 --gpu a100 --vary batch_size=1,2 --vary gpus=1,2,3 --vary specs.l2_bytes=x1,x2,x0.5
grid 6 --gpu a100 --one-at-a-time --vary gpus=1,2,3 --vary grad_accum=1 --vary specs.l2_bytes=x1,x2
grid 2 --gpu a100 --vary gpus=1,2
run sweep "$profile" --gpu a100 --vary gpus=1,2 --shard 3/7 --csv
[ "$rc" -eq 0 ] && [ ! -s "$work/out" ] || fail 'a part without points'
run sweep "$profile" --gpu a100 --vary gpus=1,2 --shard 1/2 -o "$work/part.csv"
[ "$rc" -eq 0 ] && [ ! -s "$work/out" ] || fail 'a part has no answers'
head -n 2 "$work/one.csv" | cmp -s - "$work/part.csv" || fail 'a part in a file'
set -- "$profile" --gpu a100 --vary gpus=1,2 --csv
expect_error 2 'is not K/N' sweep "$@" --shard 3/2
expect_error 2 'is not K/N' sweep "$@" --shard 0/2
expect_error 2 'is not K/N' sweep "$@" --shard 2
expect_error 2 'a job .* needs all points' sweep "$@" --shard 1/2 --samples 1000
expect_error 2 'plot needs all points' sweep "$@" --shard 1/2 --plot "$work/x.svg"
expect_error 2 'html needs all points' sweep "$@" --shard 1/2 --html "$work/x.html"
expect_error 2 'json needs all points' sweep "$profile" --gpu a100 --vary gpus=1,2 --json --shard 1/2
expect_error 2 'add --csv or --output' sweep "$profile" --gpu a100 --vary gpus=1,2 --shard 1/2

# interrupted as soon as it has written something: whole rows
# sweep_long ARGUMENT...: in the background, where a shell's jobs ignore INT; TERM asks for the same
sweep_long() {
    : >"$work/out"
    "$ADEPT" sweep "$profile" --gpu a100 --vary power_limit_w=100:250:0.001 --vary gpus=1:80:1 "$@" >"$work/out" 2>"$work/err" &
    pid=$!
}
sweep_long --csv
until [ -s "$work/out" ]; do sleep 0.05; done
kill -TERM $pid
rc=0
wait $pid || rc=$?
checks=$((checks + 1))
[ "$rc" -eq 143 ] && grep -q '^adept: interrupted after [0-9]* of 12000080 points$' "$work/err" || fail "interruption is said ($rc)"
awk -F, 'NF != 20 { exit 1 }' "$work/out" || fail 'half rows'
[ "$(tail -c 1 "$work/out" | od -An -c | tr -d ' ')" = '\n' ] || fail 'the last row is cut'
# nothing is left beside a file
mkdir "$work/folder"
sweep_long -o "$work/folder/x"
sleep 1
kill -TERM $pid
wait $pid 2>/dev/null
[ -z "$(ls "$work/folder")" ] || fail "left behind: $(ls "$work/folder")"
# How sure it is: intervals and what is not calibrated in every form, and whether first place is within another's interval.
if python=$(command -v python3); then
    for grid in 'gpu=a100,h100,l4,v100-pcie-32gb' 'gpu=h100,t4' 'gpu=a100,l4 --vary batch=64,128,2000000000' 'precision=fp32,bf16 --gpu a100'; do
        # shellcheck disable=SC2086  # words
        expect_ok sweep "$profile" --vary $grid --csv
        mv "$work/out" "$work/points.csv"
        # shellcheck disable=SC2086
        expect_ok sweep "$profile" --vary $grid
        mv "$work/out" "$work/said.txt"
        # shellcheck disable=SC2086
        expect_ok sweep "$profile" --vary $grid --json
        checks=$((checks + 1))
        "$python" - "$work/points.csv" "$work/out" "$work/said.txt" >"$work/said" 2>&1 <<'END' || { fail "how sure: $grid"; cat "$work/said"; }
import csv, json, sys
rows, whole, said = list(csv.DictReader(open(sys.argv[1]))), json.load(open(sys.argv[2])), open(sys.argv[3]).read()
for row, point in zip(rows, whole["points"], strict=True):
    interval = point["interval"]
    assert row["calibrated"] == {True: "true", False: "false", None: ""}[point["calibrated"]], (row, point)
    ends = [(interval or {}).get(key) or [None] * 2 for key in ("step_time_s", "power_avg_w")]
    for name, end in zip(("step_time_low_s", "step_time_high_s", "power_low_w", "power_high_w"), ends[0] + ends[1]):
        assert row[name] == "" if end is None else abs(float(row[name]) / end - 1) < 1e-12, (row, point)
per = "batch" in rows[0]
fits = [p for p in whole["points"] if p["fits"]]
scale = lambda p: p["samples_per_s"] * p["step_time_s"] if per else 1
best = min(fits, key=lambda p: p["step_time_s"] / scale(p))
high = best["interval"]["step_time_s"][1] / scale(best)
rivals = [p for p in fits if p is not best and p["interval"]["step_time_s"][0] / scale(p) < high]
answers = whole["answers"]
assert (answers["rival"] is not None) == bool(rivals), (answers["rival"], rivals)
assert ("first place by step_time_s is not sure" in said) == bool(rivals)
uncalibrated = sum(p["calibrated"] is False for p in fits)
assert (f"{uncalibrated} of {len(rows)} points are not calibrated" in said) == (uncalibrated > 0), said
assert all(f" {w}\n" in said for w in answers["warnings"])
END
    done
fi
# a GPU's name that leaves its form open is said to be taken for one, by every command and once
mlp=$data/mlp.profile.json
printf 'model,step_time_s,avg_power_w,precision\nmlp.profile.json,0.01,200,fp32\nmlp.profile.json,0.011,200,fp32\n' >"$work/rows.csv"
for words in "sweep $mlp --gpu A100-80GB --vary batch_size=16" "gpus A100-80GB" "sweep $mlp --vary gpu=A100-80GB,t4" \
    "sweep $mlp --one-at-a-time --gpu A100-80GB --vary gpu=A100-80GB,t4" "profile $mlp --by kind --gpu A100-80GB" \
    "plan $mlp --gpu A100-80GB --gpus 2 --global-batch 32" "predict $mlp --gpu A100-80GB" "explain $mlp --gpu A100-80GB" \
    "diff $mlp $mlp --gpu A100-80GB" "evaluate $work/rows.csv --models $data --gpu A100-80GB" \
    "calibrate $work/rows.csv --models $data --gpu A100-80GB --from-sheet -o $work/fit.json"; do
    run $words
    grep -q 'built without' "$work/err" && continue # GSL and NLopt
    checks=$((checks + 1))
    times=$(cat "$work/out" "$work/err" | grep -c "GPU 'A100-80GB' is taken as a100-sxm-80gb")
    [ "$rc" -eq 0 ] && [ "$times" -eq 1 ] || fail "$words: $rc, said $times times: $(cat "$work/err")"
done
finish
