# adept measure: the command's exit status, signals and orphans; many children; runs that are killed; files that cannot be written.
# What sensors say over time is tested by tests/unit: here a fake tree has one package, whose counter the command itself advances, so
# that a run has its joules however long it takes.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_python json

root=$work/root
zone=$root/sys/class/powercap/intel-rapl:0
mkdir -p "$zone"
echo package-0 >"$zone/name"
echo 262143328850 >"$zone/max_energy_range_uj"
printf '%020d\n' 1000000 >"$zone/energy_uj"

# measure ARGUMENTS...: exit code in $rc
measure() {
    rc=0
    "$ADEPT" measure --sysroot "$root" "$@" >"$work/out" 2>"$work/err" || rc=$?
}

# ends CODE WHAT
ends() {
    checks=$((checks + 1))
    [ "$rc" -eq "$1" ] || fail "exit code $rc instead of $1: $2"
}

# says FILE PATTERN
says() {
    checks=$((checks + 1))
    grep -Eq "$2" "$1" || fail "nothing like '$2' in: $(head -c 2000 "$1")"
}

# A command of 10 J, which ends with the exit code that it is given.
cat >"$work/burn.sh" <<BURN
read before <"$zone/energy_uj"
sleep 0.1
printf '%020d\n' \$((\$(echo \$before | sed 's/^0*//') + 10000000)) 1<>"$zone/energy_uj"
sleep 0.1
exit \${1:-0}
BURN
burn="sh $work/burn.sh"

# ---- exit status and output are the command's
measure -- sh -c 'echo out; echo err >&2; exit 3'
ends 3 "of a command that ends with 3"
[ "$(cat "$work/out")" = out ] || fail "standard output is not the command's: $(cat "$work/out")"
says "$work/err" '^Measured .* of sh -c .*ended with 3'
measure -- sh -c 'kill -TERM $$'
ends 143 "of a command that SIGTERM ended"
measure -- no-such-command
ends 127 "of a command that does not exist"
says "$work/err" '^adept: cannot run no-such-command: No such file'
measure -- "$root"
ends 126 "of a folder"
measure --json -o "$work/r.json" -- $burn
ends 0 "of a run with a report"
"$python" - "$work/r.json" <<'CHECK' || fail "the report"
import json, sys
r = json.load(open(sys.argv[1]))
[s] = [s for s in r["sensors"] if s["name"] == "cpu-0"]
assert abs(s["energy_j"] - 10) < 1e-4 and s["origin"] == "measured" and s["component"] == "cpu", s
assert abs(s["avg_power_w"] - s["energy_j"] / r["time_s"]) < 1e-3 * s["avg_power_w"] and r["time_s"] >= 0.2, r
assert r["kind"] == "measured" and r["exit_status"] == 0 and r["command"][0] == "sh", r
CHECK

# ---- what would write over samples, or act on nothing, is refused
measure --samples "$work/kept" -- true
cp "$work/kept" "$work/kept.copy"
for words in "--read $work/kept -o $work/kept" "--read $work/kept --csv $work/./kept" "--samples $work/new -o $work/new -- true" \
    "--read $work/kept --devices cpu" "--read $work/kept --period 5s" "--list --csv $work/new" "--list --raw" \
    "-o $work/new --merge $work/r.json" "--raw -- true"; do
    measure $words
    ends 2 "$words"
done
cmp -s "$work/kept" "$work/kept.copy" || fail "samples were written over"
[ ! -e "$work/new" ] || fail "something was written"
measure --read "$work/kept" -o "$work/report"
ends 0 "of samples that were kept"

# ---- a command of as many words as fit the first block of memory, and its line in the file of samples
measure --samples "$work/words" -- echo $(seq 2 64)
ends 0 "of a command of 64 words"
[ "$(cat "$work/out")" = "$(echo $(seq 2 64))" ] || fail "a command of 64 words printed $(cat "$work/out")"
says "$work/words" '"command":\["echo",.*"63","64"\]'

# ---- signals that adept ignores are the command's again
measure -- sh -c 'yes | head -1'
ends 0 "of a pipe that is closed early"
! grep -q 'Broken pipe' "$work/err" || fail "a closed pipe is an error to the command"

