#!/bin/sh
# The source and the packages of a commit, made twice, are equal: in another folder, by another user, under another umask, time zone,
# locale, name of the machine and number of processes. As root, on Debian; needs what tools/install_deps.sh installs (base torch calibrate
# serve meters packages) and 5 minutes. Tries what is committed.
# usage: check_reproducible.sh [OUT]     OUT: where the first packages and the source are left; else they are removed
set -eu
case ${1-} in --help) sed -n '2,/^set/s/^# //p' "$0"; exit 0 ;; esac
[ "$(id -u)" = 0 ] || { echo "check_reproducible.sh: must be root, for another user and another name of the machine" >&2; exit 1; }
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
work=$(mktemp -d)
mkdir -p "$work/one" "$work/another/place"
one=$work/one other=$work/another/place
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

# build FOLDER PREFIX...: what INSTALL.md tells packagers, from the source alone; PREFIX: commands that make the surroundings
build() {
    folder=$1
    shift
    mkdir "$folder/out"
    [ "$folder" = "$one" ] || chown -R 65534:65534 "$folder"
    # shellcheck disable=SC2016  # for the inner shell
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$folder" SOURCE_DATE_EPOCH="$epoch" "$@" sh -euc '
        umask "$UMASK"
        cd "$0"
        tar -xzf "$1"
        cd adept
        cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DADEPT_HARDEN=ON -DADEPT_TESTS=OFF -DADEPT_WERROR=ON
        cmake --build build --parallel "$JOBS"
        cd build
        cpack -G DEB
        mv ./*.deb ../../out' "$folder" "$source" >"$folder/log" 2>&1 || { tail -n 40 "$folder/log" >&2; exit 1; }
}

epoch=$(git -C "$top" log -1 --format=%ct)
source_tar() {
    (umask "$1" && TZ=$2 git -C "$top" archive --format=tar --prefix=adept/ HEAD | gzip -9n >"$3")
}
chmod 755 "$work"
source=$work/adept.tar.gz
source_tar 022 UTC "$source"
source_tar 077 Pacific/Kiritimati "$work/again.tar.gz"
cmp "$source" "$work/again.tar.gz"
chmod 644 "$source"

build "$one" UMASK=022 JOBS=2 TZ=UTC LC_ALL=C
build "$other" UMASK=077 JOBS=1 TZ=Pacific/Kiritimati LC_ALL=C.UTF-8 DEB_BUILD_OPTIONS=parallel=1 unshare --uts sh -c 'hostname another && exec "$@"' - \
    setpriv --reuid=65534 --regid=65534 --clear-groups
(cd "$one/out" && sha256sum ./*.deb) >"$work/sums"
[ "$(wc -l <"$work/sums")" = "$(find "$other/out" -name '*.deb' | wc -l)" ] && [ -s "$work/sums" ]
if ! (cd "$other/out" && sha256sum --check --quiet "$work/sums"); then
    for folder in "$one" "$other"; do
        mkdir "$folder/contents"
        for package in "$folder"/out/*.deb; do
            dpkg-deb --raw-extract "$package" "$folder/contents/$(basename "$package")"
        done
        (cd "$folder/contents" && find . -printf '%p %m %T@ %l\n' | sort) >"$folder/listing"
    done
    diff "$one/listing" "$other/listing" || true
    diff -r "$one/contents" "$other/contents" || true
    exit 1
fi
sed 's/^/reproducible: /' "$work/sums"
sha256sum "$source" | sed "s| .*| adept.tar.gz|; s/^/reproducible: /"
if [ $# -gt 0 ]; then
    mkdir -p "$1"
    cp "$source" "$one"/out/*.deb "$1"
fi
