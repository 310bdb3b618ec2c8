# A config.json, a folder with one, a bundled name of one and adept:FAMILY?key=value in place of a model file.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
configs=$ADEPT_SOURCE_DIR/data/configs

# field NAME: of the last run's JSON, the first of that name
field() {
    grep -o "\"$1\":[[:space:]]*[^,]*" "$work/out" | head -1 | sed 's/.*:[[:space:]]*//'
}

mkdir "$work/folder"
cp "$configs/llama-3-8b.json" "$work/folder/config.json"
for model in llama-3-8b "$configs/llama-3-8b.json" "$work/folder" "$work/folder/" "$work/folder/config.json" adept:llama 'adept:llama-3-8b?layers=32'; do
    expect_ok profile "$model" --json --batch 1 --seq-length 512
    [ "$(field params)" = 8030261248 ] || fail "$model: $(field params) parameters"
    macs=$(field macs_forward)
    [ "$macs" = "${first:=$macs}" ] || fail "$model: $macs multiply-adds, $first before"
done

# shapes, options and reports as of any model
expect_ok predict llama-3-8b --gpu h100-sxm --precision bf16 --input i64:2x1024
expect_ok predict llama-3-8b --gpu h100-sxm --precision bf16 --by layer
shows 'model.layers.\{0-31\}.self_attn.q_proj'
shows 'batch 1 of 2048 tokens by default'
expect_ok predict gpt-2 --gpu a100 --mode infer --attention eager
shows '^Model    gpt-2.json: ' # by its name, wherever it is installed
expect_ok predict vit-b-16 --gpu a100 --batch 8
expect_ok predict t5-base --gpu a100 --batch 8 --seq-length 128
expect_ok sweep 'adept:llama?layers=4&hidden=1024' --gpu a100 --vary batch=1,2 --csv
expect_error 2 'lies beyond the table' predict gpt-2 --gpu a100 --seq-length 1025

# a saved profile of one is the same model
expect_ok profile mixtral-8x7b --batch 1 --seq-length 128 -o "$work/mixtral.json"
expect_ok predict mixtral-8x7b --gpu h100-sxm --batch 1 --seq-length 128 --json
field step_time_s >"$work/own"
expect_ok predict "$work/mixtral.json" --gpu h100-sxm --json
[ -s "$work/own" ] && [ "$(field step_time_s)" = "$(cat "$work/own")" ] || fail 'a saved profile predicts another time'

# what is none, and what is near
expect_error 3 'did you mean llama-3-8b\?' predict llama-3-8 --gpu a100
expect_error 4 'is not a family that adept builds; it builds bert, deepseek_v2' predict adept:mamba --gpu a100
expect_error 2 "did you mean 'layers'" predict 'adept:llama?layrs=3' --gpu a100
printf '{"model_type": "llama", "num_hidden_layers": -1}' >"$work/bad.json"
expect_error 3 'bad.json: "num_hidden_layers" is -1' predict "$work/bad.json" --gpu a100
printf '{"model_type": "rwkv"}' >"$work/other.json"
expect_error 4 'other.json: model_type .rwkv.' predict "$work/other.json" --gpu a100
mkdir "$work/empty"
expect_error 3 empty predict "$work/empty" --gpu a100
echo '{"kind": "nothing"}' >"$work/config.json.txt"
expect_error 3 'schema_version. is missing' predict "$work/config.json.txt" --gpu a100

# measured rows name them the same ways
cat >"$work/rows.csv" <<END
model,batch_size,gpu,precision,mode,input,step_time_s
gpt-2,8,a100,fp32,train,i64:Bx512,0.3
folder,1,a100,bf16,infer,i64:Bx512,0.2
adept:llama?layers=2,1,a100,bf16,infer,i64:Bx512,0.02
END
if "$ADEPT" evaluate --help >"$work/out" 2>"$work/err"; then
    expect_ok evaluate "$work/rows.csv" --gpu a100 --json
    shows '"n_time":3'
fi

# a graph of 405 billion parameters in 200 MB of memory; the time has room for a loaded machine
checks=$((checks + 1))
(ulimit -v 200000 && "$ADEPT" profile llama-3.1-405b -o - --batch 1 --seq-length 64 >"$work/out" 2>"$work/err") ||
    grep -q AddressSanitizer "$work/err" || # its shadow alone is more
    fail 'a graph of llama-3.1-405b takes more than 200 MB'

finish
