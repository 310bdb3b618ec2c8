#!/bin/sh
# Configure (when asked for something new) and build one build tree; messages go to stderr.
# Usage: sh tools/build.sh DIR [CMAKE OPTION]...
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
dir=$1
shift
if [ ! -f "$dir/CMakeCache.txt" ]; then # a tree that was configured by hand keeps its generator
    set -- -G Ninja "$@"
elif grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Quick$' "$dir/CMakeCache.txt"; then # by demo.sh
    set -- -DCMAKE_BUILD_TYPE=RelWithDebInfo "$@"
fi
cmake -S "$top" -B "$dir" "$@" >&2
cmake --build "$dir" --parallel "$(nproc)" >&2
