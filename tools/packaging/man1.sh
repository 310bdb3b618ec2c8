#!/bin/sh
# Manual pages of the commands, by help2man from what they say of themselves. usage: man1.sh ADEPT OUTPUT_DIRECTORY
set -eu
adept=$1 out=$2
LC_ALL=C
# As help2man reads it: groups of options begin at the margin, texts are not folded.
ARGP_HELP_FMT=header-col=0,rmargin=1000,no-dup-args-note
export LC_ALL ARGP_HELP_FMT

mkdir -p "$out"
rm -f "$out"/adept*.1
cd "$(dirname -- "$adept")" # help2man gives its argument to a shell, so it has no path
version=$(./adept --version | sed 's/^adept //')
./adept --help >"$out/help"
# A command that this build lacks (calibrate without GSL) says so with an error, and gets no page.
commands=
for command in $(sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' "$out/help" | grep -vx adept); do
    ! ./adept "$command" --help >/dev/null 2>&1 || commands="$commands $command"
done

# page NAME SUMMARY PROGRAM [HELP-OPTION], with further sections from stdin. Its examples keep their lines, exit codes are a section.
page() {
    help2man --no-info --help-option="${4:---help}" --include=/dev/stdin --version-string="$1 (adept) $version" --name="$2" --output="$out/$1.1" "$3"
    sed -i -e '/^\.SH EXAMPLES/,/^\.SH/s/^adept .*/&\n.br/' -e '/^\.PP$/N' -e 's/^\.PP\nExit codes: /.SH "EXIT STATUS"\n/' "$out/$1.1"
}
{
    echo '[SEE ALSO]'
    for command in $commands; do
        echo ".BR adept-$command (1),"
    done
    echo '.BR libadept (3)'
} | page adept 'time, power and energy of a deep-learning step before it runs' ./adept
# command_page NAME SUMMARY PROGRAM
command_page() {
    {
        echo '[EXIT STATUS]'
        sed -n '/^Exit codes: /,$ { s/^Exit codes: //; p }' "$out/help"
        printf '[SEE ALSO]\n.BR adept (1),\n.BR libadept (3)\n'
    } | page "$1" "$2" "$3" --help-all
}
for command in $commands; do
    command_page "adept-$command" "$(sed -n "s/^  $command  *//p" "$out/help")" "./adept $command"
done
[ ! "$(./adept calibrate --layouts --help 2>/dev/null)" ] ||
    command_page adept-calibrate-layouts 'fit factors of software stacks to measured layouts' './adept calibrate --layouts'
command_page adept-sweep-drive 'measure a command while power limits, clocks and governors are set' './adept sweep --drive'
rm "$out/help"
