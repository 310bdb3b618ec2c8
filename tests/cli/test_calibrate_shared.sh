# adept calibrate --gpu auto: one fit over several GPUs, what is left out, and its parameters on a GPU never measured.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
"$ADEPT" calibrate --help >/dev/null 2>&1 || { echo "built without GSL and NLopt"; exit 77; }
XDG_CACHE_HOME=$work/cache
SOURCE_DATE_EPOCH=1700000000
export XDG_CACHE_HOME SOURCE_DATE_EPOCH
cd "$work" || exit 1

# Times of the model on five GPUs, invented: those of the built-in set, times a factor for each GPU.
number() {
    sed -n "s/.*\"$1\":[[:space:]]*\([-0-9.e+]*\).*/\1/p" "$work/out" | head -n 1
}
echo 'model,gpu,batch_size,step_time_s' >rows.csv
for pair in a10:1.02 a100:0.97 h100-sxm-80gb:1.04 l40s:1.00 mi210:0.95; do
    gpu=${pair%:*}
    expect_ok predict "$data/mlp.profile.json" --gpu "$gpu" --json
    awk -v t="$(number step_time_s)" -v g="$gpu" -v f="${pair#*:}" 'BEGIN { printf "mlp,%s,256,%.9g\n", g, t * f }' >>rows.csv
done
# Streams at 80 % of the bandwidth of 600 and 864 GB/s
kernels() {
    awk -v bw="$1" -v gpu="${2:-}" 'BEGIN {
        print "op,B,H,latency_ms" (gpu ? ",gpu" : "")
        for (i = 0; i < 120; i++) {
            rows = 20000 + 3000 * i
            printf "add,%d,512,%.6f%s\n", rows, 0.02 + 1e3 * 12 * rows * 512 / (0.8 * bw), gpu ? "," gpu : ""
        }
    }'
}
kernels 600e9 >a10.csv
kernels 864e9 l40s >some.csv
fit="rows.csv --models $data --gpu auto --suggest 0"
same() {
    checks=$((checks + 1))
    cmp -s "$1" "$2" || fail "$1 and $2 differ"
}

# ---- the fit ----
expect_ok calibrate $fit --kernels a10.csv --kernels some.csv -o s.json --threads 1
shows '^GPU +shared by a10, a100-sxm-40gb, h100-sxm-80gb, l40s, mi210$'
shows '^  HELD OUT +by gpu +5 '
shows '^  HELD OUT +add +stream +48 '
shows '^Held out by gpu: errors by gpu$'
shows '^  h100-sxm-80gb +1 '
shows '^Intervals of predictions: 80 % of measurements lie within '
shows '^  from residuals of rows held out \(gpu\)'
shows '^  adept gpus NAME --shared s.json --json > NAME.json'
for key in '"transferred":.*true' '"gpus":.*"a10"' '"vendors":.*"NVIDIA"' '"by_gpu":' '"some.csv"' '"power_limit_w":.*null'; do
    checks=$((checks + 1))
    tr -d '\n' <s.json | grep -Eq "$key" || fail "the set lacks $key"
done
for key in '"p_static_w":' '"bw_eff_bytes_per_s":' '"specs"' '"name":.*"shared"'; do
    checks=$((checks + 1))
    ! grep -q "$key" s.json || fail "the set has $key"
done
beta=$(sed -n 's/.*"beta_mem":[^0-9]*\([0-9.]*\).*/\1/p' s.json)
checks=$((checks + 1))
awk "BEGIN { exit !($beta > 0.7 && $beta < 0.9) }" || fail "beta_mem is $beta"
# threads, and where the kernels' GPU is named, change nothing
cp a10.csv mine.csv
expect_ok calibrate $fit --kernels a10.csv --kernels some.csv -o t.json --threads 3
same s.json t.json
expect_ok calibrate $fit --kernels a10=mine.csv --kernels some.csv -o t.json
sed 's/mine.csv/a10.csv/' t.json >u.json
same s.json u.json
expect_ok calibrate $fit --kernels a10.csv --kernels some.csv -o j.json --json
shows '"schema_version":1'
shows '"scheme":"gpu"'
shows '"by":\{"gpu":"l40s"\}'
# rows of no weight are judged, and teach nothing
awk -F, 'NR == 1 { print $0 ",weight" } NR > 1 { print $0 (/mi210/ ? ",0" : ",1") }' rows.csv >judged.csv
expect_ok calibrate judged.csv --models "$data" --gpu auto --suggest 0 -o w.json
shows '^  mi210 +1 '
for key in '"gpus":.*"h100-sxm-80gb"'; do
    checks=$((checks + 1))
    tr -d '\n' <w.json | grep -Eq "$key" || fail "the judged set lacks $key"
