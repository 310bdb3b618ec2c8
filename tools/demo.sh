#!/bin/sh
# From a fresh Debian to a first prediction: install what is missing, build, predict a bundled model.
# Usage: sh tools/demo.sh        (from anywhere; as root or with sudo)
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$top/build
sh "$top/tools/install_deps.sh" base torch calibrate
if [ -f "$build/CMakeCache.txt" ]; then
    sh "$top/tools/build.sh" "$build"
else
    sh "$top/tools/build.sh" "$build" -DADEPT_TESTS=OFF
fi
cd "$top"
echo "+ build/tools/adept predict resnet50 --gpu v100-pcie-32gb --batch 64" >&2
exec build/tools/adept predict resnet50 --gpu v100-pcie-32gb --batch 64
