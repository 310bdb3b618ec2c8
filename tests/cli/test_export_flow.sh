# Branches, loops and regions of torch.export: a program of a linear layer 4 x 4 on 3 rows, 48 multiply-adds each time.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_python zipfile
f=$work/flow.pt2
"$python" - "$ADEPT_SOURCE_DIR/tests/golden/export/flow.json" "$f" <<'END'
import sys, zipfile
with zipfile.ZipFile(sys.argv[2], "w") as archive:
    archive.write(sys.argv[1], "serialized_exported_program.json")
    archive.writestr("version", "8.2")
END

run profile "$f"
checks=$((checks + 1))
[ "$rc" -eq 4 ] && grep -q 'prim::If: 1 time, .*--assume-branch true|false' "$work/err" || fail 'cond does not say what it takes'
run profile "$f" --assume-branch true
checks=$((checks + 1))
[ "$rc" -eq 4 ] && grep -q 'prim::Loop: 1 time, .*--assume-trips N' "$work/err" || fail 'while_loop does not say what it takes'
# once or twice, two trips, a map over three rows, once in bf16
for side in true=240 false=288; do
    expect_ok profile "$f" --assume-branch ${side%=*} --assume-trips 2 --json
    shows "\"macs_forward\":[[:space:]]*${side#*=},"
    shows '"inputs":[[:space:]]*"bf16:3x4, bf16:4x4"'
    shows '"outputs":[[:space:]]*"bf16:3x4"'
    shows 'a loop whose trips depend on data is assumed to make 2'
    shows 'saved with torch.utils.checkpoint, which its file does not keep'
done
expect_ok profile "$f" --assume-branch true --assume-trips 2 -o "$work/flow.json"
expect_ok profile "$work/flow.json" --json
shows '"macs_forward":[[:space:]]*240,'
# a dict of tensors and the like are inputs of their own here; names reach them, too
expect_ok profile "$f" --input x=6x4 --assume-branch true --assume-trips 0 --json
shows '"macs_forward":[[:space:]]*288,'
expect_error 2 "no input of that name, only 'x'" profile "$f" --input y=6x4
finish
