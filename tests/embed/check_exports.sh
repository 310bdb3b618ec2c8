#!/bin/sh
# libadept.so exports what its headers declare and nothing else, all with a version; it needs neither libtorch, C++ nor GSL, and
# cannot fork, print or exit; threads and modules are those of measurements. usage: check_exports.sh LIBRARY SOURCE
set -eu
library=$1
source=$2
LC_ALL=C
export LC_ALL
fail() { echo "$library: $1" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Declarations may break lines; a name is followed by '('.
cat "$source"/library/include/adept/*.h "$source"/base/public/adept/*.h "$source"/model/public/adept/*.h | tr '\n' ' ' | grep -o 'ADEPT_API [^;(]*adept_[a-z_]*(' | grep -o 'adept_[a-z_]*($' | tr -d '(' | sort >"$work/declared"
nm -D --defined-only "$library" | awk '$2 == "T" {print $3}' | sed 's/@.*//' | sort >"$work/exported"
[ "$(wc -l <"$work/declared")" -ge 20 ] || fail "too few declarations found in $source"
diff "$work/declared" "$work/exported" || fail "exports differ from the headers' declarations (< declared, > exported)"
nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /@@ADEPT_/' | grep . && fail "a symbol without version"

# Direct and indirect dependencies.
needed=$(readelf -d "$library" | grep NEEDED; ldd "$library")
unwanted=$(echo "$needed" | grep -E 'lib(torch|c10|gsl|nlopt|stdc\+\+)' || true)
test -z "$unwanted" || fail "needs $unwanted"
readelf -d "$library" | grep -q 'SONAME.*libadept\.so\.0\.2' || fail "has no SONAME libadept.so.0.2"
calls=$(nm -D --undefined-only "$library" | awk '{print $NF}' | sed 's/@.*//' |
    grep -xE 'fork|vfork|clone|exec.*|system|popen|exit|_exit|abort|printf|puts|putchar|perror' || true)
test -z "$calls" || fail "calls $calls"