# ---- SIGCHLD ignored by who started adept: the command's exit status is still its own
rc=0
env --ignore-signal=CHLD "$ADEPT" measure --sysroot "$root" -- sh -c 'exit 3' >"$work/out" 2>"$work/err" || rc=$?
ends 3 "of a command that ends with 3, where SIGCHLD is ignored"
rc=0
env --ignore-signal=CHLD "$ADEPT" measure --sysroot "$root" -- sh -c 'kill -SEGV $$' >"$work/out" 2>"$work/err" || rc=$?
ends 139 "of a command that SIGSEGV ended, where SIGCHLD is ignored"

# ---- what the command puts in the place of the file of its marks, and pipes in place of files: nobody waits
for what in 'mkfifo $ADEPT_MARKS' 'ln -s /dev/zero $ADEPT_MARKS'; do
    rc=0
    timeout 60 "$ADEPT" measure --sysroot "$root" -- sh -c "rm \$ADEPT_MARKS; $what" >"$work/out" 2>"$work/err" || rc=$?
    ends 3 "of a command that does $what"
    says "$work/err" '^adept: .*: not a regular file'
done
mkfifo "$work/fifo"
cp "$work/words" "$work/marked"
mkfifo "$work/marked.marks"
for file in "$work/fifo" /dev/zero "$work/marked"; do
    rc=0
    timeout 60 "$ADEPT" measure --read "$file" >"$work/out" 2>"$work/err" || rc=$?
    ends 3 "of --read $file"
    says "$work/err" 'not a regular file'
done
rm "$work/marked.marks"
for words in "attribute report $work/fifo" "attribute fit $work/fifo" "attribute --slurm $work/fifo" "attribute --slurm x.adept --sacct $work/fifo" \
    "measure --merge $work/fifo" "measure --idle $work/fifo -- true"; do
    rc=0
    timeout 60 "$ADEPT" $words >"$work/out" 2>"$work/err" || rc=$?
    checks=$((checks + 1))
    [ "$rc" -ne 0 ] && [ "$rc" -ne 124 ] || fail "exit code $rc: adept $words"
    says "$work/err" 'not a regular file|x.adept'
done

# ---- a driver that never returns: from the first call on, while the command runs, at its start. The command runs, its exit
# status is kept, and the report names what is lost.
: "${ADEPT_FAKE_NVML:?}"
for hang in hangs=0 hangs=0.3 init_hangs=1; do
    rc=0
    ADEPT_NVML_LIBRARY=$ADEPT_FAKE_NVML FAKE_NVML="$hang" timeout 60 "$ADEPT" measure --sysroot "$root" --json -o "$work/r.json" -- \
        sh -c 'sleep 1; exit 3' >"$work/out" 2>"$work/err" || rc=$?
    ends 3 "of a command beside a driver with $hang"
    "$python" - "$work/r.json" <<'CHECK' || fail "the report of $hang"
import json, sys
r = json.load(open(sys.argv[1]))
lost = [s["lost"] for s in r["sensors"] if s["name"] == "gpu-0"] + [m["why"] for m in r["missing"] if m["name"] == "nvml"]
assert len(lost) == 1 and "does not answer" in lost[0], lost
assert all(s["energy_j"] is None for s in r["sensors"] if s["name"] == "gpu-0"), r["sensors"]
assert r["time_s"] < 60 and r["exit_status"] == 3, r
CHECK
done
rc=0
ADEPT_NVML_LIBRARY=$ADEPT_FAKE_NVML FAKE_NVML=hangs=0.3 timeout 60 "$ADEPT" attribute record --sysroot "$root" --source proc --duration 1s \
    -o "$work/hung.adept" >"$work/out" 2>"$work/err" || rc=$?
