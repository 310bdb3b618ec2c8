# adept calibrate from end to end on a saved profile (no libtorch): the result, its report, interruption, kill, full disk.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
"$ADEPT" calibrate --help >/dev/null 2>&1 || { echo "built without GSL and NLopt"; exit 77; }
XDG_CACHE_HOME=$work/cache
SOURCE_DATE_EPOCH=1700000000
export XDG_CACHE_HOME SOURCE_DATE_EPOCH
cd "$work" || exit 1

# invented times and powers of one model on 1 to 8 GPUs
{
    echo 'model,gpus,step_time_s,avg_power_w,lab'
    echo 'mlp,1,0.0021,300,x'
    echo 'mlp,2,0.0024,560,x'
    echo 'mlp,4,0.0029,1010,y'
    echo 'mlp,8,0.0030,2000,y'
} >rows.csv
fit() {
    run calibrate rows.csv --gpu a100 --models "$data" "$@"
}
ok() {
    checks=$((checks + 1))
    fit "$@"
    [ "$rc" -eq 0 ] || fail "exit code $rc: calibrate $*"
}
same() {
    checks=$((checks + 1))
    cmp -s "$1" "$2" || fail "$1 and $2 differ"
}
there() {
    checks=$((checks + 1))
    [ -s "$1" ] || fail "there is no $1"
}
gone() {
    checks=$((checks + 1))
    [ ! -e "$1" ] || fail "$1 is still there"
}

# ---- the result ----
quick='--max-generations 200 --suggest 0'
ok $quick -o a.json --threads 1 --leave-out gpus
[ ! -s err ] || fail "something on stderr"
shows '^Rows +4: 4 times, 4 powers; from rows.csv'
shows '^Fit +[0-9]+ parameters, sigmoid saturation, seed 1, '
shows '^Errors, in percent .* held out, not those in-sample'
first=$(grep -n 'HELD OUT' out | head -1 | cut -d: -f1)
second=$(grep -n 'in-sample  ' out | head -1 | cut -d: -f1)
[ -n "$first" ] && [ "$first" -lt "$second" ] || fail "the held-out error does not come first"
shows '^  floor, held out'
shows '^Parameters: [0-9]+ free'
shows 'adept predict MODEL --gpu a.json'
there a.json
gone a.json.checkpoint
# without -o the report alone; -o -: the profile alone
ok $quick --threads 1 --leave-out gpus
shows '^Errors, in percent .* held out, not those in-sample'
ls >files
checks=$((checks + 1))
! grep -q checkpoint files && ! grep -q '^Written' out || fail 'something is written without -o'
ok $quick --threads 1 --leave-out gpus -o -
same out a.json
grep -q '"rows.csv"' a.json || fail "the profile does not name its measurements"
grep -q "$(sha256sum rows.csv | cut -c1-64)" a.json || fail "the profile does not have their hash"
grep -q '2023-11-14' a.json || fail "the profile does not have the date"
expect_ok predict "$data/mlp.profile.json" --gpu ./a.json --gpus 2
shows ', calibrated'
expect_ok evaluate rows.csv --gpu ./a.json --models "$data"
expect_ok gpus ./a.json

# the same seed, the same bytes: threads, folder and repetition do not matter; another seed may differ
ok $quick -o b.json --threads 2 --leave-out gpus
same a.json b.json
mkdir sub
ok $quick -o sub/c.json --threads 3 --leave-out gpus --seed 1
same a.json sub/c.json

# JSON
ok $quick -o j.json --leave-out K-fold:2,gpus --leave-out lab --json
shows '^\{ *"schema_version" *: *1'
for key in held_out in_sample overall groups mape_time mape_power mape_combined bias_time floors warnings; do
    shows "\"$key\""
done
[ "$(wc -l <out)" -ge 1 ] || fail "no JSON"
# rows that cannot be left out: said, not invented
ok $quick -o m.json --leave-out model
shows 'No held-out error by model: '

# options reach the fit
ok $quick -o f.json --leave-out none --fix c_power=1.25 --weight-power 0 --strategy rand1bin --bounds clip --no-polish \
    --saturation tanh --free overlap --prior 0.5 --population 5 --tol 0.1
shows 'tanh saturation'
shows '^  kept, .*c_power = 1\.25'
shows '^  overlap  '
ok $quick -o g.json --leave-out none --compare-saturations
for name in sigmoid arctan softsign algebraic tanh; do
    shows "^  $name "
