# tools/measure/campaign.sh: its options, the fit of CSVs that are there, a GPU played by stand-ins for nvidia-smi and for the
# measuring programs, and, where there is PyTorch, all of it on this CPU.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
"$ADEPT" calibrate --help >/dev/null 2>&1 || { echo "built without GSL and NLopt"; exit 77; }
XDG_CACHE_HOME=$work/cache
PYTHONDONTWRITEBYTECODE=1
PYTHON=python3
export ADEPT XDG_CACHE_HOME PYTHON PYTHONDONTWRITEBYTECODE
cd "$work" || exit 1

# campaign CODE PATTERN ARGUMENT...: that exit code, and a message or summary that matches
campaign() {
    code=$1
    pattern=$2
    shift 2
    sh "$ADEPT_SOURCE_DIR/tools/measure/campaign.sh" "$@" >"$work/out" 2>"$work/err"
    rc=$?
    checks=$((checks + 1))
    [ "$rc" -eq "$code" ] || fail "exit code $rc instead of $code: campaign.sh $*"
    cat "$work/out" "$work/err" | grep -Eq -- "$pattern" || fail "no message '$pattern': campaign.sh $*"
}

# logged PATTERN FILE
logged() {
    checks=$((checks + 1))
    grep -Eq -- "$1" "$2" || fail "$2 does not have '$1'"
}

# ---- options ----
campaign 0 'in under an hour' --help
campaign 2 'unknown option --fast' --fast
campaign 2 'one OUTDIR' a b
campaign 2 '--minutes: 0 is not' --minutes 0
campaign 2 '--device: tpu is neither' --device tpu
campaign 2 '--gpus: 1,2 is not a list' --device cpu --gpu v100 --gpus 1,2 c
campaign 2 '--gpu is missing' --device cpu
campaign 2 '--gpu is missing' --fit-only c
campaign 6 'unknown GPU' --fit-only --gpu v1000 c
campaign 2 'steps.csv is missing' --fit-only --gpu v100 c

# ---- the fit alone: streams at 80 % of the V100's 900 GB/s, and two steps ----
mkdir canned
cp "$data/mlp.profile.json" canned
{
    echo 'op,B,H,timing,latency_ms'
    awk 'BEGIN { for (i = 0; i < 60; i++) printf "add,%d,512,graph,%.6f\n", 20000 + 3000 * i, 1e3 * 12 * (20000 + 3000 * i) * 512 / (0.8 * 900e9) }'
} >canned/kernels.csv
{
    echo 'model,step_time_s,avg_power_w'
    echo 'mlp.profile.json,0.00031,95'
    echo 'mlp.profile.json,0.00032,97'
} >canned/steps.csv
cp -r canned fit
campaign 0 '^profile +.*/fit/v100-pcie-32gb.json' --fit-only --quick --gpu tesla-v100-pcie-32gb fit
shows '^steps +.*steps.csv, 2 rows'
shows '^kernels +.*kernels.csv, 60 rows'
expect_ok predict "$data/mlp.profile.json" --gpu fit/v100-pcie-32gb.json
logged '"granularity":.*"operator"' fit/v100-pcie-32gb.json
logged '"gpu": "v100-pcie-32gb"' fit/campaign.json

# ---- a GPU of stand-ins: nvidia-smi, which permits limits down to REFUSED watts, and a Python that measures nothing ----
mkdir bin
cat >bin/nvidia-smi <<'S'
#!/bin/sh
[ "$1 $2" = "-i 0" ] || exit 1
case $3 in
    -pl) echo "limit $4" >>calls; [ "$4" -ge "$REFUSED" ] ;;
    --query-gpu=name) echo 'Tesla V100-PCIE-32GB' ;;
    --query-gpu=compute_cap) echo 7.0 ;;
    --query-gpu=power.default_limit | --query-gpu=power.limit) echo 250.00 ;;
    --query-gpu=power.min_limit) echo 100.00 ;;
    --query-gpu=name,driver_version,*) echo 'Tesla V100-PCIE-32GB, 550.54, 88.00' ;;
    *) exit 1 ;;