checks=$((checks + 1))
[ "$rc" -ne 124 ] || fail "attribute record waits for a driver for ever"
# TERM while a driver keeps the search for sensors: the command starts at once, and gets it
ADEPT_NVML_LIBRARY=$ADEPT_FAKE_NVML FAKE_NVML=init_hangs=1 "$ADEPT" measure --sysroot "$root" --json -o "$work/r.json" -- sleep 60 2>"$work/err" &
pid=$!
until grep -q '^SigCgt:.*[4-7c-f]...$' /proc/$pid/status; do sleep 0.02; done # it catches TERM, which is bit 14
kill -TERM $pid
rc=0
wait $pid || rc=$?
ends 143 "of TERM during the search for sensors"
says "$work/r.json" 'a signal (ended looking|came before)'
# TERM goes to the command, and is not lost on the way
ADEPT_NVML_LIBRARY=$ADEPT_FAKE_NVML FAKE_NVML=hangs=0.2 timeout 60 "$ADEPT" measure --sysroot "$root" -- \
    sh -c "echo >'$work/beside'; exec sleep 50" 2>"$work/err" &
pid=$!
while [ ! -e "$work/beside" ]; do sleep 0.05; done
sleep 0.5
kill -TERM $pid
rc=0
wait $pid || rc=$?
ends 143 "of TERM beside a driver that never returns"
says "$work/err" 'gpu-0: it does not answer'

# ---- --attach: numbers that no process has, and one that has ended but was not waited for
for pid in 4294967297 99999999999 2147483648 9223372036854775808; do
    measure --attach $pid
    ends 2 "of --attach $pid"
    says "$work/err" '^adept: --attach: .*out of range'
done
"$python" - "$ADEPT" "$root" <<'CHECK' || fail "--attach of a process that is not waited for"
import os, subprocess, sys, time
pid = os.fork()
if pid == 0:
    time.sleep(1)
    os._exit(0)
command = [sys.argv[1], "measure", "--sysroot", sys.argv[2], "--attach", str(pid)]
assert subprocess.run(command, timeout=60, stderr=subprocess.DEVNULL).returncode == 0
zombie = subprocess.run(command, timeout=60, stderr=subprocess.PIPE)
assert zombie.returncode == 2 and b"no process" in zombie.stderr, zombie
CHECK

# ---- it waits for what the command leaves behind, and for 10,000 short children
measure --json -o "$work/r.json" -- sh -c '(sleep 0.5; echo late >'"$work/late"') & exit 0'
[ -e "$work/late" ] || fail "an orphan was not waited for"
measure -- sh -c 'i=0; while [ $i -lt 10000 ]; do /bin/true & i=$((i + 1)); [ $((i % 100)) -ne 0 ] || wait; done; exit 5'
ends 5 "of a command with 10,000 children"

# ---- signals go to the command
"$ADEPT" measure --sysroot "$root" -- sh -c 'trap "exit 9" USR1; echo ready >'"$work/ready"'; while :; do sleep 0.05; done' 2>"$work/err" &
pid=$!
while [ ! -e "$work/ready" ]; do sleep 0.05; done
kill -USR1 $pid
rc=0
wait $pid || rc=$?
ends 9 "of a command that got SIGUSR1"
for signal in TERM INT; do
    "$ADEPT" measure --sysroot "$root" -- sh -c "echo >'$work/started.$signal'; exec sleep 60" 2>"$work/err" &
    pid=$!
    while [ ! -e "$work/started.$signal" ]; do sleep 0.05; done
    kill -$signal $pid # a background job of a shell ignores INT, and so does its child: TERM ends it
    [ $signal = TERM ] || kill -TERM $pid
    rc=0
    wait $pid || rc=$?
    ends 143 "after $signal"
    says "$work/err" '^Measured '
done

# ---- what was measured survives kill -9
rm -f "$work/samples" "$work/samples.marks"
"$ADEPT" measure --sysroot "$root" --period 10ms --samples "$work/samples" -- sh -c '
    read t _ </proc/uptime; echo "$t begin load" >>"$ADEPT_MARKS"; sleep 0.3; read t _ </proc/uptime; echo "$t end load" >>"$ADEPT_MARKS"
    echo "$t begin load" >>"$ADEPT_MARKS"
    echo $$ >'"$work/pid; mv $work/pid $work/ready2"'; exec sleep 60' 2>/dev/null &
