# adept simulate: the program from files to reports; threads and shards change nothing; SimPy agrees; bad files are named.
# Engine, policies, inputs and statistics have unit tests of their own.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_python json

cat >"$work/cluster.json" <<'JSON'
{"schema_version": 1, "name": "small", "nodes": [
  {"name": "a", "gpu": "a100-sxm-40gb", "gpus": 4, "host_idle_w": 150, "host_busy_w": 100},
  {"name": "v", "gpu": "v100-sxm2-32gb", "gpus": 4, "count": 2, "host_idle_w": 150, "host_busy_w": 100}],
 "gpus": {"v100-sxm2-32gb": {"idle_w": 43}}}
JSON
sed "s|MODEL|$data/mlp.profile.json|" >"$work/jobs.json" <<'JSON'
{"schema_version": 1, "name": "small", "templates": [
  {"name": "short", "model": "MODEL", "gpus": [1, 2, 4], "batches": [64, 256], "limits": "auto",
   "samples_for_s": {"seconds": 120, "gpu": "a100-sxm-40gb"}},
  {"name": "long", "model": "MODEL", "gpus": [1, 2, 4], "batches": [64, 256], "limits": "auto", "weight": 0.5,
   "samples_for_s": {"seconds": 900, "gpu": "a100-sxm-40gb"}}],
 "arrivals": {"rate_per_s": 0.02, "horizon_s": 7200}, "users": 3, "urgent": {"share": 0.2, "deadline_factor": 3}, "rigid": {"gpus": 2, "batch": 64}}
JSON
# every policy is one of the help and of the document
expect_error 2 "'sfj' is not one of aurachronos, " simulate "$work/cluster.json" "$work/jobs.json" --policy sfj
all=$(sed 's/.* is not one of //; s/ //g' "$work/err")
expect_ok simulate --help
sed -n '/^Policies:/,/^$/p' "$work/out" >"$work/listed"
for policy in $(echo "$all" | tr , ' '); do
    checks=$((checks + 2))
    grep -Eq "(^| )$policy(,| |\$)" "$work/listed" || fail "$policy is not in the help of simulate"
    grep -q "^| $policy |" "$ADEPT_SOURCE_DIR/docs/SIMULATE.md" || fail "$policy has no row in docs/SIMULATE.md"
done
simulate() { run simulate "$work/cluster.json" "$work/jobs.json" "$@"; }

# ---- what docs/SIMULATE.md shows is read
documented() {
    awk -v head="## $1" '$0 == head { on = 1; next } /^##/ { on = 0 } on && /^    / { print; seen = 1; next } on && seen { exit }' \
        "$ADEPT_SOURCE_DIR/docs/SIMULATE.md"
}
documented CLUSTER.json >"$work/documented_cluster.json"
documented JOBS.json >"$work/documented_jobs.json"
expect_ok simulate "$work/documented_cluster.json" "$work/documented_jobs.json" --policy fcfs --json
shares=$(sed -n 's/^- `\("shares": \[.*, \)\.\.\.\]`.*/\1 0.25]/p' "$ADEPT_SOURCE_DIR/docs/SIMULATE.md")
sed "s/\"users\": 5/$shares/" "$work/documented_jobs.json" >"$work/shares.json"
grep -q '"shares"' "$work/shares.json" || fail 'the document shows no shares'
expect_ok simulate "$work/documented_cluster.json" "$work/shares.json" --policy fcfs --json
sed 's/"users": 5/"users": [0.5, 0.5]/' "$work/documented_jobs.json" >"$work/users.json"
expect_error 3 '"users"' simulate "$work/documented_cluster.json" "$work/users.json" --policy fcfs
step_times=$(sed -n 's/^- `\("step_times": {.*}\)`.*/\1/p' "$ADEPT_SOURCE_DIR/docs/SIMULATE.md")
printf 'job_type,gpus,gpu,step_time_s\nmeasured,1,a100-sxm-40gb,0.5\n' >"$work/table.csv"
printf 'job_type,steps,arrival_s,gpus\nmeasured,100,0,1\n' >"$work/trace.csv"
echo "{\"schema_version\": 1, \"name\": \"table\", $step_times}" >"$work/table.json"
expect_ok simulate "$work/documented_cluster.json" "$work/trace.csv" --templates "$work/table.json" --policy fcfs --json

