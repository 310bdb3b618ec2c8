# adept sweep --plot and --html: what is drawn of which grid, what is refused, and that numbers agree with the sweep's own.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
cd "$work" || exit 1
mlp=$data/mlp.profile.json

expect_error 2 '--plot: the file name is empty' sweep "$mlp" --gpu a100 --vary gpus=1,2 --plot ''
expect_error 2 '--html: the file name is empty' sweep "$mlp" --gpu a100 --vary gpus=1,2 --html ''
expect_error 2 "--(plot|html): 'x.svg' would be written twice" sweep "$mlp" --gpu a100 --vary gpus=1,2 --plot x.svg --html x.svg
expect_error 2 "--plot: 'x.jpg' ends in neither .svg, .pdf nor .png" sweep "$mlp" --gpu a100 --vary gpus=1,2 --plot x.jpg
checks=$((checks + 1))
PATH=/nonexistent "$ADEPT" sweep "$mlp" --gpu a100 --vary gpus=1,2 --plot x.svg >out 2>err
rc=$?
[ "$rc" -eq 1 ] && grep -q '^adept: --plot needs gnuplot' err && [ ! -e x.svg ] && [ ! -s out ] || fail "no gnuplot: exit code $rc"
command -v gnuplot >/dev/null 2>&1 || { echo "no gnuplot"; exit 77; }
expect_error 1 'no/such/x.svg' sweep "$mlp" --gpu a100 --vary gpus=1,2 --csv -o points.csv --plot no/such/x.svg

# draws NAME ARGUMENT...: the sweep's picture and page, twice the same, well-formed
draws() {
    name=$1
    shift
    expect_ok sweep "$mlp" "$@" --plot "$name.svg" --html "$name.html"
    cp "$work/out" "$name.txt"
    expect_ok sweep "$mlp" "$@" --plot again.svg --html again.html
    checks=$((checks + 2))
    cmp -s "$name.svg" again.svg && cmp -s "$name.html" again.html || fail "two pictures of the sweep $name differ"
    [ "$(wc -c <"$name.html")" -lt 2000000 ] || fail "the page of $name has $(wc -c <"$name.html") bytes"
    if command -v python3 >/dev/null 2>&1; then
        for file in "$name.svg" "$name.html"; do
            python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$file" >out 2>err ||
                fail "$file is not well-formed"
        done
    fi
}

draws one --gpu a100 --vary power_limit_w=100:400:10
least=$(sed -n 's/^least time (objective)  *[0-9]*  *\([^ ]* [^ ]*\)  .*/\1/p' one.txt)
checks=$((checks + 1))
[ -n "$least" ] && grep -q "<td class=\"n\">$least</td>" one.html || fail "least time '$least' is not on the page"
for text in 'Step time (ms)' 'Energy per step' 'least energy x time' 'power_limit_w'; do
    checks=$((checks + 1))
    grep -qF "$text" one.svg || fail "the picture lacks '$text'"
done
draws two --gpu a100 --vary grad_accum=1,2,4 --vary gpus=1,2,4,8
grep -q 'Time per sample' two.svg || fail "steps of different numbers of samples are not compared per sample"
grep -q 'gpus=8\|grad_accum=4' two.svg || fail "the lines have no names"
draws map --gpu a100 --vary power_limit_w=100:400:10 --vary clock_hz=8e8:1.4e9:5e7
draws words --vary gpu=a100,h100,l4
draws alone --gpu a100 --one-at-a-time --vary specs.mem_bytes_per_s=x0.5:x2:x0.25 --vary gpus=1,2,4
draws many --gpu a100 --vary power_limit_w=100:400:3 --vary gpus=1:16:1 --vary specs.l2_bytes=x0.5:x2:x0.05
grep -q '"of":50096' many.html || fail "nothing says that points are left out"
grep -q '"hypothetical":true' many.html || fail "nothing says that the GPU is hypothetical"
draws single --gpu a100 --vary gpus=2
run sweep "$mlp" --gpu a100 --vary power_limit_w=1,2 --plot none.svg --html none.html
[ "$rc" -eq 2 ] || fail "no point can run, and it ends with $rc"
grep -q 'No point can run' none.svg || fail "nothing says that no point can run"
sed '/"\(tdp_w\|power_limit_min_w\|power_limit_max_w\)"/d' "$ADEPT_SOURCE_DIR/hwprofiles/l4.json" >notdp.json
draws time --gpu ./notdp.json --vary gpus=1:8:1
if grep -q 'Energy' time.svg; then fail "energy is drawn where power is not known"; fi

draws sure --vary gpu=a100,h100
grep -q 'first place by step_time_s is not sure: gpu=h100 is first' sure.html || fail "the page does not say that first place is not sure"
grep -q '"interval":{"level":0.8' sure.html || fail "the page has no intervals"

# the file's ending is what it is
for kind in pdf PDF png; do
    expect_ok sweep "$mlp" --gpu a100 --vary gpus=1,2 --plot "x.$kind" --html with.html
    checks=$((checks + 1))
    head -c 8 "x.$kind" | grep -aq '^%PDF\|PNG' || fail "x.$kind is something else"
    grep -q '"points":\[{' with.html || fail "the page has no points"
done

# rows on standard output stay rows
expect_ok sweep "$mlp" --gpu a100 --vary gpus=1,2 --csv --plot x.svg
[ "$(wc -l <"$work/out")" -eq 3 ] && [ -s x.svg ] || fail "--csv with --plot"
finish
