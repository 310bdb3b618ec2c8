# adept calibrate --watch: rows of a folder are fitted when they arrive; a fit that predicts the rows that it never saw worse does not take the
# place of the old one; what drifts is named. Rows are predictions of an A100, slowed down.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_python json
"$ADEPT" calibrate --help >"$work/out" 2>"$work/err" || { echo "skipped: this build has no calibrate"; exit 77; }
rows=$work/rows
mkdir "$rows"
cp "$data/mlp.profile.json" "$rows/"
expect_ok sweep "$data/mlp.profile.json" --gpu a100 --vary batch=16,32,64,128,256,512,1024,2048,4096,8192 --vary precision=fp32,bf16 --csv
mv "$work/out" "$work/predicted.csv"

# write FILE FACTOR HOST WHICH: rows of 20 configurations, a little apart; WHICH: all, or only those that judge (judges) or do not (others)
write() {
    "$python" - "$work/predicted.csv" "$rows/$1" "$2" "$3" "$4" <<'END'
import csv, sys
source, target, factor, host, which = sys.argv[1:]
def fnv(text, value=2166136261):
    for byte in text.encode():
        value = (value ^ byte) * 16777619 & 0xffffffff
    return value
out = []
for i, r in enumerate(csv.DictReader(open(source))):
    for k in range(3 if which == "all" else 15):
        row = {"model": "mlp.profile.json", "batch_size": r["batch"], "precision": r["precision"], "host": host,
               "step_time_s": "%.9g" % (float(r["step_time_s"]) * float(factor) * (1 + 0.002 * ((7 * i + 3 * k) % 5 - 2 + 0.01 * k)))}
        total = sum(fnv("%s=%s" % cell) for cell in row.items() if cell[1]) & 0xffffffff
        judges = (total ^ total >> 16) % 5 == 0
        if which == "all" or judges == (which == "judges"):
            out.append(row)
with open(target, "w", newline="") as file:
    w = csv.DictWriter(file, list(out[0]))
    w.writeheader()
    w.writerows(out)
END
}
# look CODE: one round; its JSON is left in $work/out
look() {
    run calibrate --watch "$rows" --gpu a100 -o "$work/mine.json" --once --json --max-generations 0 --restarts 0 --leave-out none --suggest 0
    checks=$((checks + 1))
    [ "$rc" -eq "$1" ] || fail "exit code $rc instead of $1 of --watch"
}
# check WHAT PYTHON: the last round as `d`
check() {
    checks=$((checks + 1))
    "$python" -c "
import json
d = json.load(open('$work/out'))
$2" >"$work/said" 2>&1 || { fail "$1"; sed 's/^/    /' "$work/said"; }
}

look 3
grep -q 'no \*.csv in it' "$work/err" || fail 'an empty folder'
write a.csv 1.3 n1 all
look 0
check 'the first fit is kept' "
assert d['schema_version'] == 1 and d['kind'] == 'watch' and d['kept'] is True and d['rows'] == 60 and 3 <= d['left_out'] <= 25, d
assert d['error_percent'] < 25 and d['error_before_percent'] is None and d['drift'] == [], d
assert (d['repeats']['configurations'], d['repeats']['rows']) == (20, 60) and 0.1 < d['repeats']['time_sd_percent'] < 0.5, d
assert not any('other files' in w for w in d['warnings']), d"
[ -e "$work/mine.json" ] && [ ! -e "$work/mine.json.1" ] && [ ! -e "$work/mine.json.new.json" ] || fail 'files of the first fit'
expect_ok evaluate "$rows/a.csv" --gpu "$work/mine.json"
cp "$work/mine.json" "$work/first.json"

# rows that pull the fit away from what the others show: it is dropped, and the old one stays as it was
write b.csv 3 n1 others
look 0
check 'a worse fit is dropped' "
assert d['kept'] is False and d['error_percent'] > d['error_before_percent'], d"
cmp -s "$work/mine.json" "$work/first.json" && [ ! -e "$work/mine.json.1" ] || fail 'a fit that was dropped changed the profile'

# the same steps on another day, 15 % longer, which no column says: the file is named
rm "$rows/b.csv"
write day.csv 1.495 n1 all
look 0
check 'a file that is off' "
assert any(w.startswith('$rows/day.csv: its step_time_s is +1') or w.startswith('$rows/a.csv: its step_time_s is -') for w in d['warnings']), d"
rm "$rows/day.csv"
cp "$work/first.json" "$work/mine.json"

