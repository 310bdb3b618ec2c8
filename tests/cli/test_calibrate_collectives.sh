# adept calibrate --collectives from end to end, on invented all-reduces.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
"$ADEPT" calibrate --help >/dev/null 2>&1 || { echo "built without GSL and NLopt"; exit 77; }
XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME
cd "$work" || exit 1

# 8 GPUs at 10 GB/s and 5 us a hop, 23 hops and 1.75 of the bytes by each protocol; one column that is nobody's.
{
    echo 'op,gpus,size_bytes,time_us,busbw'
    awk 'BEGIN {
        for (i = 16; i < 30; i++) {
            link = 1e6 * 1.75 * 2^i / 10e9
            us = 23 * 5 + 2 * link
            if (2.3 * 23 * 5 + link * 16 / 15 < us) us = 2.3 * 23 * 5 + link * 16 / 15
            if (4 * 23 * 5 + link < us) us = 4 * 23 * 5 + link
            printf "all_reduce,8,%d,%.3f,-\n", 2^i, us
        }
        print "all_gather,8,1024,9,-"
    }'
} >nccl.csv
gpu='--gpu rtx4090'

expect_ok calibrate --collectives nccl.csv $gpu -o mine.json
shows '^All-reduces  from nccl.csv'
shows '^  bandwidth 10.0 GB/s'
shows '^  HELD OUT +size +each in turn +14 '
first=$(grep -n 'HELD OUT' out | head -1 | cut -d: -f1)
second=$(grep -n 'in-sample' out | head -1 | cut -d: -f1)
[ "$first" -lt "$second" ] || fail "the held-out error does not come first"
expect_ok calibrate --collectives nccl.csv $gpu -o again.json --json
shows '"allreduce_bytes_per_s":'
shows '"schema_version":1'
shows '"by":"gpus","value":"8","n":0,"mape":null'
cmp -s mine.json again.json || fail "two runs differ"
expect_ok gpus ./mine.json
shows 'adept calibrate: 14 all-reduces of nccl.csv'

# predictions: slower on several GPUs, the same on one
of_prediction() { # KEY GPU OPTION...
    key=$1 to=$2
    shift 2
    "$ADEPT" predict "$data/mlp.profile.json" --gpu "$to" --json "$@" | sed -n "s/.*\"$key\":[^0-9]*\([^,]*\),.*/\1/p" | head -1
}
checks=$((checks + 2))
[ "$(of_prediction step_time_s ./mine.json)" = "$(of_prediction step_time_s rtx4090)" ] || fail "one GPU is predicted otherwise"
slow=$(of_prediction exposed_s ./mine.json --gpus 8 --overlap none) fast=$(of_prediction exposed_s rtx4090 --gpus 8 --overlap none)
awk "BEGIN { exit !($slow > $fast) }" || fail "all-reduces of $slow s instead of $fast"

# beside steps and kernels
printf 'model,step_time_s,gpus,overlap\nmlp,0.00031,1,\nmlp,0.00032,2,none\n' >rows.csv
expect_ok calibrate rows.csv --models "$data" --collectives nccl.csv $gpu -o steps.json --suggest 0 --leave-out none
shows '^All-reduces  from nccl.csv'
checks=$((checks + 1))
grep -q '"allreduce_hop_s"' steps.json || fail "the sheet has no measured hop"

expect_error 2 'one --gpu' calibrate --collectives nccl.csv --gpu auto -o x.json
expect_error 2 'plot needs a MEASUREMENTS.csv besides --collectives' calibrate --collectives nccl.csv $gpu -o x.json --plot x.svg
expect_error 2 'would be written over' calibrate --collectives nccl.csv $gpu -o nccl.csv
expect_error 3 'absent.csv' calibrate --collectives absent.csv $gpu -o x.json
echo 'all_reduce,one,5,5,-' >>nccl.csv
expect_error 3 'nccl.csv:17: column gpus: "one" is not a whole number' calibrate --collectives nccl.csv $gpu -o x.json
finish