# ---- which board a name of several is
sed 's/a100-sxm-40gb/A100-80GB/g' "$work/documented_cluster.json" >"$work/alias.json"
expect_ok simulate "$work/alias.json" "$work/documented_jobs.json" --policy fcfs --json
shows '"GPU .A100-80GB. is taken as a100-sxm-80gb, which servers usually have"'
sed 's/A100-80GB/a100/' "$work/alias.json" >"$work/alias2.json"
expect_ok simulate "$work/alias2.json" "$work/documented_jobs.json" --policy fcfs
shows "GPU 'a100' is taken as a100-sxm-40gb"
expect_ok simulate "$work/documented_cluster.json" "$work/documented_jobs.json" --policy fcfs --json
if grep -q 'is taken as' "$work/out"; then fail "a full name is taken as another"; fi

# ---- every policy, as text and as JSON, whose numbers hold together
expect_ok simulate "$work/cluster.json" "$work/jobs.json" --policy $all --seeds 3
shows '^thrift +[0-9.]+ '
simulate --policy $all --seeds 3 --cap 2kW --json --jobs-csv "$work/jobs.csv" --power-csv "$work/power.csv" --threads 1
cp "$work/out" "$work/one.json"
checks=$((checks + 1))
[ "$rc" -eq 0 ] || fail "exit code $rc"
"$python" - "$work/one.json" "$work/jobs.csv" "$work/power.csv" <<'CHECK' || fail "the numbers do not hold together"
import csv, json, sys
result = json.load(open(sys.argv[1]))
assert result["kind"] == "simulated"
rows, curve = list(csv.DictReader(open(sys.argv[2]))), list(csv.DictReader(open(sys.argv[3])))
for policy in result["policies"]:
    o = {name: metric["per_seed"] for name, metric in policy["outcome"].items()}
    for i, seed in enumerate(result["seeds"]):
        mine = [row for row in rows if row["policy"] == policy["name"] and int(row["seed"]) == seed]
        assert abs(o["energy_j"][i] - o["jobs_energy_j"][i] - o["idle_energy_j"][i]) < 1e-9 * o["energy_j"][i]
        assert abs(sum(float(row["energy_j"]) for row in mine) - o["jobs_energy_j"][i]) < 1e-9 * o["energy_j"][i]
        assert sum(row["finish_s"] != "" for row in mine) == o["n_finished"][i] and len(mine) == o["n_jobs"][i]
        points = [(float(p["time_s"]), float(p["power_w"])) for p in curve if p["policy"] == policy["name"] and int(p["seed"]) == seed]
        area = sum(w * (t1 - t0) for (t0, w), (t1, _) in zip(points, points[1:] + [(o["end_s"][i], 0)]))
        assert abs(area - o["energy_j"][i]) < 1e-9 * area, (area, o["energy_j"][i])
        for name in ("energy_j", "jobs_energy_j"):  # types of GPU share out all of it
            assert abs(sum(gpu[name]["per_seed"][i] for gpu in policy["by_gpu"]) - o[name][i]) < 1e-9 * o["energy_j"][i]
        if policy["name"] in ("charon", "thrift"):
            assert o["over_cap_s"][i] == 0, policy["name"]
# common random numbers: all policies meet the same jobs
for seed in result["seeds"]:
    streams = {tuple((r["job"], r["submit_s"], r["template"], r["user"]) for r in rows if r["policy"] == p["name"] and int(r["seed"]) == seed)
               for p in result["policies"]}
    assert len(streams) == 1
CHECK

# ---- threads and shards change no byte; asking at every tick changes no outcome
simulate --policy $all --seeds 3 --cap 2kW --json --threads 4
cmp -s "$work/out" "$work/one.json" || fail "threads change the result"
for k in 1 2 3; do
    simulate --policy $all --seeds 3 --cap 2kW --json --shard $k/3
    cp "$work/out" "$work/part$k.json"
done
run simulate --merge --json "$work/part1.json" "$work/part3.json" "$work/part2.json"
cmp -s "$work/out" "$work/one.json" || fail "the sum of shards is not one run"
expect_error 3 'part3' simulate --merge --json "$work/part3.json" "$work/part3.json" "$work/part2.json"
expect_ok simulate --merge "$work/part1.json" "$work/part3.json" "$work/part2.json" --baseline "$work/merged.json" --html "$work/merged.html" -o -
shows '^thrift '
cmp -s "$work/merged.json" "$work/one.json" || fail "the baseline of shards is not one run"
grep -q aurachronos "$work/merged.html" || fail "no page of shards"
expect_error 2 "unknown option '--jobs-csv'" simulate --merge "$work/part1.json" --jobs-csv "$work/no.csv"
expect_error 2 'needs FILES' simulate --merge
expect_error 2 'would be written over' simulate --merge "$work/part1.json" "$work/part2.json" -o "$work/./part2.json"
expect_error 2 'would be written over' simulate "$work/cluster.json" "$work/jobs.json" --policy zeus --jobs-csv "$work/jobs.json"
expect_error 2 'would be written twice' simulate "$work/cluster.json" "$work/jobs.json" --policy zeus --jobs-csv "$work/no.csv" --power-csv "$work/no.csv"
simulate --policy pollux,zeus,aurachronos,easy,thrift --seeds 2 --json --jobs-csv "$work/a.csv"
simulate --policy pollux,zeus,aurachronos,easy,thrift --seeds 2 --json --jobs-csv "$work/b.csv" --never-skip
cmp -s "$work/a.csv" "$work/b.csv" || fail "a skipped tick mattered"