pid=$!
while [ ! -e "$work/ready2" ]; do sleep 0.05; done
measure --read "$work/samples" --json
before=$("$python" -c 'import json; print(json.load(open("'"$work/out"'"))["sensors"][0]["energy_j"])')
checks=$((checks + 1))
[ "$before" = 0 ] || [ "$before" = 0.0 ] || [ "$before" = None ] || fail "joules of a counter that stood: $before"
read counted <"$zone/energy_uj"
printf '%020d\n' $(($(echo $counted | sed 's/^0*//') + 4000000)) 1<>"$zone/energy_uj"
until measure --read "$work/samples" --json && grep -Eq '"energy_j":[[:space:]]*(4|3\.9999)' "$work/out"; do sleep 0.05; done # it is in the file
kill -KILL $pid
wait $pid 2>/dev/null
kill "$(cat "$work/ready2")"
measure --read "$work/samples" --json
ends 0 "reading what a killed run left"
"$python" - "$work/out" <<'CHECK' || fail "what a killed run left: $(cat "$work/out")"
import json, sys
r = json.load(open(sys.argv[1]))
[s] = [s for s in r["sensors"] if s["name"] == "cpu-0"]
assert abs(s["energy_j"] - 4) < 1e-4, s
[region] = r["regions"]
assert region["name"] == "load" and region["count"] == 1 and 0.25 < region["time_s"]["mean"] < 500, region   # what it was in when it was killed is no visit
assert r["command"][:2] == ["sh", "-c"], r
CHECK
measure --samples "$work/samples" -- true
ends 1 "of a journal that is there already"
says "$work/err" 'samples: File exists'

# ---- repeats
measure --repeat 3 --json -o "$work/r.json" -- sleep 0.1
"$python" - "$work/r.json" <<'CHECK' || fail "repeats"
import json, sys
r = json.load(open(sys.argv[1]))["repeats"]
assert r["count"] == 3 and 0.1 <= r["time_s"]["mean"] < 500 and r["time_s"]["interval95"][0] <= r["time_s"]["mean"], r
CHECK
measure --repeat 3 -- sh -c 'exit 4'
ends 4 "of repeats, the first of which fails"

# ---- without a command
measure --duration 200ms
ends 0 "of a duration"
says "$work/out" '^Measured  ([2-9][0-9][0-9] ms|[0-9.]+ s)'
sleep 2 &
measure --attach $!
ends 0 "of a process that ends"
says "$work/out" '^Measured '
measure --list
says "$work/out" '^ *cpu-0 +cpu '

# ---- real on this machine: the memory in use, as /proc says it, through the model of eight modules of 6 W; there is no such sensor
# where memory is measured
set -- --devices dram-model --dram-dimms "8x64GB DDR4"
if "$ADEPT" measure --list --dram-dimms "8x64GB DDR4" 2>/dev/null | grep -Eq '^ *dram-model '; then
    "$ADEPT" measure "$@" --json -o "$work/r.json" -- sleep 0.5 2>"$work/err"
    rc=$?
    ends 0 "of memory as it is here"
    "$python" - "$work/r.json" <<'CHECK' || fail "memory as it is here"
import json, sys
r = json.load(open(sys.argv[1]))
assert len(r["sensors"]) == 1, r["sensors"]
for s in r["sensors"]:
    assert s["origin"] == "estimated" and 48 * 0.30 - 1e-9 <= s["avg_power_w"] <= 48 * 0.80 + 1e-9, s
    assert abs(s["energy_j"] - s["avg_power_w"] * r["time_s"]) < 1e-6 * s["energy_j"], s
CHECK
else
    "$ADEPT" measure "$@" -- sleep 0.5 2>"$work/err"
    rc=$?
    ends 2 "of memory that is measured here"
    says "$work/err" 'no sensor is called dram-model'
fi

# ---- a full disk: the run's own status stays, or becomes 1; nothing is called done that is not
if [ -w /dev/full ]; then
    measure --json -o /dev/full -- true
    ends 1 "of a report on a full disk"
    says "$work/err" '^adept: '
fi

