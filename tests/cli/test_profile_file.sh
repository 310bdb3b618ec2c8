# A saved profile stands for the model: it takes every option that the model takes, and what was given when it was saved is what counts
# where nothing else is.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
p=$data/mlp.profile.json

# same FILE OPTION... -- FILE OPTION...: both predict the same, to the byte
same() {
    a=
    while [ "$1" != -- ]; do a="$a $1"; shift; done
    shift
    checks=$((checks + 1))
    "$ADEPT" predict $a --gpu a100 --json --by layer >"$work/a" 2>"$work/err" || fail "predict $a"
    "$ADEPT" predict "$@" --gpu a100 --json --by layer >"$work/b" 2>"$work/err" || fail "predict $*"
    cmp -s "$work/a" "$work/b" || fail "$a is not $*"
}

# every option changes what it is about
same "$p" -- "$p" --batch 256 --mode train --precision fp32 --optimizer adamw --grad-accum 1 --attention auto --memory-format nchw --execution eager --optimizer-impl auto
same "$p" -- "$p" --input Bx1024
same "$p" -- "$p" --input 256x1024
same "$p" -- "$p" --batch 256 --input 8x1024 # --batch replaces the leading dimension
same "$p" --batch 128 -- "$p" --input 128x1024
for option in '--batch 128' '--mode infer' '--precision bf16' '--optimizer sgd' '--optimizer lamb' '--optimizer-impl fused' '--optimizer-extras clip,ema' '--grad-accum 2' '--input f32:8x1024'; do
    expect_ok predict "$p" --gpu a100 $option --json
    cp "$work/out" "$work/given"
    expect_ok predict "$p" --gpu a100 --json
    cmp -s "$work/out" "$work/given" && fail "$option changes nothing"
done
expect_ok predict "$p" --gpu a100 --trust --allow-unsupported
expect_error 2 'linear.*1025' predict "$p" --gpu a100 --input f32:Bx1025
expect_error 2 '2 input shapes given, the model takes 1' predict "$p" --gpu a100 --input Bx1024 --input i64:B
expect_error 2 'no input is a batch of token sequences' predict "$p" --gpu a100 --seq-length 7

# saved with options, it has them until others are given
expect_ok profile "$p" --mode infer --precision fp16 --batch 32 --grad-accum 3 -o "$work/infer.json"
same "$work/infer.json" -- "$p" --mode infer --precision fp16 --batch 32 --grad-accum 3
same "$work/infer.json" --batch 7 -- "$p" --mode infer --precision fp16 --batch 7 --grad-accum 3
same "$work/infer.json" --mode train -- "$p" --precision fp16 --batch 32 --grad-accum 3 # with AdamW, as nothing else was said
same "$work/infer.json" --mode train --precision fp32 --grad-accum 1 --batch 256 -- "$p"
expect_ok profile "$p" --input 64x1024 --optimizer sgd -o "$work/shaped.json"
same "$work/shaped.json" -- "$p" --input 64x1024 --optimizer sgd
same "$work/shaped.json" --batch 9 -- "$p" --input 9x1024 --optimizer sgd
same "$work/shaped.json" --input 5x1024 -- "$p" --input 5x1024 --optimizer sgd
expect_ok profile "$p" --memory-format nhwc --optimizer-impl fused --optimizer-extras master,clip -o "$work/fused.json"
same "$work/fused.json" -- "$p" --memory-format channels_last --optimizer-impl fused --optimizer-extras clip,master
same "$work/fused.json" --optimizer-impl foreach --memory-format nchw --optimizer-extras ema -- "$p" --optimizer-impl foreach --optimizer-extras ema
same "$work/fused.json" --optimizer-impl auto --memory-format nchw --optimizer-extras none -- "$p"
expect_ok profile "$p" --batch 40 -o "$work/forty.json"
same "$work/forty.json" --input Bx1024 -- "$p" --batch 40
same "$work/forty.json" --input 5x1024 -- "$p" --batch 5 # a shape with a number is that shape
expect_ok profile "$work/forty.json" --mode infer -o "$work/again.json"
same "$work/again.json" -- "$p" --batch 40 --mode infer

# what stands beside the graph is for people: nobody reads it back
sed 's/"flops":[[:space:]]*[0-9]*/"flops": -1/; s/"batch_size":[[:space:]]*256/"batch_size": 9/' "$p" >"$work/edited.json"
same "$work/edited.json" -- "$p"

