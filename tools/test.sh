#!/bin/sh
# Install what is missing, build and run all tests.
# Usage: sh tools/test.sh [--ci]     (from anywhere; as root or with sudo)
#   --ci   also build with clang and with -Werror, without libtorch, without GSL, libmicrohttpd and libcurl, and with ASan and UBSan; tests run
#          where they can find something new: without those labelled "again" or "once" (tests/CMakeLists.txt) in some builds
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
LC_ALL=C
export LC_ALL

# run_tests BUILD [OPTION...]
run_tests() {
    build=$1
    shift
    echo "== ctest: $build $*" >&2
    ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)" "$@"
}

case ${1-} in
'')
    sh "$top/tools/install_deps.sh" base torch calibrate serve meters plots tests
    sh "$top/tools/build.sh" "$top/build" -DADEPT_TESTS=ON
    run_tests "$top/build"
    ;;
--ci)
    sh "$top/tools/install_deps.sh" base torch calibrate serve meters plots tests slurm slurm-accounting ci
    ci=$top/build-ci
    # The compilers see everything; the tests run where they can find something new: the build without GSL has no
    # libtorch either.
    sh "$top/tools/build.sh" "$ci/clang" -DADEPT_WERROR=ON -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
    sh "$top/tools/build.sh" "$ci/no-torch" -DADEPT_WERROR=ON -DADEPT_WITH_TORCH=OFF -DADEPT_TESTS=OFF
    sh "$top/tools/build.sh" "$ci/no-calibrate" -DADEPT_WERROR=ON -DADEPT_WITH_TORCH=OFF -DADEPT_WITH_CALIBRATE=OFF -DADEPT_WITH_SERVE=OFF -DADEPT_WITH_METERS=OFF
    run_tests "$ci/no-calibrate" --label-exclude once
    sh "$top/tools/build.sh" "$ci/no-pictures" -DADEPT_WERROR=ON -DADEPT_WITH_TORCH=OFF -DADEPT_WITH_PICTURES=OFF -DADEPT_TESTS=OFF
    "$ci/no-pictures/tools/adept" report x --gpu a100 2>&1 | grep -q 'built without' || exit 1
    sh "$top/tools/build.sh" "$ci/sanitize" -DADEPT_SANITIZE=address,undefined -DADEPT_WERROR=ON
    run_tests "$ci/sanitize" --label-exclude again
    sh "$top/tools/build.sh" "$ci/gcc" -DADEPT_WERROR=ON
    run_tests "$ci/gcc"
    ;;
*)
    echo "usage: sh tools/test.sh [--ci]" >&2
    exit 2
    ;;
esac
