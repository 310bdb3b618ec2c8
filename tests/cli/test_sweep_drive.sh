# adept sweep --drive: values are set before each run and put back after the last, after a failure, after TERM and INT, and after KILL by
# another run. On a fake tree and the library that stands in for NVML (tests/measure/), whose settings are files.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_python json
: "${ADEPT_FAKE_NVML:?}"

root=$work/root
cpus=$root/sys/devices/system/cpu
boards=$work/boards
mkdir -p "$boards" "$work/state"
for cpu in 0 1; do
    mkdir -p "$cpus/cpu$cpu/cpufreq"
    echo schedutil >"$cpus/cpu$cpu/cpufreq/scaling_governor"
    echo 'performance powersave schedutil' >"$cpus/cpu$cpu/cpufreq/scaling_available_governors"
    for clock in scaling_max=3000000 scaling_min=800000 cpuinfo_max=3400000 cpuinfo_min=800000; do
        echo "${clock#*=}" >"$cpus/cpu$cpu/cpufreq/${clock%=*}_freq"
    done
done
export ADEPT_NVML_LIBRARY="$ADEPT_FAKE_NVML" FAKE_NVML='power=constant:200' FAKE_NVML_SETTINGS="$boards" XDG_STATE_HOME="$work/state"
limit=$boards/limit-0
governor=$cpus/cpu1/cpufreq/scaling_governor

# drive ARGUMENT...: leaves rc, $work/out and $work/err
drive() {
    run sweep --drive --sysroot "$root" --period 10ms "$@"
}

# ends CODE WHAT
ends() {
    checks=$((checks + 1))
    [ "$rc" -eq "$1" ] || fail "exit code $rc instead of $1: $2"
}

# says PATTERN: the last run's stderr has it
says() {
    checks=$((checks + 1))
    grep -Eq -- "$1" "$work/err" || fail "stderr does not show '$1'"
}

# is FILE TEXT WHEN
is() {
    checks=$((checks + 1))
    [ "$(cat "$1")" = "$2" ] || fail "$1 holds '$(cat "$1")', not '$2', $3"
}

