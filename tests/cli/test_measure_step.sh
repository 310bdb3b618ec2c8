# tools/measure/measure_step.py on a small model: a valid CSV, resumed and repaired, with traces. Skipped without PyTorch.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
python=
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import torch, torchvision' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || { echo "no Python with torch and torchvision"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
checker=$ADEPT_SOURCE_DIR/tests/cli/measure_step_check.py
csv=$work/m.csv

# measure CODE ARGUMENT...: the program with few steps; its messages are left in $work/err
measure() {
    code=$1
    shift
    "$python" "$ADEPT_SOURCE_DIR/tools/measure/measure_step.py" "$@" --device cpu --threads 1 --batch 2 --steps 2 --seconds 0 \
        --warmup-steps 1 --warmup-seconds 0 --window 0 --repeats 1 >"$work/out" 2>"$work/err"
    rc=$?
    checks=$((checks + 1))
    [ "$rc" -eq "$code" ] || fail "exit code $rc instead of $code: measure_step.py $*"
}

# holds ROWS: the CSV and the JSON beside it are sound
holds() {
    checks=$((checks + 1))
    "$python" "$checker" csv "$csv" "$1" >"$work/out" 2>"$work/err" || fail "the files are not as expected"
}

measure 0 squeezenet1_1 --input Bx3x32x32 --out "$csv"
holds 1
checks=$((checks + 1))
grep -q '^models/squeezenet1_1.pt,Bx3x32x32,2,,1,fp32,train,adamw,1,' "$csv" || fail "the row is not the one measured"

# an existing file is not touched without being asked to
measure 1 squeezenet1_1 --input Bx3x32x32 --out "$csv"
holds 1
# a torn last row is dropped and measured again; rows that are there are not; a file can be measured like a name
printf 'models/squeezenet1_1.pt,Bx3x32x32,2,,1,fp32,inf' >>"$csv"
measure 0 "$work/models/squeezenet1_1.pt" --input Bx3x32x32 --mode train,fwbw,infer --out "$csv" --resume
holds 3
# images in the other format are another row; there are no CUDA graphs of a CPU
measure 0 squeezenet1_1 --input Bx3x32x32 --memory-format nchw,channels_last --out "$csv" --resume
holds 4
checks=$((checks + 1))
[ "$(grep -c ',channels_last,eager,' "$csv")" -eq 1 ] || fail "no row in channels_last"
measure 1 squeezenet1_1 --input Bx3x32x32 --execution graphs --out "$csv" --resume
grep -q 'a cpu has no CUDA graphs' "$work/err" || fail "graphs on a CPU"
# two processes by gloo: a row of 2 GPUs, which is another row; the same step on one is there already
measure 0 squeezenet1_1 --input Bx3x32x32 --gpus 1,2 --out "$csv" --resume
holds 5
checks=$((checks + 1))
grep -q '^models/squeezenet1_1.pt,Bx3x32x32,2,,2,fp32,train,' "$csv" || fail "no row of two processes"
measure 2 squeezenet1_1 --input Bx3x32x32 --layout fsdp --out "$work/fsdp.csv"
grep -q 'fsdp is of several GPUs' "$work/err" || fail "fsdp of one GPU"
# tensor parallel: a step of two that learns what one alone would; of models whose layers it knows
checks=$((checks + 1))
"$python" "$checker" split "$ADEPT_SOURCE_DIR/tools" >"$work/out" 2>"$work/err" || fail "a divided model is another model"
measure 0 llama_tiny --gpus 1,2 --layout tp --mode train,infer --out "$work/tp.csv"
checks=$((checks + 1))
grep -q '^models/llama_tiny.pt,i64:Bx64,2,,2,fp32,train,.*,none,2$' "$work/tp.csv" && [ "$(grep -c ',none,1$' "$work/tp.csv")" -eq 2 ] ||
    fail "no rows of tensor parallel"
measure 2 llama_tiny --layout tp --out "$work/other_tp.csv"
measure 1 squeezenet1_1 --input Bx3x32x32 --gpus 2 --layout tp --out "$work/tp.csv" --resume
grep -Eq 'rank [01] of 2: tensor parallel is for' "$work/err" || fail "tensor parallel of convolutions"
measure 1 squeezenet1_1 --input Bx3x32x32 --gpus 2 --layout fsdp --out "$work/fsdp.csv"
grep -Eq 'rank [01] of 2: .*FullyShardedDataParallel' "$work/err" || fail "fsdp on a CPU"
# all-reduces of two processes, as calibrate --collectives takes them
checks=$((checks + 1))
"$python" "$ADEPT_SOURCE_DIR/tools/measure/measure_collectives.py" --device cpu --gpus 2 --sizes 65536,262144,1048576 --repeats 3 --out "$work/gloo.csv" \
    >"$work/out" 2>"$work/err" || fail "measure_collectives.py"
[ "$(wc -l <"$work/gloo.csv")" -eq 4 ] && grep -q '^all_reduce,2,1048576,' "$work/gloo.csv" || fail "the all-reduces of two processes"
if "$ADEPT" calibrate --help >/dev/null 2>&1; then
    expect_ok calibrate --collectives "$work/gloo.csv" --gpu a100
fi
# nothing of that name; and a file of other columns
measure 1 no_such_model --out "$csv" --resume
echo 'a,b' >"$work/other.csv"
measure 1 squeezenet1_1 --out "$work/other.csv" --resume

# adept reads the trace it wrote
if [ -n "${ADEPT_TORCH_MODULE:-}" ]; then
    expect_ok profile "$work/models/squeezenet1_1.pt" --input Bx3x32x32 --batch 2
fi

[ -n "${ADEPT_LIBRARY:-}" ] || { echo "skipped: the power meter (no libadept that Python can load)"; finish; }
# the power meter, on a library that stands in for NVML: a board with an energy counter, and one without
for play in "counter=1 shown=186" "counter=0 shown=120"; do # a reading that contradicts the counter would leave nothing known
    checks=$((checks + 1))
    FAKE_NVML="power=constant:200 limit=250 $play" \
        "$python" "$checker" power "$ADEPT_FAKE_NVML" "$ADEPT_SOURCE_DIR/tools/measure" >"$work/out" 2>"$work/err" ||
        fail "the meter reads the fake board wrongly"
done
shows '^sampling$'
checks=$((checks + 1))
ADEPT_LIBRARY=$work/none "$python" "$checker" power "$ADEPT_FAKE_NVML" "$ADEPT_SOURCE_DIR/tools/measure" >"$work/out" 2>"$work/err"
grep -q 'Build it (.*), or set ADEPT_LIBRARY' "$work/err" || fail "it does not say how to build libadept"
finish