# --json prints what programs read, and no graph
expect_ok profile "$p" --json
grep -q '"ops"' "$work/out" || fail 'no operators'
grep -q '"graph"' "$work/out" && fail 'a graph on stdout'
cp "$work/out" "$work/printed.json"
expect_error 3 'printed.json: a profile without its graph, .*adept profile MODEL -o FILE' predict "$work/printed.json" --gpu a100
expect_error 3 'old_form: a profile of an earlier version .*adept profile MODEL -o FILE' predict "$ADEPT_SOURCE_DIR/tests/fuzz/corpus/profile/old_form" --gpu a100
sed 's/"data":[[:space:]]*"YWRl/"data": "YWRm/' "$p" >"$work/bit.json"
expect_error 3 'bit.json: .*damaged or edited' predict "$work/bit.json" --gpu a100

# they were ranges of sizes once
expect_error 2 '--batches is no longer needed' profile "$p" --batches 1:8 -o "$work/x"
expect_error 2 '--seq-lengths is no longer needed' profile "$p" --seq-lengths 1,8
run profile --help-all
grep -q batches "$work/out" && fail '--help-all names --batches'

# reports
expect_ok predict "$p" --gpu a100
shows '^Step time '
shows '^Power .* W '
shows '^Energy .*per step, .* per sample'
shows '^Bound by +(arithmetic|memory|host|network) '
shows '^  forward and backward .*%  #+$'
shows '^Memory of the GPU: .* of 40.0 GiB, fits$'
shows 'body.fc1 +Linear +1 '
shows ', calibrated: fitted with [0-9]+ other GPUs to [0-9]+ steps of its own'
expect_ok predict "$p" --gpu a100 --gpus 4 --steps 1000 --carbon-intensity 400 --price 0.25
shows '^  communication '
shows '^Memory of each GPU: '
shows '^All 1000 steps: .*CO2e, cost '
expect_ok predict "$p" --gpu a100 --by op
shows '^By op '
shows '^  aten::linear +2 '
expect_ok profile "$p" --by layer --depth 1
shows '^  path +class +calls +params '
shows '^  body  +1 +4.20 M '
shows '^  head  +Linear +1 '

# a model and its profile, also to a sweep and in measurements
[ -n "${ADEPT_TORCH_MODULE:-}" ] || { finish; exit; }
m=$models/resnet50.pt
expect_ok profile "$m" --by layer
shows '^  layer2.\{1-3\}.bn1 +BatchNorm2d +3 +768 '
shows '^  layer1.\{0-2\}.relu +ReLU +9 +0 '
! grep -q 'layer2.{0-3}.bn1 ' "$work/out" || fail 'layer2.0.bn1 is in two rows'
expect_ok profile "$m" --precision tf32 -o "$work/resnet50.profile.json"
s=$work/resnet50.profile.json
same "$s" -- "$m" --precision tf32
same "$s" --batch 77 --precision bf16 --mode infer --attention fused -- "$m" --batch 77 --precision bf16 --mode infer --attention fused
same "$s" --input Bx3x128x128 --optimizer sgd --grad-accum 4 -- "$m" --input Bx3x128x128 --optimizer sgd --grad-accum 4 --precision tf32
for command in 'profile --batch 3 --json' 'sweep --gpu a100 --vary batch=1,7,64 --vary precision=fp32,bf16 --vary mode=train,infer --csv' \
    'explain --gpu a100 --precision tf32 --json' 'diff --gpu a100 --new-batch 5 --json'; do
    set -- $command
    verb=$1
    shift
    checks=$((checks + 1))
    both=
    [ "$verb" != diff ] || both=1
    "$ADEPT" "$verb" "$s" ${both:+"$s"} "$@" --precision tf32 >"$work/a" 2>"$work/err" || fail "$command of a profile"
    "$ADEPT" "$verb" "$m" ${both:+"$m"} "$@" --precision tf32 >"$work/b" 2>"$work/err" || fail "$command of a model"
    cmp -s "$work/a" "$work/b" || fail "$command differs"
done
if "$ADEPT" evaluate --help >/dev/null 2>&1; then
    mkdir "$work/models"
    cp "$s" "$work/models/resnet50.profile.json"
    printf 'model,batch_size,precision,mode,gpu,step_time_s\nresnet50,7,bf16,train,a100,0.01\nresnet50,,,infer,a100,0.05\n' >"$work/rows.csv"
    expect_ok evaluate "$work/rows.csv" --gpu a100 --models "$work/models" --no-cache --json
    cp "$work/out" "$work/a"
    expect_ok evaluate "$work/rows.csv" --gpu a100 --models "$models" --no-cache --json
    sed 's/[^"]*resnet50\.[a-z.]*//' "$work/a" >"$work/x"
    sed 's/[^"]*resnet50\.[a-z.]*//' "$work/out" | cmp -s - "$work/x" || fail 'evaluate differs'
fi
finish
