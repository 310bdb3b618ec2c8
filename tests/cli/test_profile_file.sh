# A saved profile stands for the model: options that say otherwise are refused, the others are not.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
p=$data/mlp.profile.json

# what it was recorded with may be repeated
expect_ok predict "$p" --gpu a100 --batch 256 --mode train --precision fp32 --optimizer adamw --grad-accum 1 --attention auto
expect_ok predict "$p" --gpu a100 --input Bx1024
expect_ok predict "$p" --gpu a100 --input 256x1024
expect_ok predict "$p" --gpu a100 --batch 256 --input 8x1024 # --batch replaces the leading dimension
expect_ok predict "$p" --gpu a100 --trust --allow-unsupported

# contradicts OPTION GIVEN RECORDED
contradicts() {
    expect_error 2 "$1 $2 contradicts the profile .*recorded with $3; profile the model again: adept profile MODEL $1 $2 -o" \
        predict "$p" --gpu a100 "$1" "$2"
}
contradicts --batch 128 256
contradicts --mode infer train
contradicts --precision bf16 fp32
contradicts --optimizer sgd adamw
contradicts --grad-accum 2 1
contradicts --attention fused auto
contradicts --input f32:8x1024 f32:256x1024
contradicts --input f32:Bx1025 f32:256x1024
expect_error 2 '--input i64:B' predict "$p" --gpu a100 --input Bx1024 --input i64:B

# an optimizer means nothing where none runs
sed -e 's/"mode": "train"/"mode": "infer"/' -e 's/"optimizer": "adamw"/"optimizer": "none"/' "$p" >"$work/infer.json"
expect_ok predict "$work/infer.json" --gpu a100 --optimizer sgd
expect_error 2 '--mode train' predict "$work/infer.json" --gpu a100 --mode train

# reports
expect_ok predict "$p" --gpu a100
shows '^Step time '
shows '^Power .* W '
shows '^Energy .*per step, .* per sample'
shows '^Bound by +(compute|memory|launch|communication) '
shows '^  forward and backward .*%  #+$'
shows '^Memory of the GPU: .* of 40.0 GiB, fits$'
shows 'body.fc1 +Linear +1 '
shows 'not calibrated'
expect_ok predict "$p" --gpu a100 --gpus 4 --steps 1000 --carbon-intensity 400 --price 0.25
shows '^  communication '
shows '^Memory of each GPU: '
shows '^All 1000 steps: .*CO2e, cost '
expect_ok predict "$p" --gpu a100 --by op
shows '^By op '
shows '^  aten::linear +2 '
expect_ok profile "$p" --by layer --depth 1
shows '^  body  +2 '
shows '^  head  +Linear +1 '
finish
