# adept compare: a prediction against a measured step, two measurements, two predictions; the check; what is not known.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
cd "$work" || exit 1

# prediction FILE TIME POWER ENERGY INTERVAL [SCOPE]
prediction() {
    cat >"$1" <<END
{"schema_version": 1, "model": {"path": "m.pt"}, "gpu": {"name": "a100"}, "config": {"mode": "train", "precision": "fp32", "batch_size": 8, "gpus": 2},
 "step_time_s": $2, "power_avg_w": $3, "energy_step_j": $4, "power_scope": "${6:-gpu}", "interval": $5, "warnings": []}
END
}

# measurement FILE TIME CPU_J GPU_J: a run of ten steps
measurement() {
    cat >"$1" <<END
{"schema_version": 1, "kind": "measured", "host": "n1", "command": ["python3", "train.py"], "exit_status": 0, "time_s": $2,
 "sensors": [{"name": "cpu-0", "component": "cpu", "origin": "measured", "summed": true, "lost": null},
             {"name": "dram", "component": "dram", "origin": "estimated", "summed": true, "lost": null},
             {"name": "gpu-0", "component": "gpu", "origin": "measured", "summed": true, "lost": ${5:-null}}],
 "total": {"energy_j": ${6:-500}, "interval_j": [490, 510], "avg_power_w": 50},
 "by_component": {"cpu": {"energy_j": $3, "interval_j": null, "avg_power_w": 10}, "gpu": {"energy_j": $4, "interval_j": null, "avg_power_w": 40}},
 "regions": [{"name": "step", "count": 10,
   "time_s": {"mean": 0.2, "sd": 0.01, "least": 0.19, "most": 0.22, "total": 2, "interval95": [0.19, 0.21]},
   "energy_j": {"mean": 60, "sd": 1, "interval95": [59, 61]}, "avg_power_w": 300,
   "gpu": {"energy_j": {"mean": 50, "sd": 1, "interval95": [49, 51]}, "avg_power_w": 250}}],
 "repeats": null, "missing": [], "warnings": ["the clock was changed"]}
END
}

# json EXPRESSION: of the last run's JSON, as d; rows by name as r
json() {
    checks=$((checks + 1))
    python3 - "$work/out" "$1" >"$work/err" 2>&1 <<'END' || fail "$1"
import json, sys
d = json.load(open(sys.argv[1]))
r = {row["name"]: row for row in d["rows"]}
assert eval(sys.argv[2]), json.dumps(d, indent=1)
END
}

prediction p.json 0.21 240 50.4 '{"level": 0.8, "step_time_s": [0.18, 0.25], "power_avg_w": [251, 300]}'
measurement m.json 3 30 120

# a prediction against a measured step: GPUs only, percent of what was measured, whichever stands first
expect_ok compare p.json m.json
shows '^A  p.json: m.pt on 2 x a100, train, fp32, batch 8$'
shows '^B  m.json: n1 python3 train.py, region step, 10 times$'
shows '^Differences are A - B, in percent of B\.$'
shows '^step time +210 ms +180 ms to 250 ms +predicted +200 ms +190 ms to 210 ms +measured +\+10\.0 ms +\+5\.0 % +overlap$'
shows '^average power +240 W +251 W to 300 W +predicted +250 W +measured +-10\.0 W +-4\.0 % +apart$'
shows '^energy of a step +50\.4 J +predicted +50\.0 J +49\.0 J to 51\.0 J +measured +\+400 mJ +\+0\.8 % +overlap$'
shows 'm.json: the clock was changed'
if grep -q 'PASS\|FAIL' "$work/out"; then fail "a check that nobody asked for"; fi
sed 's/"name": "step", "count": 10,/"name": "step", "count": 1,/' m.json >once.json
expect_ok compare p.json once.json
shows 'region step, 1 time$'
expect_ok compare m.json p.json
shows '^Differences are B - A, in percent of A\.$'
shows '^step time .* \+10\.0 ms +\+5\.0 % '

# of the whole node where the prediction is
prediction node.json 0.2 300 60 null node
expect_ok compare node.json m.json --within 0
shows '^energy of a step +60\.0 J .* 0 % .* PASS$'
shows '^PASS: 3 of 3 within 0 %$'

