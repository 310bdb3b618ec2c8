#!/bin/sh
# Build the consumer against an installed adept by pkg-config and by CMake, run both, and look at what they link.
# usage: run.sh cmake|pkg-config|cmake-static|pkg-config-static PREFIX WORK PROFILE
# environment: ADEPT_SOURCE_DIR; CMAKE, CMAKE_GENERATOR, CMAKE_MAKE_PROGRAM, CC and CXX, as adept itself was built with
set -eu
how=$1 prefix=$2 work=$3 profile=$4
: "${CMAKE:?}" "${CMAKE_GENERATOR:?}" "${CMAKE_MAKE_PROGRAM:?}" "${CC:?}" "${CXX:?}"
source=${ADEPT_SOURCE_DIR:?}/tests/consumer
fail() { echo "consumer by $how: $1" >&2; exit 1; }

rm -rf "$work"
mkdir -p "$work"
libdir=$(dirname "$(find "$prefix" -name 'libadept.so' | head -n 1)")
[ -f "$libdir/libadept.so" ] || fail "no libadept.so under $prefix"
case $how in
cmake*)
    target=adept::adept
    [ "$how" = cmake ] || target=adept::adept_static
    "$CMAKE" -S "$source" -B "$work" -G "$CMAKE_GENERATOR" -DCMAKE_MAKE_PROGRAM="$CMAKE_MAKE_PROGRAM" -DCMAKE_C_COMPILER="$CC" \
        -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_PREFIX_PATH="$prefix" -DADEPT_TARGET=$target \
        -DCMAKE_C_FLAGS="-Wall -Wextra -Wpedantic -Werror" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Werror" >"$work/log" 2>&1 &&
        "$CMAKE" --build "$work" >>"$work/log" 2>&1 || { cat "$work/log" >&2; fail "does not build"; }
    ;;
pkg-config*)
    PKG_CONFIG_PATH=$libdir/pkgconfig
    PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
    export PKG_CONFIG_PATH PKG_CONFIG_ALLOW_SYSTEM_CFLAGS
    pkg-config --exact-version="$(sed -n 's/^Version: //p' "$libdir/pkgconfig/adept.pc")" adept || fail "no adept.pc"
    flags=$(pkg-config --cflags --libs adept)
    # -ladept is libadept.so where both are
    [ "$how" = pkg-config ] || flags=$(pkg-config --static --cflags --libs adept | sed 's/-ladept/-l:libadept.a/')
    # shellcheck disable=SC2086  # lists of words
    $CC -std=c11 -Wall -Wextra -Wpedantic -Werror "$source/consumer.c" -o "$work/consumer_c" $flags -Wl,-rpath,"$libdir"
    # shellcheck disable=SC2086
    $CC -std=c11 -Wall -Wextra -Wpedantic -Werror "$source/../../docs/examples/choose.c" -o "$work/choose" $flags -Wl,-rpath,"$libdir"
    "$work/choose" "$profile" 1e6 | grep -q '^[1-8] x [a-z0-9]*: ' || fail "docs/examples/choose.c says nothing"
    # shellcheck disable=SC2086
    $CXX -std=c++17 -Wall -Wextra -Wpedantic -Werror "$source/consumer.cpp" -o "$work/consumer_cxx" $flags -Wl,-rpath,"$libdir"
    ;;
*) fail "unknown way" ;;
esac

for program in consumer_c consumer_cxx; do
    "$work/$program" "$profile" || fail "$program fails"
    case $how in
    *-static)
        ldd "$work/$program" | grep 'libadept' && fail "$program needs a shared libadept"
        ;;
    *)
        readelf -d "$work/$program" | grep -q 'NEEDED.*libadept\.so\.[0-9]' || fail "$program does not need libadept.so.N"
        ldd "$work/$program" | grep -q "libadept.*$libdir/" || fail "$program finds another libadept than the installed one"
        ;;
    esac
    unwanted=$(ldd "$work/$program" | grep -E 'lib(torch|c10|gsl|nlopt)|not found' || true)
    [ -z "$unwanted" ] || fail "$program needs $unwanted"
done
ldd "$work/consumer_c" | grep -q 'libstdc++' && fail "the C program needs C++"
# The C headers alone are enough, each of them by itself.
for header in "$prefix"/include/adept/*.h; do
    echo "#include <adept/$(basename "$header")>" >"$work/alone.c"
    $CC -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" -fsyntax-only "$work/alone.c" || fail "$header alone"
    $CXX -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" -fsyntax-only "$work/alone.c" || fail "$header in C++"
done
exit 0
