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
# nothing of that name; and a file of other columns
measure 1 no_such_model --out "$csv" --resume
echo 'a,b' >"$work/other.csv"
measure 1 squeezenet1_1 --out "$work/other.csv" --resume

# adept reads the trace it wrote
if [ -n "${ADEPT_TORCH_MODULE:-}" ]; then
    expect_ok profile "$work/models/squeezenet1_1.pt" --input Bx3x32x32 --batch 2
fi

# the power meter, on libraries that stand in for NVML: a board with an energy counter, and one without
for counter in 1 0; do
    cat >"$work/nvml.c" <<'C'
#include <string.h>
#include <time.h>
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device)
{
    *device = (void *)1;
    return strcmp(id, "0000:01:00.0") != 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = (void *)1; return index != 0; }
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw) { *mw = 250000; return device != (void *)1; }
int nvmlDeviceGetPowerUsage(void *device, unsigned *mw) { *mw = 120000; return device != (void *)1; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { strncpy(text, "1.2.3", size); return 0; }
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    *mj = 200 * ((unsigned long long)t.tv_sec * 1000 + t.tv_nsec / 1000000);
    return COUNTER ? device != (void *)1 : 3; /* NVML_ERROR_NOT_SUPPORTED */
}
C
    cc -shared -fPIC -DCOUNTER=$counter -o "$work/nvml$counter.so" "$work/nvml.c" || exit 1
    checks=$((checks + 1))
    "$python" "$checker" power "$work/nvml$counter.so" "$ADEPT_SOURCE_DIR/tools/measure" >"$work/out" 2>"$work/err" ||
        fail "the meter reads the fake board wrongly"
done
shows '^sampling$'
finish
