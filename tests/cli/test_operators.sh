#!/bin/sh
# Of PyTorch's operators at least 98 % are known, the rest refused by name, and products have PyTorch's FLOPs: all of them,
# a minute and a half. docs/OPERATORS.md is what this finds with the PyTorch that wrote it.
. "$(dirname "$0")/lib.sh"
python=
for candidate in /usr/bin/python3 python3; do
    "$candidate" -c 'import torch, torch.utils._python_dispatch' 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || { echo "no Python with PyTorch: operators are not checked"; exit 77; }
[ -n "$ADEPT_TORCH_MODULE" ] || { echo "built without libtorch: operators are not checked"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PYTHONWARNINGS=ignore "$python" "$ADEPT_SOURCE_DIR/tools/zoo/check_operators.py" --adept "$ADEPT" --table "$work/table.md" \
    >"$work/out" 2>"$work/err" || { cat "$work/out"; tail -5 "$work/err"; exit 1; }
tail -1 "$work/out"
document=$ADEPT_SOURCE_DIR/docs/OPERATORS.md
if [ "$(sed -n 3p "$work/table.md")" = "$(sed -n 3p "$document")" ]; then
    diff "$document" "$work/table.md" || { echo "docs/OPERATORS.md is not what check_operators.py --table writes"; exit 1; }
fi
