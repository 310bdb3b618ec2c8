# A result that cannot be written is a failure (exit code 1), on a full disk and on a closed pipe.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
p=$data/mlp.profile.json

# to_full ARGUMENT...
to_full() {
    checks=$((checks + 1))
    : >"$work/out"
    "$ADEPT" "$@" >/dev/full 2>"$work/err"
    rc=$?
    if [ "$rc" -ne 1 ] || ! grep -q '^adept: cannot write standard output' "$work/err"; then
        fail "exit code $rc on a full disk: adept $*"
    fi
}

if [ -c /dev/full ]; then
    to_full --help
    to_full --version
    to_full predict --help
    to_full gpus
    to_full gpus --json
    to_full handlers
    to_full profile "$p"
    to_full profile "$p" --json
    to_full predict "$p" --gpu a100
    to_full predict "$p" --gpu a100 --json
    to_full diff "$p" "$p" --gpu a100 --markdown
    to_full diff "$p" "$p" --gpu a100 --new-gpu t4 --fail-above 0
fi

# -o - is standard output, where nothing else stands then; pipes and devices are written to
stands() { # FILE: that profile is on standard output
    checks=$((checks + 1))
    cmp -s "$1" "$work/out" || fail "standard output is not $1"
}
expect_ok profile "$p" -o "$work/profile.json"
expect_ok profile "$p" -o -
stands "$work/profile.json"
expect_ok profile "$p" -o /dev/null
shows '^Model '
mkfifo "$work/profiles"
cat "$work/profiles" >"$work/piped" &
expect_ok profile "$p" -o "$work/profiles"
wait
checks=$((checks + 1))
cmp -s "$work/piped" "$work/profile.json" || fail 'a pipe got something else'
[ -p "$work/profiles" ] || fail 'a pipe was replaced by a file'
expect_ok sweep "$p" --gpu a100 --vary batch=1,2 --csv
mv "$work/out" "$work/points.csv"
expect_ok sweep "$p" --gpu a100 --vary batch=1,2 -o -
stands "$work/points.csv"
expect_error 1 "cannot write" profile "$p" -o "$work"

# one of a thing
printf 'file one.pt\nhint Bx1024\nbatch 1\ninput x\na = aten::relu(self=x) @ act torch.nn.modules.activation.ReLU\nreturn a\n' >"$work/one.graph"
"$ADEPT_MAKE_PROFILE" "$work/one.graph" >"$work/one.json"
expect_ok predict "$work/one.json" --gpu a100 --mode infer --steps 1 --label "$work/one.md"
shows 'The step waits for the host for [0-9.]+ us \(100\.0 %\), which launches 1 kernel: [0-9.]+ ns of them$'
mv "$work/one.md" "$work/out"
shows ', batch 1 per GPU x 1 pass, '
shows '^\| job \| 1 step, 1 sample \|$'

# bundled models by name, from any folder, without libtorch
top=$PWD
cd "$work" || exit 1
torch=${ADEPT_TORCH_MODULE:-}
export ADEPT_TORCH_MODULE=/nowhere/adept_torch.so
expect_ok predict neumf --gpu a100 --json
shows '"path":[[:space:]]*"neumf.pt"'
shows '"tokens_per_s":[[:space:]]*null'
expect_ok predict qwen2.5_0.5b --gpu a100 --batch 1
shows '^Step time .* samples/s, .* tokens/s$'
expect_ok predict resnet50 --gpu a100
shows '^Input +x f32:256x3x224x224$'
expect_ok predict vgg16 --gpu a100 --batch 8 --input Bx3x64x64 --precision bf16 --mode infer --attention eager
shows '^Run +infer, bf16, batch 8, attention eager$'
shows '^Input +x f32:8x3x64x64$'
for command in profile 'predict --gpu a100' 'sweep --gpu a100 --vary batch=1,2' 'explain --gpu a100' 'diff vgg16 --gpu a100'; do
    expect_ok $command resnet50
