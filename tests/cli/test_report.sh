# adept report: what is written, what is refused, and that a report is the same every time.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
cd "$work" || exit 1
mlp=$data/mlp.profile.json

expect_error 2 'report needs a MODEL or PROFILE' report --gpu a100 -o x.html
expect_error 2 '--gpu is missing' report "$mlp" -o x.html
expect_error 2 'needs -o FILE.html' report "$mlp" --gpu a100
expect_error 2 'one too many' report "$mlp" "$mlp" --gpu a100 -o x.html
expect_error 2 '--output: the file name is empty' report "$mlp" --gpu a100 -o ''
expect_error 2 'is read: it would be written over' report "$mlp" --gpu a100 -o "$mlp"
expect_error 2 "unknown option '--by'" report "$mlp" --gpu a100 -o x.html --by layer
expect_error 6 'unknown GPU' report "$mlp" --gpu b1000 -o x.html
expect_error 3 'missing.json' report missing.json --gpu a100 -o x.html
expect_error 2 'tdp|limit' report "$mlp" --gpu a100 --power-limit 1 -o x.html
expect_error 1 'no/such/x.html' report "$mlp" --gpu a100 -o no/such/x.html
[ ! -e x.html ] || fail "a refused report was written"

# the numbers of the report are those of the prediction
expect_ok predict "$mlp" --gpu a100
time=$(sed -n 's/^Step time  \([^ ]* [^ ]*\) .*/\1/p' "$work/out")
energy=$(sed -n 's/^Energy     \([^ ]* [^ ]*\) .*/\1/p' "$work/out")
expect_ok report "$mlp" --gpu a100 -o a.html
shows '^a.html: [0-9]+'
for text in "<dt>Step time</dt><dd>$time" "<dt>Energy step</dt><dd>$energy" 'mlp.pt on a100-sxm-40gb' 'body.fc1' "default-src 'none'" '"details":{"operators":[{"path":"'; do
    checks=$((checks + 1))
    grep -qF "$text" a.html || fail "the report lacks '$text'"
done
# nothing is loaded, and two scripts stand in it: the page's own, by whose hash alone it runs, and data
checks=$((checks + 1))
if grep -Eiq '<link [^>]*href="[^d]|src="[^d]|url\([^#]|@import|https?://[^w]' a.html; then fail "the report refers to something"; fi
[ "$(grep -o '<script[^>]*>' a.html | tr '\n' ' ')" = '<script type="application/json" id="result"> <script type="module"> ' ] || fail "scripts: $(grep -o '<script[^>]*>' a.html)"
[ "$(wc -c <a.html)" -lt 400000 ] || fail "a small report has $(wc -c <a.html) bytes"

expect_ok report "$mlp" --gpu a100 -o b.html --json
shows '"report":[[:space:]]*"b.html"'
shows '"schema_version":[[:space:]]*1'
checks=$((checks + 1))
cmp -s a.html b.html || fail "two reports of one prediction differ"

# what other commands print
for result in "predict $mlp --gpu a100 --by layer" "explain $mlp --gpu a100" "diff $mlp $mlp --gpu a100" "sweep $mlp --gpu a100 --vary gpus=1,2" \
    "gpus a100"; do
    "$ADEPT" $result --json >result.json 2>err || fail "$result: $(cat err)"
    expect_ok report --result result.json -o result.html
    shows '^result.html: [0-9]+'
done
echo '{"a": 1}' >other.json
expect_error 3 'other.json: no result of adept' report --result other.json -o x.html
echo '{"schema_version": 1' >other.json
expect_error 3 'other.json' report --result other.json -o x.html
expect_error 3 'none.json' report --result none.json -o x.html
expect_error 2 'needs -o FILE.html' report --result result.json
expect_error 2 'is read: it would be written over' report --result result.json -o result.json
expect_error 2 "unknown option '--gpu'" report --result result.json --gpu a100 -o x.html

# what limits the step, in the sentences of `explain`; the whole job; hypothetical hardware
expect_ok report "$mlp" --gpu a100 --set specs.mem_bytes_per_s=x0.5 --samples 1000000 --country FR --price 0.2 -o job.html
for text in 'It is limited' 'Ten percent more' '"samples":1000000' '<dt>Co2e</dt>' '<dt>Cost</dt>' '"place":"France"' 'a hypothetical GPU: specs.mem_bytes_per_s'; do
    checks=$((checks + 1))
    grep -qF "$text" job.html || fail "the report lacks '$text'"
done
expect_error 2 'need' report "$mlp" --gpu a100 --price 0.2 -o x.html
expect_error 2 'no_such' report "$mlp" --gpu a100 --set specs.no_such=1 -o x.html

# a GPU whose power is not known: nothing over power limits
sed '/"\(tdp_w\|power_limit_min_w\|power_limit_max_w\)"/d' "$ADEPT_SOURCE_DIR/hwprofiles/l4.json" >notdp.json
expect_ok report "$mlp" --gpu ./notdp.json -o notdp.html
checks=$((checks + 1))
grep -q '"limits":\[\]' notdp.html || fail "limits without power"

# other ways to run: inference, several GPUs, the equations on means
expect_ok report "$mlp" --gpu h100 --gpus 16 --nodes 2 --internode-bandwidth 25GB/s --power-limit 400 -o c.html
grep -q '"links between nodes"' c.html || fail "nothing about the all-reduce"
expect_ok report "$mlp" --gpu v100 --granularity model -o d.html

# 20,000 distinct layers, names of all kinds: small, quick, and well-formed
if command -v python3 >/dev/null 2>&1; then
    python3 - "$mlp" >big.profile.json <<'EOF'
import json, sys
profile = json.load(open(sys.argv[1]))
op = profile["ops"][0]
profile["ops"] = [dict(op, path=f"block{i // 100}.layer{i}.<&\"'{i}") for i in range(20000)]
json.dump(profile, sys.stdout)
EOF
    expect_ok report big.profile.json --gpu a100 -o big.html
    checks=$((checks + 1))
    [ "$(wc -c <big.html)" -lt 2000000 ] || fail "the report of 20,000 layers has $(wc -c <big.html) bytes"
    for file in a.html c.html d.html notdp.html big.html result.html; do
        checks=$((checks + 1))
        python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$file" >out 2>err ||
            fail "$file is not well-formed"
    done
fi
finish