# the check
expect_ok compare p.json m.json --within 5
shows '^PASS: 3 of 3 within 5 %$'
run compare p.json m.json --within 4.5
checks=$((checks + 1))
[ "$rc" -eq 7 ] && [ "$(cat "$work/err")" = 'adept: 1 of 3 are not within 4.5 %: step time +5 %' ] || fail "exit code $rc of a check that fails"
shows '^step time .* FAIL$'
shows '^FAIL: 2 of 3 within 4\.5 %$'
expect_ok compare p.json m.json --within 4.5 --only power,energy
shows '^PASS: 2 of 2'

# two predictions
prediction other.json 0.1 240 24 null
expect_ok compare p.json other.json
shows '^Differences are B - A, in percent of A\.$'
shows '^step time .* -110 ms +-52\.4 % +apart$'

# products only where they are asked for: they would fail a check of time and energy
expect_ok compare p.json m.json --only energy,edp,ed2p
shows '^EDP +10\.6 J s +predicted +10\.0 J s +measured +\+0\.584 J s +\+5\.8 %'
shows '^ED2P +2\.22 J s\^2 +predicted +2\.00 J s\^2 +measured +\+0\.223 J s\^2 +\+11\.1 %'
echo '{"schema_version": 1, "goals": [{"metric": "ED2P", "direction": "lower", "threshold_percent": 1}]}' >goal.json
run compare m.json p.json --goal goal.json
checks=$((checks + 1))
[ "$rc" -eq 7 ] || fail "exit code $rc of an ED2P that rises"
expect_error 2 'the files have none of these numbers' compare p.json m.json --only other

# a number that is not known is none, and passes no check
prediction unknown.json 0.2 null null null
run compare unknown.json m.json --within 50
checks=$((checks + 1))
[ "$rc" -eq 7 ] && grep -q 'adept: 2 of 3 are not within 50 %: average power not known, energy of a step not known' "$work/err" ||
    fail "exit code $rc of what is not known"
shows '^average power +- +predicted +250 W +measured +- +- +FAIL$'
expect_ok compare unknown.json m.json --within 50 --only time
measurement lost.json 3 30 null '"gone after 1 s: an error"' null
run compare m.json lost.json --within 50
checks=$((checks + 1))
[ "$rc" -eq 7 ] && grep -q ': energy not known, gpu energy not known$' "$work/err" || fail "exit code $rc of a sensor that was lost"
shows 'lost.json: gpu-0: gone after 1 s: an error'

expect_error 3 "m.json: has no region 'epoch', which a prediction is compared with; it has: step" compare p.json m.json --region epoch
expect_error 2 '--region is for a prediction and a measurement' compare m.json m.json --region step
expect_error 2 "--only: 'watts' is not one of time, power, energy" compare p.json m.json --only time,watts
expect_error 2 'needs two files' compare p.json
expect_error 2 "--within: '5%' is not a number" compare p.json m.json --within 5%
expect_error 3 'nowhere.json' compare p.json nowhere.json
echo '{"schema_version": 1, "kind": "merged"}' >merged.json
expect_error 3 'merged.json: neither `adept predict --json` nor `adept measure --json` wrote it' compare p.json merged.json
echo '{"schema_version": 2, "kind": "measured"}' >newer.json
expect_error 3 'newer.json: .*schema_version is not 1' compare p.json newer.json
for text in '[]' '3' '{"schema_version": 1, "step_time_s": "x", "interval": [1], "model": 7}' \
    '{"schema_version": 1, "kind": "measured", "sensors": 3, "total": [], "by_component": [1, {}], "regions": [1, {"name": 2}], "repeats": 7}'; do
    echo "$text" >odd.json
    run compare odd.json odd.json --json
    checks=$((checks + 1))
    [ "$rc" -eq 0 ] || [ "$rc" -eq 3 ] || fail "exit code $rc of $text"
done

