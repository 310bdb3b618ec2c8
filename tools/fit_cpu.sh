#!/bin/sh
# Fit hwprofiles/cpu-xeon-avx512-1core.json again from data/measurements: the same bytes for the same program and date.
# Usage: sh tools/fit_cpu.sh [OUT.json] [CALIBRATE OPTION]...      (default OUT: the profile itself)
# ADEPT names the program (default: build/tools/adept); SOURCE_DATE_EPOCH sets the date that is written.
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
adept=${ADEPT:-$top/build/tools/adept}
name=cpu-xeon-avx512-1core
sheet=$top/hwprofiles/$name.json
out=${1:-$sheet}
[ $# -eq 0 ] || shift
[ -x "$adept" ] || { echo "fit_cpu.sh: no program $adept (sh tools/build.sh build, or set ADEPT)" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# From the bare sheet, so that the last fit is not the start of this one.
python3 - "$sheet" "$folder/$name.json" <<'P'
import json
import sys
with open(sys.argv[1], encoding="utf-8") as file:
    profile = json.load(file)
profile["fit"] = None
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump(profile, file)
P
case $out in /*) ;; *) out=$PWD/$out ;; esac
cd "$top" # the profile records the path of the measurements as given
# By operator. No kernels were measured, so the shape of the law is fitted to steps as well; tiles as AVX-512 micro-kernels
# have them: a few rows by several vectors of 16 for products, some 28 pixels by 16 channels for direct convolutions, and
# none of Winograd's: PyTorch asks oneDNN for direct convolutions. No host apart from the core loads samples beside it.
# (tools/accuracy.py reads this line.)
law='--tiles gemm=8x64 --tiles bmm=8x64 --tiles conv=32x16 --free r_tile_gemm,r_tile_bmm,r_tile_conv,r_depth_gemm,r_depth_bmm,r_depth_conv,wave_gemm_s,wave_bmm_s,wave_conv_s,reload_gemm,reload_bmm,reload_conv,beta_alu,c_softmax --max-generations 0'
"$adept" calibrate "data/measurements/$name.csv" --gpu "$folder/$name.json" --models data/models --seed 1 -o "$out" \
    --from-sheet --granularity operator $law "$@"
