#!/bin/sh
# Install the library and what building against it needs into an empty folder. usage: stage.sh CMAKE BUILD PREFIX
set -eu
rm -rf "$3"
"$1" --install "$2" --prefix "$3" --component libadept
"$1" --install "$2" --prefix "$3" --component libadept-dev
