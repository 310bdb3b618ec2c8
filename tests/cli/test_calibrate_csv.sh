# Malformed measurement files: exit code 3 and one line with file, line and column, for calibrate and evaluate alike.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
"$ADEPT" calibrate --help >/dev/null 2>&1 || { echo "built without GSL and NLopt"; exit 77; }
XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME
cd "$work" || exit 1

# refused CONTENT PATTERN: a printf format, and what the message says
refused() {
    # shellcheck disable=SC2059  # the format is the content
    printf "$1" >t.csv
    expect_error 3 "$2" evaluate t.csv --gpu a100 --models "$data"
    expect_error 3 "$2" calibrate t.csv --gpu a100 --models "$data" -o x.json
    [ ! -e x.json ] || fail "a profile of nothing"
}
# cell COLUMN TEXT PATTERN: a good row but for one cell
cell() {
    refused "model,$1,step_time_s\nmlp,1,1\nmlp,$2,1\n" "^adept: t\.csv:3: column $1: $3"
}

refused '' 't\.csv: the file is empty'
refused '\n\n' 't\.csv: the file is empty'
refused 'model,step_time_s\n' 't\.csv: a header, but no rows'
refused 'model\nmlp\n' 't\.csv:1: column step_time_s is missing; the header is a single cell'
refused 'model;step_time_s\nmlp;1\n' 't\.csv:1: column model is missing; .*separated by commas'
refused 'model\tstep_time_s\nmlp\t1\n' 't\.csv:1: column model is missing; .*separated by commas'
refused 'model,step_time_ms\nmlp,1\n' 't\.csv:1: column step_time_s is missing; there is step_time_ms: convert it to seconds'
refused 'name,step_time_s\nmlp,1\n' 't\.csv:1: column model is missing from the header'
refused 'model,gpu\nmlp,a100\n' 't\.csv:1: column step_time_s is missing from the header'
refused 'model,batch,step_time_s\nmlp,8,1\n' 't\.csv:1: column batch is not known; did you mean batch_size\?'
refused 'model,power_limit,step_time_s\nmlp,200,1\n' 't\.csv:1: column power_limit is not known; did you mean power_limit_w\?'
printf 'model,tp,step_time_s\nmlp,8,1\n' >t.csv
expect_error 3 't\.csv:2: a layout .* is evaluated, but no parameter of a GPU is fitted to it' calibrate t.csv --gpu a100 --models "$data"
refused 'model,dp,gpus,step_time_s\nmlp,2,4,1\n' "t\.csv:2: dp 2 x tp 1 x pp 1 x cp 1 is not 4 GPUs: that would be dp 4"
refused 'model,step_time_s,model\nmlp,1,mlp\n' 't\.csv:1: column model stands twice'
refused 'model,step_time_s,\nmlp,1,\n' 't\.csv:1: column 3 has no name'
refused 'model,step_time_s\nmlp\n' 't\.csv:2: 1 cells, but the header has 2'
refused 'model,step_time_s\nmlp,1,2\n' 't\.csv:2: 3 cells, but the header has 2; a text with a comma must stand in quotes'
refused 'model,step_time_s\nmlp,"1\nmlp,2\n' 't\.csv:2: column 2: the quote never ends'
refused 'model,step_time_s\n"mlp"x,1\n' 't\.csv:2: column 1: text behind the closing quote'
refused 'model,step_time_s\nml"p,1\n' 't\.csv:2: column 1: a quote inside a cell'
refused 'model,step_time_s\nmlp,1\rmlp,2\n' 't\.csv:2: column 2: a carriage return without line feed'
refused 'model,step_time_s\nmlp,1\n\000\n' 't\.csv:3: a NUL byte'
refused '\377\376m\000' 't\.csv:1: this is UTF-16 text'
refused 'model,step_time_s\nr\351seau,1\n' 't\.csv:2: byte 0xe9 is not UTF-8'
refused 'PK\003\004\377' 't\.csv:1: byte 0xff is not UTF-8'
refused '"model","step_time_s"\n"mlp",1\n\n"mlp","x\ny"\n' "t\.csv:4: column step_time_s: 'x.y' is not a number"
refused 'model,step_time_s\n,1\n' 't\.csv:2: column model: is empty'
refused 'model,step_time_s\nmlp,\n' 't\.csv:2: column step_time_s: is empty, and so is avg_power_w'
refused 'model,step_time_s\nmlp,0\n' 't\.csv:2: column step_time_s: 0 is not above 0'
refused 'model,step_time_s\nmlp,-1\n' 't\.csv:2: column step_time_s: -1 is not above 0'
for text in nan NaN inf 1e999 0x10 1s 1.2.3 . - e5; do
    refused "model,step_time_s\nmlp,$text\n" "t\.csv:2: column step_time_s: '$text' is not a number"
