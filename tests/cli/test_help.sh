# Help goes to stdout with exit code 0, and the examples in it are valid command lines.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"

expect_ok --help
commands=$(sed -n 's/^  \([a-z]*\) .*/\1/p' "$work/out" | grep -v adept)
[ "$(echo "$commands" | tr '\n' ' ')" = 'predict report profile calibrate evaluate sweep diff explain gpus handlers measure attribute compare simulate serve ' ] || fail "commands listed: $commands"
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
    if awk 'length > 79' "$work/out" | grep -q .; then
        fail "help of $command is wider than 79 columns"
    fi
    if awk '/^Examples:$/ { inside = 1; next } /^$/ { inside = 0 } inside && !/^  adept /' "$work/out" | grep -q .; then
        fail "an example of $command is too long for one line"
    fi
    if grep -q ' $' "$work/out"; then
        fail "help of $command has lines that end in blanks"
    fi
    sed -n 's/^  adept //p' "$work/out" >>"$work/examples"
    [ "$(grep -c "^$command" "$work/examples")" -ge 2 ] || fail "$command --help has fewer than two examples"
done

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