done
ok $quick -o h.json --leave-out none --stage S7
shows '^Stages'
ok $quick -o i.json --leave-out none --scalar mlp_mem=mem@model:ml*
shows ' mlp_mem '
grep -q '"ml\*"' i.json || fail "the profile does not have the scalar's target"
expect_ok predict "$data/mlp.profile.json" --gpu ./i.json
ok $quick -o w.json --leave-out none --scalar mlp_mem=mem@model:ml* --without mlp_mem
checks=$((checks + 1))
! grep -q mlp_mem out w.json || fail "--without keeps the scalar"

# from a fitted profile: it is the start, unless it is to be forgotten
ok $quick -o d.json --threads 2 --leave-out gpus --from-sheet
ok $quick -o b.json --threads 2 --leave-out gpus --gpu ./a.json --from-sheet
same d.json b.json
ok $quick -o s.json --leave-out none --gpu ./a.json --prior 10
shows '^  a100-sxm-40gb is itself fitted'

# wrong usage
bad() {
    pattern=$1
    shift
    expect_error 2 "$pattern" calibrate rows.csv --gpu a100 --models "$data" -o x.json "$@"
    gone x.json
}
expect_error 2 'calibrate needs a MEASUREMENTS.csv' calibrate
expect_error 2 '--gpu is missing, and rows.csv:2 names no GPU' calibrate rows.csv -o x.json
# rows that name their GPU need no --gpu; of several it is a set
for gpus in 'a100 a100-sxm-40gb' 'a100 t4'; do
    awk -v gpus="$gpus" 'BEGIN { OFS = FS = ","; n = split(gpus, gpu, " ") } { print $0, NR == 1 ? "gpu" : gpu[(NR - 2) % n + 1] }' rows.csv >named.csv
    name=a100-sxm-40gb
    [ "$gpus" = 'a100 a100-sxm-40gb' ] || name=auto
    run calibrate named.csv --models "$data" $quick --leave-out none -o alone.json
    checks=$((checks + 2))
    [ "$rc" -eq 0 ] || fail "calibrate without --gpu: $gpus"
    grep -q "^adept: the rows name .*; this runs: adept calibrate --gpu $name --granularity operator\$" err || fail "it does not say what it runs: $gpus"
    run calibrate named.csv --gpu $name --models "$data" $quick --leave-out none -o given.json
    same alone.json given.json
done
printf 'model,step_time_s,gpu\nmlp,1,b1000\n' >named.csv
expect_error 6 "named.csv:2: unknown GPU" calibrate named.csv -o x.json
expect_error 2 'file name is empty' calibrate rows.csv --gpu a100 -o ''
bad "--fix: '=1' is neither PARAMETER nor PARAMETER=VALUE" --fix =1
bad "--fix: 'x' is not a number" --fix c_power=x
bad 'no_such' --fix no_such=1
bad 'c_power' --fix c_power=99
bad 'no_such' --free no_such
bad 'no_such' --without no_such
bad "--scalar: 'x' is not NAME=TERM@WHAT:PATTERN" --scalar x
bad "--scalar: 'fft' is not one of gemm, conv, alu, mem, opt" --scalar x=fft@model:a
bad "--scalar: 'layer' is not one of model, class, precision, kind" --scalar x=mem@layer:a
bad "--stage: 'S8' is not one of S1, S2, S3" --stage S8
bad "--saturation: 'relu' is not one of sigmoid" --saturation relu
bad "--granularity: 'kernel' is not one of model" --granularity kernel
bad "--strategy: 'best2bin'" --strategy best2bin
bad "--bounds: 'wrap'" --bounds wrap
bad "--seed: '-1' is too small" --seed -1
bad "--threads: '0' is too small" --threads 0
bad "--population: 'x'" --population x
bad "--tol: '-1' is too small" --tol -1
bad 'from-sheet and --prior exclude' --from-sheet --prior 1
bad 'cannot both be 0' --weight-time 0 --weight-power 0
bad 'colour' --leave-out colour
bad 'k-fold:1' --leave-out k-fold:1
bad 'none excludes all others' --leave-out none,model
bad 'holds an empty word' --leave-out model,,gpus
bad 'colour' --by colour
expect_error 6 "unknown GPU" calibrate rows.csv --gpu a1000 -o x.json
expect_error 3 'no-such.csv' calibrate no-such.csv --gpu a100 -o x.json
expect_error 3 "no/such: not a folder" calibrate rows.csv --gpu a100 --models no/such -o x.json
expect_error 1 'no/such/x.json: cannot write' calibrate rows.csv --gpu a100 --models "$data" -o no/such/x.json
expect_error 1 'sub: cannot write: not a regular file' calibrate rows.csv --gpu a100 --models "$data" -o sub
expect_error 2 'is read: it would be written over' calibrate rows.csv --gpu a100 --models "$data" -o sub/../rows.csv
ln -sf rows.csv rows.svg
expect_error 2 'is read: it would be written over' calibrate rows.csv --gpu a100 --models "$data" -o x.json --plot rows.svg
expect_error 3 '--resume nothing' calibrate rows.csv --gpu a100 --models "$data" -o x.json --resume nothing

