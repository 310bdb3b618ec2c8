# A scripted model counts as the traced one does: recurrent modules keep their weights in a list beside their names.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_torch
golden=$ADEPT_SOURCE_DIR/tests/golden/models

for kind in lstm gru rnn; do
    for how in traced scripted; do
        expect_ok profile "$golden/${kind}_$how.pt" --json
        sed -n '/"totals"/,/}/p' "$work/out" >"$work/$how"
    done
    checks=$((checks + 1))
    [ -s "$work/traced" ] && cmp -s "$work/traced" "$work/scripted" || fail "a scripted $kind counts otherwise than a traced one"
done

# sparse matrices in the file: 9 values of 5 x 8; by 2 columns twice; by each other, of which 9 x 9 / 8 products are taken for
# 11 values; and into a dense one
expect_ok profile "$golden/neighbours.pt" --mode fwbw -o "$work/neighbours.json"
for file in "$golden/neighbours.pt" "$work/neighbours.json"; do
    expect_ok profile "$file" --mode fwbw --json
    shows '"inputs":[[:space:]]*"f32:5x8#9, f32:8x2"'
    shows '"inputs":[[:space:]]*"f32:5x8#9r, f32:8x2"'
    shows '"outputs":[[:space:]]*"f32:5x5#11"'
    shows '"params":[[:space:]]*6,'
    shows '"weights_bytes":[[:space:]]*360,' # 24, 9 x 20, 9 x 12 + 6 x 8
    shows '"alu_flops_forward":[[:space:]]*103.25,' # 36, 36, 20.25, and 11 additions
    shows 'values are taken for evenly spread'
done

# PyTorch 1.13 traces a model on device "meta" wrongly: the convolution is gone
expect_error 3 'aten::new_empty: an empty tensor on device "meta" stands where an operator ran' profile "$golden/meta.pt"

# a list of images is one input with the batch in front: conv 2 FLOPs x 4 x 3 x 6 x 5 a sample
expect_ok profile "$golden/images.pt" --batch 7 --mode infer --json
shows '"shape":.*"f32:7x3x6x5"'
shows '"macs_forward":[[:space:]]*2520,'
shows '"warnings":[[:space:]]*\[\]'
expect_ok profile "$golden/images.pt" --batch 7 --mode fwbw --json # its torch.no_grad() holds no product
shows '"conv_flops_backward":[[:space:]]*5040,'

# x of 2 x 4: no gradient reaches the first layer, nor any below the second, which runs in bf16
expect_ok profile "$golden/regions.pt" --input 2x4 --mode fwbw --json
shows '"macs_forward":[[:space:]]*96,'
shows '"gemm_flops_backward":[[:space:]]*192,'
shows '"inputs":[[:space:]]*"bf16:2x4, bf16:4x4, bf16:4"'
checks=$((checks + 1))
[ "$(grep -c '"op":[[:space:]]*"autocast::to"' "$work/out")" -eq 3 ] || fail 'not three casts: of input, weight and bias'

# optimize_for_mobile: the layers are those that it was made of
for how in mobile mobile_plain; do
    run profile "$golden/$how.pt" --mode infer --json
    sed -n '/"totals"/,/}/p' "$work/out" >"$work/$how"
done
checks=$((checks + 1))
case $rc in
    0) grep -q '"macs_forward":[[:space:]]*49392,' "$work/mobile" && cmp -s "$work/mobile" "$work/mobile_plain" ||
        fail 'prepacked layers count otherwise than plain ones' ;;
    *) fail 'the model that mobile.pt was made of is refused' ;;
esac

# a trace says of torch.utils.checkpoint in its debug records alone
expect_ok profile "$golden/checkpointed.pt" --input 2x4 --json
shows 'saved with torch.utils.checkpoint, which its file does not keep'
expect_ok profile "$golden/checkpointed.pt" --input 2x4 --mode infer --json
shows '"warnings":[[:space:]]*\[\]'

# torchvision's poolers: an instance is kept in an attribute that is None in the file
expect_ok profile "$golden/pooler.pt" --mode infer --json
shows '"alu_flops_forward":[[:space:]]*6,'
# what data chooses of an image: parts may differ in size
expect_ok profile "$golden/found.pt" --mode infer --json
shows '3 results whose size depends on data'

# libtorch packs them by QNNPACK only, which Debian builds for amd64, not for arm64
packed_at_8_bits() {
    # weights packed at 8 bits: 2 x 30 pixels of 27 taps to 4 channels, then of 8 channels to 5
    expect_ok profile "$golden/eight_bits.pt" --trust --mode infer --json
    shows '"macs_forward":[[:space:]]*8880,'
    shows '"inputs":[[:space:]]*"u8:2x3x6x5, i8:4x3x3x3, f32:4"'
    shows '"trainable_params":[[:space:]]*0,'
    expect_ok profile "$golden/dynamic.pt" --trust --mode infer --json
    shows '"macs_forward":[[:space:]]*48,'
    # cells in a list: 2 layers in 2 directions of 10 rows, 12 gates, 4 or 6 features and 3 hidden units
    for file in dynamic_lstm dynamic_lstm_scripted; do
        expect_ok profile "$golden/$file.pt" --mode infer --json
        shows '"macs_forward":[[:space:]]*3840,'
    done
    expect_ok profile "$golden/dynamic_cells.pt" --mode infer --json
    shows '"macs_forward":[[:space:]]*448,'
    expect_ok profile "$golden/signal.pt" --trust --mode infer --json
    shows '"macs_forward":[[:space:]]*576,'
    expect_ok predict "$golden/eight_bits.pt" --trust --mode infer --gpu a40
    checks=$((checks + 1))
    ! grep -q '8-bit integers' "$work/out" || fail 'a sheet with an INT8 rate is said to have none'
    expect_ok predict "$golden/eight_bits.pt" --trust --mode infer --gpu v100-pcie-32gb
    shows '8-bit integers are multiplied at the FP16 peak of v100-pcie-32gb: its sheet has no tensor_int8_flops_per_s'
    expect_ok predict "$golden/eight_bits.pt" --trust --mode infer --gpu h100
    shows 'at the FP8 peak of'
}
run profile "$golden/dynamic.pt" --trust --mode infer
checks=$((checks + 1))
case $rc in
    0) packed_at_8_bits ;;
    4) grep -q 'libtorch has no engine here that packs them' "$work/err" || fail 'weights of 8 bits are refused without the reason' ;;
    *) fail 'weights of 8 bits are neither read nor refused' ;;
esac
# 8 rows of 6 numbers, scaled and shifted; the bags add them
expect_ok profile "$golden/tables.pt" --mode infer --json
shows '"alu_flops_forward":[[:space:]]*240,'
shows '"inputs":[[:space:]]*"u8:20x6, i64:8, i64:3"'
shows '"weights_bytes":[[:space:]]*560,' # 2 x 20 rows of 6 bytes and 8
expect_ok profile "$golden/bags_4bit.pt" --mode infer -o "$work/tables.json"
for file in "$golden/bags_4bit.pt" "$work/tables.json"; do
    expect_ok profile "$file" --mode infer --json
    shows '"weights_bytes":[[:space:]]*140,' # 20 rows of 3 bytes and 4
done
# a frozen module has constants for weights: 4 x 27 and 4
expect_ok profile "$golden/frozen.pt" --mode infer --json
shows '"params":[[:space:]]*112,'
run profile "$golden/mkldnn.pt" --mode infer
checks=$((checks + 1))
[ "$rc" -eq 4 ] && grep -q 'optimize_for_inference' "$work/err" || fail 'layers for MKL-DNN without weights are not named'
finish
