#!/bin/sh
# From a fresh Debian to a first prediction: install what is missing, build, predict a bundled model from its saved profile.
# Usage: sh tools/demo.sh        (from anywhere; as root or with sudo)
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$top/build
sh "$top/tools/install_deps.sh" base
if [ -f "$build/CMakeCache.txt" ]; then
    sh "$top/tools/build.sh" "$build"
elif [ "$(dpkg-query -W -f '${db:Status-Status}' libtorch-dev 2>/dev/null)" = installed ]; then
    sh "$top/tools/build.sh" "$build" -DADEPT_TESTS=OFF
else # libtorch is four times as much as all the rest, and reads TorchScript (.pt) files only
    sh "$top/tools/build.sh" "$build" -DADEPT_TESTS=OFF -DADEPT_WITH_TORCH=OFF
    echo "For .pt files: sh tools/install_deps.sh torch && sh tools/build.sh build -DADEPT_WITH_TORCH=ON" >&2
fi
cd "$top"
echo "+ build/tools/adept predict resnet50 --gpu v100-pcie-32gb --batch 64" >&2
exec build/tools/adept predict resnet50 --gpu v100-pcie-32gb --batch 64
