#!/bin/sh
# From a fresh Debian to a first prediction: install what is missing, build the program, predict a bundled model from its saved profile.
# Usage: sh tools/demo.sh        (from anywhere; as root or with sudo)
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$top/build
sh "$top/tools/install_deps.sh" base
# The program alone and little optimised, in half of the time of a whole build. libtorch is four times as much as all other packages.
[ -f "$build/CMakeCache.txt" ] ||
    cmake -S "$top" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Quick -DADEPT_TESTS=OFF -DADEPT_WITH_TORCH=OFF >&2
cmake --build "$build" --parallel "$(nproc)" --target adept >&2
cat >&2 <<'END'
For libadept as well, and all optimised: sh tools/build.sh build
For .pt files: sh tools/install_deps.sh torch && sh tools/build.sh build -DADEPT_WITH_TORCH=ON
+ build/tools/adept predict resnet50 --gpu v100-pcie-32gb --batch 64
END
cd "$top"
exec build/tools/adept predict resnet50 --gpu v100-pcie-32gb --batch 64
