# Ctrl-C ends every command with 130, SIGTERM with 143; neither they nor kill -9 leave a file behind or change one.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
command -v timeout >/dev/null || { echo "no timeout"; exit 77; }
profile=$data/mlp.profile.json
clusters=$ADEPT_SOURCE_DIR/data/clusters
{
    echo 'model,batch_size,step_time_s,avg_power_w'
    for batch in 1 2 4 8 16 32; do echo "mlp,$batch,0.00$batch,200"; done
} >"$work/rows.csv"

# What measure runs. kill -9 of measure leaves it, so that the test has to end it.
sleeper=$work/sleeper
printf '#!/bin/sh\necho $$ >"%s"\nexec sleep 60\n' "$sleeper.pid" >"$sleeper"
chmod +x "$sleeper"
end_sleeper() {
    [ ! -e "$sleeper.pid" ] || kill -KILL "$(cat "$sleeper.pid")" 2>/dev/null
    rm -f "$sleeper.pid"
}

# stopped SIGNAL CODE ARGUMENT...: after a moment, by one signal to the program alone
stopped() {
    signal=$1
    code=$2
    shift 2
    mkdir "$work/there"
    echo before >"$work/there/out"
    (cd "$work/there" && exec timeout --foreground --preserve-status -s "$signal" "${seconds:-0.7}" "$ADEPT" "$@") >"$work/out" 2>"$work/err" </dev/null
    rc=$?
    end_sleeper
    checks=$((checks + 1))
    [ "$rc" -eq "$code" ] || fail "exit code $rc instead of $code after $signal: adept $*"
    case $* in
    calibrate* | measure*) ;; # the best so far, and what was measured, are results
    *) [ "$(ls -A "$work/there")" = out ] && [ "$(cat "$work/there/out")" = before ] || fail "left by $signal: $(ls -A "$work/there"): adept $*" ;;
    esac
    rm -r "$work/there"
}

long="sweep $profile --gpu a100 --vary power_limit_w=100:250:0.001 --vary gpus=1:80:1"
for signal in INT TERM KILL; do
    case $signal in INT) code=130 ;; TERM) code=143 ;; KILL) code=137 ;; esac
    stopped $signal $code $long --csv
    stopped $signal $code $long -o out
    stopped $signal $code measure --period 10ms -o out -- "$sleeper"
    stopped $signal $code measure --duration 60s --json -o out
    [ -z "${ADEPT_TORCH_MODULE:-}" ] || # the jobs' models
        seconds=3 stopped $signal $code simulate "$clusters/thesis.json" "$clusters/thesis_jobs.json" --policy fcfs,zeus --seeds 100000 --json
done
if "$ADEPT" calibrate --help >/dev/null 2>&1; then
    for code in 130 143; do
        stopped $((code - 128)) $code calibrate "$work/rows.csv" --gpu a100 --models "$data" --max-generations 1000000 --tol 0 -o new.json
    done
fi
# adept serve: tests/cli/test_serve.sh

# A signal that was ignored stays so: INT of what a script has in the background, TERM under trap ''.
for ignored in INT TERM; do
    for command in "$long --csv" "measure --period 10ms -- $sleeper"; do
        (trap '' $ignored && exec "$ADEPT" $command >"$work/out" 2>"$work/err") &
        pid=$!
        sleep 1
        kill -$ignored $pid
        sleep 0.5
        checks=$((checks + 1))
        kill -0 $pid 2>/dev/null || fail "$ignored was ignored, and ends: adept $command"
        kill -KILL $pid 2>/dev/null
        end_sleeper
        wait $pid 2>/dev/null
    done
done

# What a killed command left where files need names goes with the next one.
cd "$work" || exit 1
echo half >out.1234567-0.tmp
echo mine >out.1234567.tmp
expect_ok profile "$profile" -o out
checks=$((checks + 1))
[ "$(ls out*)" = "out
out.1234567.tmp" ] || fail "beside the file: $(ls)"
finish
