#!/bin/sh
# Manual pages from what the program says itself, and of the C interface from its headers: no page can lag behind.
# usage: man.sh ADEPT SOURCE_DIRECTORY OUTPUT_DIRECTORY      writes adept.1, adept-COMMAND.1, libadept.3 and adept_FUNCTION.3
set -eu
adept=$1 headers=$2/library/include/adept base=$2/base/public/adept out=$3
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
LC_ALL=C
export LC_ALL

mkdir -p "$out"
version=$("$adept" --version | sed 's/^adept //')
"$adept" --help >"$out/help"
commands=$(sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' "$out/help" | grep -v '^adept$' | tr '\n' ' ')
# A command that this build lacks (calibrate without GSL) says so with an error, and gets no page.
present=
for command in $commands; do
    "$adept" "$command" --help >"$out/help.$command" 2>/dev/null && present="$present $command" || rm -f "$out/help.$command"
done
page() { # COMMAND SUMMARY HELP
    awk -v command="$1" -v summary="$2" -v version="$version" -v commands="$present" -f "$here/man.awk" "$3"
}
page '' 'time, power and energy of a deep-learning step before it runs' "$out/help" >"$out/adept.1"
for command in $present; do
    summary=$(sed -n "s/^  $command  *//p" "$out/help" | head -n 1)
    page "$command" "$summary" "$out/help.$command" >"$out/adept-$command.1"
    rm -f "$out/help.$command"
done
rm -f "$out/help"
awk -v version="$version" -f "$here/man3.awk" "$headers/version.h" "$base/error.h" "$headers/workload.h" "$headers/predict.h" \
    "$headers/choose.h" >"$out/libadept.3"
# man adept_choose
sed -n 's/^\.SS \(adept_[a-z_]*\)()$/\1/p' "$out/libadept.3" | while IFS= read -r function; do
    echo '.so man3/libadept.3' >"$out/$function.3"
done