esac
S
cat >bin/stand-in <<'S'
#!/bin/sh
case $1 in
    -c) case $2${ADEPT_LIBRARY:-} in *import_adept*/none) exec python3 "$@" ;; esac; exit 0 ;;
    -) exec python3 "$@" ;;
esac
echo "$*" | sed 's/.*\/\(measure_[a-z]*\).py/\1/; s/ --out .*\/\([a-z]*.csv\)/ > \1/' >>calls
out=$(echo "$*" | sed 's/.*--out \([^ ]*\).*/\1/')
cp canned/*.json "$(dirname "$out")"
cp "canned/$(basename "$out")" "$out"
S
chmod +x bin/*
REFUSED=0
export REFUSED
hold=$PATH
PATH=$work/bin:$PATH
PYTHON=$work/bin/stand-in
campaign 0 '^profile +.*/g/v100-pcie-32gb.json' g
logged '^measure_step resnet50 --input Bx3x224x224 --batch 32,128 --precision fp32,fp16 > steps.csv .*--device cuda --gpu v100-pcie-32gb --resume' calls
logged '^measure_step resnet50 .* --memory-format channels_last > steps.csv' calls
logged '^measure_step gpt2_small .* --execution compile > steps.csv' calls
logged '^measure_kernels > kernels.csv --precision fp32,fp16 ' calls
checks=$((checks + 1))
[ "$(grep '^limit' calls | tr '\n' ' ')" = 'limit 250 limit 175 limit 100 limit 250 limit 250 ' ] || fail "the limits are not set and put back"
logged '"driver_version": "550.54"' g/campaign.json
checks=$((checks + 1))
! grep -q '"power limits: ' g/campaign.json || fail "power limits are skipped that may be set"
# a fit of its own keeps what is known of the board; nothing may set a limit; and no time
campaign 0 '^profile' --fit-only --gpu v100 g
logged '"driver_version": "550.54"' g/campaign.json
rm calls
REFUSED=1000
campaign 0 'skipped: power limits: nvidia-smi -pl is not permitted' g
logged '"power limits: nvidia-smi -pl is not permitted' g/campaign.json
checks=$((checks + 1))
[ "$(grep -c '^limit' calls)" -eq 1 ] || fail "a limit is set that nobody may set"
campaign 0 'skipped' --quick g
hold_library=${ADEPT_LIBRARY:-}
export ADEPT_LIBRARY=/none
campaign 2 'or set ADEPT_LIBRARY' g
ADEPT_LIBRARY=$hold_library
PATH=$hold
PYTHON=$(command -v false)
campaign 2 'nvidia-smi does not know GPU|has no PyTorch' g

# ---- the whole way on this CPU ----
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import torch, torchvision' 2>/dev/null; then
        PYTHON=$candidate
        break
    fi
done
if [ "$PYTHON" = "$(command -v false)" ] || [ -z "${ADEPT_TORCH_MODULE:-}" ]; then
    echo "skipped: the whole way on a CPU (no Python with torch and torchvision, or built without libtorch)"
    finish
fi
campaign 0 '^profile' --device cpu --quick --gpu cpu-xeon-avx512-1core whole
shows '^steps +.*steps.csv, 4 rows'
shows '^kernels +.*kernels.csv, 7[0-9] rows'
logged '"torch": \[' whole/campaign.json
logged '^squeezenet1_1,|models/squeezenet1_1.pt,' whole/steps.csv
expect_ok predict "$data/mlp.profile.json" --gpu whole/cpu-xeon-avx512-1core.json
# nothing is measured twice
cp whole/steps.csv whole/kernels.csv .
campaign 0 '^profile' --device cpu --quick --gpu cpu-xeon-avx512-1core whole
checks=$((checks + 1))
cmp -s steps.csv whole/steps.csv && cmp -s kernels.csv whole/kernels.csv || fail "it does not go on where it stopped"
finish
