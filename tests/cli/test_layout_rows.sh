# Rows of layouts: models whose sizes stand in columns, GPUs of the rows, rows that are listed; factors of stacks.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
"$ADEPT" evaluate --help >/dev/null 2>&1 || { echo "built without GSL and NLopt"; exit 77; }
XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME
cd "$work" || exit 1

# One GPU, a model of two layers: what predict says of the same model, and 25 % and 20 % beside it.
spec='adept:llama?layers=2&hidden=512&heads=8&kv_heads=4&head_dim=64&ffn=1408&vocab=32000'
expect_ok predict "$spec" --gpu a100-sxm-80gb --batch 4 --seq-length 512 --precision bf16 --optimizer-impl foreach --json
time=$(sed -n 's/.*"step_time_s":[[:space:]]*\([0-9.e+-]*\).*/\1/p' out | head -1)
memory=$(sed -n 's/.*"peak_bytes":[[:space:]]*\([0-9.e+-]*\).*/\1/p' out | head -1)
header=model,gpu,gpus,precision,optimizer_impl,attention,step_time_s,peak_memory_bytes,status,source,stack,layers,hidden,heads,kv_heads,ffn,vocab,head_dim,family,gated,seq_length,micro_batch,global_batch,tp,pp,dp,fsdp,activation_checkpoint
row() { # GPU, factor of time, factor of memory, source, stack
    awk -v t="$time" -v m="$memory" -v gpu="$1" -v a="$2" -v b="$3" -v source="$4" -v stack="$5" 'BEGIN {
        printf "toy,%s,1,bf16,foreach,auto,%.17g,%.17g,ok,%s,%s,2,512,8,4,1408,32000,64,llama,1,512,4,4,1,1,1,none,none\n",
            gpu, t * a, m * b, source, stack }'
}
{
    echo $header
    row 'NVIDIA A100-SXM4-80GB' 1.25 0.8 here one
    row a100-sxm-80gb 1.25 1.25 here one
    row a100-sxm-80gb 0.8 1 there two
} >rows.csv
expect_ok evaluate rows.csv
shows '^GPU +a100-sxm-80gb, '
shows '^Rows +3 of 1 file$'
# -20, -20 and +25 %; memory +25, -20 and 0
shows '^  all rows +3 +21\.7 '
shows '^  one +2 +1\.25 +20\.0 +-20\.0 +0\.00 +0\.00 '
shows '^  two +1 +0\.80 +25\.0 +\+25\.0 '
shows '^  3 rows: error 15\.0 %, median 20\.0, '
shows '^  fits or not: told right of 3 of 3 rows; '
expect_ok evaluate rows.csv --by stack --json
shows '"stack_factor"'
shows '"mape_memory": *(15|14\.9999)'
shows '"tau_over_5"'
expect_ok evaluate rows.csv --gpu a100-sxm-80gb
expect_error 3 'no row is of h100-sxm-80gb' evaluate rows.csv --gpu h100

# a table as measure_step.py writes one of layouts: all rows are evaluated, a fit is made of those without a layout
need_python csv
"$python" - "$ADEPT_SOURCE_DIR/tools/measure" <<'END' >steps.csv
import csv, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import table
rows = csv.DictWriter(sys.stdout, table.COLUMNS + table.LAYOUT, restval="", lineterminator="\n")
rows.writeheader()
for gpus, fsdp, time_s in (1, "none", 0.6), (4, "none", 0.62), (4, "full", 0.7), (8, "full", 0.71):
    rows.writerow(dict(model="vit_b_16", input="Bx3x224x224", batch_size=64, gpu="a100-sxm-40gb", gpus=gpus, precision="bf16", mode="train",
                       optimizer="adamw", grad_accum=1, memory_format="nchw", execution="eager", step_time_s=time_s, avg_power_w=300 * gpus,
                       power_scope="gpu", source="measured", fsdp=fsdp, tp=1))
END
expect_ok evaluate steps.csv
shows '^Rows +4 of 1 file'
expect_ok calibrate steps.csv --gpu a100-sxm-40gb --max-generations 1 --leave-out none --suggest 0
shows '^Rows +2: 2 times, 2 powers; from steps.csv'
shows '2 rows are of a layout .* left out'

