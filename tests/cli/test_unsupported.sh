# An operator without handler: exit code 4, and all of them listed with count, first module path and reason.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_torch
m=$data/unsupported.pt

for command in "profile $m" "predict $m --gpu a100"; do
    checks=$((checks + 1))
    # shellcheck disable=SC2086
    run $command
    [ "$rc" -eq 4 ] || fail "exit code $rc instead of 4: adept $command"
    [ -s "$work/out" ] && fail "something on stdout: adept $command"
    [ "$(wc -l <"$work/err")" -eq 3 ] || fail "not a summary and two operators: adept $command"
    [ "$(grep -c '^adept: ' "$work/err")" -eq 3 ] || fail "a line that does not begin with 'adept: '"
    sed -n 1p "$work/err" | grep -q 'unsupported.pt' || fail 'the summary does not name the file'
    grep -Eq '^adept:   aten::fft_ifft: 2 times, first in mix: ' "$work/err" || fail 'fft_ifft is not listed'
    grep -Eq '^adept:   aten::linalg_det: 1 time, first in the model itself: ' "$work/err" || fail 'linalg_det is not listed'
done

# counted as a copy when asked for, and said
expect_ok predict "$m" --gpu a100 --allow-unsupported
shows '^Warnings'
shows 'fft_ifft'
shows 'linalg_det'
finish