done
refused 'model,step_time_s\nmlp,"0,5"\n' "t\.csv:2: column step_time_s: '0,5' is not a number"
cell avg_power_w 0 '0 is not above 0'
cell avg_power_w -5 '-5 is not above 0'
cell avg_power_w 300W "'300W' is not a number"
cell power_limit_w 0 '0 is not above 0'
cell weight -1 '-1 is not at least 0'
cell gpus 0 '0 is not in 1'
cell gpus 1.5 "'1.5' is not a whole number"
cell gpus -2 '-2 is not in 1'
cell grad_accum x "'x' is not a whole number"
refused 'model,batch_size,step_time_s\nmlp,1e300,1\n' 't\.csv:2: column batch_size: 1e300 is not in 1'
refused 'model,precision,step_time_s\nmlp,fp4,1\n' "t\.csv:2: column precision: 'fp4' is not one of fp32, tf32, bf16, fp16"
refused 'model,mode,step_time_s\nmlp,test,1\n' "t\.csv:2: column mode: 'test' is not one of train, fwbw, infer"
refused 'model,optimizer,step_time_s\nmlp,sdg,1\n' "t\.csv:2: column optimizer: 'sdg' is not one of none, sgd"
refused 'model,attention,step_time_s\nmlp,slow,1\n' "t\.csv:2: column attention: 'slow' is not one of auto, eager, fused"
refused 'model,memory_format,step_time_s\nmlp,nwhc,1\n' "t\.csv:2: column memory_format: 'nwhc' is not one of auto, nchw, channels_last"
refused 'model,power_scope,step_time_s\nmlp,rack,1\n' "t\.csv:2: column power_scope: 'rack' is not one of gpu, node"
refused 'model,input,step_time_s\nmlp,3y,1\n' "t\.csv:2: column input: input '3y'"
refused 'model,step_time_s\nmlp2,1\n' "t\.csv:2: column model: 'mlp2' is neither a file relative to the CSV nor a name in"
refused 'model,step_time_s\n../../../etc/passwd2,1\n' "t\.csv:2: column model: '../../../etc/passwd2' is neither"
refused 'model,step_time_s\nt.csv,1\n' 't\.csv:2: '
refused 'model,step_time_s,input\nmlp,1,Bx1025\n' 't\.csv:2: .*aten::linear'
refused 'model,step_time_s,power_limit_w\nmlp,1,5000\n' 't\.csv:2: .*power limit 5000 W'
for text in 1e300 1e9; do
    refused "model,step_time_s\nmlp,0.002\nmlp,$text\n" "t\.csv:3: column step_time_s: step_time_s is .*about [0-9.]+ is predicted: nothing can be fitted"
done
for text in 5e-324 1e-12; do
    refused "model,step_time_s\nmlp,0.002\nmlp,$text\n" "t\.csv:3: column step_time_s: efficiency above 1: .*; step_time_s is .*about [0-9.]+ is predicted: nothing can be fitted"
done
for text in 1e300 1e-300; do
    refused "model,step_time_s,avg_power_w\nmlp,0.002,300\nmlp,0.002,$text\n" "t\.csv:3: column avg_power_w: avg_power_w is .*is predicted: nothing can"
done
printf 'model,step_time_s\nmlp,0.002\nmlp,1e9\n' >t.csv
expect_ok evaluate t.csv --gpu a100 --models "$data" --exclude-suspect
refused 'model,step_time_s,gpu\nmlp,1,h100\n' 't\.csv: column gpu: no row is of a100-sxm-40gb; there are h100 \(1 row\)'

# text that could steer a terminal does not reach it
printf 'model,step_time_s\n\033[2Jmlp,1\n' >t.csv
expect_error 3 "column model: '.\[2Jmlp'" evaluate t.csv --gpu a100 --models "$data"
# a line that never ends
{ printf 'model,step_time_s\nmlp,"'; head -c 1100000 /dev/zero | tr '\0' x; } >t.csv
expect_error 3 't\.csv:2: a line of more than 1048576 bytes' evaluate t.csv --gpu a100 --models "$data"
expect_error 3 '/: ' evaluate / --gpu a100
mkfifo pipe
expect_error 3 'pipe: ' evaluate pipe --gpu a100

# odd, but right: columns in any order, CRLF, a byte order mark, quotes, unknown columns, several files
printf '\357\273\277"my ""note""",avg_power_w,step_time_s,model\r\n"a, b\r\nc",,0.002,mlp\r\n,300,,"mlp"\r\n' >a.csv
printf 'model,step_time_s\nmlp,0.003' >b.csv
expect_ok evaluate a.csv b.csv --gpu a100 --models "$data" --by 'my "note"'
shows '^Rows +3 of 2 files'
shows '^  \(empty\) '
# a path relative to the CSV, not to where we are
mkdir -p deep/er
cp "$data/mlp.profile.json" deep/
printf 'model,step_time_s\n../mlp.profile.json,0.003\n' >deep/er/c.csv
expect_ok evaluate deep/er/c.csv --gpu a100

# suspicious rows are named, used, and dropped on request
printf 'model,step_time_s,avg_power_w\nmlp,0.0021,300\nmlp,200,\nmlp,,5e6\nmlp,0.0000001,\n' >s.csv
expect_ok evaluate s.csv --gpu a100 --models "$data"
shows '^Rows +4 of 1 file'
shows 's\.csv:3: suspect: step_time_s is 200 s: are these microseconds'
shows 's\.csv:4: suspect: avg_power_w is 5e\+06 W: are these milliwatts'
shows 's\.csv:5: suspect: efficiency above 1: '
expect_ok evaluate s.csv --gpu a100 --models "$data" --json
shows 'are these microseconds'
printf 'model,step_time_s,avg_power_w\nmlp,0.0021,300\nmlp,,5e6\n' >s.csv
expect_ok evaluate s.csv --gpu a100 --models "$data" --exclude-suspect
shows '^Rows +1 of 1 file'
shows 's\.csv:3: suspect and left out: '

# a fit of milliseconds alone is refused, with the unit
printf 'model,step_time_s\nmlp,2.1\nmlp,2.2\n' >s.csv
expect_error 5 's\.csv:2: every row is suspect, .*2 of 2 look like milliseconds' calibrate s.csv --gpu a100 --models "$data" -o x.json
[ ! -e x.json ] || fail "a profile of mistakes"
finish
