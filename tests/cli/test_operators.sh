# Of PyTorch's operators at least 98 % are known, the rest refused by name, and products have PyTorch's FLOPs: all of them,
# a minute and a half. docs/OPERATORS.md is what this finds with the PyTorch that wrote it. Skipped without PyTorch.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_torch
need_python "torch.utils._python_dispatch"
checks=$((checks + 1))
"$python" -W ignore "$ADEPT_SOURCE_DIR/tools/zoo/check_operators.py" --adept "$ADEPT" --table "$work/table.md" >"$work/out" 2>"$work/err" ||
    { grep -v '^untraced' "$work/out"; fail 'less than 98 % are known, or one is wrong, or its FLOPs are'; }
tail -n 1 "$work/out"
document=$ADEPT_SOURCE_DIR/docs/OPERATORS.md
if [ "$(sed -n 3,4p "$work/table.md")" = "$(sed -n 3,4p "$document")" ]; then
    checks=$((checks + 1))
    diff "$document" "$work/table.md" || fail 'docs/OPERATORS.md is not what check_operators.py --table writes'
fi
finish