# ---- rows: of each run, as EA2P has them, and of steps that the command marked
writer() { # advances the package by 50 W until its file is gone
    printf '%020d\n' 1000000 >"$zone/energy_uj"
    "$python" - "$zone/energy_uj" <<'WRITER' &
import sys, time
begin = time.monotonic()
try:
    while time.monotonic() - begin < 60:
        with open(sys.argv[1], "r+") as file:
            file.write("%020d\n" % (50e6 * (time.monotonic() - begin)))
        time.sleep(0.002)
except OSError:
    pass
WRITER
    writer=$!
    while grep -q '^0*1000000$' "$zone/energy_uj"; do sleep 0.05; done
}
measure --repeat 2 --csv "$work/runs.csv" -- $burn
ends 0 "with --csv"
measure --csv "$work/runs.csv" -- $burn 3
ends 3 "with --csv"
"$python" - "$work/runs.csv" <<'CHECK' || fail "rows of runs: $(cat "$work/runs.csv")"
import csv, sys
rows = [row for row in csv.DictReader(open(sys.argv[1])) if row["sensor"] == "cpu-0"]
assert [row["run"] for row in rows] == ["1", "2", "1"] and [row["exit_status"] for row in rows] == ["0", "0", "3"], rows
for row in rows:
    assert abs(float(row["energy_j"]) - 10) < 1e-4 and abs(float(row["avg_power_w"]) * float(row["time_s"]) - 10) < 1e-3, row
CHECK
measure --csv "$work/ea2p.csv" --format ea2p --devices cpu --row project=p,package=torch,algorithm=a -- $burn
says "$work/ea2p.csv" "^Project Name,Datetime,cpu-0 \\(J\\),CPU Time \\[s\\],Package,Algorithm,Algorithm's parameters"
says "$work/ea2p.csv" '^p,[0-9/]+ [0-9:]+,(10|9\.9999)[0-9.]*,[0-9.]+,torch,a,'
measure --csv "$work/ea2p.csv" -- true
ends 3 "of rows with other columns"
says "$work/err" 'ea2p.csv: has other columns'

cat >"$work/train.sh" <<'TRAIN'
printf '%s step\n' "1 begin" "7 end" "7 begin" "7.25 end" "7.5 begin" "7.75 end" "8 begin" "8.25 end" >>"$ADEPT_MARKS"
TRAIN
measure --steps-from-marks "$work/steps.csv" --skip-steps 1 --row model=mlp,batch_size=16,precision=fp32 -- sh "$work/train.sh"
ends 0 "of marked steps"
"$python" - "$work/steps.csv" <<'CHECK' || fail "rows of steps: $(cat "$work/steps.csv")"
import csv, sys
[row] = csv.DictReader(open(sys.argv[1]))
assert row["model"] == "mlp" and row["batch_size"] == "16" and float(row["step_time_s"]) == 0.25, row
assert row["avg_power_w"] == "" and row["power_scope"] == "" and "mean of 3 steps" in row["source"], row   # a package is neither GPU nor node
CHECK
# processes are in a region at the same time: 3 s, 3 s; one that does not say which it is: 1 s
measure --json -- sh -c 'printf "%s step\n" "1 7 begin" "2 8 begin" "3 begin" "4 7 end" "4 end" "5 8 end" >>"$ADEPT_MARKS"'
ends 0 "of marks of several processes"
"$python" - "$work/out" <<'CHECK' || fail "marks of several processes: $(cat "$work/out")"
import json, sys
[region] = json.load(open(sys.argv[1]))["regions"]
assert region["count"] == 3 and [region["time_s"][key] for key in ("total", "least", "most")] == [7, 1, 3], region
CHECK
# threads write when they can, whenever it was: 1 to 2, 3 to 4, 5 to 5.5 and 6 to 8
measure --json -- sh -c 'printf "%s step\n" "1 begin" "3 begin" "2 end" "4 end" "6 begin" "5 begin" "8 end" "5.5 end" >>"$ADEPT_MARKS"'
ends 0 "of marks that are written late"
"$python" - "$work/out" <<'CHECK' || fail "marks that are written late: $(cat "$work/out")"
import json, sys
[region] = json.load(open(sys.argv[1]))["regions"]
assert region["count"] == 4 and [region["time_s"][key] for key in ("total", "least", "most")] == [4.5, 0.5, 2], region
CHECK
measure -- sh -c 'printf "%s step\n" "1 7 begin" "2 8 end" >>"$ADEPT_MARKS"'
ends 3 "of another process's end"
says "$work/err" ':2: no mark .* or an end without a begin'
measure --steps-from-marks "$work/back.csv" --row model=mlp -- sh -c 'printf "%s step\n" "3 begin" "2 end" >>"$ADEPT_MARKS"'
ends 3 "of a region that ends before it began"
says "$work/err" ':2: no mark .* or an end without a begin before it'
[ ! -e "$work/back.csv" ] || fail "a row of a step that ended before it began: $(cat "$work/back.csv")"
measure --steps-from-marks "$work/none.csv" -- true
ends 3 "of a command that marks nothing"
says "$work/err" 'no region "step" was marked'
measure --steps-from-marks "$work/none.csv" -- sh -c 'read now _ </proc/uptime; echo "$now begin step" >>"$ADEPT_MARKS"'
ends 3 "of a command that ends no step"
[ ! -e "$work/none.csv" ] || fail "a row of a step that never ended: $(cat "$work/none.csv")"
# the row is one that the calibrator reads
cp "$data/mlp.profile.json" "$work/mlp.profile.json"
if "$ADEPT" evaluate --help >/dev/null 2>&1; then
    checks=$((checks + 1))
    "$ADEPT" evaluate "$work/steps.csv" --models "$work" --gpu v100 >"$work/out" 2>"$work/err" || fail "evaluate does not read it"
