# The loop of the README on the measurements that travel with adept, and every public file of the shared data there is:
# calibrate, evaluate with the result, predict with it. Needs libtorch, since the measured models are TorchScript files.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_torch
"$ADEPT" calibrate --help >/dev/null 2>&1 || { echo "built without GSL and NLopt"; exit 77; }
XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME
cd "$work" || exit 1

# loop CSV GPU: fit, and compare what evaluate says of the fitted profile with what calibrate said
loop() {
    checks=$((checks + 1))
    run calibrate "$1" --gpu "$2" -o fit.json --leave-out model --suggest 1 --restarts 1
    [ "$rc" -eq 0 ] || { fail "exit code $rc: calibrate $1"; return; }
    shows '^  in-sample '
    fitted=$(awk '$1 == "in-sample" { print $8; exit }' out)
    expect_ok evaluate "$1" --gpu ./fit.json
    shows ', calibrated'
    evaluated=$(awk '$1 == "all" { print $4; exit }' out)
    checks=$((checks + 1))
    [ -n "$fitted" ] && [ "$fitted" = "$evaluated" ] || fail "$1: calibrate says $fitted %, evaluate $evaluated %"
    expect_ok predict "$models/resnet50.pt" --gpu ./fit.json
    shows ', calibrated'
}

n=0
for csv in "$ADEPT_SOURCE_DIR"/data/measurements/*.csv; do
    [ -e "$csv" ] || continue
    name=$(basename "$csv" .csv)
    loop "$csv" "$ADEPT_SOURCE_DIR/hwprofiles/$name.json"
    n=$((n + 1))
done
for csv in "${ADEPT_SHARED_DIR:-/nonexistent}"/data/*_*.csv; do
    [ -e "$csv" ] || continue
    name=$(basename "$csv" .csv)
    gpu=${name#*_}
    case $name in
    *predictions) continue ;; # other people's predictions, no measurements
    dosgroup_*) gpu=a100-sxm-40gb ;;
    esac
    loop "$csv" "$gpu"
    n=$((n + 1))
done
checks=$((checks + 1))
[ "$n" -gt 0 ] || fail "there are no measurements"

# A fit makes no model that it has not seen more than two points worse than the set that it starts from. Of all public rows
# (docs/accuracy/NOTES.md) these boards' were the worst, by 4 to 8 points, before rows of one model counted as one.
if [ -d "${ADEPT_SHARED_DIR:-/nonexistent}/data/lambda" ] && command -v python3 >/dev/null; then
    python3 "$ADEPT_SOURCE_DIR/tools/public_rows.py" "$ADEPT_SHARED_DIR/data" rows 2>/dev/null || fail "public_rows.py"
    for gpu in h100-sxm-80gb rtx3070 quadro-rtx-8000 v100-sxm2-16gb; do
        checks=$((checks + 1))
        awk '{ print $0 (NR == 1 ? ",host" : ",torch1") }' "rows/lambda_$gpu.csv" >rows.csv
        run evaluate rows.csv --gpu "$gpu" --models rows/models --by model --json
        cp out before.json
        run calibrate rows.csv --gpu "$gpu" --models rows/models --leave-out model --restarts 2 --suggest 0 --json -o o.json
        python3 - before.json out <<'END' || fail "$gpu: worse by a fit"
import json, sys
def by_model(groups):
    return {g["by"]["model"]: g["mape_time"] for g in groups if set(g["by"]) == {"model"}}
before, after = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:])
before, after = by_model(before["groups"]), by_model(after["held_out"]["groups"])
worse = {model: (before[model], after[model]) for model in before if after[model] > before[model] + 2}
sys.exit(f"off in percent, before and after: {worse}" if worse or len(before) < 2 else 0)
END
    done
fi
finish
