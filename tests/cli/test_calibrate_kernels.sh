# adept calibrate --kernels and --granularity operator from end to end, on invented kernels and a saved profile.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
"$ADEPT" calibrate --help >/dev/null 2>&1 || { echo "built without GSL and NLopt"; exit 77; }
XDG_CACHE_HOME=$work/cache
SOURCE_DATE_EPOCH=1700000000
export XDG_CACHE_HOME SOURCE_DATE_EPOCH
cd "$work" || exit 1

# Streams at 80 % of the V100's 900 GB/s, products at 70 % of its 14 TFLOP/s; 20 microseconds of overhead.
{
    echo 'op,B,M,N,K,H,latency_ms'
    awk 'BEGIN {
        for (i = 0; i < 120; i++) {
            rows = 20000 + 3000 * i
            printf "add,%d,,,,512,%.6f\n", rows, 0.02 + 1e3 * 12 * rows * 512 / (0.8 * 900e9)
        }
        for (i = 0; i < 150; i++) {
            m = 2048 + 256 * (i % 10); n = 2048 + 256 * (i % 6); k = 1024 + 512 * (i % 5)
            printf "linear,1,%d,%d,%d,,%.6f\n", m, k, n, 0.02 + 1e3 * 2 * m * n * k / (0.7 * 14e12)
        }
    }'
} >kernels.csv
{
    echo 'model,batch_size,step_time_s,avg_power_w'
    echo 'mlp,,0.00031,95'
    echo 'mlp,,0.00032,97'
} >rows.csv
gpu='--gpu v100-pcie-32gb'
steps="rows.csv --models $data --suggest 0 --leave-out none"
same() {
    checks=$((checks + 1))
    cmp -s "$1" "$2" || fail "$1 and $2 differ"
}

# ---- kernels alone ----
expect_ok calibrate --kernels kernels.csv $gpu -o k1.json --threads 1
shows '^Kernels +from kernels.csv'
shows '^  HELD OUT +add +stream +2[0-9] '
shows '^  HELD OUT +linear +gemm +30 '
shows '^  in-sample +all +gemm +120 '
shows 'No step was measured'
first=$(grep -n 'HELD OUT' out | head -1 | cut -d: -f1)
second=$(grep -n 'in-sample' out | head -1 | cut -d: -f1)
[ "$first" -lt "$second" ] || fail "the held-out error does not come first"
expect_ok calibrate --kernels kernels.csv $gpu -o k2.json --threads 2 --json
shows '"schema_version":1'
shows '"held_out":null'
shows '"roofline_mape":'
same k1.json k2.json
for key in '"granularity":.*"operator"' '"tiles":' '"kernels":' '"kernels.csv"' '"2023-11-14"' \
    "$(sha256sum kernels.csv | cut -c1-64)"; do
    checks=$((checks + 1))
    grep -q "$key" k1.json || fail "the profile lacks $key"
done
# what it was made of: 80 % of the bandwidth, to 3 %
beta=$(sed -n 's/.*"beta_mem":[^0-9]*\([0-9.]*\).*/\1/p' k1.json)
checks=$((checks + 1))
awk "BEGIN { exit !($beta > 0.776 && $beta < 0.824) }" || fail "beta_mem is $beta"
expect_ok predict "$data/mlp.profile.json" --gpu ./k1.json
expect_ok gpus ./k1.json

# ---- kernels and steps ----
expect_ok calibrate $steps --kernels kernels.csv $gpu -o s1.json --threads 1
shows '^Fit +[0-9]+ parameters'
shows '^  kept, told by measured kernels, not by steps: '
shows '^  HELD OUT +linear +gemm'
expect_ok calibrate $steps --kernels kernels.csv $gpu -o s2.json --threads 2
same s1.json s2.json
for key in '"tiles":' '"kernels.csv"' '"rows.csv"'; do
    checks=$((checks + 1))
    grep -q "$key" s1.json || fail "the profile lacks $key"
