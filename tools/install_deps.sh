#!/bin/sh
# Install the Debian packages that building or testing adept needs. Does nothing, quickly, when they are there.
# Usage: sh tools/install_deps.sh [SET]...     SET: base torch calibrate serve meters plots bpf tests slurm slurm-accounting packages ci export   (default: base torch calibrate serve meters)
set -eu

# SimPy 3 or 4, to check the simulator by; Debian 12 has version 2 by the plain name.
simpy() {
    if grep -qs '^VERSION_ID="12"' /etc/os-release; then echo python3-simpy3; else echo python3-simpy; fi
}

packages_of() {
    case $1 in
    base) echo gcc libc6-dev cmake ninja-build pkg-config libcjson-dev libzip-dev libssl-dev zlib1g-dev ;;
    torch) echo g++ libtorch-dev ;;                     # to read TorchScript files
    calibrate) echo libgsl-dev libnlopt-dev ;;          # to fit a GPU to measurements, and to evaluate
    serve) echo libmicrohttpd-dev ;;                    # adept serve
    meters) echo libcurl4-openssl-dev ;;                # adept measure --meter
    bpf) echo libbpf-dev clang ;;                       # adept attribute record counts in the kernel
    plots) echo gnuplot-nox ;;                          # --plot
    tests) echo libcmocka-dev python3 "$(simpy)" help2man curl ;; # python3: for the Python binding and adept serve; help2man: for the manual
    slurm) echo libslurm-dev slurmctld slurmd slurm-client munge ;; # the plugin, and its test on daemons of its own
    slurm-accounting) echo slurmdbd mariadb-server-core mariadb-client-core ;; # energy of jobs, tested with a database of its own
    packages) echo dpkg-dev file help2man lintian debootstrap git python3 ;; # cpack, tests/consumer/check_all.sh
    ci) echo clang libclang-rt-dev chromium haproxy openssl ;; # chromium: the reports as a browser shows them; haproxy: docs/LIBRARY.md
    export) echo python3-torch python3-torchvision ;;   # to write model files; never needed to build
    *) echo "install_deps.sh: no package set is called '$1'" >&2; return 1 ;;
    esac
}

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        echo "install_deps.sh: run this as root, or install sudo; missing packages:$missing" >&2
        return 1
    fi
}

[ $# -gt 0 ] || set -- base torch calibrate serve meters
command -v dpkg-query >/dev/null 2>&1 || {
    echo "install_deps.sh: not a Debian system; install by hand what is listed in $0" >&2
    exit 1
}
missing=
for set_name in "$@"; do
    packages=$(packages_of "$set_name")
    for package in $packages; do
        installed "$package" || missing="$missing $package"
    done
done
[ -n "$missing" ] || exit 0

echo "Installing:$missing" >&2
as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2
# shellcheck disable=SC2086  # a list of words; says how much that is, before it comes
LC_ALL=C apt-get install -q -y --no-install-recommends --print-uris $missing 2>/dev/null |
    awk -v q="'" 'substr($0, 1, 1) == q { bytes += $3; n++ } END { printf "To fetch: %d packages, %.0f MB\n", n, bytes / 1e6 }' >&2
# shellcheck disable=SC2086  # a list of words
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing >&2
