#!/bin/sh
# Manual pages of the C interface from its headers: libadept(3), and one for every function that leads there.
# usage: man3.sh VERSION SOURCE_DIRECTORY OUTPUT_DIRECTORY
set -eu
version=$1 headers=$2/library/include/adept base=$2/base/public/adept model=$2/model/public/adept out=$3
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
LC_ALL=C
export LC_ALL

mkdir -p "$out"
rm -f "$out"/*.3
awk -v version="$version" -f "$here/man3.awk" "$headers/version.h" "$base/error.h" "$headers/workload.h" "$model/estimate.h" "$headers/predict.h" \
    "$headers/choose.h" "$headers/measure.h" >"$out/libadept.3"
sed -n 's/^\.SS \(adept_[a-z_]*\)()$/\1/p' "$out/libadept.3" | while IFS= read -r function; do
    echo '.so man3/libadept.3' >"$out/$function.3"
done
