# adept attribute fit and report: recordings of processes whose energy is known, written as the recorder writes them.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
cd "$work" || exit 1

"$ADEPT_MAKE_RECORDING" node.rec 12 1200 0.01 1.5 3 >truth || exit 1
"$ADEPT_MAKE_RECORDING" other.rec 5 200 0.01 0 4 n2 >/dev/null || exit 1
"$ADEPT_MAKE_RECORDING" short.rec 5 20 0.01 0 4 >/dev/null || exit 1

# json EXPRESSION: of the last run's JSON, as d; groups by name as g; true shares by name as t
json() {
    checks=$((checks + 1))
    python3 - "$work/out" "$1" >"$work/err" 2>&1 <<'END' || fail "$1"
import json, sys
d = json.load(open(sys.argv[1]))
g = {row["name"]: row for row in d.get("groups", [])}
t = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in open("truth")}
assert eval(sys.argv[2]), json.dumps(d, indent=1)[:3000]
END
}

# what is learnt
expect_ok attribute fit node.rec -o model.json
shows '^n1: 1200 of 1200 intervals of 1 s; energy of node, 1\.[45][0-9] s late$'
shows '^cpu_time_s +[78]\.[0-9]+ J/s +[78]\.[0-9]+ J/s to [78]\.[0-9]+ J/s '
shows '^static +(59|60)\.[0-9] W '
shows '^last fifth, by the others +240 +0\.9[0-9]+ '
shows '^last fifth, CPU time only +240 '
shows '^last fifth, a constant +240 +-0\.'
cp "$work/out" text
cp model.json first.json
expect_ok attribute fit node.rec --json
json 'd["kind"] == "attribution_model" and d["schema_version"] == 1 and len(d["bootstrap"]["draws"]) == 200'
json '{f["name"]: f["unit"] for f in d["features"]}["block_read_bytes"] == "J/B" and d["quality"]["kkt_residual"] <= 1e-9'
json 'd["quality"]["test"]["mae_percent"] < d["quality"]["baselines"]["cpu_time"]["mae_percent"] < d["quality"]["baselines"]["constant"]["mae_percent"]'
cmp -s "$work/out" first.json || fail "--json and -o differ"
run attribute fit node.rec -o model.json
cmp -s "$work/out" text && cmp -s model.json first.json || fail "the same recording gives another model"
expect_ok attribute fit node.rec -o - --replicates 0 --features cpu_time_s --standardize z --sign free --shrinkage keep --lag -0.5 --lambda2 1
json 'd["lag_s"] == -0.5 and d["standardize"] == "z" and d["sign"] == "free" and d["shrinkage"] == "keep" and d["bootstrap"]["draws"] == []'

ln node.rec linked.rec
expect_error 2 "'linked.rec' is read: it would be written over" attribute fit other.rec node.rec -o linked.rec
expect_error 2 "'node.rec' is read: it would be written over" attribute report node.rec --svg node.rec
rm linked.rec

# what is reported: shares within 3 % of the truth, sums, intervals
expect_ok attribute report node.rec --model model.json --top 12 --json
json 'all(abs(g[name]["share"] / share - 1) < 0.03 for name, share in t.items())'
json 'sum(g[name]["share_interval"][0] <= share <= g[name]["share_interval"][1] for name, share in t.items()) >= 6'
json 'abs(sum(r["energy_j"] for r in d["groups"]) - d["total_j"]) <= 1e-12 * d["total_j"]'
json 'abs(d["total_j"] - d["predicted_j"]) <= 1e-9 * d["total_j"] and abs(d["residual_j"]) < 0.01 * d["total_j"]'
json 'abs(sum(sum(s["values"]) for s in d["series"]["energy_j"]) - d["total_j"]) <= 1e-9 * d["total_j"]'
json 'd["warnings"] == []'
cp "$work/out" report.json
run attribute report node.rec --model model.json --top 12 --json
cmp -s "$work/out" report.json || fail "the same recording gives another report"
expect_ok attribute report node.rec --top 12 --json
json 'all(abs(g[name]["share"] / share - 1) < 0.03 for name, share in t.items())'
expect_ok attribute report node.rec --model model.json --closure scale --json
json 'abs(d["total_j"] - d["measured_j"]) <= 1e-9 * d["total_j"] and "Other" in g'
expect_ok attribute report node.rec --model model.json --by user --static cpu-share
shows '^user +PROCESSES +CPU TIME +ENERGY +SHARE +80 % INTERVAL$'
shows '^uid 1001 +4 '
shows '^sum +[0-9.]+ kJ +100 %$'
shows '^POWER FROM +0 s +2 min 30 s '
shows '^measured [0-9.]+ kJ, predicted [0-9.]+ kJ in the same 20 min 00 s: '
for by in process command cgroup job; do
    expect_ok attribute report node.rec --model model.json --by $by --static equal --top 2
done
shows '^Other +'

# others as if they were not there: what they drew is static then
expect_ok attribute report node.rec --only p11,p7 --json
json 'set(g) == {r["name"] for r in d["groups"]} and {n for n in g if n[0] == "p"} >= {"p11 [111]", "p7 [107]"}'
json 'all(r["energy_j"] == 0 for n, r in g.items() if n[0] == "p" and n[:3] not in ("p11", "p7 ")) and g["static"]["share"] > 0.75'

# over time
expect_ok attribute report node.rec --model model.json --step 60s --top 3 --csv
checks=$((checks + 1))
awk -F, 'NR == 1 { exit $0 == "begin_s,recorded_s,name,energy_j" ? 0 : 1 }' "$work/out" || fail "another title"
checks=$((checks + 1))
awk -F, 'NR > 1 && $3 != "measured" { sum += $4 } $3 == "measured" { measured += $4; n++ }
    END { exit n == 20 && sum / measured > 0.99 && sum / measured < 1.01 ? 0 : 1 }' "$work/out" || fail "20 steps that sum to what was measured"
if command -v gnuplot >/dev/null; then
    run attribute report node.rec --model model.json --svg node.svg
    checks=$((checks + 1))
    if grep -q 'without pictures' "$work/err"; then
        [ "$rc" -eq 1 ] || fail "exit code $rc without pictures"
    elif ! { [ "$rc" -eq 0 ] && grep -q '<svg' node.svg && grep -q 'static' node.svg; }; then
        fail "no picture"
    fi
fi

# another machine's model, a recording that grows
expect_ok attribute report other.rec --model model.json
shows "other.rec is of host 'n2', the model of 'n1': weights of another machine may be far off"
head -c 100000 node.rec >cut.rec
expect_ok attribute report cut.rec --model model.json
shows 'cut.rec ends within a block'

# what is refused
expect_error 2 'attribute fit needs a RECORDING' attribute fit
expect_error 2 'attribute report needs a RECORDING' attribute report
expect_error 2 "'joules' is not one of cpu_time_s" attribute fit node.rec --features joules
expect_error 2 'exclude each other' attribute report node.rec --json --csv
expect_error 2 'is not one of separate, cpu-share, equal' attribute report node.rec --static all
expect_error 3 "n1.: a model is of one machine" attribute fit node.rec other.rec
expect_error 3 "no meter 'outlet'; it has: node" attribute fit node.rec --meter outlet
expect_error 3 'nothing.rec' attribute report nothing.rec
expect_error 3 'truth' attribute fit truth
expect_error 3 "node.rec" attribute report node.rec --model node.rec
expect_error 3 "is no model of energy" attribute report node.rec --model report.json
expect_error 5 'short.rec: 20 of 20 intervals' attribute fit short.rec
finish