done
# in two commands: the same fit, since the profile of the kernels is the base
expect_ok calibrate $steps --granularity operator --gpu ./k1.json -o s3.json
shows '^  kept, told by measured kernels'
checks=$((checks + 1))
sed -n '/"parameters"/,/}/p' s1.json >p1
sed -n '/"parameters"/,/}/p' s3.json >p3
[ -s p1 ] || fail "no parameters in s1.json"
same p1 p3
grep -q '"kernels.csv"' s3.json || fail "the record of the kernels is lost"
expect_ok evaluate rows.csv --gpu ./s1.json --models "$data"

# ---- steps alone, and more of the search ----
expect_ok calibrate $steps --granularity operator $gpu -o o1.json --json
shows '"granularity":"operator"'
expect_ok calibrate $steps --granularity operator $gpu -o o2.json --max-generations 3 --population 1 --free r_tile_gemm
shows '^  r_tile_gemm '

expect_ok calibrate $steps --granularity operator $gpu -o o3.json --tiles gemm=64x32,16x16 --tiles conv=32x16
checks=$((checks + 1))
tr -d '\n\t ' <o3.json | grep -q '"tiles":{"gemm":\["64x32","16x16"\],"bmm":\["[0-9x",]*"\],"conv":\["32x16"\],"tensor":\["[0-9x",]*"\]}' ||
    fail "o3.json has other tiles"

# ---- wrong usage and files ----
expect_error 2 'not a tile like' calibrate rows.csv --granularity operator --tiles gemm=64 $gpu -o x.json
expect_error 2 'not FAMILY=' calibrate rows.csv --granularity operator --tiles 64x64 $gpu -o x.json
expect_error 2 'not one of gemm, bmm, conv, tensor' calibrate rows.csv --tiles stream=64x64 $gpu -o x.json
expect_error 2 'without Winograd' calibrate rows.csv --granularity operator --tiles conv=winograd4:32x32 $gpu -o x.json
expect_error 2 'tiles is of --granularity operator' calibrate rows.csv --granularity model --tiles gemm=64x64 $gpu -o x.json
expect_error 2 'kernels finds them' calibrate --kernels kernels.csv --tiles gemm=64x64 $gpu -o x.json
expect_error 2 'exclude each other' calibrate --kernels kernels.csv --granularity model $gpu -o x.json
expect_error 2 'not one of model, operator' calibrate rows.csv --granularity layer $gpu -o x.json
expect_error 2 'prior-rows is of --granularity operator' calibrate rows.csv --granularity model --prior-rows 1 $gpu -o x.json
expect_error 2 'gpu is missing' calibrate --kernels kernels.csv -o x.json
expect_ok calibrate --kernels kernels.csv $gpu # its report alone
checks=$((checks + 1))
! grep -q '^Written' "$work/out" || fail 'something is written without -o'
expect_error 2 'plot needs a MEASUREMENTS' calibrate --kernels kernels.csv $gpu -o x.json --plot x.svg
expect_error 2 'resume needs a MEASUREMENTS' calibrate --kernels kernels.csv $gpu -o x.json --resume x
expect_error 2 'would be written over' calibrate --kernels kernels.csv $gpu -o kernels.csv
expect_error 2 'has no stages' calibrate $steps --granularity operator --stage S2 $gpu -o x.json
expect_error 2 'has no targeted scalars' calibrate $steps --granularity operator --scalar a=mem@model:mlp $gpu -o x.json
expect_error 3 'absent.csv' calibrate --kernels absent.csv $gpu -o x.json
printf 'op,B,H,latency_ms\nadd,3,many,1\n' >bad.csv
expect_error 3 'bad.csv:2: column H' calibrate --kernels bad.csv $gpu -o x.json
expect_error 6 'a40|v100' calibrate --kernels kernels.csv --gpu v1000 -o x.json
head -20 kernels.csv >few.csv
expect_error 5 'no family of kernels' calibrate --kernels few.csv $gpu -o x.json
checks=$((checks + 1))
[ ! -e x.json ] || fail "an error leaves a profile"

finish
