# docs/WALKTHROUGH.md says what the program says today.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_torch
for tool in python3 gnuplot; do
    command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done
mkdir "$work/walkthrough"
checks=$((checks + 1))
if ! python3 -B "$ADEPT_SOURCE_DIR/tools/walkthrough.py" --adept "$ADEPT" -o "$work/WALKTHROUGH.md" --plots "$work/walkthrough" >"$work/out" 2>"$work/err"; then
    fail "the script ends with an error"
elif ! diff "$ADEPT_SOURCE_DIR/docs/WALKTHROUGH.md" "$work/WALKTHROUGH.md" >"$work/out"; then
    fail "docs/WALKTHROUGH.md is not what tools/walkthrough.py writes; run it again"
fi
for picture in "$ADEPT_SOURCE_DIR"/docs/walkthrough/*.svg; do
    checks=$((checks + 1))
    [ -s "$work/walkthrough/$(basename "$picture")" ] || fail "$picture is not drawn any more"
done
finish
