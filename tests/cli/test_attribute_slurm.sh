# adept attribute --slurm: recordings by hand, with jobs as sacct tells them: tables, JSON, CSV, the loop to evaluate, hostile texts.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_python json,zlib
PYTHONPATH=$ADEPT_SOURCE_DIR/tests/cli
export PYTHONPATH
cd "$work" || exit 1

"$python" - <<'MAKE'
from activity_file import Recording
N = float("nan")
# n1: jobs 1 and 2, 3 : 1 in CPU time and memory, a daemon, two GPUs; job 5, which adept placed, holds one of them
n1 = Recording("n1", 1000, [("cpu-0", "cpu", 80), ("dram-0", "dram", 10), ("gpu-0", "gpu", 300), ("gpu-1", "gpu", 50), ("node", "node", 528)],
               [(10, 1000, 1, "python"), (11, 1001, 2, "python"), (12, 0, -1, "daemon"), (13, 1000, 5, "train"), (14, 1002, 77, "\x1b[31m,\"x")])
for k in range(20):
    n1.interval(3.0, [(0, 1.5, 3e9), (1, 0.5, 1e9), (2, 0.25, 0), (3, 0.5, 4e9), (4, 0.25, 0)], [(3, 2, 0.42, 20e9)])
n1.write("n1.adept")
# n2: job 1 as well, and only a meter of the node
n2 = Recording("n2", 1000, [("pdu", "node", 100)], [(10, 1000, 1, "python"), (20, 1000, -1, "later")])
for k in range(20):
    n2.interval(1.0, [(0, 1.0, N)])
n2.write("n2.adept")
MAKE
cat >jobs.txt <<'EOF'
JobID|JobIDRaw|User|Account|State|Partition|Start|End|ElapsedRaw|AllocTRES|NodeList|AdminComment
1|1|ada|lab|COMPLETED|cpu|1000|1020|20|cpu=4,node=2|n[1-2]|
2|2|bob|lab|CANCELLED by 0|cpu|1000|1020|20|cpu=1,node=1|n1|
4_1|5|ada|ml|COMPLETED|gpu|1000|1020|20|cpu=1,gres/gpu=1,node=1|n1|adept: partition=gpu gpu=a100-sxm-40gb gpus=1 batch=256 steps=1000 time_s=16 power_w=250 energy_j=5000 objective=time parameters=transferred profile=mlp
9|9|ada|ml|COMPLETED|gpu|5000|5020|20|cpu=1,gres/gpu=1,node=1|n1|
EOF

# ---- all of it
expect_ok attribute --slurm n1.adept n2.adept --sacct jobs.txt --gpu-memory 40GB --carbon 500 --pue 2 --json
cp out report.json
"$python" - <<'CHECK' || fail "the report"
import json
r = json.load(open("report.json"))
rows = {row["job"]: row for row in r["rows"]}
def near(a, b): assert abs(a - b) <= 1e-4 * abs(b), (a, b)
assert r["schema_version"] == 1 and r["kind"] == "jobs" and set(rows) == {"1", "2", "5", "77"}, rows.keys()
near(rows["1"]["cpu_j"], 1600 * 1.5 / 3 + 2000)   # n1 by its package, n2 by its own meter
near(rows["2"]["cpu_j"], 1600 * 0.5 / 3)
near(rows["1"]["dram_j"], 200 * 3 / 8)
near(rows["5"]["gpu_j"], 6000)                    # it holds gpu-0 alone; gpu-1 is nobody's
near(r["idle"]["gpu_j"], 1000)
near(r["system"]["cpu_j"], 1600 * 0.25 / 3)
assert rows["77"]["state"] == "UNKNOWN" and rows["77"]["user"] is None
assert rows["5"]["name"] == "4_1" and rows["2"]["state"] == "CANCELLED"
near(rows["5"]["gpu_sm"]["mean"], 0.42); near(rows["5"]["gpu_memory"]["mean"], 0.5)
assert len(r["gpu_sm"]["time_s"]) == 20 and abs(sum(r["gpu_sm"]["time_s"]) - 20) < 1e-9
near(rows["2"]["co2e_g"], rows["2"]["energy_j"] / 3.6e6 * 1000)
assert r["carbon_intensity"] == {"g_per_kwh": 500, "place": None, "year": None, "source": "given"}, r["carbon_intensity"]
near(r["not_completed_share"], rows["2"]["energy_j"] / r["jobs"]["energy_j"])
assert r["not_completed"]["jobs"] == 1 and r["not_ended"]["jobs"] == 1 and r["jobs"]["jobs"] == 4
parts = sum(r[k]["energy_j"] for k in ("jobs", "system", "idle"))
assert abs(parts - r["all"]["energy_j"]) <= 1e-9 * parts
near(parts, 20 * (80 + 10 + 300 + 50 + 100))
near(r["nodes"][0]["node_meter_j"] / r["nodes"][0]["beside_j"], 1.2)
assert [n["cpu_by"] for n in r["nodes"]] == ["cpu", "node"]
p = rows["5"]["predicted"]
near(p["time_s"]["ratio"], 20 / 16); near(p["gpu_energy_j"]["ratio"], 6000 / 5000)
assert p["profile"] == "mlp" and rows["1"]["predicted"] is None
CHECK

