# What the scripts beside it share. Each is run with ADEPT (the program) and ADEPT_SOURCE_DIR set.
set -u
: "${ADEPT:?}" "${ADEPT_SOURCE_DIR:?}"
[ -x "$ADEPT" ] || { echo "no program $ADEPT"; exit 1; }
data=$ADEPT_SOURCE_DIR/tests/cli/data
models=$ADEPT_SOURCE_DIR/data/models
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
checks=0
export ADEPT_NVML_LIBRARY=/nonexistent/libnvidia-ml.so.1 # whatever boards this machine has; a script that wants one names the stand-in

# run ARGUMENT...: leaves rc, $work/out and $work/err
run() {
    "$ADEPT" "$@" >"$work/out" 2>"$work/err"
    rc=$?
}

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
    sed 's/^/    stdout: /;5q' "$work/out"
    sed 's/^/    stderr: /;5q' "$work/err"
}

# expect_ok ARGUMENT...: exit code 0, something on stdout, nothing on stderr
expect_ok() {
    run "$@"
    checks=$((checks + 1))
    if [ "$rc" -ne 0 ]; then
        fail "exit code $rc: adept $*"
    elif [ ! -s "$work/out" ] || [ -s "$work/err" ]; then
        fail "nothing on stdout, or something on stderr: adept $*"
    fi
}

# expect_error CODE PATTERN ARGUMENT...: that exit code, nothing on stdout, one line "adept: ..." on stderr that matches
expect_error() {
    code=$1
    pattern=$2
    shift 2
    run "$@"
    checks=$((checks + 1))
    if [ "$rc" -ne "$code" ]; then
        fail "exit code $rc instead of $code: adept $*"
    elif [ -s "$work/out" ]; then
        fail "an error leaves something on stdout: adept $*"
    elif [ "$(wc -l <"$work/err")" -ne 1 ] || ! grep -q '^adept: ' "$work/err"; then
        fail "not one line 'adept: ...': adept $*"
    elif ! grep -Eq -- "$pattern" "$work/err"; then
        fail "the message does not match '$pattern': adept $*"
    fi
}

# shows PATTERN: the last run's stdout has it
shows() {
    checks=$((checks + 1))
    grep -Eq -- "$1" "$work/out" || fail "stdout does not show '$1'"
}

# need_python MODULES: sets python to one that has them, or leaves with 77
need_python() {
    export PYTHONDONTWRITEBYTECODE=1
    for python in /usr/bin/python3 python3; do
        "$python" -c "import $1" 2>/dev/null && return
    done
    echo "no Python with $1"
    exit 77
}

# Leave with 77 (skipped) where the program was built without the libtorch module.
need_torch() {
    if [ -z "${ADEPT_TORCH_MODULE:-}" ]; then
        echo "built without libtorch"
        exit 77
    fi
}

finish() {
    echo "$checks checks, $failures failed"
    [ "$checks" -gt 0 ] && [ "$failures" -eq 0 ]
    exit
}
