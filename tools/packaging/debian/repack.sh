#!/bin/sh
# usage: repack.sh PACKAGE.deb...
set -eu
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for package in "$@"; do
    dpkg-deb --raw-extract "$package" "$work/tree"
    # As Debian's policy has it: files in KiB, rounded up, and 1 for all else.
    size=$(find "$work/tree" -mindepth 1 -path "$work/tree/DEBIAN" -prune -o -type f -printf '%s\n' -o -printf '1\n' |
        awk '{ kib += int(($1 + 1023) / 1024) } END { print kib }')
    sed -i "s/^Installed-Size: .*/Installed-Size: $size/" "$work/tree/DEBIAN/control"
    dpkg-deb --build --root-owner-group "$work/tree" "$package" >/dev/null
    rm -rf "$work/tree"
done
