# Forms of the same thing, written by PyTorch: sizes in small tensors, complex numbers, windows, packed sequences, lengths that
# data chooses. forms_check.py has them. Skipped without PyTorch.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_torch
need_python torch
checks=$((checks + 1))
"$python" -W ignore "$ADEPT_SOURCE_DIR/tests/cli/forms_check.py" "$ADEPT" "$work" >"$work/out" 2>"$work/err" ||
    { cat "$work/out" "$work/err"; fail 'a form is counted otherwise than PyTorch runs it'; }
tail -n 1 "$work/out"
finish
