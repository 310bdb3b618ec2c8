# `adept attribute record` end to end, as any user: commands, meters, files that exist, that are full, that are begun anew, and kill -9.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
: "${ADEPT_DUMP:?}"
cd "$work" || exit 1

# dump FILE: leaves what it holds in $work/dump
dump() {
    checks=$((checks + 1))
    "$ADEPT_DUMP" "$1" >dump 2>err || fail "cannot read $1: $(cat err)"
}

# holds PATTERN: the last dump has it
holds() {
    checks=$((checks + 1))
    grep -Eq -- "$1" dump || fail "the recording has no '$1': $(head -20 dump)"
}

# pause FILE N: until FILE is that long, at most minutes
pause() {
    for _ in $(seq 3000); do
        [ -f "$1" ] && [ "$(wc -c <"$1")" -ge "$2" ] && return
        sleep 0.1
    done
    fail "$1 does not grow"
}

expect_ok attribute record --list
shows '^What counts:$'
shows '^  /proc: processes that live|^  bpf: all processes'
shows '^  bpf: all processes|^  network bytes: not counted'

# A command: its exit status is adept's, and what it did is in the file. Meters: GUDE's JSON, as spec'd by its pointer.
cat >gude.json <<'JSON'
{"sensor_descr":[{"type":8,"num":1,"properties":[{"name":"Power Port 1","id":"Port 1"}],
  "fields":[{"name":"Voltage","unit":"V"},{"name":"Current","unit":"A"},{"name":"Frequency","unit":"Hz"},{"name":"PowerFactor","unit":""},
            {"name":"ActivePower","unit":"W"},{"name":"FwdActEnergyRes","unit":"kWh"}]}],
 "sensor_values":[{"type":8,"num":1,"values":[[{"v":230.1},{"v":0.53},{"v":50.0},{"v":0.98},{"v":120},{"v":17.25}]]}]}
JSON
meters=no
"$ADEPT" attribute record --list --meter "file://$work/gude.json /sensor_values/0/values/0/4/v W" >out 2>err && grep -q 'meter-0' out && meters=yes
if [ $meters = yes ]; then
    set -- --meter "file://$work/gude.json /sensor_values/0/values/0/4/v W node"
else
    echo "built without meters at a URL: not tested"
    set -- --without-meter
fi
expect_run() { # CODE ARGUMENT...: nothing on stdout
    code=$1
    shift
    run "$@"
    checks=$((checks + 1))
    [ "$rc" -eq "$code" ] && [ ! -s out ] || fail "exit code $rc instead of $code: adept $*"
}
expect_run 3 attribute record -o run.adept --period 500ms "$@" -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; sleep 1; exit 3'
dump run.adept
holds '^cpu [0-9]+ sh ([0-9]+\.[0-9]*[1-9]|[1-9])'
holds '^interval .* processes [1-9]'
checks=$((checks + 1))
if grep -q '^cut' dump; then fail "a recording that ended is cut"; fi
if [ $meters = yes ]; then
    holds '^meter node samples ([2-9]|[1-9][0-9])'
    checks=$((checks + 1)) # 120 W from the first sample to the last
    awk '/^meter node/ { ok = $8 > 0 && $6 > 119.9 * $8 && $6 < 120.1 * $8 } END { exit !ok }' dump || fail "the meter's joules: $(grep ^meter dump)"
fi

# Without a meter there would be nothing to report in the end: it says so in the beginning.
mkdir -p bare/proc
expect_error 3 'no meter of the node.*--without-meter' attribute record --sysroot bare -o bare.adept -- true
checks=$((checks + 1))
[ ! -e bare.adept ] || fail "a recording without a meter was begun"
expect_error 1 'cannot create run.adept: File exists' attribute record --without-meter -o run.adept -- true
dump run.adept
expect_error 1 'cannot create /nonexistent/x: No such file' attribute record --without-meter -o /nonexistent/x --duration 1s
expect_error 2 '--rotate needs a date' attribute record -o x --rotate 1d
expect_error 2 '--period: at least 100 ms' attribute record -o x --period 1ms
expect_error 2 'exclude each other' attribute record -o x --duration 1s -- true
expect_error 2 "'nothing' is not one of" attribute nothing
expect_run 127 attribute record --without-meter --source proc -o none.adept -- /nonexistent/command
checks=$((checks + 1))
grep -q '^adept: cannot run /nonexistent/command' err || fail "a command that is not found"

# HUP begins another file; TERM ends the last one.
"$ADEPT" attribute record --without-meter --source proc -o 'turn-%H%M%S-%N.adept' --period 200ms >out 2>err &
pid=$!
sleep 0.1
for _ in $(seq 3000); do ls turn-*.adept >/dev/null 2>&1 && break; sleep 0.1; done
first=$(ls turn-*.adept)
pause "$first" 200
sleep 1.1 # another second, another name
kill -HUP $pid
for _ in $(seq 3000); do [ "$(ls turn-*.adept | wc -l)" -eq 2 ] && break; sleep 0.1; done
checks=$((checks + 1))
[ "$(ls turn-*.adept | wc -l)" -eq 2 ] || fail "HUP begins no other file"
sleep 0.5
kill -TERM $pid
wait $pid
rc=$?
checks=$((checks + 1))
[ $rc -eq 0 ] || fail "exit code $rc after TERM"
for file in turn-*.adept; do
    dump "$file"
    holds '^interval '
done

# Killed: what was written is there, and can be read while it grows.
"$ADEPT" attribute record --without-meter --source proc -o killed.adept --period 200ms >out 2>err &
pid=$!
sleep 1
pause killed.adept 300
dump killed.adept
sleep 1
kill -KILL $pid
wait $pid 2>/dev/null
dump killed.adept
holds '^interval '

# A full disk: the file is named, and what it has stays.
(ulimit -f 4; exec "$ADEPT" attribute record --without-meter --source proc -o full.adept --period 100ms --duration 600s) >out 2>err &
pid=$!
for i in $(seq 2000); do # a busy process has 13 bytes in each interval
    kill -0 $pid 2>/dev/null || break
    sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'
done
wait $pid
rc=$?
checks=$((checks + 1))
[ $rc -eq 1 ] && grep -q 'cannot write full.adept: File too large' err || fail "a full disk: exit code $rc"
dump full.adept
finish
