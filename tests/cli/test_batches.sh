# A profile of several batch sizes: any of them predicts as the model does at it, without the model.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
p=$data/mlp.profile.json
expect_error 2 'needs the model' profile "$p" --batches 1:8
[ -n "${ADEPT_TORCH_MODULE:-}" ] || { finish; exit; }
m=$models/resnet50.pt

expect_ok profile "$m" --batches 1:100 --batch 32 -o "$work/many.json"
grep -q '"high":[[:space:]]*100' "$work/many.json" || fail 'no batches in the file'
"$ADEPT" predict "$work/many.json" --gpu a100 --json >"$work/default" || fail 'the file as it is'
"$ADEPT" predict "$m" --gpu a100 --batch 32 --json >"$work/model"
cmp -s "$work/default" "$work/model" || fail 'batch 32 differs'
for batch in 1 2 77 100; do
    checks=$((checks + 2))
    "$ADEPT" predict "$work/many.json" --gpu a100 --batch $batch --json --by layer >"$work/saved"
    "$ADEPT" predict "$m" --gpu a100 --batch $batch --json --by layer >"$work/model"
    cmp -s "$work/saved" "$work/model" || fail "a prediction at batch $batch differs"
    "$ADEPT" profile "$work/many.json" --batch $batch --json >"$work/saved"
    "$ADEPT" profile "$m" --batch $batch --json >"$work/model"
    cmp -s "$work/saved" "$work/model" || fail "a profile at batch $batch differs"
done
expect_error 2 'a batch of 101 lies outside .* 1 to 100; profile the model again' predict "$work/many.json" --gpu a100 --batch 101
expect_error 2 '--precision bf16 contradicts' predict "$work/many.json" --gpu a100 --batch 7 --precision bf16

# a list: from its smallest to its largest; the profile's own batch is the file's, else the smallest
expect_ok profile "$m" --batches 300,200,280 -o "$work/list.json"
grep -q '"batch_size":[[:space:]]*\(200\|256\)' "$work/list.json" || fail 'own batch'
expect_ok predict "$work/list.json" --gpu a100 --batch 250
expect_error 2 '200 to 300' predict "$work/list.json" --gpu a100 --batch 199

# rows of measurements with other batch sizes find them in it
if "$ADEPT" evaluate --help >/dev/null 2>&1; then
    mkdir "$work/models"
    cp "$work/many.json" "$work/models/resnet50.profile.json"
    printf 'model,batch_size,gpu,step_time_s\nresnet50,7,a100,0.01\nresnet50,50,a100,0.05\n' >"$work/rows.csv"
    expect_ok evaluate "$work/rows.csv" --gpu a100 --models "$work/models" --json
    shows '"n":[[:space:]]*2'
    printf 'model,batch_size,gpu,step_time_s\nresnet50,700,a100,0.01\n' >"$work/rows.csv"
    run evaluate "$work/rows.csv" --gpu a100 --models "$work/models" --json
    checks=$((checks + 1))
    grep -q 'a batch of 700 lies outside' "$work/err" || fail 'a batch outside is not named'
fi

expect_error 2 'a batch of 9 is none of those to be made ready, 1 to 8' profile "$m" --batches 1:8 --batch 9
expect_error 2 'range is empty' profile "$m" --batches 8:1
expect_error 2 'FROM:TO' profile "$m" --batches 8
expect_error 2 'not a whole number' profile "$m" --batches 1,,2
expect_error 2 'not a whole number' profile "$m" --batches 1:x
expect_error 2 'too many' profile "$m" --batches 1:2:3
finish
