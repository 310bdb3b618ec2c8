# Models as people write them are predicted, with PyTorch's FLOPs: those kinds of docs/MODELS.md that take seconds. Skipped
# without PyTorch; `tools/zoo/check_models.py --table docs/MODELS.md` does all of them.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_torch
need_python "torch.utils._python_dispatch, torchvision"
checks=$((checks + 1))
only=
for kind in U-Net SSD 'Faster R-CNN, scripted' text speech generative recommender graph metric geometry control series adapters quantised '16 bits'; do
    only="$only --only=$(echo "$kind" | tr ' ' .)"
done
"$python" -W ignore "$ADEPT_SOURCE_DIR/tools/zoo/check_models.py" --adept "$ADEPT" $only >"$work/out" 2>"$work/err" ||
    { grep -E 'NO |differs' "$work/out"; fail 'a kind of model is not predicted, or its FLOPs are not those of PyTorch'; }
tail -n 1 "$work/out"
# the document is of all kinds
checks=$((checks + 1))
kinds=$(grep -c '^    "[^"]*: [^"]*": ' "$ADEPT_SOURCE_DIR/tools/zoo/model_kinds.py")
grep -q " of $kinds kinds are predicted" "$ADEPT_SOURCE_DIR/docs/MODELS.md" || fail "docs/MODELS.md is not of $kinds kinds"
finish