# ---- as text, with the pseudo jobs; and what a name may hold
expect_ok attribute --slurm n1.adept n2.adept --sacct jobs.txt --carbon FR
shows '^Job +User +Partition +State +Time +CPU time +CPU +DRAM +GPU +Energy +Share +CO2e'
shows '^4_1 +ada +gpu +COMPLETED'
shows '^\(system\)'
shows '^\(idle\)'
shows '^1 of 4 jobs did not complete: 292 J, [0-9.]+ % of all jobs.? energy'
shows '^CO2e: [0-9.]+ g CO2e/kWh, France, average of 2023 \(Our World in Data'
shows '^1 had not ended, or their state is not known'
shows '^4_1 +mlp +1 x a100-sxm-40gb +16.0 s +20.0 s +\+25.0 % +5.00 kJ +6.00 kJ +\+20.0 %'
shows 'Multiprocessors of GPUs that jobs held: mean 42.0 %'
shows '^n1 .* x 1.200$'

for key in user account partition state node; do
    expect_ok attribute --slurm n1.adept n2.adept --sacct jobs.txt --by $key --csv
    "$python" - "$key" "$work/out" <<'CHECK' || fail "--by $key"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[2])))
total = sum(float(row["energy_j"]) for row in rows)
assert abs(total - 10800) < 1e-3, total
names = {row[sys.argv[1]] for row in rows}
expected = {"user": {"ada", "bob", "uid 1002"}, "account": {"lab", "ml", "(unknown)"}, "partition": {"cpu", "gpu", "(unknown)"},
            "state": {"COMPLETED", "CANCELLED", "UNKNOWN"}, "node": {"n1", "n2"}}[sys.argv[1]]
assert names == expected | {"(system)", "(idle)"}, names
CHECK
done

# ---- a GPU in MIG, whose slices two jobs hold; and one that a process of another PID namespace uses
"$python" - <<'MAKE'
from activity_file import NOT_VISIBLE, Recording
N = float("nan")
mig = Recording("n3", 1000, [("cpu-0", "cpu", 80), ("gpu-0", "gpu", 200), ("gpu-1", "gpu", 100)],
                [(10, 1000, 1, "a"), (11, 1001, 2, "b"), (645400, 0, -1, "(not visible)", NOT_VISIBLE)])
for k in range(3):
    mig.interval(1.0, [(0, 0.5, 1e9), (1, 0.5, 1e9)], [(0, 1, N, 1e9, 1, 3), (1, 1, N, 1e9, 9, 1), (2, 2, 0.6, N)])
mig.write("n3.adept")
MAKE
expect_ok attribute --slurm n3.adept
shows '^1 .* 450 J +0 J to 600 J '
shows '^2 .* 150 J +0 J to 600 J '
shows '^\(not visible here\) .* 300 J '
shows '^All +3.00 s +240 J +900 J +1.14 kJ' # without a range
shows 'n3: for 3.00 s jobs shared a GPU by MIG, .* given out by the slices'
shows 'n3: gpu-1 was used by process 645400, not visible where it was recorded'
expect_ok attribute --slurm n3.adept --csv
shows '^job,.*,gpu_low_j,gpu_high_j$'
shows '^\(not visible here\),.*,300,300$'
expect_ok attribute --slurm n3.adept --json
"$python" -c 'import json
r = json.load(open("out"))
rows = {row["job"]: row for row in r["rows"]}
assert rows["1"]["gpu_range_j"] == [0, 600] and abs(rows["1"]["gpu_j"] - 450) < 1e-6 and r["idle"]["gpu_range_j"] == [0, 0] and r["jobs"]["gpu_range_j"] == [0, 900]
assert abs(r["not_visible"]["gpu_j"] - 300) < 1e-6 and abs(sum(r[k]["energy_j"] for k in ("jobs", "system", "idle", "not_visible")) - r["all"]["energy_j"]) < 1e-6' ||
    fail "ranges as JSON"

