# A part that is switched off is left out, also of a build tree that was configured with it: what was found stays in the cache.
# usage: build_options.sh   (environment: CMAKE, ADEPT_SOURCE_DIR)
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# configure OPTION...
configure() {
    "$CMAKE" -S "$ADEPT_SOURCE_DIR" -B "$work/b" -G Ninja -DADEPT_TESTS=OFF -DADEPT_WITH_TORCH=OFF "$@" >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
}
command -v ninja >/dev/null || exit 77
configure
cp "$work/b/build.ninja" "$work/before"
rc=77 # nothing to switch off
while read -r option mark; do
    grep -q "$mark" "$work/before" || continue
    [ $rc -eq 1 ] || rc=0
    configure "-DADEPT_WITH_$option=OFF"
    ! grep -q "$mark" "$work/b/build.ninja" || { echo "ADEPT_WITH_$option=OFF: $mark is still built" && rc=1; }
done <<EOF
BPF counts[.]bpf[.]o
SERVE tools/serve/http[.]c
METERS adept_measure_network[.]dir
CALIBRATE calibrate/fit/calibrate[.]c
PICTURES tools/pictures/gnuplot[.]c
STATIC library/libadept[.]a
SLURM job_submit_adept[.]c
EOF
exit $rc