# ---- a grid of loads, caps and clusters: each point is the run that it names
sed 's/"count": 2/"count": 1/' "$work/cluster.json" >"$work/smaller.json"
run simulate "$work/jobs.json" --policy zeus,charon --seeds 2 --vary "cluster=$work/cluster.json,$work/smaller.json" --vary cap=1.5kW,2000 --vary rate=0.01,0.02 --json
cp "$work/out" "$work/grid.json"
simulate --policy zeus,charon --seeds 2 --cap 2kW --json
checks=$((checks + 1))
"$python" - "$work/grid.json" "$work/out" <<'CHECK' || fail "the grid"
import json, sys
points, alone = json.load(open(sys.argv[1]))["points"], json.load(open(sys.argv[2]))
assert [(p["cluster"]["path"][-12:], p["options"]["rate_per_s"], p["cap_w"]) for p in points] == [
    (name, rate, cap) for name in ("cluster.json", "smaller.json") for rate in (0.01, 0.02) for cap in (1500, 2000)]
del points[3]["options"]["rate_per_s"]
assert points[3] == alone
assert len({str(p["policies"]) for p in points}) >= 4  # a cap that all keep changes nothing
CHECK
run simulate "$work/jobs.json" --policy zeus,charon --seeds 2 --vary "cluster=$work/cluster.json,$work/smaller.json" --csv
checks=$((checks + 1))
"$python" - "$work/out" <<'CHECK' || fail "the rows of a grid"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert [row["policy"] for row in rows] == ["zeus", "charon"] * 2 and all(float(row["energy_j"]) > 0 for row in rows), rows
CHECK
simulate --policy zeus --vary rate=0.01,0.02
shows '^0.0200 +zeus '
expect_error 2 "is not cap=W" simulate "$work/cluster.json" "$work/jobs.json" --policy zeus --vary tick=1
expect_error 2 "a value is missing" simulate "$work/cluster.json" "$work/jobs.json" --policy zeus --vary rate=0.1,
expect_error 2 "'rate' twice" simulate "$work/cluster.json" "$work/jobs.json" --policy zeus --vary rate=1 --vary rate=2
expect_error 2 'JOBS alone' simulate "$work/cluster.json" "$work/jobs.json" --policy zeus --vary cluster=a.json
expect_error 2 'exclude each other' simulate "$work/cluster.json" "$work/jobs.json" --policy zeus --vary cap=1kW --cap 1kW
expect_error 2 'make 7.2e.09 jobs' simulate "$work/cluster.json" "$work/jobs.json" --policy zeus --vary rate=1e6
expect_error 2 '--csv is of --vary' simulate "$work/cluster.json" "$work/jobs.json" --policy zeus --csv
expect_error 2 'no --baseline' simulate "$work/cluster.json" "$work/jobs.json" --policy zeus --vary rate=1 --recommend

# ---- the thesis's jobs: their best number of GPUs differs, by kind and by what is minimised; of scenario E a user has half
clusters=$ADEPT_SOURCE_DIR/data/clusters
run simulate "$clusters/thesis.json" "$clusters/thesis_jobs.json" --policy pollux,zeus --noise 10% --json --jobs-csv "$work/thesis.csv"
run simulate "$clusters/thesis.json" "$clusters/thesis_e_jobs.json" --policy pollux,zeus,themis,hades --seeds 10 --noise 10% --fairness printed --json \
    -o "$work/users.json" --jobs-csv "$work/users.csv"
checks=$((checks + 1))
"$python" - "$work/thesis.csv" "$work/users.csv" "$work/users.json" <<'CHECK' || fail "the thesis's jobs"
import collections, csv, json, sys
def gpus(policy, template):
    rows = [int(r["gpus"]) for r in csv.DictReader(open(sys.argv[1])) if r["policy"] == policy and r["template"] == template and r["gpus"]]
    return sum(rows) / len(rows)
for template in ("vit", "albert", "resnet"):
    assert 7 > gpus("pollux", template) > gpus("zeus", template), template
