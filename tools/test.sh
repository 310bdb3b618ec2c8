#!/bin/sh
# Install what is missing, build and run all tests.
# Usage: sh tools/test.sh [--ci]     (from anywhere; as root or with sudo)
#   --ci   also build with clang and with -Werror, without libtorch, without GSL, libmicrohttpd and libcurl, and with ASan and UBSan; tests run
#          where they can find something new: without those labelled "again" or "once" (tests/CMakeLists.txt) in some builds; all of them on
#          a machine that has a meter of each kind (tests/support/with_sensors.sh), the others as this machine is
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
LC_ALL=C
export LC_ALL

within=
# One test more than there are processors: some of them sleep.
# run_tests BUILD [OPTION...]
run_tests() {
    build=$1
    shift
    echo "== ctest: ${within:+with sensors }$build $*" >&2
    # shellcheck disable=SC2086  # words
    $within ctest --test-dir "$build" --output-on-failure --parallel "$(($(nproc) + 1))" "$@"
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
    sh "$top/tools/build.sh" "$top/build" -DADEPT_TESTS=ON -DADEPT_WITH_TORCH=ON
    run_tests "$top/build"
    ;;
--ci)
    sh "$top/tools/install_deps.sh" base torch calibrate serve meters plots tests slurm slurm-accounting ci
    ci=$top/build-ci
    took "packages"
    # Each stage for what no other finds. By clang: its warnings of the product. Without GSL, libtorch, servers and meters, then
    # without pictures: that adept builds, and that what is left out says so. With sanitizers, which by clang do not load
    # libtorch: memory and undefined behaviour. By gcc, optimised as users have it: what the sanitizers' tests leave out or the
    # machine makes different.
    build "$ci/clang" -DADEPT_WERROR=ON -DCMAKE_BUILD_TYPE=Debug -DADEPT_TESTS=OFF -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
    small="-DADEPT_WERROR=ON -DADEPT_WITH_TORCH=OFF -DADEPT_WITH_CALIBRATE=OFF -DADEPT_WITH_SERVE=OFF"
    # shellcheck disable=SC2086  # words
    build "$ci/small" $small -DADEPT_WITH_METERS=OFF
    run_tests "$ci/small" --label-exclude 'once|sanitized|again'
    # shellcheck disable=SC2086
    build "$ci/small" $small -DADEPT_WITH_METERS=OFF -DADEPT_WITH_PICTURES=OFF -DADEPT_TESTS=OFF
    "$ci/small/tools/adept" sweep x --gpu a100 --vary gpus=1,2 --plot x.svg 2>&1 | grep -q 'built without' || exit 1
    build "$ci/sanitize" -DADEPT_SANITIZE=address,undefined -DADEPT_WERROR=ON
    run_tests "$ci/sanitize" --label-exclude again
    build "$ci/gcc" -DADEPT_WERROR=ON
    within="sh $top/tests/support/with_sensors.sh $ci/gcc/tests/fake_nvml/libnvidia-ml.so.1"
    $within true >&2 || within=
    ADEPT_AXE=1 # the pages by the rules of axe-core too, if npm can fetch it
    export ADEPT_AXE
    run_tests "$ci/gcc" --label-exclude sanitized
    ;;
*)
    echo "usage: sh tools/test.sh [--ci]" >&2
    exit 2
    ;;
esac