# a host that is slower than the others, with the same work: named
write c.csv 1.7 n7 all
look 0
check 'a drift is named' "
found = [x for x in d['drift'] if x['column'] == 'host' and x['value'] == 'n7']
assert len(found) == 1 and 20 < found[0]['time_percent'] < 45 and found[0]['power_percent'] is None and 'sick board' in found[0]['suspect'], d
assert d['rows'] == 120, d"
# everything is as slow now: the new fit is better, and the old one is kept beside it
rm "$rows/a.csv"
write c.csv 2 n1 all
look 0
check 'a better fit is kept' "
assert d['kept'] is True and d['error_percent'] < d['error_before_percent'], d"
cmp -s "$work/mine.json" "$work/first.json" && fail 'the profile is the old one'
checks=$((checks + 1))
cmp -s "$work/mine.json.1" "$work/first.json" || [ -e "$work/mine.json.1" ] || fail 'the old profile is gone'

# it waits for rows until it is told to end; a file that is wrong is said, and does not end it
"$ADEPT" calibrate --watch "$rows" --gpu a100 -o "$work/mine.json" --every 50ms --max-generations 0 --restarts 0 --leave-out none >"$work/out" 2>"$work/err" &
pid=$!
until_says() {
    tries=0
    until grep -q "$1" "$2" || [ $tries -ge 3000 ]; do sleep 0.05; tries=$((tries + 1)); done
    checks=$((checks + 1))
    [ $tries -lt 3000 ] || fail "never: $1"
}
until_says '60 rows, .*: kept' "$work/out"
echo 'model,step_time_s' >"$rows/d.csv"
echo 'mlp.profile.json,soon' >>"$rows/d.csv"
until_says "d.csv:2: column step_time_s: 'soon' is not a number" "$work/err"
kill "$pid"
rc=0
wait "$pid" || rc=$?
[ "$rc" -eq 143 ] || fail "exit code $rc after TERM"

# a fleet's profiles in one file, which --gpu takes by name, and the server whole; the server loads it anew when it changes
rm -f "$rows/d.csv"
run calibrate --watch "$rows" --gpu a100 -o "$work/mine.json" --fleet "$work/fleet.json" --once --max-generations 0 --restarts 0 --leave-out none
[ "$rc" -eq 0 ] || fail 'a fleet'
expect_ok gpus h100 --json
cp "$work/out" "$work/h100.json"
"$python" - "$work" <<'END'
import json, sys
work = sys.argv[1]
fleet = json.load(open(work + "/fleet.json"))
assert fleet["kind"] == "fleet" and [p["name"] for p in fleet["profiles"]] == ["a100-sxm-40gb"], fleet
assert fleet["profiles"][0] == json.load(open(work + "/mine.json"))
fleet["profiles"].insert(0, json.load(open(work + "/h100.json")))
json.dump(fleet, open(work + "/fleet.json", "w"))
END
checks=$((checks + 1))
expect_ok predict "$data/mlp.profile.json" --gpu "$work/mine.json" --json
sed -n 's/.*"step_time_s":[[:space:]]*\([0-9.e-]*\).*/\1/p' "$work/out" | head -n 1 >"$work/alone"
expect_ok predict "$data/mlp.profile.json" --gpu "$work/fleet.json#a100-sxm-40gb" --json
sed -n 's/.*"step_time_s":[[:space:]]*\([0-9.e-]*\).*/\1/p' "$work/out" | head -n 1 | cmp -s - "$work/alone" || fail 'a profile of a fleet'
expect_error 6 "no profile 't4' in this fleet" predict "$data/mlp.profile.json" --gpu "$work/fleet.json#t4"
expect_error 3 'not a fleet' predict "$data/mlp.profile.json" --gpu "$work/mine.json#a100"
run calibrate --watch "$rows" --gpu a100 -o "$work/other.json" --fleet "$work/mine.json" --once --max-generations 0 --restarts 0 --leave-out none
[ "$rc" -eq 3 ] && grep -q 'not a fleet' "$work/err" || fail "a fleet's file that is none"

expect_error 2 'needs --watch' calibrate "$rows/c.csv" --fleet "$work/x.json" --gpu a100
expect_error 2 'needs -o OUT.json' calibrate --watch "$rows" --gpu a100
expect_error 2 'needs the --gpu' calibrate --watch "$rows" -o "$work/x.json"
expect_error 2 'neither files' calibrate "$rows/c.csv" --watch "$rows" --gpu a100 -o "$work/x.json"
expect_error 2 'need --watch' calibrate "$rows/c.csv" --once --gpu a100
expect_error 3 "$work/none" calibrate --watch "$work/none" --once --gpu a100 -o "$work/x.json"
finish
