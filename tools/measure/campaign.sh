#!/bin/sh
# Measure a GPU and fit it, unattended, in under an hour:
#
#     sh tools/measure/campaign.sh [OPTION]... [OUTDIR]      (default OUTDIR: campaign)
#
#     --gpu NAME           the hardware profile (default: what nvidia-smi calls the GPU)
#     --minutes N          stop measuring in time for the fit to end after N minutes (default 55)
#     --quick              few rows: a trial of the whole way, no calibration to keep
#     --gpus N,...         also steps of so many GPUs of this node (data parallel), and their all-reduces
#     --device cpu|cuda    cpu needs --gpu (default cuda)
#     --fit-only           fit what OUTDIR holds; needs no GPU and no PyTorch, but --gpu
#
# Steps: resnet50, vit_b_16, bert, gpt2 and a Llama, in fp32, tf32 and bf16 (fp16 before Ampere); channels_last; lower power
# limits, where nvidia-smi may set them; torch.compile and CUDA graphs. Kernels: measure_kernels.py. Then `adept calibrate`.
# Started again with the same OUTDIR it goes on where it stopped. ADEPT names the program, PYTHON the Python with PyTorch.
# Needs Python 3 with PyTorch and torchvision, timeout (coreutils), an adept that reads TorchScript and calibrates, and libadept
# (ADEPT_LIBRARY; default: that of build/).
# docs: docs/CALIBRATION.md, data/measurements/README.md
#
# The path for CUDA HAS NOT RUN ON A GPU YET: it was tried on a CPU and with a stand-in for nvidia-smi. Report what fails.
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
here=$top/tools/measure
adept=${ADEPT:-$top/build/tools/adept}
python=${PYTHON:-python3}
gpu='' gpus='' device=cuda minutes=55 quick='' fit_only='' out=''

die() {
    echo "campaign.sh: $*" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --gpu | --gpus | --minutes | --device)
            [ $# -gt 1 ] || die "$1 needs a value"
            case $1 in --gpu) gpu=$2 ;; --gpus) gpus=$2 ;; --minutes) minutes=$2 ;; --device) device=$2 ;; esac
            shift
            ;;
        --quick) quick=--quick ;;
        --fit-only) fit_only=yes ;;
        -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
        -*) die "unknown option $1 (--help)" ;;
        *)
            [ -z "$out" ] || die "one OUTDIR, not $out and $1"
            out=$1
            ;;
    esac
    shift
done
out=${out:-campaign}
case $minutes in '' | *[!0-9]* | 0*) die "--minutes: $minutes is not a whole number of at least 1" ;; esac
case $gpus in *[!0-9,]* | ,* | *, | 1 | 1,*) die "--gpus: $gpus is not a list of numbers of at least 2" ;; esac
case $device in cpu | cuda) ;; *) die "--device: $device is neither cpu nor cuda" ;; esac
if [ -z "$gpu" ] && { [ "$device" = cpu ] || [ -n "$fit_only" ]; }; then
    die "--gpu is missing: it names the hardware profile"
fi
"$adept" calibrate --help >/dev/null 2>&1 || die "$adept cannot calibrate (sh tools/build.sh build, or set ADEPT)"
started=$(date +%s)
[ -n "$quick" ] && reserve=60 || reserve=600
reserve=$((reserve < minutes * 30 ? reserve : minutes * 30)) # seconds that the fit gets

say() {
    echo "$(date +%H:%M) $*" | tee -a "$log" >&2
}

skip() {
    say "skipped: $*"
    echo "$*" >>"$skipped"
}

# ---- the machine ----
smi() {
    nvidia-smi -i "$index" --query-gpu="$1" --format=csv,noheader,nounits
}

limits='' default_w='' facts=''
if [ "$device" = cuda ] && [ -z "$fit_only" ]; then
    CUDA_DEVICE_ORDER=PCI_BUS_ID # as nvidia-smi counts
    export CUDA_DEVICE_ORDER
    index=${CUDA_VISIBLE_DEVICES:-0}
    index=${index%%,*}
    name=$(smi name) || die "nvidia-smi does not know GPU $index (--device cpu, or --fit-only)"
    gpu=${gpu:-$name}
    fields=name,driver_version,vbios_version,compute_cap,memory.total,clocks.max.sm,clocks.max.mem,clocks.sm,power.default_limit,power.limit,power.min_limit,power.max_limit,ecc.mode.current,pcie.link.gen.current
    facts="$fields