fi

# ---- which GPUs a row is of: those that the command may use, by its environment; board i of four draws 100 (i + 1) W
cat >"$work/steps.sh" <<'TRAIN'
for i in 1 2; do
    read now _ </proc/uptime; echo "$now $$ begin step" >>"$ADEPT_MARKS"
    sleep 0.4
    read now _ </proc/uptime; echo "$now $$ end step" >>"$ADEPT_MARKS"
done
TRAIN
with_boards() { # ENVIRONMENT... -- ARGUMENTS of measure...
    rc=0
    set_to=
    while [ "$1" != -- ]; do
        set_to="$set_to $1"
        shift
    done
    shift
    env $set_to ADEPT_NVML_LIBRARY="$ADEPT_FAKE_NVML" FAKE_NVML="${play:-boards=4 alike=1 power=constant:100}" timeout 60 "$ADEPT" measure --sysroot "$root" "$@" \
        >"$work/out" 2>"$work/err" || rc=$?
}
row_of() { # GPUS WATTS SOURCE ENVIRONMENT... -- ARGUMENTS of measure...; WATTS "": none
    gpus=$1 watts=$2 source=$3
    shift 3
    rm -f "$work/gpus.csv"
    with_boards "$@"
    ends 0 "of rows of $*"
    checks=$((checks + 1))
    "$python" - "$work/gpus.csv" "$gpus" "$watts" "$source" <<'CHECK' || fail "a row of $*: $(cat "$work/gpus.csv" "$work/err")"
import csv, re, sys
[row] = csv.DictReader(open(sys.argv[1]))
assert row["gpus"] == sys.argv[2] and re.search(sys.argv[4], row["source"]), row
assert row["avg_power_w"] == "" if sys.argv[3] == "" else abs(float(row["avg_power_w"]) / float(sys.argv[3]) - 1) < 0.02, row
CHECK
}
steps="--steps-from-marks $work/gpus.csv --row model=mlp,batch_size=16,gpu=a100"
row_of 4 1000 'steps$' A=1 -- $steps -- sh "$work/steps.sh"
row_of 1 400 '; gpu-3 of 4 measured, by CUDA_VISIBLE_DEVICES=3$' CUDA_VISIBLE_DEVICES=3 -- $steps -- sh "$work/steps.sh"
says "$work/err" 'the row is of gpu-3 of 4 measured, by CUDA_VISIBLE_DEVICES=3'
row_of 2 600 'gpu-1 gpu-3 of 4' CUDA_VISIBLE_DEVICES=GPU-fake-3,GPU-fake-1 -- $steps -- sh "$work/steps.sh"
row_of 1 300 'gpu-2 of 4 measured, by CUDA_VISIBLE_DEVICES=2' A=1 -- $steps -- env CUDA_VISIBLE_DEVICES=2 sh "$work/steps.sh" # the command's own
row_of 1 200 'gpu-1 of 1' CUDA_VISIBLE_DEVICES=1 -- $steps --devices GPU-fake-1 -- sh "$work/steps.sh"
row_of 1 "" 'none of 1' CUDA_VISIBLE_DEVICES=1 -- $steps --devices gpu-0 -- sh "$work/steps.sh"
says "$work/err" 'avg_power_w is left empty: not all of these GPUs are measured'
row_of 1 "" 'steps$' A=1 -- $steps,gpus=1 -- sh "$work/steps.sh"
says "$work/err" 'avg_power_w is left empty: the row says another number of GPUs than are measured'
row_of 1 "" 'gpu-0 gpu-1 of 4' CUDA_VISIBLE_DEVICES=0,1 -- $steps,gpus=1 -- sh "$work/steps.sh"
says "$work/err" 'avg_power_w is left empty: the row says another number of GPUs than the environment leaves'
row_of "" "" 'none of 4 measured, by CUDA_VISIBLE_DEVICES=' CUDA_VISIBLE_DEVICES= -- $steps -- sh "$work/steps.sh"
play="boards=4 mig=1,9,1" row_of 1 "" 'gpu-1 of 4' CUDA_VISIBLE_DEVICES=MIG-fake-1-9 -- $steps -- sh "$work/steps.sh"
play="boards=4 power=constant:100" row_of 1 "" 'gpu-3 of 4' CUDA_VISIBLE_DEVICES=3 -- $steps -- sh "$work/steps.sh" # boards that are not alike
says "$work/err" 'avg_power_w is left empty: its numbers count the fastest GPU first'
play="boards=4 power=constant:100" row_of 1 400 'gpu-3 of 4' CUDA_VISIBLE_DEVICES=3 CUDA_DEVICE_ORDER=PCI_BUS_ID -- $steps -- sh "$work/steps.sh"
# what was kept of a run knows it as well
with_boards CUDA_VISIBLE_DEVICES=3 -- --samples "$work/gpus.samples" $steps -- sh "$work/steps.sh"
ends 0 "of a run that keeps its samples"
row_of 1 400 'gpu-3 of 4 measured, by CUDA_VISIBLE_DEVICES=3' A=1 -- --read "$work/gpus.samples" $steps
# --attach: the environment of that process
env CUDA_VISIBLE_DEVICES=1 sleep 30 &
pid=$!
until tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -q '^CUDA_VISIBLE_DEVICES=1$'; do sleep 0.05; done
(with_boards A=1 -- --attach "$pid" --duration 1s --samples "$work/attached"; exit "$rc") &
until [ -s "$work/attached" ]; do sleep 0.05; done # the step lies in what is recorded, however long the start takes
read now _ </proc/uptime
wait $!
rc=$?
ends 0 "of --attach"
kill "$pid"
printf '%s\n' "$now begin step" "$("$python" -c "print($now + 0.4)") end step" >"$work/attached.marks"
row_of 1 200 'gpu-1 of 4 measured, by CUDA_VISIBLE_DEVICES=1' A=1 -- --read "$work/attached" $steps

