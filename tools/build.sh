#!/bin/sh
# Configure (when asked for something new) and build one build tree; messages go to stderr.
# Usage: sh tools/build.sh DIR [CMAKE OPTION]...
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
dir=$1
shift
[ -f "$dir/CMakeCache.txt" ] || set -- -G Ninja "$@"    # a tree that was configured by hand keeps its generator
cmake -S "$top" -B "$dir" "$@" >&2
cmake --build "$dir" --parallel "$(nproc)" >&2