assert gpus("zeus", "resnet") < 1.5 < 2.5 < gpus("zeus", "albert") < 4 < gpus("zeus", "vit")
users = collections.Counter(r["user"] for r in csv.DictReader(open(sys.argv[2])))
assert users["user0"] > 0.4 * sum(users.values()) > 3 * users["user1"] * 0.4, users
jain = {p["name"]: p["outcome"]["jain"]["mean"] for p in json.load(open(sys.argv[3]))["policies"]}
for policy, printed in ("pollux", 0.99), ("zeus", 0.99), ("themis", 0.89), ("hades", 0.89):  # figure 5.7
    assert abs(jain[policy] - printed) < 0.03, jain
CHECK

# ---- an independent simulator
rc=0
simpy=$python
/usr/bin/python3 -c 'import simpy' 2>/dev/null && simpy=/usr/bin/python3
"$simpy" -B "$ADEPT_SOURCE_DIR/tests/simulate/check_simpy.py" "$ADEPT" >"$work/out" 2>"$work/err" || rc=$?
checks=$((checks + 1))
[ "$rc" -eq 0 ] || [ "$rc" -eq 77 ] || fail "SimPy has other times"

# ---- options of the world and of policies
for options in "--rigid" "--noise 10%" "--reality-noise 5%" "--interference 10%" "--no-idle" "--tick 0" "--horizon 30min" "--preempt-loss checkpoint:60" \
    "--age-weight 0" "--fairness printed"; do
    expect_ok simulate "$work/cluster.json" "$work/jobs.json" --policy zeus,themis $options
done
expect_ok simulate "$work/cluster.json" "$work/jobs.json" --policy pollux --placement edp --ordering sjf --limits yes

# ---- wrong usage and bad files
expect_error 2 "'zeus' twice" simulate "$work/cluster.json" "$work/jobs.json" --policy zeus,edp
expect_error 2 'needs --policy' simulate "$work/cluster.json" "$work/jobs.json"
expect_error 2 'not one of all, iteration' simulate "$work/cluster.json" "$work/jobs.json" --policy zeus --preempt-loss some
expect_error 2 'is not K/N' simulate "$work/cluster.json" "$work/jobs.json" --policy zeus --json --shard 4/3
expect_error 3 'nodes' simulate "$work/jobs.json" "$work/jobs.json" --policy zeus
sed 's|"model": "[^"]*"|"model": "nosuch"|' "$work/jobs.json" >"$work/nosuch.json"
expect_error 3 'nosuch.json: short: nosuch: no such file' simulate "$work/cluster.json" "$work/nosuch.json" --policy zeus
echo '{"schema_version": 1, "name": "none", "nodes": []}' >"$work/empty.json"
expect_error 3 'empty.json' simulate "$work/empty.json" "$work/jobs.json" --policy zeus
printf 'job_id,submit_s,user,template,samples,gpus\n1,0,u,short,1e6,64\n' >"$work/trace.csv"
expect_error 3 'trace.csv:2' simulate "$work/cluster.json" "$work/trace.csv" --templates "$work/jobs.json" --policy zeus

# ---- windows of a trace: they sum to the run, and pairs have intervals
"$python" - >"$work/trace.csv" <<'TRACE'
print("job_id,submit_s,user,template,samples,gpus")
for job in range(40):
    print(f"{job + 1},{100 + 97 * job},u{job % 3},{'long' if job % 4 == 0 else 'short'},{5e6 + 1e5 * job:.0f},{(1, 2, 4)[job % 3]}")
