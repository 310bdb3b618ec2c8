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

# PyTorch 1.13 traces a model on device "meta" wrongly: the convolution is gone
expect_error 3 'aten::new_empty: an empty tensor on device "meta" stands where an operator ran' profile "$golden/meta.pt"

# a list of images is one input with the batch in front: conv 2 FLOPs x 4 x 3 x 6 x 5 a sample
expect_ok profile "$golden/images.pt" --batch 7 --mode infer --json
shows '"shape":.*"f32:7x3x6x5"'
shows '"macs_forward":[[:space:]]*2520,'
shows '"warnings":[[:space:]]*\[\]'
run profile "$golden/images.pt" --batch 7 --mode train
checks=$((checks + 1))
[ "$rc" -eq 4 ] && grep -q 'prim::Enter x1 (a .with. (torch.no_grad)' "$work/err" || fail 'torch.no_grad in a training step passes'
finish