done
checks=$((checks + 1))
! sed -n 's/.*"gpus"://p' w.json | grep -q mi210 || fail 'a GPU of no weight taught something'
# kernels alone
expect_ok calibrate --gpu auto --kernels a10.csv --kernels some.csv -o k.json
shows 'No step was measured'
expect_ok gpus h200 --shared k.json

# ---- interruption ----
long='--max-generations 400 --tol 0 --population 30 --leave-out gpu'
expect_ok calibrate $fit $long --kernels a10.csv -o whole.json --threads 1
"$ADEPT" calibrate $fit $long --kernels a10.csv -o half.json --threads 1 >out 2>err &
pid=$!
tries=0
while [ ! -s half.json.checkpoint ] && [ "$tries" -lt 6000 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
kill -TERM "$pid"
wait "$pid"
if [ $? -eq 143 ]; then
    expect_ok calibrate $fit $long --kernels a10.csv -o half.json --resume half.json.checkpoint --threads 2
fi
same whole.json half.json

# ---- on a GPU never measured ----
expect_ok gpus h200 --shared s.json
shows ', not calibrated: parameters transferred from 5 other GPUs$'
expect_ok gpus h200 --shared s.json --json
cp out h200.json
expect_ok predict "$data/mlp.profile.json" --gpu ./h200.json
shows '^GPU .*, not calibrated: parameters transferred from 5 other GPUs$'
shows '^Interval '
shows 'h200-sxm-141gb is not calibrated: parameters are transferred from a10, a100-sxm-40gb, '
expect_ok predict "$data/mlp.profile.json" --gpu ./h200.json --json
shows '"calibrated":[[:space:]]*false'
shows '"transferred":[[:space:]]*true'
shows '"by_gpu"'
# as built in
expect_ok predict "$data/mlp.profile.json" --gpu h200 --json
shows '"transferred":[[:space:]]*true'
expect_ok predict "$data/mlp.profile.json" --gpu mi300x
shows 'all of other vendors: expect errors of tens of percent'
checks=$((checks + 1))
! grep -q '^Interval' out || fail "an interval across vendors"
expect_ok gpus
shows '^gh200-96gb .* transferred '
shows '^t4 .* yes'

# ---- what is refused ----
printf 'model,gpu,step_time_s\nmlp,t4,1\nmlp,,2\n' >empty.csv
expect_error 3 'empty.csv:3: column gpu: empty; --gpu auto needs the GPU of every row' calibrate empty.csv --models "$data" --gpu auto -o x.json
printf 'model,gpu,step_time_s\nmlp,t4,1\nmlp,t5,2\n' >unknown.csv
expect_error 6 "unknown.csv:3: column gpu: unknown GPU 't5'" calibrate unknown.csv --models "$data" --gpu auto -o x.json
expect_error 6 "mine.csv:2: column gpu: unknown GPU 'mine'" calibrate --gpu auto --kernels mine.csv -o x.json
expect_error 2 'gpu auto is of --granularity operator' calibrate rows.csv --gpu auto --granularity model -o x.json
expect_error 3 'parameters shared by GPUs, not a GPU' predict "$data/mlp.profile.json" --gpu ./s.json
expect_error 3 'no set of parameters shared by GPUs' gpus h200 --shared "$ADEPT_SOURCE_DIR/hwprofiles/t4.json"
expect_error 2 'shared is for one GPU' gpus --shared s.json
finish