# ---- how energy is given out
energy_of() { # JOB PART ARGUMENTS...
    job=$1 part=$2
    shift 2
    expect_ok attribute --slurm "$@" --json
    "$python" -c 'import json, sys
r = json.load(open("out")); j = [row for row in r["rows"] if row["job"] == sys.argv[1]]
value = (j[0] if j else r[sys.argv[1]])[sys.argv[2]]
print("null" if value is None else "%.6g" % value)' "$job" "$part"
}
is() { # VALUE EXPECTED WHAT
    checks=$((checks + 1))
    [ "$1" = "$2" ] || fail "$3: $1 instead of $2"
}
is "$(energy_of 1 cpu_j n1.adept --cpu-base capacity)" 600 "of 4 processors' time"
is "$(energy_of idle cpu_j n1.adept --cpu-base capacity)" 400 "idle of 4 processors' time"
is "$(energy_of 5 gap_j n1.adept --gap proportional)" "$(energy_of 5 energy_j n1.adept | awk '{ print $1 * 0.2 }')" "the gap by the node's meter"
is "$(energy_of all gap_j n1.adept --gap 7W)" 140 "a gap of 7 W"
is "$(energy_of all gap_j n1.adept)" null "no gap"
cat >idle.json <<'EOF'
{"schema_version": 1, "kind": "idle", "hosts": {"n1": {"cpu": {"alpha_j": 0, "beta_w": 20, "alpha_se_j": 1, "beta_se_w": 1, "rmse_j": 1, "r2": 1, "n": 5}}}}
EOF
is "$(energy_of idle cpu_j n1.adept --cpu-idle separate --idle idle.json)" 400 "idle first"
is "$(energy_of 1 cpu_j n1.adept --cpu-idle separate --idle idle.json)" 600 "and what is left by processor time"
sed 's/"n1"/"n2"/' idle.json >other.json
expect_ok attribute --slurm n2.adept --cpu-idle separate --idle other.json
shows 'n2: --idle FILE does not say what the node, .* nothing goes to idle first'
printf 'PID JOBID STEPID LOCALID GLOBALID\n12 2 batch 0 0\n' >pids
is "$(energy_of system cpu_j n1.adept --listpids pids)" 0 "a process of listpids"
cat >jobcomp <<'EOF'
JobId=1 UserId=eve(1000) GroupId=eve(1000) Name=x JobState=TIMEOUT Partition=cpu TimeLimit=1 StartTime=Unknown EndTime=Unknown NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/ Account=lab
EOF
expect_ok attribute --slurm n1.adept --jobcomp jobcomp
shows '^1 +eve +cpu +TIMEOUT'
"$ADEPT" attribute --slurm n1.adept --sacct - <jobs.txt >out 2>err || fail "sacct from standard input"
shows '^4_1 '

# ---- what was measured becomes a row, and evaluate reads it
mkdir profiles
cp "$data/mlp.profile.json" profiles/
expect_ok attribute --slurm n1.adept n2.adept --sacct jobs.txt --models profiles --calibrate-rows rows.csv
is "$(wc -l <rows.csv)" 2 "one row: of the job that adept placed"
# values ROWS COLUMN...: of its first row, by the header's names
values() {
    awk -F, -v names="$*" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR == 2 { n = split(names, name, " "); for (i = 2; i <= n; i++) printf "%s%s", $at[name[i]], i < n ? "," : "\n" }' "$1"
}
is "$(values rows.csv model gpu mode precision batch_size optimizer_impl execution framework grad_scaler gpus step_time_s avg_power_w power_scope)" \
    "mlp,a100-sxm-40gb,train,fp32,256,auto,eager,torch2,false,1,0.02,300,gpu" "the row"
