# adept report: what is written, what is refused, and that a report is the same every time.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
cd "$work" || exit 1
mlp=$data/mlp.profile.json

expect_error 2 'report needs a MODEL or PROFILE' report --gpu a100 -o x.html
expect_error 2 '--gpu is missing' report "$mlp" -o x.html
expect_error 2 'needs -o FILE.html or --plots DIR' report "$mlp" --gpu a100
expect_error 2 'one too many' report "$mlp" "$mlp" --gpu a100 -o x.html
expect_error 2 '--output: the file name is empty' report "$mlp" --gpu a100 -o ''
expect_error 2 "folder's name is empty" report "$mlp" --gpu a100 --plots ''
expect_error 2 'is the model itself' report "$mlp" --gpu a100 -o "$mlp"
expect_error 2 "unknown option '--by'" report "$mlp" --gpu a100 -o x.html --by layer
command -v gnuplot >/dev/null 2>&1 || { echo "no gnuplot"; exit 77; }
expect_error 6 'unknown GPU' report "$mlp" --gpu b1000 -o x.html
expect_error 3 'missing.json' report missing.json --gpu a100 -o x.html
expect_error 2 'tdp|limit' report "$mlp" --gpu a100 --power-limit 1 -o x.html
expect_error 1 'no/such/x.html' report "$mlp" --gpu a100 -o no/such/x.html
: >file
expect_error 1 'file' report "$mlp" --gpu a100 --plots file
[ ! -e x.html ] || fail "a refused report was written"

checks=$((checks + 1))
PATH=/nonexistent "$ADEPT" report "$mlp" --gpu a100 -o x.html >out 2>err
rc=$?
[ "$rc" -eq 1 ] && grep -q '^adept: report needs gnuplot' err && [ ! -e x.html ] || fail "no gnuplot: exit code $rc"
checks=$((checks + 1))
mkdir bad
printf '#!/bin/sh\nexit 3\n' >bad/gnuplot
chmod +x bad/gnuplot
PATH=$work/bad:$PATH "$ADEPT" report "$mlp" --gpu a100 -o x.html >out 2>err
rc=$?
[ "$rc" -eq 1 ] && grep -q 'gnuplot cannot draw it' err && [ ! -e x.html ] || fail "a gnuplot that fails: exit code $rc"

# the numbers of the report are those of the prediction
expect_ok predict "$mlp" --gpu a100
time=$(sed -n 's/^Step time  \([^ ]* [^ ]*\) .*/\1/p' "$work/out")
energy=$(sed -n 's/^Energy     \([^ ]* [^ ]*\) .*/\1/p' "$work/out")
expect_ok report "$mlp" --gpu a100 -o a.html --plots pictures
shows '^a.html: [0-9]+'
shows '^pictures/roofline.svg$'
[ "$(ls pictures | tr '\n' ' ')" = 'energy-by-layer.svg memory.svg power-limit.svg roofline.svg step.svg time-by-layer.svg ' ] ||
    fail "pictures: $(ls pictures)"
for text in "<dt>Step time</dt><dd>$time" "<dt>Energy per step</dt><dd>$energy" 'mlp.pt on 1 x a100-sxm-40gb' 'body.fc1' \
    "default-src 'none'"; do
    checks=$((checks + 1))
    grep -qF "$text" a.html || fail "the report lacks '$text'"
done
# nothing is loaded or run
checks=$((checks + 1))
if grep -Eiq '<script|<link [^>]*href="[^d]|src="[^d]|url\([^#]|@import|https?://[^w]' a.html; then fail "the report refers to something"; fi

expect_ok report "$mlp" --gpu a100 -o b.html --plots again --json
shows '"report":[[:space:]]*"b.html"'
shows '"schema_version":[[:space:]]*1'
checks=$((checks + 1))
cmp -s a.html b.html && diff -r pictures again >/dev/null || fail "two reports of one prediction differ"

# what limits the step, in the sentences of `explain`; the whole job; hypothetical hardware
expect_ok report "$mlp" --gpu a100 --set specs.mem_bytes_per_s=x0.5 --samples 1000000 --country FR --price 0.2 -o job.html
for text in 'It is limited' 'Ten percent more' '1000000 samples' 'Emissions (CO2e)' '<dt>Cost</dt>' 'g CO2e/kWh, France, average of 2023' 'a hypothetical GPU: specs.mem_bytes_per_s'; do
    checks=$((checks + 1))
    grep -qF "$text" job.html || fail "the report lacks '$text'"
done
expect_error 2 'need' report "$mlp" --gpu a100 --price 0.2 -o x.html
expect_error 2 'no_such' report "$mlp" --gpu a100 --set specs.no_such=1 -o x.html

# a GPU whose power is not known: no picture of energy, no power limits
sed '/"\(tdp_w\|power_limit_min_w\|power_limit_max_w\)"/d' "$ADEPT_SOURCE_DIR/hwprofiles/l4.json" >notdp.json
expect_ok report "$mlp" --gpu ./notdp.json -o notdp.html --plots notdp
checks=$((checks + 1))
[ "$(ls notdp | tr '\n' ' ')" = 'memory.svg roofline.svg step.svg time-by-layer.svg ' ] || fail "pictures without power: $(ls notdp)"
grep -q 'There is no picture of energy' notdp.html || fail "nothing says why energy is missing"

# other ways to run: inference, several GPUs, the equations on means
expect_ok report "$mlp" --gpu h100 --gpus 16 --nodes 2 --internode-bandwidth 25GB/s --power-limit 400 -o c.html
grep -q 'all-reduce of the gradients takes' c.html || fail "nothing about the all-reduce"
expect_ok report "$mlp" --gpu v100 --granularity model -o d.html --plots model

# 20,000 distinct layers, names of all kinds: small, quick, and well-formed
if command -v python3 >/dev/null 2>&1; then
    python3 - "$mlp" >big.profile.json <<'EOF'
import json, sys
profile = json.load(open(sys.argv[1]))
op = profile["ops"][0]
profile["ops"] = [dict(op, path=f"block{i // 100}.layer{i}.<&\"'{i}") for i in range(20000)]
json.dump(profile, sys.stdout)
EOF
    expect_ok report big.profile.json --gpu a100 -o big.html --plots big
    checks=$((checks + 1))
    [ "$(wc -c <big.html)" -lt 2000000 ] || fail "the report of 20,000 layers has $(wc -c <big.html) bytes"
    for file in a.html c.html d.html notdp.html big.html pictures/*.svg model/*.svg big/*.svg; do
        checks=$((checks + 1))
        python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$file" >out 2>err ||
            fail "$file is not well-formed"
    done
fi
finish