# Nobody says how many nodes hold 16 GPUs: as many as usual servers do, with the usual network between them, as predict takes it.
expect_ok predict "$spec" --gpu a100-sxm-80gb --gpus 16 --batch 4 --global-batch 64 --seq-length 512 --precision pure-bf16 --optimizer-impl foreach \
    --optimizer-extras master --fsdp full --json
nodes_s=$(sed -n 's/.*"step_time_s":[[:space:]]*\([0-9.e+-]*\).*/\1/p' out | head -1)
{
    echo $header
    row a100-sxm-80gb 1 1 here one | sed 's/^toy,a100-sxm-80gb,1,/toy,a100-sxm-80gb,16,/; s/,512,4,4,1,1,1,none,none$/,512,4,64,1,1,16,full,none/'
} >nodes.csv
expect_ok evaluate nodes.csv --json
shows "\"step_time_s\": *${nodes_s%????}"

# a factor for each stack, written and applied
expect_ok calibrate --layouts rows.csv -o stacks.json
shows '^Written: stacks\.json; '
expect_ok evaluate rows.csv --stacks stacks.json
shows '^  all rows +3 +0\.00 '
expect_ok calibrate --layouts rows.csv --json
shows '"other_stacks"'
expect_error 3 'no\.json' evaluate rows.csv --stacks no.json
echo '{"layouts":{"stacks":[{"stack":"one","factor":-1}],"other_stacks":{"factor":1}}}' >bad.json
expect_error 3 'bad\.json: layouts: factor -1 is not within' evaluate rows.csv --stacks bad.json
expect_error 2 'would be written over' calibrate --layouts rows.csv -o rows.csv

# Rows that cannot be used: each in one line with its reason, and no error while one is left.
good=$(row a100-sxm-80gb 1 1 here one)
{
    echo "$header"
    echo "$good"
    echo "$good" | sed 's/toy,a100-sxm-80gb,1,bf16/toy,a100-sxm-80gb,1,bf17/'
    echo "$good" | sed 's/2,512,8,4/-2,512,8,4/'
    echo "$good" | sed 's/,1408,/,1e300,/'
    echo "$good" | sed 's/a100-sxm-80gb/b1000/'
    echo "$good" | sed 's/a100-sxm-80gb//'
    echo "$good" | sed 's/none,none$/sharded,none/'
    echo "$good" | sed 's/none,none$/none,list/'
    echo "$good" | sed 's/,4,4,1,1,1,/,4,4,3,1,1,/'
    echo "$good" | sed 's/,4,4,1,1,1,/,4,6,1,1,1,/'
    echo "$good" | sed 's/,ok,/,broken,/'
    echo "$good" | sed 's/,2,512,8,4,/,,,8,4,/'
    echo "$good" | sed 's/,bf16,foreach,auto,[^,]*,[^,]*,/,bf16,foreach,auto,1e30,,/'
    echo "$good" | sed 's/,bf16,foreach,auto,[^,]*,[^,]*,/,bf16,foreach,auto,-1,,/'
    echo 'toy,1'
} >hostile.csv
expect_ok evaluate hostile.csv
shows '^Rows +1 of 1 file; 14 cannot be used, see below$'
shows '^Rows that cannot be used: 14$'
line=3
for why in "column precision: 'bf17' is not one of" "column layers: '-2' is not a whole number" "column ffn: '1e300' is not a whole number" \
    "column gpu: unknown GPU 'b1000'" 'column gpu: is empty, and --gpu is missing' "column fsdp: 'sharded' is not one of" \
    "column activation_checkpoint: 'list' is not one of" '1 GPUs are not a multiple of tp 3' 'global_batch 6 is not a multiple of batch 4' \
    "column status: 'broken' is not one of ok, oom" "column model: 'toy' is neither .* layers or hidden are empty" \
    'column step_time_s: step_time_s is 1e\+30' 'column step_time_s: -1 is not above 0' '2 cells, but the header has 28'; do
    shows "^  hostile\.csv:$line: $why"
    line=$((line + 1))
done
expect_ok evaluate hostile.csv --json
shows '"reason": *"column layers: '
sed '2d' hostile.csv >none.csv
expect_error 3 "none\.csv:2: column precision: .*; no other row can be used either" evaluate none.csv
expect_error 3 'none\.csv:2: ' calibrate --layouts none.csv
expect_error 3 'column model is missing from the header' evaluate "$ADEPT_SOURCE_DIR/data/grid_intensity.csv"
finish