# ---- --devices: UUIDs, how they begin, addresses; what is unknown is refused before the command runs
for device in GPU-fake-2 0000:03:00.0 00000000:03:00.0 MIG-fake-2-7 MIG-GPU-fake-2/7/0; do
    play="boards=4 mig=2,7,3" with_boards A=1 -- --devices "$device" --json -- true
    ends 0 "of --devices $device"
    checks=$((checks + 1))
    "$python" -c 'import json, sys; [s] = json.load(open(sys.argv[1]))["sensors"]; assert s["name"] == "gpu-2", s' "$work/out" || fail "--devices $device"
done
for device in GPU-99999999-0000-0000-0000-000000000000 gpu-4 gup 0000:0f:00.0 MIG-none GPU-fake; do
    rm -f "$work/ran" "$work/kept"
    with_boards A=1 -- --devices "$device" --samples "$work/kept" -- touch "$work/ran"
    ends 2 "of --devices $device"
    [ ! -e "$work/ran" ] && [ ! -e "$work/kept" ] || fail "the command ran, or a file was begun, with --devices $device"
done
says "$work/err" '^adept: devices: GPU-fake begins the names of 4 GPUs; there are: gpu-0 GPU-fake-0, gpu-1'
with_boards A=1 -- --devices gup -- true
says "$work/err" '^adept: devices: no sensor is called gup; there are: gpu-0 GPU-fake-0'
measure --devices gpu,nvml -- true # there is none, which is no mistake
ends 0 "of components that are missing"

