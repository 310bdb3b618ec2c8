#!/bin/sh
# All that is about adept as others meet it: builds it as packages are built, then programs against an installed tree, the plugin in a
# real Slurm, the packages in a clean Debian, what README and docs/ say in three of them, packages made twice, and a build for aarch64. As
# root, on Debian 12; needs the network and three hours.
# usage: check_all.sh [BUILD [ROOT]]     BUILD: folder to build in (build-packages); ROOT: a clean Debian, made by debootstrap if it
#                                        is not there, and then removed
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${1:-$top/build-packages}
root=${2:-}
[ "$(id -u)" = 0 ] || { echo "check_all.sh: must be root, for debootstrap, chroot and Slurm's daemons" >&2; exit 1; }
sh "$top/tools/install_deps.sh" base torch calibrate serve meters tests slurm packages

cmake -S "$top" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DADEPT_HARDEN=ON -DADEPT_TESTS=ON
cmake --build "$build"
ctest --test-dir "$build" --output-on-failure -R '^(consumer|embed|install|slurm)\.|test_slurm|test_library'

if command -v npm >/dev/null 2>&1; then
    sh "$top/tests/consumer/check_labels.sh" "$build/tools/adept"
else
    echo "check_all.sh: no npm: energy labels are not validated against their schemas"
fi

(cd "$build" && rm -f ./*.deb && cpack -G DEB)
made=
finish() {
    [ -z "$made" ] || rm -rf --one-file-system "$made"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
if [ -z "$root" ] || [ ! -x "$root/bin/sh" ]; then
    [ -n "$root" ] || root=$(mktemp -d)
    made=$root
    chmod 755 "$root" # the root of a system: not for its owner alone, or no daemon's user starts a shell there
    unshare --mount debootstrap --variant=minbase bookworm "$root" # so that nothing stays mounted in it
fi
sh "$top/tests/consumer/check_packages.sh" "$build" "$root"
sh "$top/tests/consumer/check_readme.sh"
sh "$top/tests/consumer/check_reproducible.sh"
ADEPT=$build/tools/adept sh "$top/tests/consumer/check_aarch64.sh"