done
for near in neunf NEUMF neunf.pt neumf.pt neumf.pt2 neunf.profile.json; do
    expect_error 3 "^adept: $near: no such file, and no bundled model of that name; did you mean neumf\?$" predict $near --gpu a100
done
expect_error 3 "did you mean qwen2.5_0.5b" predict qwen2.5_05b --gpu a100
expect_error 3 "^adept: ./neumf: cannot open" predict ./neumf --gpu a100
expect_error 3 "^adept: gobbledygook: no such file, and no bundled model of that name$" predict gobbledygook --gpu a100
# a file goes before a name
cp "$p" resnet50
expect_ok predict resnet50 --gpu a100
shows '^Model +mlp.pt'
rm resnet50
cd "$top" || exit 1
ADEPT_TORCH_MODULE=$torch
if [ -n "$torch" ]; then
    expect_ok predict resnet50 --gpu v100 --batch 8 --json
    grep -v '"path"' "$work/out" >"$work/by-name"
    expect_ok predict "$models/resnet50.pt" --gpu v100 --batch 8 --json
    checks=$((checks + 1))
    grep -v '"path"' "$work/out" | cmp -s - "$work/by-name" || fail 'a name is not its file'
fi

checks=$((checks + 1))
"$ADEPT" gpus >&- 2>"$work/err"
rc=$?
[ "$rc" -eq 1 ] || fail "exit code $rc with standard output closed"

# The reader is gone before the first byte: waits for it, then writes.
checks=$((checks + 1))
mkfifo "$work/pipe"
(
    exec 3>"$work/pipe"
    while [ ! -e "$work/gone" ]; do sleep 0.05; done
    "$ADEPT" gpus --json >&3 2>"$work/err"
    echo $? >"$work/rc"
) &
: <"$work/pipe"
: >"$work/gone"
wait
[ "$(cat "$work/rc")" = 1 ] || fail "exit code $(cat "$work/rc") on a closed pipe"
[ ! -s "$work/err" ] || fail 'a message on a closed pipe, which is what head leaves'
for command in gpus 'gpus --json' --help 'predict --help' handlers "profile $p" "profile $p -o -" "predict $p --gpu a100" \
    "predict $p --gpu a100 --json" "explain $p --gpu a100 --json" "sweep $p --gpu a100 --vary power_limit_w=100:400:0.1 --csv" \
    "sweep $p --gpu a100 --vary gpus=1,2 -o -" "diff $p $p --gpu a100"; do
    checks=$((checks + 1))
    # shellcheck disable=SC2086  # words
    { sleep 0.2; "$ADEPT" $command 2>"$work/err"; } | :
    [ ! -s "$work/err" ] || fail "a message on a closed pipe: adept $command: $(cat "$work/err")"
done

# -o keeps the old content when the new one cannot be written, and leaves no temporary file behind
mkdir "$work/dir"
expect_ok profile "$p" -o "$work/dir/a.json"
cp "$work/dir/a.json" "$work/first"
expect_ok profile "$work/dir/a.json" -o "$work/dir/a.json"
cmp -s "$work/first" "$work/dir/a.json" || fail 'a profile read and written again differs'
[ "$(ls "$work/dir")" = a.json ] || fail "-o leaves files behind: $(ls "$work/dir")"
expect_error 1 'missing/a.json' profile "$p" -o "$work/missing/a.json"
expect_error 1 "$work/dir" profile "$p" -o "$work/dir"
# what fits: the largest batch, and the exit code of a step that does not
mlp=$data/mlp.profile.json
expect_ok predict "$mlp" --gpu a100 --batch max --json
most=$(sed -n 's/.*"batch_size":[[:space:]]*\([0-9]*\),.*/\1/p' "$work/out")
shows '"fits":[[:space:]]*true'
expect_ok predict "$mlp" --gpu a100 --batch "$most" --check-fit
run predict "$mlp" --gpu a100 --batch $((most + 1)) --check-fit --json
checks=$((checks + 1))
[ "$rc" -eq 7 ] && grep -q '"fits":[[:space:]]*false' "$work/out" && grep -q 'adept: the step does not fit: 40' "$work/err" || fail "a batch of $((most + 1)): exit code $rc"
expect_error 7 'not even a batch of 1 fits' predict llama-3-8b --gpu t4 --batch max
for option in batch batch_size micro-batch; do
    expect_ok explain "$mlp" --gpu a100 --$option max --json
    shows "\"batch_size\":[[:space:]]*$most,"
    expect_error 2 "--(micro-)?batch max is for predict, explain and report" profile "$mlp" --$option max
