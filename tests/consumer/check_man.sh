#!/bin/sh
# Every command and every public function has its manual, with all options. usage: check_man.sh ADEPT MAN SOURCE
set -eu
adept=$1 man=$2 source=$3
fail() { echo "manual: $1" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for command in $("$adept" --help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v '^adept$'); do
    "$adept" "$command" --help >"$work/help" 2>/dev/null || continue # not in this build
    [ -s "$man/adept-$command.1" ] || fail "no page of adept $command"
    sed 's/\\-/-/g' "$man/adept-$command.1" >"$work/page"
    for option in $(grep -Eo '^ {2,6}(-[a-zA-Z], )?--[a-z-]+' "$work/help" | grep -o -e '--[a-z-]*'); do
        grep -q -A1 '^\.TP' "$work/page" && grep -qE -e "^\\\\fB.*$option(\\\\fR|\$)" "$work/page" || fail "adept-$command(1) lacks $option"
    done
    # A usage of several lines is all in the synopsis, where the help has it.
    awk '/^Usage: / { sub(/^Usage: /, ""); print; inside = 1; next } inside && /^    / { sub(/^ +/, ""); print; next } inside { exit }' \
        "$work/help" >"$work/usage"
    sed -n '/^\.SH SYNOPSIS/,/^\.SH DESCRIPTION/{/^\./!{s/^ *//;p;}}' "$work/page" >"$work/synopsis"
    cmp -s "$work/usage" "$work/synopsis" || fail "the synopsis of adept-$command(1) is not its usage"
    # No line of the help is lost: its words come back.
    tr -cs '[:alnum:]' '\n' <"$work/help" | tr '[:upper:]' '[:lower:]' | sort >"$work/a"
    sed "s/\\\\f[BIR]//g; s/\\\\(aq/'/g" "$work/page" | tr -cs '[:alnum:]' '\n' | tr '[:upper:]' '[:lower:]' | sort >"$work/b"
    lost=$(comm -23 "$work/a" "$work/b" | grep -vx 'usage' | head -n 5 | tr '\n' ' ')
    [ -z "$lost" ] || fail "adept-$command(1) lost: $lost"
done
functions=$(cat "$source"/library/include/adept/*.h "$source"/base/public/adept/*.h | tr '\n' ' ' | grep -o 'ADEPT_API [^;(]*adept_[a-z_]*(' | grep -o 'adept_[a-z_]*($' | tr -d '(')
for function in $functions; do
    grep -qx "\.SS $function()" "$man/libadept.3" || fail "libadept(3) lacks $function()"
    grep -qx '\.so man3/libadept\.3' "$man/$function.3" || fail "no page $function(3)"
done
if command -v mandoc >/dev/null 2>&1; then
    mandoc -T lint -W warning "$man"/*.1 "$man/libadept.3" | grep -v 'missing date' && fail "mandoc warns"
fi
exit 0