$(smi "$fields" || true)"
fi
sheet=$("$adept" gpus "$gpu") || exit $? # names the nearest ones
label=$(echo "$sheet" | sed -n '1s/[: ].*//p')
case $gpu in */* | *.json) ;; *) gpu=$label ;; esac
mkdir -p "$out"
out=$(CDPATH='' cd -- "$out" && pwd)
log=$out/campaign.log
skipped=$out/skipped.txt
: >"$skipped"
say "GPU $label, into $out, $minutes minutes"

# measure SCRIPT ARGUMENT...: until the time of the fit. A row that fails is in the log, and no reason to stop.
measure() {
    left=$((started + minutes * 60 - reserve - $(date +%s)))
    shown="$*"
    if [ "$left" -le 0 ]; then
        skip "no time left: $shown"
        return 0
    fi
    say "$shown"
    script=$1
    shift
    code=0
    timeout --foreground "$left" "$python" "$here/$script.py" "$@" --device "$device" --gpu "$label" --resume >>"$log" 2>&1 || code=$?
    case $code in
        0) ;;
        124) skip "no time left within: $shown" ;;
        *) skip "failed in part, see campaign.log: $shown" ;;
    esac
}

step() {
    # shellcheck disable=SC2086 # options
    measure measure_step "$@" --out "$out/steps.csv" $length
}

# ---- power limits ----
set_limit() {
    nvidia-smi -i "$index" -pl "$1" >>"$log" 2>&1
}

find_limits() {
    default_w=$(smi power.default_limit | sed 's/\..*//')
    low_w=$(smi power.min_limit | sed 's/\..*//')
    case $default_w$low_w in '' | *[!0-9]*) skip "power limits: this board has none" && return 0 ;; esac
    before_w=$(smi power.limit | sed 's/\..*//')
    if ! set_limit "$default_w"; then
        skip "power limits: nvidia-smi -pl is not permitted (as root it is); steps ran at $before_w W"
        return 0
    fi
    trap 'set_limit "$before_w" || true' EXIT
    trap 'exit 130' INT TERM HUP
    middle_w=$((default_w * 7 / 10))
    [ "$middle_w" -gt "$low_w" ] || middle_w=$(((default_w + low_w) / 2))
    limits="$middle_w $low_w"
}

# ---- several GPUs of the node ----
measure_several() {
    [ -n "$gpus" ] || return 0
    if [ "$device" = cpu ]; then
        step squeezenet1_1 --input Bx3x32x32 --batch 2 --gpus "$gpus"
    else
        step resnet50 --input Bx3x224x224 --batch 32,128 --precision "$precisions" --gpus "$gpus"
        step bert_base_seqcls --batch 8,32 --precision "$precisions" --gpus "$gpus"
        step gpt2_small --batch 2,8 --precision "$fast" --gpus "$gpus"
    fi
    [ ! -f "$out/collectives.csv" ] || return 0
    sizes=''
    [ -z "$quick" ] || sizes='--sizes 65536,262144,1048576 --repeats 3'
    say "all-reduces of $gpus GPUs"
    # shellcheck disable=SC2086 # options
    "$python" "$here/measure_collectives.py" --device "$device" --gpus "$gpus" $sizes --out "$out/collectives.csv" >>"$log" 2>&1 ||
        skip "all-reduces, see campaign.log"
}

# ---- what is measured ----
measure_quick_cpu() {
    length='--steps 2 --seconds 0 --warmup-steps 1 --warmup-seconds 0 --window 0 --repeats 1 --threads 1'
    step squeezenet1_1 --input Bx3x32x32 --batch 2 --mode train,infer --memory-format nchw,channels_last
    measure measure_kernels --out "$out/kernels.csv" --quick --seconds 0.01
}

measure_cpu() {
    length='--threads 1'
    for model in resnet50 bert_base_seqcls gpt2_small; do
        step $model --batch 1,4
    done
    step vit_b_16 tinyllama_2layers --batch 1
    measure measure_kernels --out "$out/kernels.csv"
}

