# The saved profiles of tests/cli/data and of the fuzzers' corpora, made anew. usage: make_profiles.sh MAKE_PROFILE ADEPT TESTS
set -eu
make_profile=$1
adept=$2
cd "$3"
for name in mlp lengths; do
    "$make_profile" cli/data/$name.graph >cli/data/$name.profile.json
done
{
    printf '{"gpu":"a100","compact":true,"batch_size":9,"profile":'
    tr -d '\n\t' <cli/data/mlp.profile.json
    printf '}'
} >fuzz/corpus/serve/profile
for corpus in profile library; do
    folder=fuzz/corpus/$corpus
    cp cli/data/mlp.profile.json $folder/mlp
    "$adept" profile cli/data/mlp.profile.json --mode infer --precision fp16 --batch 7 -o $folder/infer >/dev/null
    "$adept" profile cli/data/mlp.profile.json --input 8x1024 --optimizer sgd --grad-accum 3 -o $folder/shaped >/dev/null
    "$adept" profile cli/data/lengths.profile.json --attention fused --seq-length 33 -o $folder/fused >/dev/null
done

# What is not as it was written.
cd fuzz/corpus/profile
sed '/"options"/,$d' mlp | sed '$s/,$//' >no_graph && echo '}' >>no_graph
sed 's/"data":\([[:space:]]*"YWR\)l/"data":\1m/' mlp >one_bit
sed 's/\("data":[[:space:]]*"[^"]\{8\}\)[^"]*/\1==/' mlp >short_data
sed 's/"options":[[:space:]]*{/&"inputs":[1,2],/' mlp >inputs_of_numbers
sed 's/"options":[[:space:]]*{/&"batch_size":9007199254740993,/' mlp >huge_batch