# nothing_left WHEN
nothing_left() {
    checks=$((checks + 1))
    ! ls "$work"/state/adept/*.json >/dev/null 2>&1 || fail "what is to be put back is still listed $1"
}

# check WHAT PYTHON: the last run's stdout as `text`
check() {
    checks=$((checks + 1))
    "$python" -c "
import csv, io, json
text = open('$work/out').read()
$2" >"$work/said" 2>&1 || { fail "$1"; sed 's/^/    /' "$work/said"; }
}

# wait_until COMMAND...: for minutes, on however busy a machine
wait_until() {
    tries=0
    until "$@" 2>/dev/null || [ $tries -ge 10000 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
    checks=$((checks + 1))
    [ $tries -lt 10000 ] || fail "never: $*"
}

# ---- values are set before each run; what the command prints goes to standard error
cat >"$work/command" <<'END'
echo "seen $(cat "$FAKE_NVML_SETTINGS/limit-0") $(cat "$1")" >&2
echo printed
case $(cat "$FAKE_NVML_SETTINGS/limit-0") in
150000) sleep 0.5 ;;
*) sleep 0.2 ;;
esac
END
echo 240000 >"$limit"
drive --vary power_limit_w=150:250:100 --vary governor=performance,powersave -- sh "$work/command" "$governor"
ends 0 'of a grid'
[ "$(grep seen "$work/err" | tr '\n' ';')" = 'seen 150000 performance;seen 150000 powersave;seen 250000 performance;seen 250000 powersave;' ] ||
    fail "the command saw $(cat "$work/err")"
says '^printed$'
shows '^4 of 4 points measured, compared by whole runs of the command$'
shows '^power_limit_w  governor  .*gpu  .*energy  energy x time'
shows '^          [12]50  p[a-z]*  .*least energy'
! grep -q printed "$work/out" || fail 'standard output has what the command prints'
is "$limit" 240000 'after a grid'
is "$governor" schedutil 'after a grid'
nothing_left 'after a grid'

# ---- one key at a time, CSV, JSON, files
drive --vary power_limit_w=150,250 --vary governor=performance --one-at-a-time --csv -- sh "$work/command" "$governor"
ends 0 'of CSV'
check 'CSV' "
rows = list(csv.DictReader(io.StringIO(text)))
assert [(r['power_limit_w'], r['governor']) for r in rows] == [('150', ''), ('250', ''), ('', 'performance')], rows
for r in rows:
    assert abs(float(r['avg_power_w']) - 200) < 40 and float(r['gpu_energy_j']) == float(r['energy_j']), r
    assert abs(float(r['energy_j']) * float(r['time_s']) - float(r['edp_js'])) < 1e-9 and r['dram_energy_j'] == '' and r['reason'] == '', r
assert float(rows[0]['time_s']) > 0.5
for column, words in ('time_s', 'least time'), ('edp_js', 'least energy x time'): # whichever the machine let be first
    assert words in min(rows, key=lambda r: float(r[column]))['remark'].split(', '), rows
    assert sum(words in r['remark'].split(', ') for r in rows) == 1, rows"
grep -q 'seen 240000 performance' "$work/err" || fail 'a key that does not vary is not as it was'

cat >"$work/steps" <<'END'
import os, time
marks = open(os.environ["ADEPT_MARKS"], "a")
step_s = 0.05 if "150000" in open(os.environ["FAKE_NVML_SETTINGS"] + "/limit-0").read() else 0.1
for step in range(4): # each as long as it should be, within a pause that is longer
    begin_s = time.clock_gettime(time.CLOCK_MONOTONIC)
    time.sleep(1.2 * step_s)
    marks.write("%.9f begin step\n%.9f end step\n" % (begin_s, begin_s + step_s))
END
drive --vary power_limit_w=250,150 --json -o "$work/points.json" -- "$python" "$work/steps"
ends 0 'of a command that marks steps'
shows 'compared by the mean of the steps that the command marked'
cp "$work/points.json" "$work/out"
check 'JSON' "
d = json.loads(text)
assert d['schema_version'] == 1 and d['kind'] == 'driven' and d['compared'] == 'steps' and d['interrupted'] is False, d
a, b = d['points']
assert a['steps'] == b['steps'] == 4 and a['exit_status'] == 0 and a['reason'] is None and a['power_limit_w'] == 250
assert abs(a['step']['time_s'] - 0.1) < 1e-6 and abs(b['step']['time_s'] - 0.05) < 1e-6, (a['step'], b['step'])
assert abs(b['step']['energy_j'] - 200 * b['step']['time_s']) < 0.2 * b['step']['energy_j'], b['step']
assert b['measured']['kind'] == 'measured' and len(b['measured']['regions']) >= 1
assert d['answers']['least_edp']['index'] == 1 and d['answers']['least_edp']['power_limit_w'] == 150
assert [p['index'] for p in d['answers']['pareto']['points']] == [1]"

# ---- all 43 settings of the thesis's table 3.18, on trees like its machines: Ice Lake's clocks, governors and caps; Zen 3's; an A100's
table=$work/table
setup() {
    for cpu in 0 1; do
        mkdir -p "$table/$1/sys/devices/system/cpu/cpu$cpu/cpufreq"
        echo "${3%% *}" >"$table/$1/sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_governor"
        echo "$3" >"$table/$1/sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_available_governors"
        for clock in scaling_max=$2 scaling_min=800000 cpuinfo_max=$2 cpuinfo_min=800000; do
            echo "${clock#*=}" >"$table/$1/sys/devices/system/cpu/cpu$cpu/cpufreq/${clock%=*}_freq"
        done
    done
}
setup intel 3400000 'performance powersave'
setup amd 3600000 'performance powersave ondemand schedutil userspace conservative'
for zone in 0 1; do
    mkdir -p "$table/intel/sys/class/powercap/intel-rapl:$zone"
    for file in name=package-$zone energy_uj=0 max_energy_range_uj=262143328850 constraint_0_power_limit_uw=250000000 \
        constraint_0_max_power_uw=250000000 constraint_0_min_power_uw=100000000; do
        echo "${file#*=}" >"$table/intel/sys/class/powercap/intel-rapl:$zone/${file%=*}"
    done
done
cat >"$work/seen" <<'END'
cpu=$1/sys/devices/system/cpu/cpu1/cpufreq
echo "$(cat "$cpu/scaling_max_freq") $(cat "$cpu/scaling_governor") $(cat "$1/sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw") \
$(cat "$FAKE_NVML_SETTINGS/core-0") $(cat "$FAKE_NVML_SETTINGS/limit-0")" >>"$2"
END
# settings MACHINE ARGUMENT...: each alone; what the command saw is in $work/saw
settings() {
    machine=$1
    shift
    rm -f "$work/saw" "$boards"/*
    echo 400000 >"$limit"
    echo free >"$boards/core-0"
    FAKE_NVML_MOST_MW=400000 run sweep --drive --sysroot "$table/$machine" --period 10ms --one-at-a-time "$@" --csv \
        -- sh "$work/seen" "$table/$machine" "$work/saw"
    ends 0 "of the settings of $machine"
    nothing_left "after the settings of $machine"
    sort -u "$work/saw" >"$work/saw.sorted"
}
seen=0
counted() {
    checks=$((checks + 1))
    n=$(cut -d ' ' -f "$2" "$work/saw" | grep -cxE "$3")
    [ "$n" -eq "$1" ] || fail "the command saw $n settings instead of $1: $3"
    seen=$((seen + n))
}
settings intel --vary cpu_clock_max=3.4GHz,3GHz,2.7GHz,2.4GHz,2.1GHz,1.8GHz,1.5GHz,1.2GHz,800MHz 2>/dev/null
counted 9 1 '(34|30|27|24|21|18|15|12|8)00000'
settings intel --vary governor=performance,powersave 2>/dev/null
counted 2 2 'performance|powersave'
settings intel --vary cpu_power_limit_w=100,150,200,250 2>/dev/null
counted 4 3 '(100|150|200|250)000000'
settings amd --vary cpu_clock_max=3.6GHz,3.3GHz,3GHz,2.7GHz,2.4GHz,2.1GHz,1.8GHz,1.5GHz 2>/dev/null
counted 8 1 '(36|33|30|27|24|21|18|15)00000'
settings amd --vary governor=powersave,performance,ondemand,schedutil,userspace,conservative 2>/dev/null
counted 6 2 'powersave|performance|ondemand|schedutil|userspace|conservative'
settings amd --vary clock=1410MHz,1215MHz,1005MHz,810MHz,600MHz,405MHz,210MHz 2>/dev/null
counted 7 4 '1410|1215|1005|810|600|405|210'
settings amd --vary power_limit_w=100:400:50 2>/dev/null
counted 7 5 '[1-4][05]0000'
[ "$seen" -eq 43 ] || fail "$seen settings instead of 43"
is "$limit" 400000 'after the table'
is "$table/intel/sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw" 250000000 'after the table'
echo 240000 >"$limit"

# ---- several runs at each point, against a baseline: deviations, gains, and whether these are more than noise
cat >"$work/load" <<'END'
case $(cat "$1") in
2100000) sleep 0.3 ;;
*) sleep 0.6 ;;
esac
END
bound=$cpus/cpu1/cpufreq/scaling_max_freq
for try in 1 2 3 4 5; do # on a machine that is so busy that half the time is noise, again
    drive --vary cpu_clock_max=3GHz,2.1GHz --repeat 3 --baseline cpu_clock_max=3000MHz --json -o "$work/gains.json" -- sh "$work/load" "$bound"
    ends 0 'of repeats'
    if grep -Eq '^ +2.10 GHz .*\+[0-9.]+ % \* +-[0-9.]+ % \*' "$work/out"; then break; fi
done
is "$bound" 3000000 'after repeats'
shows '^cpu_clock_max_hz +time .*EDP gain +time change'
shows '^ +2.10 GHz .*\(sd .*\+[0-9.]+ % \* +-[0-9.]+ % \*'
cp "$work/gains.json" "$work/out"
check 'gains' "
d = json.loads(text)
a, b = d['points']
assert d['baseline'] == 0 and d['repeat'] == 3 and a['run']['runs'] == b['run']['runs'] == 3, d
assert a['gain']['edp']['percent'] == a['gain']['time']['percent'] == 0 and a['gain']['edp']['is_beyond_noise'] is False, a
ratio = b['run']['time_s'] / a['run']['time_s']
assert 0.3 < ratio < 0.9 and abs(b['gain']['time']['percent'] - 100 * (ratio - 1)) < 1e-9 and b['gain']['edp']['percent'] > 10, b
assert b['gain']['ed2p']['percent'] > b['gain']['edp']['percent'] > b['gain']['energy']['percent'] > 0, b
assert b['run']['time_sd_s'] > 0 and b['run']['energy_sd_j'] > 0 and b['gain']['time']['noise_percent'] > 0, b
assert abs(b['run']['ed2p_js2'] - b['run']['edp_js'] * b['run']['time_s']) < 1e-9, b
assert b['measured']['repeats']['count'] == 3, b"
# another program at the same settings, and both in one table
drive --vary cpu_clock_max=3GHz,2.1GHz --repeat 2 --baseline cpu_clock_max=3GHz --objective ed2p --json -o "$work/even.json" -- sleep 1
ends 0 'of another program'
shows '^cpu_clock_max_hz +time .*ED2P gain +time change'
shows 'least ED2P'
shows '^ED2P gain: . is less energy times time squared than'
expect_ok sweep --synthesis "$work/gains.json" "$work/even.json"
shows '^program +setting +EDP gain +time change$|^program +setting +EDP gain +time change '
shows '^mean +the best of each'
expect_ok sweep --synthesis --json "$work/gains.json" "$work/even.json"
check 'a synthesis' "
d = json.loads(text)
assert d['schema_version'] == 1 and d['kind'] == 'synthesis' and len(d['programs']) == 3 and len(d['settings']) == 2, d
load, even, mean = d['programs']
assert load['setting'] == 'cpu_clock_max_hz=2100000000' and load['remark'] in (None, ''), load
assert abs(mean['edp_gain_percent'] - (load['edp_gain_percent'] + even['edp_gain_percent']) / 2) < 1e-9, d
assert d['settings'][1]['remark'] == 'best for all' and d['settings'][0]['edp_gain_percent'] == 0, d['settings']"
expect_ok sweep --synthesis --objective ed2p --json "$work/gains.json" "$work/even.json"
check 'a synthesis by ED2P' "
gains = [json.load(open('$work/' + name))['points'] for name in ('gains.json', 'even.json')]
best = [max(p['gain']['ed2p']['percent'] for p in points) for points in gains]
d = json.loads(text)
assert [p['ed2p_gain_percent'] for p in d['programs'][:2]] == best and 'edp_gain_percent' not in d['programs'][0], d
assert json.load(open('$work/even.json'))['answers']['objective'] == 'ed2p'"
expect_error 2 'not of step_time_s' sweep --synthesis --objective step_time_s "$work/gains.json"
expect_error 2 'reads FILES' sweep --synthesis --vary cpu_clock_max=3GHz "$work/gains.json"
expect_error 2 'needs FILES' sweep --synthesis
drive --vary cpu_clock_min=1GHz,2GHz --vary governor=performance --one-at-a-time --baseline governor=performance --csv -- true
ends 0 'of a baseline of its own key'
check 'one run says nothing of noise' "
rows = list(csv.DictReader(io.StringIO(text)))
assert [r['runs'] for r in rows] == ['1', '1', '1'] and rows[2]['edp_gain_percent'] == '0', rows
assert all(r['edp_noise_percent'] == r['time_sd_s'] == '' and r['time_change_percent'] for r in rows), rows"

expect_error 3 'has no baseline' sweep --synthesis "$work/points.json"

# ---- rows for calibrate, one as soon as its point is measured
drive --vary power_limit_w=250,150 --vary clock=1.2GHz --one-at-a-time --steps-from-marks "$work/rows.csv" --skip-steps 1 --row model=mlp,batch_size=8 \
    -- "$python" "$work/steps"
ends 0 'of rows'
cp "$work/rows.csv" "$work/out"
check 'rows' "
rows = list(csv.DictReader(io.StringIO(text)))
assert [(r['model'], r['batch_size'], r['power_limit_w'], r['clock_hz']) for r in rows] == [
    ('mlp', '8', '250', ''), ('mlp', '8', '150', ''), ('mlp', '8', '', '1200000000')], rows
assert abs(float(rows[0]['step_time_s']) - 0.1) < 1e-6 and abs(float(rows[1]['step_time_s']) - 0.05) < 1e-6, rows
assert rows[0]['power_scope'] == 'gpu' and abs(float(rows[0]['avg_power_w']) - 200) < 40 and 'mean of 3 steps' in rows[0]['source'], rows"
[ "$(cat "$boards/core-0")" = free ] || fail 'the clock is still locked'
drive --vary power_limit_w=150,250 --steps-from-marks "$work/rows.csv" -- true
ends 3 'of a command that marks no step'
says 'no region "step" was marked'
is "$limit" 240000 'after a command that marks no step'

if command -v gnuplot >/dev/null; then
    drive --vary power_limit_w=150,200,250 --plot "$work/a.svg" -- sh "$work/command" "$governor"
    ends 0 'of a picture'
    grep -q 'Time of a run' "$work/a.svg" || fail 'the picture does not say what it shows'
fi

# ---- a driver that does not answer: before anything is set, in the middle, and when it is to be put back; nothing waits for ever
for hang in init_hangs=1 hangs=0 hangs=0.3; do
    rc=0
    echo 240000 >"$limit"
    FAKE_NVML="power=constant:200 $hang" timeout 120 "$ADEPT" sweep --drive --sysroot "$root" --period 10ms --vary power_limit_w=150,200 -- sleep 0.5 \
        >"$work/out" 2>"$work/err" || rc=$?
    ends 1 "of a driver with $hang"
    says 'power_limit_w: gpu.* does not answer: its driver takes more than [34] s'
done
rc=0
FAKE_NVML="power=constant:200 hangs=0" timeout 60 "$ADEPT" sweep --restore --sysroot "$root" >"$work/out" 2>"$work/err" || rc=$?
ends 1 "of --restore beside a driver that does not answer"
says 'does not answer'
run sweep --restore --sysroot "$root"
ends 0 "of --restore once it answers"
is "$limit" 240000 "after --restore"
nothing_left "after --restore"

# ---- refused before anything is changed
refused() {
    code=$1
    pattern=$2
    shift 2
    drive "$@"
    ends "$code" "of $*"
    says "$pattern"
    [ "$(wc -l <"$work/err")" -eq 1 ] && [ ! -s "$work/out" ] || fail "not one line: $*"
    is "$limit" 240000 "after $*"
    is "$governor" schedutil "after $*"
    nothing_left "after $*"
}
refused 2 'power_limit_w: 310 W is outside the range of gpu-0, 100 W to 300 W' --vary power_limit_w=150,310 -- touch "$work/ran"
refused 2 "governor: 'fast' is none of those of cpu0" --vary power_limit_w=150 --vary governor=fast -- touch "$work/ran"
refused 2 'clock_hz: 1.40 kHz is outside the range of gpu-0, 210 MHz to 1.41 GHz' --vary clock=1400 -- touch "$work/ran"
refused 2 'cpu_clock_max_hz: 3.50 GHz is outside the range of cpu0' --vary cpu_clock_max=3.5GHz -- touch "$work/ran"
refused 2 'is not a point of --vary' --vary power_limit_w=150,200 --baseline power_limit_w=250 -- touch "$work/ran"
refused 2 'is not a point of --vary' --vary power_limit_w=150 --vary governor=performance --baseline governor=performance -- touch "$work/ran"
refused 2 'takes one value' --vary power_limit_w=150,200 --baseline power_limit_w=150,200 -- touch "$work/ran"
refused 2 '--drive sets .*, not batch' --vary batch=4 -- touch "$work/ran"
refused 2 'takes power_limit_w itself' --vary power_limit_w=x0.5 -- touch "$work/ran"
refused 2 'edp-optimal is of predictions' --vary power_limit_w=edp-optimal -- touch "$work/ran"
refused 2 'needs a COMMAND' --vary power_limit_w=150
refused 2 '--vary is missing' -- touch "$work/ran"
refused 2 '--devices leaves no gpu' --vary power_limit_w=150 --devices cpu -- touch "$work/ran"
refused 2 'unknown option' --vary power_limit_w=150 --batch 4 -- touch "$work/ran"
refused 127 'cannot run no-such-command' --vary power_limit_w=150,200 -- no-such-command
FAKE_NVML_REFUSES=1
export FAKE_NVML_REFUSES
refused 1 'sudo nvidia-smi -i 0 -pl 150' --vary power_limit_w=150 -- touch "$work/ran"
refused 1 'sudo nvidia-smi -i 0 -lgc 1200' --vary governor=performance --vary clock=1.2GHz -- touch "$work/ran"
unset FAKE_NVML_REFUSES
[ ! -e "$work/ran" ] || fail 'a command ran'
expect_error 2 'governor cannot be predicted' sweep "$data/mlp.profile.json" --gpu a100 --vary governor=performance
expect_error 2 'takes neither' sweep --restore --vary governor=performance
expect_error 2 'write --drive in full' sweep "$data/mlp.profile.json" --driv

# ---- a command that fails: the other points are measured
drive --vary power_limit_w=150,200 --csv -- sh -c '[ "$(cat "$FAKE_NVML_SETTINGS/limit-0")" = 200000 ] || exit 3'
ends 1 'of a command that failed'
says 'the command failed at 1 of 2 points'
check 'a point that failed' "
rows = list(csv.DictReader(io.StringIO(text)))
assert [r['reason'] for r in rows] == ['the command ended with 3', ''] and rows[0]['remark'] == '' and rows[1]['remark'], rows"
is "$limit" 240000 'after a command that failed'
nothing_left 'after a command that failed'

# ---- signals: put back at once, though the command goes on; what was measured is printed
cat >"$work/stubborn" <<'END'
[ "$(cat "$FAKE_NVML_SETTINGS/limit-0")" = 200000 ] || exit 0
trap '' TERM INT
: >"$1"
until [ -e "$1.over" ]; do sleep 0.05; done
END
for signal in 15 2; do
    rm -f "$work/begun" "$work/begun.over"
    "$ADEPT" sweep --drive --vary power_limit_w=150,200,250 --csv -- sh "$work/stubborn" "$work/begun" >"$work/out" 2>"$work/err" &
    pid=$!
    wait_until test -e "$work/begun"
    expect_error 1 'another adept sweep --drive is running' sweep --drive --vary power_limit_w=150 -- true
    : >"$work/out"
    is "$limit" 200000 'while the second point is measured'
    kill -s "$signal" $pid
    wait_until grep -q 240000 "$limit"
    kill -0 $pid 2>/dev/null || fail "$signal: adept did not wait for the command"
    : >"$work/begun.over"
    rc=0
    wait $pid || rc=$?
    ends $((128 + signal)) "after $signal"
    nothing_left "after $signal"
done

# ---- killed: another run puts back
for how in --restore --drive; do
    rm -f "$work/begun" "$work/begun.over"
    "$ADEPT" sweep --drive --sysroot "$root" --vary power_limit_w=200 --vary governor=powersave -- sh "$work/stubborn" "$work/begun" 2>/dev/null &
    pid=$!
    wait_until test -e "$work/begun"
    kill -s KILL $pid
    wait $pid 2>/dev/null
    : >"$work/begun.over"
    is "$limit" 200000 'after KILL'
    is "$governor" powersave 'after KILL'
    if [ $how = --restore ]; then
        expect_error 3 'of a run with --sysroot' sweep --restore
        expect_ok sweep --restore --sysroot "$root"
        shows '^3 settings of a run that was killed are put back$'
        is "$limit" 240000 'after --restore'
    else
        drive --vary governor=performance -- cat "$limit" "$governor"
        ends 0 'of the run after one that was killed'
        says '^3 settings of a run that was killed are put back$'
        says '^240000$'
        says '^performance$'
    fi
    is "$limit" 240000 "after $how"
    is "$governor" schedutil "after $how"
    nothing_left "after $how"
done
expect_ok sweep --restore
shows '^0 settings'

expect_ok sweep --drive --help
shows '^Usage: adept sweep .*--drive'
! awk 'length > 79' "$work/out" | grep -q . || fail 'its help is wider than 79 columns'
finish