sed 's/profile=mlp/x/' jobs.txt >old.txt
expect_ok attribute --slurm n1.adept --sacct old.txt --models profiles --calibrate-rows none.csv
shows 'job 5: no row: its profile is not known: ask sacct for Comment as well'
[ ! -e none.csv ] || fail "a file without rows"
sed 's/profile=mlp/x/; 1s/$/|Comment/; 2,$s/$/|/; s/^\(4_1.*\)$/\1adept:mlp steps=1000/' jobs.txt >old.txt
expect_ok attribute --slurm n1.adept --sacct old.txt --models profiles --calibrate-rows rows.csv
is "$(sort -u rows.csv | wc -l)" 2 "the same row by the comment"
sed '/^4_1/s/1020/1030/' jobs.txt >long.txt
expect_ok attribute --slurm n1.adept --sacct long.txt --models profiles --calibrate-rows part.csv
shows 'job 5: its row has no power: no GPU of it was recorded from begin to end'
is "$(values part.csv step_time_s avg_power_w power_scope)" "0.02,," "a row without power"
if "$ADEPT" evaluate --help 2>/dev/null | grep -q MEASUREMENTS; then
    expect_ok evaluate rows.csv part.csv --gpu a100-sxm-40gb --models profiles --json
    "$python" -c 'import json
r = json.load(open("out"))["rows"]
assert len(r) == 3 and r[0]["measured"]["step_time_s"] == 0.02 and r[0]["measured"]["power_avg_w"] == 300, r' || fail "evaluate's rows"
fi

# ---- wrong usage, bad files
cp n1.adept copy.adept
expect_error 2 'needs a RECORDING' attribute --slurm
expect_error 2 '1 files for 2 recordings' attribute --slurm n1.adept n2.adept --listpids pids
expect_error 2 'need each other' attribute --slurm n1.adept --idle idle.json
expect_error 2 'need each other' attribute --slurm n1.adept --cpu-idle separate
sed 's/profile=mlp/profile=gone/' jobs.txt >gone.txt
expect_ok attribute --slurm n1.adept --sacct gone.txt --models profiles --calibrate-rows none.csv
shows 'job 5: no row: profiles/gone.profile.json: cannot open'
expect_error 2 'need each other' attribute --slurm n1.adept --calibrate-rows rows.csv
expect_error 2 'exclude each other' attribute --slurm n1.adept --json --csv
expect_error 2 'at least 1 is needed' attribute --slurm n1.adept --gap-factor 0.9
expect_error 2 'needs --gap proportional' attribute --slurm n1.adept --gap none --gap-factor 1.19
expect_error 2 'is not none, proportional or a number of watts' attribute --slurm n1.adept --gap 5J
expect_error 2 "'Germny' is not a number, nor a zone; did you mean 'Germany'\?$" attribute --slurm n1.adept --carbon Germny
expect_error 2 'too small' attribute --slurm n1.adept --pue 0.5
expect_error 2 'is not one of job, user' attribute --slurm n1.adept --by colour
expect_error 2 'standard input' attribute --slurm n1.adept --sacct - --jobcomp -
expect_error 3 'none.adept: cannot open: No such file' attribute --slurm none.adept
expect_error 3 'n1.adept, copy.adept: both are of n1 at one time' attribute --slurm n1.adept copy.adept
expect_error 3 'jobs.txt' attribute --slurm jobs.txt
printf 'JobID|State\n1|COMPLETED\n\033[2Jx|FAILED\n' >hostile
expect_error 3 "hostile:3: column JobID: .*2Jx. is not a job's number" attribute --slurm n1.adept --sacct hostile
printf 'JobID|State|User\n1|COMPLETED|\033[2J<b>,"\n' >hostile
expect_ok attribute --slurm n1.adept --sacct hostile
! grep -q "$(printf '\033')" out || fail "a control character of a name reaches the terminal"
expect_ok attribute --slurm n1.adept --sacct hostile --csv
"$python" -c 'import csv; assert [r for r in csv.DictReader(open("out")) if r["job"] == "1"][0]["user"] == "?[2J<b>,\""' || fail "CSV of a hostile name"
expect_error 3 'has no idle runs' attribute --slurm n2.adept --cpu-idle separate --idle idle.json
head -c 1000 n1.adept >cut.adept
expect_ok attribute --slurm cut.adept
shows 'cut.*|ends within a block'
finish