TRACE
trace() { run simulate "$work/cluster.json" "$work/trace.csv" --templates "$work/jobs.json" --policy zeus,thrift "$@"; }
trace --json
cp "$work/out" "$work/whole.json"
trace --windows 4 --json --jobs-csv "$work/windows.csv"
checks=$((checks + 1))
"$python" - "$work/out" "$work/windows.csv" "$work/whole.json" <<'CHECK' || fail "windows of a trace"
import csv, json, sys
result = json.load(open(sys.argv[1]))
rows = [row for row in csv.DictReader(open(sys.argv[2])) if row["policy"] == "zeus"]
assert result["options"]["windows"] == 4 and result["seeds"] == [0, 1, 2, 3]
assert sorted(int(row["job"]) for row in rows) == list(range(1, 41))
whole = {p["name"]: p["outcome"] for p in json.load(open(sys.argv[3]))["policies"]}
assert not any("run" in policy for policy in json.load(open(sys.argv[3]))["policies"])
for policy in result["policies"]:
    assert policy["run"] == {name: metric["mean"] for name, metric in whole[policy["name"]].items()}, policy["run"]
    of = {name: metric["per_seed"] for name, metric in policy["outcome"].items()}
    for name in ("energy_j", "jobs_energy_j", "idle_energy_j", "n_finished", "n_jobs", "samples_done", "n_decisions", "end_s"):
        total = whole[policy["name"]][name]["mean"]
        assert abs(sum(of[name]) - total) <= 1e-9 * total, (policy["name"], name, of[name], total)
    length_s = 97 * 39 / 4  # from the first submission to the last
    assert of["end_s"][1:3] == [length_s, length_s] and of["end_s"][0] == 100 + length_s and of["n_jobs"] == [10, 10, 10, 10], of
    mean_s = sum(of["mean_completion_s"]) / 4  # as many jobs in each
    assert abs(mean_s - whole[policy["name"]]["mean_completion_s"]["mean"]) < 1e-6 * mean_s
    assert max(of["peak_power_w"]) == whole[policy["name"]]["peak_power_w"]["mean"]
    assert abs(sum(w * s for w, s in zip(of["mean_power_w"], of["end_s"])) - sum(of["energy_j"])) < 1e-6 * sum(of["energy_j"])
[energy] = [p for p in result["pairs"] if p["metric"] == "energy_j"]
assert energy["seeds"] == 4 and energy["interval95"][0] < energy["difference"] < energy["interval95"][1], energy
CHECK
trace --windows 4
shows 'Mean of 4 windows'
trace --cap 1.5kW
grep -q 'never start' "$work/out" && fail "a warning of a cap that all keep"
run simulate "$work/cluster.json" "$work/trace.csv" --templates "$work/jobs.json" --policy charon --cap 1100
shows 'charon: some jobs never start: even alone, its placement of them exceeds the cap of 1100 W'
# without a cap charon is zeus, and is said to be
if grep -q 'charon: without a power cap' "$work/out"; then fail "a warning of no cap where there is one"; fi
simulate --policy zeus,charon --seeds 1
shows 'charon: without a power cap .* it does as zeus does'
# a kind that never runs is named whatever the horizon is, and completion times of the others alone are not given
run simulate "$work/cluster.json" "$work/trace.csv" --templates "$work/jobs.json" --policy charon,zeus --cap 1100 --horizon 1h --json
checks=$((checks + 1))
"$python" - "$work/out" <<'CHECK' || { cat "$work/out"; fail "a kind of job that never starts"; }
import json, sys
result = json.load(open(sys.argv[1]))
starved = {w.split(":")[0] for w in result["warnings"] if "ever starts" in w}
assert "charon: no job of long ever starts: completion times and waits of such a run are not known" in result["warnings"], result["warnings"]
for policy in result["policies"]:
    times = [policy["outcome"][n]["mean"] for n in ("mean_completion_s", "p50_completion_s", "p95_completion_s", "p99_completion_s", "mean_wait_s")]
    assert all((t is None) == (policy["name"] in starved) for t in times), (policy["name"], times)
    assert policy["outcome"]["censored_completion_s"]["mean"] > 0
CHECK
expect_error 2 'is for traces' simulate "$work/cluster.json" "$work/jobs.json" --policy zeus --windows 4
expect_error 2 'cuts one run into parts' simulate "$work/cluster.json" "$work/trace.csv" --templates "$work/jobs.json" --policy zeus --windows 4 --seeds 2

# ---- a goal, and the page
cat >"$work/goal.json" <<'JSON'
{"schema_version": 1, "reference": "pollux", "candidate": "min-energy", "goals": [{"metric": "energy_j", "direction": "lower", "threshold_percent": 0}]}
JSON
simulate --policy pollux,min-energy --seeds 3 --baseline "$work/base.json"
checks=$((checks + 1))
[ "$rc" -eq 0 ] && grep -q '"sha256"' "$work/base.json" || fail "no baseline"
expect_error 1 'base.json: File exists' simulate "$work/cluster.json" "$work/jobs.json" --policy pollux --baseline "$work/base.json"
run compare "$work/base.json" "$work/base.json" --goal "$work/goal.json"
checks=$((checks + 1))
grep -q 'energy_j' "$work/out" && grep -Eq 'PASS|FAIL' "$work/out" && grep -q simulated "$work/out" || fail "no verdict"
run simulate "$work/cluster.json" "$work/jobs.json" --policy pollux,thrift --seeds 2 --html "$work/page.html"
checks=$((checks + 1))
[ "$rc" -eq 0 ] && grep -q '"drawn":\[{"policy":"pollux"' "$work/page.html" || fail "no page"
finish