measure_gpu() {
    case $(smi compute_cap) in
        [1-6].*) precisions=fp32 fast=fp32 ;;
        7.*) precisions=fp32,fp16 fast=fp16 ;;
        *) precisions=fp32,tf32,bf16 fast=tf32,bf16 ;;
    esac
    length='--seconds 4 --warmup-seconds 1 --repeats 2'
    if [ -n "$quick" ]; then
        step resnet50 --input Bx3x224x224 --batch 32 --precision "$precisions"
        step bert_base_seqcls --batch 8 --precision "$precisions"
        measure measure_kernels --out "$out/kernels.csv" --precision "$precisions" --quick
        return 0
    fi
    find_limits
    # The largest last: what does not fit into memory fails, and is in the log.
    step resnet50 --input Bx3x224x224 --batch 32,128 --precision "$precisions"
    step vit_b_16 --batch 16,64 --precision "$precisions"
    step bert_base_seqcls --batch 8,32 --precision "$precisions"
    step gpt2_small --batch 2,8 --precision "$precisions"
    step tinyllama_2layers --batch 4,16 --precision "$precisions"
    step tinyllama_1.1b --batch 4 --precision "$fast"
    step resnet50 --input Bx3x224x224 --batch 32,128 --precision "$precisions" --memory-format channels_last
    measure measure_kernels --out "$out/kernels.csv" --precision "$precisions"
    for limit in $limits; do
        if ! set_limit "$limit"; then
            skip "the power limit of $limit W"
            continue
        fi
        sleep 2
        step resnet50 --input Bx3x224x224 --batch 128 --precision "$precisions"
        step bert_base_seqcls --batch 32 --precision "$precisions"
        step gpt2_small --batch 8 --precision "$fast"
    done
    [ -z "$limits" ] || set_limit "$default_w"
    for execution in graphs compile; do
        step resnet50 --input Bx3x224x224 --batch 32 --precision "$fast" --execution $execution
        step bert_base_seqcls --batch 8 --precision "$fast" --execution $execution
        step gpt2_small --batch 2 --precision "$fast" --execution $execution
        step vit_b_16 --batch 16 --precision "$fast" --execution $execution
        step tinyllama_2layers --batch 4 --precision "$fast" --execution $execution
    done
}

if [ -z "$fit_only" ]; then
    "$python" -c 'import torch, torchvision' 2>>"$log" || die "$python has no PyTorch with torchvision (set PYTHON)"
    [ "$device" = cpu ] || "$python" -c 'import sys; sys.path.insert(0, sys.argv[1]); import power; power.import_adept()' "$here" ||
        die "power cannot be measured"
    case $device$quick in
        cpu--quick) measure_quick_cpu ;;
        cpu) measure_cpu ;;
        *) measure_gpu ;;
    esac
    measure_several
fi

# ---- the fit ----
[ -f "$out/steps.csv" ] || die "$out/steps.csv is missing: nothing was measured"
profile=$out/$label.json
set -- "$out/steps.csv"
[ ! -f "$out/kernels.csv" ] || set -- "$@" --kernels "$out/kernels.csv"
[ ! -f "$out/collectives.csv" ] || set -- "$@" --collectives "$out/collectives.csv"
[ -z "$quick" ] || set -- "$@" --leave-out none --suggest 0
left=$((started + minutes * 60 - $(date +%s)))
[ "$left" -ge "$reserve" ] || left=$reserve
say "adept calibrate, at most $left s"
code=0 # an interrupted fit writes the best so far and ends with 5
timeout --foreground --signal=INT "$left" "$adept" calibrate "$@" --gpu "$gpu" --models "$top/data/models" -o "$profile" >"$out/fit.txt" 2>>"$log" ||
    code=$?
if [ "$code" -ne 0 ] && [ ! -f "$profile" ]; then
    tail -n 3 "$log" >&2
    die "the fit ended with $code"
fi

facts=$facts "$python" - "$out" "$label" "$minutes" "$limits" "$("$adept" --version)" "$code" <<'P' || die "no provenance was written"
import datetime, json, os, sys
out, gpu, minutes, limits, version, code = sys.argv[1:]
fields, _, values = os.environ["facts"].partition("\n")


def read(name):
    path = os.path.join(out, name)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


with open(os.path.join(out, "skipped.txt"), encoding="utf-8") as file:
    skipped = file.read().splitlines()
measured = {"nvidia_smi": dict(zip(fields.split(","), values.split(", "))), "power_limits_w": [int(w) for w in limits.split()],
            "skipped": skipped} if fields else {}
facts = dict(read("campaign.json"), **measured)     # a fit alone keeps what was known of the measurement
facts.update(schema_version=1, gpu=gpu, torch=sorted({run["torch"] for run in read("steps.json").get("runs", [])}),
             adept=version, minutes=int(minutes), fit_exit_code=int(code),
             date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
with open(os.path.join(out, "campaign.json"), "w", encoding="utf-8") as file:
    json.dump(facts, file, indent=1)
    file.write("\n")
P
rm -f "$skipped"

rows() {
    [ -f "$1" ] && echo "$1, $(($(wc -l <"$1") - 1)) rows" || echo "none"
}
echo "steps       $(rows "$out/steps.csv")"
echo "kernels     $(rows "$out/kernels.csv")"
[ -z "$gpus" ] || echo "all-reduces $(rows "$out/collectives.csv")"
echo "profile     $profile (adept predict MODEL --gpu $profile)"
echo "fit         $out/fit.txt, held-out errors first"
echo "provenance  $out/campaign.json and $out/steps.json: driver, PyTorch, clocks, limits, date, what was skipped"
