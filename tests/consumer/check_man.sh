#!/bin/sh
# Every command (section 1) or every public function (section 3) has its manual, that of a command all of its help.
# usage: check_man.sh 1|3 MAN      environment: ADEPT, ADEPT_SOURCE_DIR
set -eu
section=$1 man=$2
fail() { echo "manual: $1" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

plain() { # without fonts
    sed 's/\\-/-/g; s/\\f[BIR]//g; s/\\[,/&]//g' "$1"
}
one_line() {
    tr -s '\n ' '  ' | sed 's/ $//'
}
all_words() {
    tr -cs '[:alnum:]' '\n' | tr '[:upper:]' '[:lower:]' | sort
}

# check_command PAGE: of the help in $work/help
check_command() {
    page=$1
    [ -s "$man/$page.1" ] || fail "no page $page(1)"
    plain "$man/$page.1" >"$work/page"
    sed -n '/^\.[TH]P/ { n; p; }' "$work/page" >"$work/tags"
    options=$(grep -Eo '^ {2,6}(-[a-zA-Z], )?--[a-z-]+' "$work/help" | grep -o -e '--[a-z-]*')
    [ -n "$options" ] || fail "the help has no options"
    tagged=$(grep -oE -e '(^|, )--[a-z-]+([=[]|$)' "$work/tags" | grep -o -e '--[a-z-]*')
    for option in $options; do
        case "
$tagged
" in
        *"
$option
"*) ;;
        *) fail "$page(1) lacks $option" ;;
        esac
    done
    # A usage of several lines is all in the synopsis.
    usage=$(sed -n '/^Usage: /,/^[^U ]/ { s/^Usage: //; /^[^ a]/d; p; }' "$work/help" | one_line)
    synopsis=$(sed -n '/^\.SH SYNOPSIS/,/^\.SH DESCRIPTION/ { /^\.SH/d; s/^\.B //; p; }' "$work/page" | one_line)
    [ "$usage" = "$synopsis" ] || fail "the synopsis of $page(1) is not its usage: $synopsis"
    # No line of the help is lost: its words come back, but for titles that become others.
    all_words <"$work/help" >"$work/a"
    all_words <"$work/page" >"$work/b"
    lost=$(comm -23 "$work/a" "$work/b" | grep -vxE 'usage|codes' | head -n 5 | one_line)
    [ -z "$lost" ] || fail "$page(1) lost: $lost"
}

check_functions() {
    functions=$(cat "$ADEPT_SOURCE_DIR"/library/include/adept/*.h "$ADEPT_SOURCE_DIR"/base/public/adept/*.h "$ADEPT_SOURCE_DIR"/model/public/adept/*.h | tr '\n' ' ' |
        grep -o 'ADEPT_API [^;(]*adept_[a-z_]*(' | grep -o 'adept_[a-z_]*($' | tr -d '(')
    [ -n "$functions" ] || fail "the headers have no functions"
    for function in $functions; do
        grep -qx "\.SS $function()" "$man/libadept.3" || fail "libadept(3) lacks $function()"
        grep -qx '\.so man3/libadept\.3' "$man/$function.3" || fail "no page $function(3)"
    done
}

case $section in
1)
    "$ADEPT" --help >"$work/help"
    check_command adept
    for command in $(sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' "$work/help" | grep -vx adept); do
        "$ADEPT" "$command" --help-all >"$work/help" 2>/dev/null || continue # not in this build
        check_command "adept-$command"
    done
    "$ADEPT" sweep --drive --help-all >"$work/help"
    check_command adept-sweep-drive
    if "$ADEPT" calibrate --layouts --help-all >"$work/help" 2>/dev/null; then check_command adept-calibrate-layouts; fi
    set -- "$man"/*.1
    ;;
3)
    check_functions
    set -- "$man/libadept.3"
    ;;
*) fail "no section $section" ;;
esac
if command -v mandoc >/dev/null 2>&1; then # it does not know the month that help2man writes as a date
    ! mandoc -T lint -W warning "$@" | grep -vE 'missing date|cannot parse date' || fail "mandoc warns"
fi
