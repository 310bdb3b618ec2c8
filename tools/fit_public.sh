#!/bin/sh
# Fit the GPUs that public measurements exist for, and put the fits into hwprofiles/:
#
#     ADEPT=build/tools/adept MODELS=ZOO/train sh tools/fit_public.sh DIR [GPU...|shared]
#
# First, or with "shared" alone, the set of parameters for GPUs that nobody measured: hwprofiles/shared/shared.json. Each
# GPU's own fit starts from it, so that what its rows do not tell (matrix units of a V100 run in fp32) is transferred.
# PROFILES names another folder to write to; REPORTS one for the JSON report of the shared fit; MODELS the folder of
# torchvision's models (tools/zoo/export_models.py --all-torchvision ZOO), without which timm's rows are left out.
#
# DIR holds the measurements in adept's CSV: what tools/public_rows.py reads, and kernels/*.csv (github
# sitar-lab/NeuSight, MIT). The same files and the same seed give the same profiles, but for the date: set
# SOURCE_DATE_EPOCH to repeat that too.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
profiles=${PROFILES:-$root/hwprofiles}
adept=${ADEPT:?set ADEPT to the program}
data=${1:?the folder of the measurements}
shift
[ $# -gt 0 ] || set -- shared a100-pcie-40gb p100-pcie-16gb t4 p4 v100-pcie-32gb a40
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rows=$work/rows
python3 "$root/tools/public_rows.py" "$data" "$rows" ${MODELS:+--models "$MODELS"}

# Zeus's steps are bound by the host below some batch size: 36 to 65 ms whatever the GPU does, with the data loader. That
# is no property of the GPU, so those rows stay out. What a launch takes is the host's: Zeus's and dos-group's are known
# (data/hosts.csv); other rows get the median of hosts with the same generation of PyTorch, whose second is the default.
device_bound_rows() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; print; next }
             $column["model"] == "resnet50" ? $column["batch_size"] >= 16 : $column["batch_size"] >= 1024' "$1"
}

# on_host NAME: rows of standard input with the times of that host
on_host() {
    awk -F, -v host="$1" 'NR == FNR { if ($1 == host) times_s = $2 "e-6," ($5 > 0 ? $5 "e-3" : ""); next }
                          FNR == 1 { print $0 ",host_launch_s,host_step_s"; next }
                          { print $0 "," times_s }' "$root/data/hosts.csv" -
}

# dos-group's rows tell the intervals of the power on GPUs left out, which two of Zeus do not: of weight 0, nothing is
# fitted to them. Their steps wait for the host, so their times say nothing of the GPU.
power_alone() {
    awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_time_s") time = i; print $0, "weight"; next }
                      { $time = ""; print $0, 0 }' "$1"
}

# How the law is fitted; tools/accuracy.py reads this line. Boards that throttle by themselves show it in their times, so
# the energy per FLOP is free everywhere, but on matrix units it keeps its value: left free, it takes what else is slow in
# a step there (4 to 7 pJ), and every 16-bit step throttles. Descents from 12 points, as ever: the shipped fits stay.
law='--free e_simt_j --fix e_tensor_j --prior-rows 0.03 --max-generations 0'

# Batched products of the kernel files are timed alone, as plain rows times columns, and for long: steps run the attention's
# faster. With them the held-out error of the V100's steps is 3.4 % instead of 2.5, the T4's 8.9 instead of 8.5, others the same.
kernels_for_steps() {
    grep -v '^bmm,' "$1"
}