if command -v python3 >/dev/null 2>&1; then
    expect_ok compare p.json m.json --within 5 --json
    json 'd["schema_version"] == 1 and d["kind"] == "comparison" and d["reference"] == "b"'
    json '[d[s]["kind"] for s in "ab"] == ["predicted", "measured"] and list(r) == ["step time", "average power", "energy of a step"]'
    json 'r["step time"]["a"] == {"value": 0.21, "interval": [0.18, 0.25], "interval_of": "80 % of measurements", "origin": "predicted"}'
    json 'r["step time"]["b"]["interval_of"] == "95 % of means" and abs(r["step time"]["percent"] - 5) < 1e-9 and r["step time"]["unit"] == "s"'
    json 'r["average power"]["b"] == {"value": 250, "interval": None, "interval_of": None, "origin": "measured"}'
    json 'r["average power"]["intervals_overlap"] is False and r["energy of a step"]["intervals_overlap"] is True'
    json 'd["check"]["passed"] is True and all(row["within"] for row in d["rows"]) and d["warnings"] == ["m.json: the clock was changed"]'
    expect_ok compare p.json other.json --json
    json 'd["check"] is None and r["average power"]["within"] is None and r["average power"]["difference"] == 0'

    # two measurements: in total, by component, by region; the sum of what is measured and estimated is both
    expect_ok compare m.json m.json --json
    json 'list(r) == ["time", "power", "energy", "cpu power", "cpu energy", "gpu power", "gpu energy"] + ["region step: " + q for q in ("time", "power", "energy")]'
    json 'all(row["difference"] == 0 and row["percent"] == 0 for row in d["rows"])'
    json 'r["energy"]["a"] == {"value": 500, "interval": [490, 510], "interval_of": "readings", "origin": "measured and estimated"}'
    json 'r["region step: energy"]["a"]["value"] == 60 and r["gpu energy"]["a"]["origin"] == "measured"'
    expect_ok compare m.json lost.json --json
    json 'r["gpu energy"]["b"]["value"] is None and r["gpu energy"]["difference"] is None and r["gpu energy"]["intervals_overlap"] is None'

    # of repeats the mean is compared, with its interval; a component's energy is that of one
    sed 's/"repeats": null/"repeats": {"name": "repeat", "count": 5, "time_s": {"mean": 0.6, "interval95": [0.5, 0.7]}, "energy_j": {"mean": 100, "interval95": [99, 101]}, "avg_power_w": 50}/' m.json >repeats.json
    expect_ok compare repeats.json m.json --json
    json 'r["time"]["a"]["value"] == 0.6 and r["time"]["a"]["interval"] == [0.5, 0.7] and r["energy"]["a"]["value"] == 100'
    json 'r["cpu energy"]["a"]["value"] == 6 and r["cpu power"]["a"]["value"] == 10'

    # a region that only one has
    sed 's/"name": "step"/"name": "epoch"/' m.json >epoch.json
    expect_ok compare m.json epoch.json --json
    json 'r["region step: time"]["b"] is None and r["region epoch: time"]["a"] is None and r["region epoch: time"]["b"]["value"] == 0.2'
fi

# what adept writes itself
expect_ok predict "$data/mlp.profile.json" --gpu a100 --json
cp "$work/out" "$work/own.json"
expect_ok compare own.json own.json --within 0
shows '^PASS: 3 of 3'
expect_ok predict "$data/mlp.profile.json" --gpu a100 --json --batch 512
cp "$work/out" "$work/larger.json"
run compare own.json larger.json --within 1
checks=$((checks + 1))
[ "$rc" -eq 7 ] || fail "exit code $rc of a larger batch"
# step 6 of docs/METHOD.md: five runs before and after a change, by the goals that the document shows
if [ -n "${ADEPT_FAKE_NVML:-}" ]; then
    awk '/^<!-- file: measured.json -->/ { on = 1; next } on && /^```/ { if (inside) exit; inside = 1; next } inside' \
        "$ADEPT_SOURCE_DIR/docs/METHOD.md" >measured.json
    export ADEPT_NVML_LIBRARY="$ADEPT_FAKE_NVML"
    FAKE_NVML=power=constant:200 run measure --devices gpu --period 10ms --repeat 5 --json -o before.json -- sleep 0.4
    FAKE_NVML=power=constant:100 run measure --devices gpu --period 10ms --repeat 5 --json -o after.json -- sleep 0.2
    expect_ok compare before.json after.json --goal measured.json --json
    json "d['goal']['passed'] and d['goal']['is_validation'] and all(g['origin'] == 'measured' for g in d['goal']['goals'])"
    json "[g['interval95_percent'][0] < g['change_percent'] < g['interval95_percent'][1] < -10 for g in d['goal']['goals']] == [True, True]"
    run compare after.json before.json --goal measured.json
    checks=$((checks + 1))
    [ "$rc" -eq 7 ] || fail "exit code $rc of a change that made it worse"
    shows '^energy_j .* measured +FAIL$'
fi
finish
