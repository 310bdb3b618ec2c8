#!/bin/sh
# tools/packaging/Dockerfile without a container engine: the image has the libraries that the program asks for, its sets of packages and
# options of the build are there, and what docs/INSTALL.md mounts is what it keeps.
# environment: ADEPT, ADEPT_SOURCE_DIR. Skipped where the packages are not those of the image's Debian.
set -eu
file=$ADEPT_SOURCE_DIR/tools/packaging/Dockerfile
fail() { echo "image: $1" >&2; exit 1; }
debian=$(sed -n 's/^FROM debian:\([0-9]*\)-slim$/\1/p' "$file")
[ -n "$debian" ] || fail "the image is not of a Debian"
sets=$(sed -n 's/^RUN sh tools\/install_deps.sh \([a-z ]*\) .*/\1/p' "$file")
[ -n "$sets" ] || fail "no packages are installed"
for word in $sets; do
    grep -q "^ *$word)" "$ADEPT_SOURCE_DIR/tools/install_deps.sh" || fail "install_deps.sh has no set $word"
done
for option in $(grep -o -- '-DADEPT_[A-Z_]*' "$file" | sed 's/-D//'); do
    grep -rqE "(option|set|adept_part)\($option |$option" "$ADEPT_SOURCE_DIR/CMakeLists.txt" || fail "CMake does not know $option"
done
for folder in $(sed -n 's/^ENV //p' "$file" | tr ' ' '\n' | sed 's/.*=//'); do
    grep -q "${folder##*/}" "$ADEPT_SOURCE_DIR/docs/INSTALL.md" || [ "${folder##*/}" = .cache ] || fail "INSTALL.md does not say what $folder is"
done
case $(cat /etc/debian_version 2>/dev/null) in "$debian"*) ;; *) echo "not Debian $debian"; exit 77 ;; esac
command -v dpkg >/dev/null && command -v readelf >/dev/null || { echo "no dpkg or readelf"; exit 77; }
installed=" $(sed -n 's/.*--no-install-recommends \(.*\) && .*/\1/p' "$file") libc6 "
opened=$(sed -n 's/.*dlopen("\(lib.*\)".*/\1/p' "$ADEPT_SOURCE_DIR/tools/serve/http.c" "$ADEPT_SOURCE_DIR/measure/network/remote.c")
[ "$(echo "$opened" | wc -l)" -eq 2 ] || fail "which libraries the program opens is not known"
for library in $(readelf -d "$ADEPT" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p') $opened; do
    package=$(dpkg -S "*-linux-gnu*/$library" 2>/dev/null | sed -n '1s/:.*//p')
    [ -n "$package" ] || { echo "$library is of no package here"; exit 77; }
    case $installed in *" $package "*) ;; *) fail "$library, of $package, is not in the image" ;; esac
done
