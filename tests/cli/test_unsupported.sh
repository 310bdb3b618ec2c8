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
    grep -Eq '^adept:   aten::poisson: 2 times, first in mix: ' "$work/err" || fail 'poisson is not listed'
    grep -Eq '^adept:   aten::_standard_gamma: 1 time, first in the model itself: ' "$work/err" || fail '_standard_gamma is not listed'
done

# counted as a copy when asked for, and said
expect_ok predict "$m" --gpu a100 --allow-unsupported
shows '^Warnings'
shows 'poisson'
shows '_standard_gamma'

# results that the user gives; several operators, of a saved profile too
f=$ADEPT_SOURCE_DIR/tests/golden/models/foreign.pt
set -- --gpu a100 --input Bx4 --batch 2
expect_ok predict "$f" "$@" --assume mylib::flash=Bx4 --assume mylib::rotary=Bx4
shows 'mylib::flash .* results assumed: f32:2x4$'
expect_ok profile "$f" --input Bx4 --batch 2 --assume mylib::flash=Bx4 --assume mylib::rotary=Bx4 -o "$work/f.json"
expect_ok predict "$work/f.json" --gpu a100 --batch 3
shows 'results assumed: f32:3x4$'
expect_error 2 'no operator of that name' predict "$f" "$@" --allow-unsupported --assume mylib::flesh=Bx4
expect_error 2 'assume .mylib::flash.: want OP=SHAPE' predict "$f" "$@" --assume mylib::flash
expect_error 2 'want .*0 <= F <= 1' predict "$f" "$@" --assume-fraction 2
expect_error 2 'branch=maybe' predict "$f" "$@" --assume-branch maybe

# what they compute and move, by a file: of f32:2x4 arguments and results 8 elements, 32 bytes
cat >"$work/operators.json" <<'EOF'
{"schema_version": 1, "operators": [
  {"name": "mylib::flash", "results": ["Bx4"], "flops": "2 * a0 * (a0.1 + 1)", "bytes_read": "a0.bytes", "bytes_written": 1000,
   "kernels": 3, "saved_bytes": "r0.bytes", "backward": {"flops": "10*r0", "kernels": 2}},
  {"name": "mylib::rotary", "flops": "r0.0", "backward": null}
]}
EOF
expect_ok profile "$f" --input Bx4 --batch 2 --operator "$work/operators.json" -o "$work/f.json"
expect_ok predict "$work/f.json" --gpu a100
shows 'operator mylib::flash costs what is assumed of it: flops:2\*a0\*\(a0.1\+1\)@read:a0.bytes'
expect_ok profile "$f" --input Bx4 --batch 2 --operator "$work/operators.json" --json
"${PYTHON:-python3}" - "$work/out" <<'EOF' || fail 'costs of a file'
import json, sys
ops = [op for op in json.load(open(sys.argv[1]))["ops"] if "mylib" in op["op"]]
flash, rotary = ([op for op in ops if op["op"] == name][0] for name in ("mylib::flash", "mylib::rotary"))
assert flash["flops_forward"] == 2 * 8 * 5 and flash["bytes_forward"] == 1032, flash
assert [(k["launches"], k["bytes_read"], k["bytes_written"]) for k in flash["kernels"]] == [(3, 32, 1000)], flash
assert rotary["flops_forward"] == 2 and len(rotary["kernels"]) == 1 and rotary["kernels"][0]["launches"] == 1, rotary
EOF
expect_ok predict "$f" "$@" --assume mylib::flash=Bx4@flops:2*a0 --assume mylib::rotary=@kernels:0
expect_error 2 'want KEY:EXPRESSION' predict "$f" "$@" --assume mylib::flash=Bx4@flops:2*
expect_error 2 'want KEY:EXPRESSION' predict "$f" "$@" --assume mylib::flash=Bx4@flop:2
expect_error 2 'want KEY:EXPRESSION' predict "$f" "$@" --assume 'mylib::flash=Bx4@flops:(2'
expect_error 2 'costs name a tensor or a dimension that it has not' predict "$f" "$@" --assume mylib::flash=Bx4@flops:a7 --assume mylib::rotary=Bx4
expect_error 2 'costs name a tensor' predict "$f" "$@" --assume mylib::flash=Bx4@flops:1-a0 --assume mylib::rotary=Bx4
echo '{"operators": [{"name": "mylib::flash", "flop": 3}]}' >"$work/wrong.json"
expect_error 3 'wrong.json: .*flop.* in operators' predict "$f" "$@" --operator "$work/wrong.json"
echo '{"operators": 3}' >"$work/wrong.json"
expect_error 3 'wrong.json: ' predict "$f" "$@" --operator "$work/wrong.json"

# several results, scripted and traced: said, and not needed where nothing calls the operator
for file in least_scripted least_traced; do
    f=$ADEPT_SOURCE_DIR/tests/golden/models/$file.pt
    run profile "$f" --input 2x4
    checks=$((checks + 1))
    [ "$rc" -eq 4 ] && grep -q 'mylib::least: [12] time' "$work/err" || fail "$file: an operator of several results is not named"
    expect_ok profile "$f" --input 2x4 --assume mylib::least=4,i64:4 --json
    shows '"outputs":[[:space:]]*"f32:4, i64:4"'
    expect_error 2 'mylib::least: 3 results are assumed, it has 2' profile "$f" --input 2x4 --assume mylib::least=4,4,4
done
f=$ADEPT_SOURCE_DIR/tests/golden/models/least_scripted.pt
expect_ok profile "$f" --input 2x4 --input how=none --json
shows '"macs_forward":[[:space:]]*32,'
expect_ok profile "$f" --input 2x4 --input how=kept --assume mylib::least=1x4,i64:1x4
expect_ok profile "$f" --input 2x4 --input how=split --assume mylib::split=1x4,1x4
expect_error 2 'no operator of that name' profile "$f" --input 2x4 --input how=none --assume mylib::least=4,i64:4

# a loop that data ends
f=$ADEPT_SOURCE_DIR/tests/golden/models/until.pt
run profile "$f" --input 2x4
checks=$((checks + 1))
[ "$rc" -eq 4 ] && grep -q 'the number of trips of a loop depends on tensor data.*--assume-trips N' "$work/err" || fail 'no way out of a loop'
expect_ok profile "$f" --input 2x4 --assume-trips 5 --json
shows '"macs_forward":[[:space:]]*160,'
shows "assumed to make 5, as --assume-trips says: in ''"
expect_ok profile "$f" --input 2x4 --assume-trips 0 --json
shows '"macs_forward":[[:space:]]*0,'
expect_error 2 'trips=-1' profile "$f" --input 2x4 --assume-trips -1
expect_error 2 'trips=1.5' profile "$f" --input 2x4 --assume-trips 1.5

# a branch that depends on data: its line where the file has it, and a side on request
g=$ADEPT_SOURCE_DIR/tests/golden/models/gate.pt
run predict "$g" --gpu a100
checks=$((checks + 1))
[ "$rc" -eq 4 ] && grep -q 'prim::If: 1 time, first in 0: the condition in gate.py:10 depends on tensor data' "$work/err" ||
    fail 'a branch that depends on data does not say where'
expect_ok predict "$g" --gpu a100 --assume-branch false
shows "assumed false, as --assume-branch says: in '0', gate.py:10"
expect_ok profile "$g" --assume-branch true --by op
shows 'aten::linear'
finish