# ---- above idle: the fit needs seconds of a counter that goes on, and the only bound on it is that it is one of them
writer
measure --idle-fit "$work/idle.json" --duration 3s
ends 0 "of an idle machine"
says "$work/out" '^cpu +E_idle\(t\) = .* J \+ [1-9][0-9][.0-9]* W t'
rm "$zone/energy_uj"
wait $writer
printf '%020d\n' 1000000 >"$zone/energy_uj"
measure --idle "$work/idle.json" --json -o "$work/r.json" -- $burn
"$python" - "$work/r.json" "$work/idle.json" <<'CHECK' || fail "above idle"
import json, sys
r = json.load(open(sys.argv[1]))
cpu, [host] = r["by_component"]["cpu"], json.load(open(sys.argv[2]))["hosts"].values()
fit = host["cpu"]
at_idle_j = fit["alpha_j"] + fit["beta_w"] * r["time_s"]
assert abs(cpu["energy_j"] - 10) < 1e-4 and abs(cpu["above_idle_j"] - (cpu["energy_j"] - at_idle_j)) < 1e-6 * abs(at_idle_j), (cpu, fit, r["time_s"])
CHECK
measure --idle "$work/runs.csv" -- sh -c "echo ran >$work/ran"
ends 3 "of a file that is no idle fit"
[ ! -e "$work/ran" ] || fail "the command ran for a report that cannot be made"

# ---- nodes are merged, and a prediction is compared
for node in 1 2; do
    measure --json -o "$work/n.json" -- $burn
    sed "s/\"host\":.*/\"host\": \"n$node\",/" "$work/n.json" >"$work/n$node.json"
done
measure --merge "$work/n1.json" "$work/n2.json"
ends 0 "of merging"
says "$work/out" '^ *Total +20\.00 '

# ---- a picture
if command -v gnuplot >/dev/null && "$ADEPT" report --help >/dev/null 2>&1; then
    measure --plot "$work/power.svg" -- sh -c 't() { read s _ </proc/uptime; echo "$s $1 load" >>"$ADEPT_MARKS"; }; t begin; '"$burn"'; t end'
    ends 0 "of a picture"
    says "$work/power.svg" '>load<'
    says "$work/power.svg" 'cpu-0'
fi

# ---- usage
for words in "" "--repeat 2" "--read x -- true" "--period 1us -- true" "--period 3 -- true" "--attach 0" "--attach 99999999" "--dram-dimms 8xGB -- true" "--meter http://x -- true"; do
    measure $words
    ends 2 "of 'measure $words'"
done
# ---- counters of processors: reported, or refused with a reason before anything runs
run measure --counters --json -- touch "$work/counted"
checks=$((checks + 1))
if [ "$rc" -eq 0 ]; then
    shows '"instructions":'
else
    grep -q '^adept: --counters: ' "$work/err" && [ ! -e "$work/counted" ] || fail "measure --counters ended with $rc"
fi
expect_error 2 '--counters needs a COMMAND' measure --counters --duration 1s
# ---- the error by sampling period, of samples that are kept
FAKE_NVML='power=square:100,300,0.08 counter=0' ADEPT_NVML_LIBRARY="$ADEPT_FAKE_NVML" run measure --devices gpu --period 10ms --samples "$work/p.samples" -o /dev/null -- sleep 1
expect_ok measure --read "$work/p.samples" --by-period
shows '^sensor +period +energy +error +by nominal period'
expect_ok measure --read "$work/p.samples" --by-period --json
"${PYTHON:-python3}" - "$work/out" <<'EOF' || fail 'the error by period'
import json, sys
rows = json.load(open(sys.argv[1]))["periods"]
assert len(rows) >= 4 and rows[0]["error_percent"] == 0 and all(r["sensor"] == "gpu-0" for r in rows), rows
assert all(1.9 < b["period_s"] / a["period_s"] < 2.1 for a, b in zip(rows, rows[1:])), rows
assert any(abs(r["error_percent"]) > 0.5 for r in rows[2:]) and abs(rows[1]["nominal_error_percent"]) < 60, rows
EOF
expect_error 2 'is of --read FILE' measure --by-period -- true

finish