# nothing to fit
printf 'model,step_time_s,weight\nmlp,1,0\n' >zero.csv
expect_error 5 '.' calibrate zero.csv --gpu a100 --models "$data" -o x.json
gone x.json

# ---- interruption: the best is kept, and going on gives the bytes of a fit that was left alone ----
# so many generations that a fit lasts for seconds, sanitizers or not: at 1000 it takes 20 s with them
long='--suggest 0 --tol 0 --population 100 --threads 1'
began_ms=$(($(date +%s%N) / 1000000))
ok $long --max-generations 100 --leave-out none -o x.json
generations=$((100 + 300000 / ($(date +%s%N) / 1000000 - began_ms + 1)))
[ "$generations" -le 1000 ] || generations=1000
[ "$generations" -ge 250 ] || generations=250
rm x.json
long="$long --max-generations $generations"
ok $long --leave-out none -o whole.json

wait_for() { # FILE: for minutes
    tries=0
    while [ ! -s "$1" ] && [ "$tries" -lt 6000 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
}
# background jobs of a script ignore SIGINT, which the program would inherit; SIGTERM asks for the same
"$ADEPT" calibrate rows.csv --gpu a100 --models "$data" $long --leave-out none -o half.json >out 2>err &
pid=$!
wait_for half.json.checkpoint
kill -TERM "$pid"
wait "$pid"
rc=$?
checks=$((checks + 1))
if [ "$rc" -eq 143 ]; then
    grep -q '^adept: interrupted; the best so far .* --resume half.json.checkpoint' err || fail "not the message"
    [ ! -s out ] || fail "an interrupted fit prints a result"
    there half.json
    there half.json.checkpoint
    expect_ok predict "$data/mlp.profile.json" --gpu ./half.json
    ok $long --leave-out none -o half.json --resume half.json.checkpoint --threads 2
    gone half.json.checkpoint
else
    fail "exit code $rc after SIGTERM"
fi
same whole.json half.json

# ---- kill -9 among the held-out refits: what was saved is whole, and finished parts are not fitted again ----
long="$long --max-generations $((generations * 2 / 5)) --leave-out gpus"
ok $long -o whole.json
cp whole.json killed.json
"$ADEPT" calibrate rows.csv --gpu a100 --models "$data" $long -o killed.json >out 2>err &
pid=$!
tries=0
until grep -q '"parts":\[{' killed.json.checkpoint 2>/dev/null || [ "$tries" -ge 6000 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
kill -KILL "$pid"
wait "$pid" 2>/dev/null
same whole.json killed.json
cp killed.json.checkpoint kept
checks=$((checks + 1))
grep -q '"parts":\[{' kept || fail "no finished part was kept"
ok $long -o killed.json --resume killed.json.checkpoint
same whole.json killed.json

# a checkpoint of something else, or damaged, is refused and not touched
expect_error 2 '.' calibrate rows.csv --gpu h100 --models "$data" $long -o x.json --resume kept
expect_error 2 '.' calibrate rows.csv --gpu a100 --models "$data" $long --seed 2 -o x.json --resume kept
head -c 500 kept >cut
expect_error 3 'cut' calibrate rows.csv --gpu a100 --models "$data" $long -o x.json --resume cut
echo '{}' >empty
expect_error 3 'empty' calibrate rows.csv --gpu a100 --models "$data" $long -o x.json --resume empty
gone x.json

# ---- a full disk: an error, and the old profile is still there ----
cp whole.json full.json
checks=$((checks + 1))
(ulimit -f 4 && exec "$ADEPT" calibrate rows.csv --gpu a100 --models "$data" $quick --leave-out none -o full.json) >out 2>err
rc=$?
[ "$rc" -eq 1 ] || fail "exit code $rc with a full disk"
grep -q '^adept: .*cannot write' err || fail "not the message of a full disk"
same whole.json full.json
[ -z "$(find . -name '*.tmp')" ] || fail "temporary files are left: $(find . -name '*.tmp')"
finish
