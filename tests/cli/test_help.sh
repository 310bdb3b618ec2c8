# Help goes to stdout with exit code 0, and the examples in it are valid command lines. --help has the usual options and counts the
# others, --help-all has all.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"

# looks_well COMMAND...: the help in $work/out. That of attribute --slurm quotes a command line of Slurm's.
looks_well() {
    [ "$*" != 'attribute --slurm' ] || return 0
    ! awk 'length > 79' "$work/out" | grep -q . || fail "help of $* is wider than 79 columns"
    ! grep -q ' $' "$work/out" || fail "help of $* has lines that end in blanks"
    ! grep -A 1 '^ [A-Z].*:$' "$work/out" | grep -q '^$' || fail "help of $* has a title without options"
}

options_of_help() {
    grep -Eo '^ {2,6}(-[a-zA-Z], )?--[a-z-]+' "$work/out" | grep -o -e '--[a-z-]*' | sort
}

# has_all COMMAND...: --help-all has what --help has, and as many options more as --help says
has_all() {
    expect_ok "$@" --help
    looks_well "$@"
    options_of_help >"$work/usual"
    count=$(sed -n "s/^\([0-9]*\) more options\{0,1\} for experts: adept $* --help-all\$/\1/p" "$work/out")
    expect_ok "$@" --help-all
    looks_well "$@"
    shows '--help-all  '
    options_of_help | grep -vxe --help-all >"$work/all"
    checks=$((checks + 1))
    [ -z "$(comm -23 "$work/usual" "$work/all")" ] || fail "$* --help-all lacks options of --help"
    [ "$(comm -13 "$work/usual" "$work/all" | wc -l)" -eq "${count:-0}" ] || fail "$* --help counts '$count' options for experts"
    ! grep -q 'more option' "$work/out" || fail "$* --help-all counts the options that it has"
}

expect_ok --help
commands=$(sed -n 's/^  \([a-z]*\) .*/\1/p' "$work/out" | grep -v adept)
[ "$(echo "$commands" | tr '\n' ' ')" = 'predict report profile calibrate evaluate sweep plan diff explain gpus handlers measure bench attribute compare simulate serve ' ] || fail "commands listed: $commands"
expect_ok --version
shows '^adept [0-9]+\.[0-9]+\.[0-9]+$'

: >"$work/examples"
for command in $commands; do
    case $command in
    calibrate | evaluate | serve) # need GSL and NLopt, or libmicrohttpd
        "$ADEPT" "$command" --help >/dev/null 2>&1 || continue ;;
    esac
    expect_ok "$command" --version
    shows '^adept [0-9]'
    expect_ok "$command" --help
    shows "^Usage: adept $command"
    shows '^Examples:$'
    case $command in serve | attribute) ;; *) shows "--json  " ;; esac # serve speaks nothing else; the parts of attribute have helps of their own
    if awk '/^Examples:$/ { inside = 1; next } /^$/ { inside = 0 } inside && !/^  adept /' "$work/out" | grep -q .; then
        fail "an example of $command is too long for one line"
    fi
    sed -n 's/^  adept //p' "$work/out" >>"$work/examples"
    [ "$(grep -c "^$command" "$work/examples")" -ge 2 ] || fail "$command --help has fewer than two examples"
    has_all "$command"
done
for part in record fit report --slurm; do
    "$ADEPT" attribute "$part" --help >/dev/null 2>&1 || continue # not in this build
    has_all attribute "$part"
done
has_all sweep --drive
"$ADEPT" calibrate --layouts --help >/dev/null 2>&1 && has_all calibrate --layouts

# Options for experts are options as others are, of words and of commands.
has_all predict
checks=$((checks + 1))
[ "$(wc -l <"$work/usual")" -le 38 ] || fail "predict --help has $(wc -l <"$work/usual") options" # --help and --version among them
grep -qxe --batch "$work/usual" && ! grep -qxe --bucket-bytes -e --timeline -e --help-all "$work/usual" || fail "predict --help: $(cat "$work/usual")"
expect_ok predict --hel
shows ' more options for experts: adept predict --help-all$'
expect_ok help predict
shows ' more options for experts: adept predict --help-all$'
expect_ok predict "$data/mlp.profile.json" --gpu a100 --bucket-bytes 1MiB --gpus 2
expect_error 2 "did you mean --bucket-bytes\? \(adept predict --help-all\)" predict x --gpu a100 --buket-bytes 1MiB
expect_error 2 "did you mean --batch\? \(adept predict --help\)" predict x --gpu a100 --bach 1
expect_error 2 "option '--help-all' takes no value" predict --help-all=1

# The files in the examples do not exist here: reading them (exit code 3) is as far as a valid command line gets.
# Where there is no gnuplot, a picture is not begun: that ends a valid command line too (exit code 1).
cd "$work" || exit 1
while IFS= read -r example; do
    checks=$((checks + 1))
    sh -c "\"\$ADEPT\" $example" >"$work/out" 2>"$work/err" </dev/null
    rc=$?
    case $rc in
    0 | 3) ;;
    1) ! command -v gnuplot >/dev/null && grep -q '^adept: .* needs gnuplot' "$work/err" || fail "exit code 1: adept $example" ;;
    *) fail "exit code $rc: adept $example" ;;
    esac
done <"$work/examples"
finish