# One set for all, from the GPUs since Volta. Pascal's stay out: cuBLAS multiplies more slowly there (0.6 of the peak in
# linear layers, against 0.77 to 0.85), and the P4 throttles by temperature to a third. tools/accuracy.py has what the set
# says of them. Host and constant times are of a program, not of a GPU. Matrix units are known by steps alone here: shares
# of their peak that single products reach differ by GPU (0.86 to 0.99), and those GPUs have profiles of their own. timm's
# inference on an RTX 4090, eager and compiled, stays out: tools/accuracy.py shows what the set says of a GPU it never had.
# With 3 restarts the set without the V100 ends in a worse minimum; 8 find the others' again.
# The energy of a byte is what the fits of the two boards with measured power agree on (77 pJ on a V100): left free, the throttled
# boards' times move it to 97, and without the V100 to 123.
# The energy of a FLOP keeps its default: left free without the V100, it ends at 6.7 to 11 pJ by the seed, and times with it.
# Steps do not tell the voltage's slope (1.05 to 1.58 when fitted again); boards with locked clocks do (docs/MODEL.md, section 8).
fit_shared() {
    set --
    for gpu in v100-pcie-32gb a100-pcie-40gb t4; do
        set -- "$@" "$rows/neusight_$gpu.csv" --kernels "$data/kernels/$gpu.csv"
    done
    for file in zeus_v100-pcie-32gb zeus_a40; do
        gpu=${file#zeus_}
        device_bound_rows "$rows/$file.csv" | on_host "zeus-${gpu%%-*}" > "$work/$file.csv"
        set -- "$@" "$work/$file.csv"
    done
    for file in "$rows"/lambda_*.csv "$rows"/timm_rtx3090_train.csv; do # by PyTorch 1.7 to 1.13
        [ -f "$file" ] || continue
        on_host torch1 < "$file" > "$work/$(basename "$file")"
        set -- "$@" "$work/$(basename "$file")"
    done
    for file in "$rows/timm_rtx3090_infer.csv" "$rows/llmfoundry.csv"; do
        [ ! -f "$file" ] || set -- "$@" "$file"
    done
    for gpu in a100 l40 quadro-rtx-5000; do
        file=dosgroup_$gpu.csv
        [ -f "$rows/$file" ] || continue
        power_alone "$rows/$file" | on_host "dosgroup-$(echo "$gpu" | sed 's/quadro-rtx-/rtx/')" > "$work/$file"
        set -- "$@" "$work/$file"
    done
    "$adept" calibrate "$@" --gpu auto --models "$rows/models" --leave-out gpu --by gpu,gpu+file --prior-rows 0.1 \
        --fix e_simt_j --fix e_tensor_j --fix e_mem_j --fix u_wait --fix v_slope --fix t_host_s --fix t_fixed_s=1e-4 --restarts 8 --suggest 0 \
        --json -o "$work/shared.json" > "$work/report.json"
    [ -z "${REPORTS:-}" ] || cp "$work/report.json" "$REPORTS/shared.json"
    mkdir -p "$profiles/shared"
    mv "$work/shared.json" "$profiles/shared/shared.json"
}

for gpu; do
    if [ "$gpu" = shared ]; then
        echo "$gpu" >&2
        fit_shared
        continue
    fi
    set --
    left_out=model
    [ ! -f "$rows/neusight_$gpu.csv" ] || set -- "$@" "$rows/neusight_$gpu.csv"
    if [ -f "$rows/lambda_$gpu.csv" ]; then
        on_host torch1 < "$rows/lambda_$gpu.csv" > "$work/lambda_$gpu.csv"
        set -- "$@" "$work/lambda_$gpu.csv"
    fi
    file=$rows/zeus_$gpu.csv
    if [ -f "$file" ]; then
        device_bound_rows "$file" | on_host "zeus-${gpu%%-*}" > "$work/zeus_$gpu.csv"
        set -- "$@" "$work/zeus_$gpu.csv"
        left_out=batch_size # two models only: leaving one out leaves nothing like it
    fi
    if [ -f "$data/kernels/$gpu.csv" ]; then
        kernels_for_steps "$data/kernels/$gpu.csv" > "$work/kernels_$gpu.csv"
        set -- "$@" --kernels "$work/kernels_$gpu.csv"
    fi
    # The A40's rows all run on matrix units: what its ALUs take keeps its value, or takes theirs.
    own=$law
    [ "$gpu" != a40 ] || own=${law#--free e_simt_j }
    echo "$gpu" >&2
    "$adept" gpus "$root/hwprofiles/$gpu.json" --shared "$profiles/shared/shared.json" --json > "$work/base.json"
    # shellcheck disable=SC2086 # words
    "$adept" calibrate "$@" --gpu "$work/base.json" --granularity operator --models "$rows/models" \
        --leave-out "$left_out" $own --fix t_host_s --fix t_fixed_s=1e-4 --suggest 0 \
        -o "$work/$gpu.json" > "$work/$gpu.txt"
    sed -n '/^Errors, /,/^$/p' "$work/$gpu.txt"
    mv "$work/$gpu.json" "$profiles/$gpu.json"
done
