# Queries as they arrive, held against SimPy with the same 10,000 arrivals and lengths: one batch, and the turns of a pipeline.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_python simpy
printf 'prompt,tokens,share\n128,32,0.75\n512,64,0.25\n' >"$work/mix.csv"

# agrees MOST LOADS [OPTION...]
agrees() {
    checks=$((checks + 1))
    "$python" -B "$ADEPT_SOURCE_DIR/tests/cli/mix_reference.py" "$ADEPT" "$work/mix.csv" "$1" "$2" 'adept:llama?layers=2' --gpu h100 \
        --execution graphs ${3+"$3" "$4"} >"$work/out" 2>"$work/err" || { fail "SimPy says otherwise: $*"; cat "$work/out" "$work/err"; }
}

agrees 16 0.2,0.5,0.8
agrees 2 0.5,0.8 --pp 2
finish
