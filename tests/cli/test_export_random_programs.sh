# Random small programs as files of torch.export, and mutants of those: what PyTorch refuses is refused, and the rest has its
# shapes and types. Thirty, and sixty mutants; tests/differential/export_random_programs.py alone makes 100 and 300. Skipped
# without PyTorch 2. The table of arguments is what this PyTorch's schemas say, if it is of the same release.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_python "torch.export"
export_random() {
    "$python" -W ignore "$ADEPT_SOURCE_DIR/tests/differential/export_random_programs.py" "$work" --build "$(dirname "$ADEPT")/.." \
        "$@" >"$work/out" 2>"$work/err"
}
checks=$((checks + 1))
export_random --programs 30 --mutants 60 --seed 2 || fail 'programs cannot be made'
export_random --compare || { cat "$work/out"; fail 'a program differs'; }
cat "$work/out"
table=$ADEPT_SOURCE_DIR/data/operator_arguments.csv
release=$("$python" -c 'import torch; print(".".join(torch.__version__.split(".")[:2]))' 2>/dev/null | tail -n 1)
if grep -q "Schemas of PyTorch $release," "$table"; then
    checks=$((checks + 1))
    "$python" "$ADEPT_SOURCE_DIR/tools/zoo/operator_arguments.py" "$work/table" >"$work/out" 2>"$work/err"
    diff "$work/table" "$table" >"$work/out" || fail "$table is another one"
fi
finish
