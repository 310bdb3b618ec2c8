#!/bin/sh
# Install what is missing, build and run all tests.
# Usage: sh tools/test.sh [--ci]     (from anywhere; as root or with sudo)
#   --ci   three builds, each of what no other finds, with -Werror: by clang, everything and then without the parts that can be left out; with
#          ASan and UBSan; by gcc as users have it, on a machine that has a meter of each kind (tests/support/with_sensors.sh). A test runs
#          where it can find something (labels: tests/CMakeLists.txt)
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
LC_ALL=C
export LC_ALL

# python3 may be a script that looks for the interpreter each time (pyenv): 0.7 s of a processor, where the interpreter takes 0.07.
find_python() {
    found=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))')
    [ "$(command -v python3)" = "$found/python3" ] || PATH=$found:$PATH
}

within=
# Twice as many as there are processors: some of them sleep, or wait for a daemon or a browser.
# run_tests BUILD [OPTION...]
run_tests() {
    build=$1
    shift
    echo "== ctest: ${within:+with sensors }$build $*" >&2
    # shellcheck disable=SC2086  # words
    $within ctest --test-dir "$build" --output-on-failure --parallel "$((2 * $(nproc)))" "$@"
    took "tests of $build"
}

# took WHAT: says how long, since the last time
began_s=$(date +%s)
took() {
    now_s=$(date +%s)
    echo "== $((now_s - began_s)) s: $1" >&2
    began_s=$now_s
}

# build DIR OPTION...
build() {
    sh "$top/tools/build.sh" "$@"
    took "build of $*"
}

case ${1-} in
'')
    sh "$top/tools/install_deps.sh" base torch calibrate serve meters plots tests
    find_python
    sh "$top/tools/build.sh" "$top/build" -DADEPT_TESTS=ON -DADEPT_WITH_TORCH=ON
    run_tests "$top/build"
    ;;
--ci)
    sh "$top/tools/install_deps.sh" base torch calibrate serve meters plots tests slurm slurm-accounting ci
    ci=$top/build-ci
    find_python
    took "packages"
    # What each stage finds that no other does. clang: its warnings, of all of the product and of the tests; that adept builds without
    # GSL, libtorch, servers and meters, then without pictures, and says what is left out; that commands do the same by another compiler,
    # not optimised. Sanitizers, which by clang do not load libtorch: memory and undefined behaviour, and whether the machine as it is
    # makes a difference; almost all tests of units and commands. gcc: its warnings when it optimises; what takes too long with sanitizers,
    # what they leave out, what is installed, documents, failing allocations and calls; tests that measure, once more with all sensors.
    clang="-DADEPT_WERROR=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG= -DCMAKE_CXX_FLAGS_DEBUG= -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++"
    # shellcheck disable=SC2086  # words
    build "$ci/clang" $clang -DADEPT_TESTS=OFF
    small="-DADEPT_WITH_TORCH=OFF -DADEPT_WITH_CALIBRATE=OFF -DADEPT_WITH_SERVE=OFF -DADEPT_WITH_METERS=OFF"
    # shellcheck disable=SC2086
    build "$ci/clang" $small -DADEPT_TESTS=ON
    run_tests "$ci/clang" --tests-regex '^(build|cli|consumer|docs|embed|fuzz|install)[.]' --label-exclude 'again|measures|once'
    build "$ci/clang" -DADEPT_WITH_PICTURES=OFF -DADEPT_TESTS=OFF
    "$ci/clang/tools/adept" sweep x --gpu a100 --vary gpus=1,2 --plot x.svg 2>&1 | grep -q 'built without' || exit 1
    build "$ci/gcc" -DADEPT_WERROR=ON
    # By -O1 they compile in half the time, and find as much. What is linked with libtorch has no sanitizers anyway.
    build "$ci/sanitize" -DADEPT_SANITIZE=address,undefined -DADEPT_WERROR=ON '-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -g1' \
        "-DADEPT_TORCH_OBJECT=$(find "$ci/gcc/workload/import/torch" -name 'unity_0_cxx.cxx.o')"
    run_tests "$ci/sanitize" --label-exclude again
    within="sh $top/tests/support/with_sensors.sh $ci/gcc/tests/fake_nvml/libnvidia-ml.so.1"
    $within true >&2 || within=
    ADEPT_AXE=1 # the pages by the rules of axe-core too, if it can be fetched
    export ADEPT_AXE
    run_tests "$ci/gcc" --label-exclude sanitized
    ;;
*)
    echo "usage: sh tools/test.sh [--ci]" >&2
    exit 2
    ;;
esac
