# Sequence lengths: S in --input and --seq-length, of models and of saved profiles.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
p=$data/lengths.profile.json

expect_ok predict "$p" --gpu a100 --batch 3 --seq-length 33
shows 'batch 3, sequence length 33'
shows 'i64:3x33'
expect_ok predict "$p" --gpu a100 --json
shows '"seq_length":[[:space:]]*16'
expect_ok predict "$p" --gpu a100 --batch 3 --seq-length 33 --input i64:BxS
expect_error 2 'position 100 lies beyond the table of 100' predict "$p" --gpu a100 --seq-length 101
expect_error 2 'attn.*cannot multiply' predict "$p" --gpu a100 --seq-length 7 --input i64:BxSxS
expect_error 2 'too small' predict "$p" --gpu a100 --seq-length 0
expect_error 2 'not a whole number' predict "$p" --gpu a100 --seq-length long
expect_error 2 'S for the sequence length' predict "$p" --gpu a100 --input i64:BxT
# a profile at one of its sizes is a profile of that size
checks=$((checks + 1))
"$ADEPT" profile "$p" --batch 5 --seq-length 77 -o "$work/at.json" >"$work/out" && "$ADEPT" predict "$work/at.json" --gpu a100 --json >"$work/a" &&
    "$ADEPT" predict "$p" --gpu a100 --batch 5 --seq-length 77 --json >"$work/b" && cmp -s "$work/a" "$work/b" || fail 'a profile at its size'

# a sweep over lengths, and one at a length: its rows are single predictions
expect_ok sweep "$p" --gpu a100 --batch 3 --vary seq_length=7,33,90 --csv
cp "$work/out" "$work/rows"
expect_ok sweep "$p" --gpu a100 --seq-length 33 --vary batch=2,3 --csv
cp "$work/out" "$work/batches"
for length in 7 33 90; do
    expect_ok predict "$p" --gpu a100 --batch 3 --seq-length $length --json
    energy=$(sed -n 's/^[[:space:]]*"energy_step_j":[[:space:]]*\([^,]*\),.*/\1/p' "$work/out" | head -1)
    awk -F, -v length_="$length" -v energy="$energy" '$1 == length_ { found = ($4 + 0 == energy + 0) } END { exit !found }' "$work/rows" ||
        fail "the sweep's row of length $length is not $energy J"
    [ $length -ne 33 ] || awk -F, -v energy="$energy" '$1 == 3 { found = ($4 + 0 == energy + 0) } END { exit !found }' "$work/batches" ||
        fail "the sweep's row of batch 3 is not $energy J"
    checks=$((checks + 1))
done

[ -n "${ADEPT_TORCH_MODULE:-}" ] || { finish; exit; }
m=$models/gpt2_large.pt

# with and without S
expect_ok predict "$m" --gpu a100 --input i64:BxS --seq-length 512 --batch 3 --json
cp "$work/out" "$work/open"
expect_ok predict "$m" --gpu a100 --seq-length 512 --batch 3 --json
cmp -s "$work/out" "$work/open" || fail '--seq-length without S differs'
expect_ok predict "$m" --gpu a100 --input i64:Bx512 --batch 3 --json
grep -v seq_length "$work/open" | cmp -s - "$work/out" || fail 'a number for S differs'
expect_error 2 'leave the sequence length open' predict "$m" --gpu a100 --input i64:BxS
expect_error 2 "module 'transformer.h.0.attn'.*1024" predict "$m" --gpu a100 --seq-length 1025
expect_error 2 'position 2050 lies beyond the table of 2050' predict "$models/opt_13.pt" --gpu a100 --seq-length 2049 --batch 1
expect_error 2 'lengths of 512 and 128; give each input' predict "$models/t5_base.pt" --gpu a100 --seq-length 100
expect_ok predict "$models/t5_base.pt" --gpu a100 --seq-length 100 --input i64:BxS --input i64:Bx32
expect_error 2 'no input is a batch of token sequences' predict "$models/resnet50.pt" --gpu a100 --seq-length 100

# every batch and length from one file, to the byte
expect_ok profile "$m" -o "$work/saved.json"
for size in '1 37' '3 1' '7 1000' '32 1024'; do
    set -- $size
    checks=$((checks + 2))
    "$ADEPT" predict "$work/saved.json" --gpu a100 --batch "$1" --seq-length "$2" --json --by layer >"$work/saved"
    "$ADEPT" predict "$m" --gpu a100 --batch "$1" --seq-length "$2" --json --by layer >"$work/model"
    cmp -s "$work/saved" "$work/model" || fail "a prediction at $size differs"
    "$ADEPT" profile "$work/saved.json" --batch "$1" --seq-length "$2" --json >"$work/saved"
    "$ADEPT" profile "$m" --batch "$1" --seq-length "$2" --json >"$work/model"
    cmp -s "$work/saved" "$work/model" || fail "a profile at $size differs"
done
expect_error 2 "module 'transformer.h.0.attn'.*1024" predict "$work/saved.json" --gpu a100 --seq-length 1025
# a decoder of another length
expect_ok profile "$models/t5_base.pt" --input i64:BxS --input i64:Bx32 --seq-length 200 --mode infer -o "$work/t5.json"
expect_ok predict "$work/t5.json" --gpu a100 --seq-length 250
shows 'i64:8x250.*i64:8x32'
expect_ok predict "$work/t5.json" --gpu a100
shows 'i64:8x200.*i64:8x32'
finish