done
expect_ok report "$mlp" --gpu a100 --batch max -o "$work/most.html"
grep -q "\"batch_size\":$most," "$work/most.html" || fail 'the page of the largest batch'
checks=$((checks + 1))
expect_error 7 'not even a batch of 1 fits' explain llama-3-8b --gpu t4 --batch max
expect_error 2 'batch max is for predict' diff "$mlp" "$mlp" --gpu a100 --batch max
expect_error 2 'plan tries micro-batches itself' plan "$mlp" --gpu a100 --gpus 2 --global-batch 8 --batch max
# what is read is not written over, nor one output by another
cp "$mlp" "$work/own.json"
cp "$ADEPT_SOURCE_DIR/tests/golden/models/named.pt" "$work/own.pt"
expect_error 2 "own.pt' is read: it would be written over" profile "$work/own.pt" -o "$work/./own.pt"
cmp -s "$ADEPT_SOURCE_DIR/tests/golden/models/named.pt" "$work/own.pt" || fail 'a TorchScript file was written over'
for words in "predict $work/own.json --gpu a100 --label $work/own.json" \
    "predict $work/own.json --gpu a100 --timeline $work/own.json" "sweep $work/own.json --gpu a100 --vary gpus=1,2 -o $work/own.json"; do
    # shellcheck disable=SC2086
    expect_error 2 "own.json' is read: it would be written over" $words
done
cmp -s "$mlp" "$work/own.json" || fail 'a model was written over'
expect_error 2 "--(label|timeline): .*' would be written twice" predict "$mlp" --gpu a100 --label "$work/two.json" --timeline "$work/two.json"
expect_error 2 "'maxx'" predict "$mlp" --gpu a100 --batch maxx
expect_error 2 'GPUs that have the whole model' predict llama-3-8b --gpu h100 --gpus 8 --tp 8 --batch max
# rows by module and operator: their times are the pass, and a module's rows are its row
expect_ok predict "$mlp" --gpu a100 --by layer,op --json
shows '"by":[[:space:]]*"layer,op"'
shows '"op":[[:space:]]*"aten::linear"'
expect_ok predict "$mlp" --gpu a100 --by layer,op --depth 1
expect_ok profile "$mlp" --by layer,op
shows 'aten::linear +Linear'
# a GPU of one's own: the template says what must be known, and null is what is not
expect_ok gpus --template
cp "$work/out" "$work/mine.json"
expect_error 3 'vector_fp32_flops_per_s is missing' predict "$mlp" --gpu "$work/mine.json"
while ! "$ADEPT" predict "$mlp" --gpu "$work/mine.json" >"$work/out" 2>"$work/err"; do
    key=$(sed -n 's/.*: specs\.\([a-z0-9_]*\) is missing$/\1/p' "$work/err")
    case $key in '') break ;; *flops*) value=3e13 ;; *bytes_per_s) value=6e11 ;; mem_bytes) value=2e10 ;; *bytes) value=6e6 ;; *hz) value=1.7e9 ;; *) value=72 ;; esac
    awk -v key="\"$key\"" -v value="$value" 'index($0, key) { here = 1 } here && /null/ { sub("null", value); here = 0 } { print }' "$work/mine.json" >"$work/next.json"
    mv "$work/next.json" "$work/mine.json"
done
checks=$((checks + 1))
grep -q '^Step time' "$work/out" || fail "the filled template predicts nothing"
expect_error 2 'template stands alone' gpus --template a100
finish
