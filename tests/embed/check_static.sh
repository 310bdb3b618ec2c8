#!/bin/sh
# libadept.a defines what libadept.so exports and no other name that a program could collide with, and needs nothing that
# libadept.so does not, but for what the compiler's own library brings. usage: check_static.sh ARCHIVE LIBRARY
set -eu
LC_ALL=C
export LC_ALL
fail() { echo "$1" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -g --defined-only "$1" | awk 'NF == 3 { print $3 }' | sort >"$work/archive"
nm -D --defined-only "$2" | awk '$2 == "T" { print $3 }' | sed 's/@.*//' | sort >"$work/shared"
[ -s "$work/shared" ] && diff "$work/shared" "$work/archive" || fail "$1: symbols differ from $2 (< shared, > archive)"
nm -g --undefined-only "$1" | awk 'NF == 2 { print $2 }' | grep -vE '^(_GLOBAL_OFFSET_TABLE_|__cpu_.*|__u?(div|mod|divmod)ti[34]|__(mul|div)[ds]c3)$' | sort >"$work/needs"
nm -D --undefined-only "$2" | awk '{ print $NF }' | sed 's/@.*//' | sort >"$work/shared_needs"
more=$(comm -23 "$work/needs" "$work/shared_needs" | tr '\n' ' ')
[ -z "$more" ] || fail "$1: needs more than $2: $more"
