#!/bin/sh
# adept for aarch64: built by Debian 12's cross compiler in a fresh Debian, with -Werror and libtorch; its tests run there under
# qemu-user. As root; needs debootstrap, git, Linux 6.7, the network and hours of two processors. Tries what is committed.
# With ADEPT, a program of this machine with libtorch, predictions for all bundled models must be equal, digit by digit.
# usage: [ADEPT=PROGRAM] check_aarch64.sh [ROOT [CTEST OPTION]...]     ROOT: where the system is made, or was made before, and
#                                                                      stays; else it is removed
set -eu
case ${1-} in --help) sed -n '2,/^set/s/^# //p' "$0"; exit 0 ;; esac
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
foreign=aarch64-linux-gnu

inside() {
    chroot "$root" env -i LC_ALL=C HOME=/root DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        PKG_CONFIG_LIBDIR=/usr/lib/$foreign/pkgconfig:/usr/share/pkgconfig "$@" </dev/null
}

# Of a shell: ADEPT PROFILES OUT. Two forms of predictions for all profiles and three GPUs.
# shellcheck disable=SC2016
predict_all='cd "$2"
for profile in *.profile.json; do
    for gpu in a100-pcie-40gb h100-sxm-80gb a40; do
        "$1" predict "$profile" --gpu $gpu --json >"$3/$profile.$gpu"
        "$1" predict "$profile" --gpu $gpu --granularity model --gpus 4 --json >"$3/$profile.$gpu.model"
    done
done'

# Tests that do not run there, as a pattern; each with its reason.
left_out() {
    sed -n 's/^ *\([^ ]*\)  *: .*/\1/p' <<EOF | paste -sd '|'
    ^python\.            : the Python of this machine cannot load libraries of another
    ^embed\.python       : the same
    ^embed\.exports      : ldd knows programs of this machine only
    ^consumer\.          : the same
    ^structure\.         : reads sources, which are the same
    ^slurm\.             : a Slurm of its own
    ^unit\.test_sandbox  : qemu-user has no seccomp, and takes RLIMIT_AS without effect
    ^unit\.test_torchscript_load$ : the same
    ^unit\.test_hostile_memory$ : what qemu-user translates is memory of the process, and takes the rest of its gigabyte
    ^serve\.flood        : loads of connections, timed
    ^cli\.test_measure$  : qemu-user refuses to make a subreaper, and what a shell has ignored is not ignored behind its exec
EOF
}

if [ "${1-}" = --inside ]; then # namespaces of its own: what is mounted or registered here is gone when this script ends
    root=$2
    shift 2
    trap 'exit 1' INT TERM HUP # as the first process of its namespace it would ignore them
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys" # libtorch asks how many processors there are
    mount -t binfmt_misc binfmt_misc "$root/proc/sys/fs/binfmt_misc"
    # Programs and shared objects (2, 3) for AArch64 (0xb7), 64 bits, little-endian. F: the interpreter is opened now.
    printf '%s' ':adept-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:' \
        '\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:' "$root/usr/bin/qemu-aarch64-static:F" \
        >"$root/proc/sys/fs/binfmt_misc/register"
    inside $foreign-gcc -O1 -Wall -Wextra -Werror -c -o /root/no_seccomp.o /root/adept/tests/consumer/no_seccomp.c
    inside cmake -S /root/adept -B /root/build -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
        -DCMAKE_C_COMPILER=$foreign-gcc -DCMAKE_CXX_COMPILER=$foreign-g++ -DADEPT_TEST_CXX=/usr/bin/$foreign-g++ \
        -DCMAKE_EXE_LINKER_FLAGS=/root/no_seccomp.o -DCMAKE_C_FLAGS=-DADEPT_DEFAULT_TIMEOUT_S=600. -DADEPT_WERROR=ON \
        -DADEPT_TEST_SECONDS=9000
    inside cmake --build /root/build
    inside ctest --test-dir /root/build --output-on-failure --parallel "$(nproc)" --exclude-regex "$(left_out)" "$@"
    [ ! -d "$root/root/predictions" ] || inside sh -euc "$predict_all" - /root/build/tools/adept /root/predictions/profiles /root/predictions/there
    exit
fi

[ "$(id -u)" = 0 ] || { echo "check_aarch64.sh: must be root, for debootstrap, mount and chroot" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
# What runs in the namespaces got other rights on the way in: --kill-child does not reach it.
trap 'kill -KILL $(cat "/proc/${!-}/task/${!-}/children") 2>/dev/null; exit 1' INT TERM HUP
root=$work/root
if [ $# -gt 0 ]; then
    root=$1
    shift
fi
quietly() {
    "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
}
if [ ! -x "$root/usr/bin/qemu-aarch64-static" ]; then
    quietly unshare --mount debootstrap --variant=minbase bookworm "$root"
    chmod 755 "$root"
    inside dpkg --add-architecture arm64
    quietly inside apt-get update -q
    libraries=
    for library in c6 cjson zip ssl gsl nlopt microhttpd curl4-openssl cmocka bpf; do
        libraries="$libraries lib$library-dev:arm64"
    done
    for library in torch1.13 gflags-dev google-glog-dev protobuf-dev; do
        libraries="$libraries lib$library:arm64"
    done
    # Programs of this machine, for tests that skip without.
    programs="bash gnuplot-nox haproxy openssl python3-simpy3 chromium"
    # shellcheck disable=SC2086  # lists of words
    quietly inside apt-get install -q -y --no-install-recommends gcc-$foreign g++-$foreign cmake ninja-build pkg-config clang python3 \
        locales qemu-user-static zlib1g-dev:arm64 $programs $libraries
    quietly inside localedef -i de_DE -f UTF-8 de_DE.UTF-8
    # Installed, it would take this machine's Python away.
    quietly inside sh -c 'cd /root && apt-get download -q libtorch-dev:arm64 && dpkg -x libtorch-dev_*.deb /'
fi
root=$(CDPATH='' cd -- "$root" && pwd)
rm -rf "$root/root/predictions"
[ -d "$root/root/adept" ] || git clone -q --no-hardlinks "$top" "$root/root/adept"
git -C "$root/root/adept" fetch -q "$top" HEAD # what did not change is not built again
git -C "$root/root/adept" reset -q --hard FETCH_HEAD
if [ -n "${ADEPT-}" ]; then
    ADEPT=$(realpath "$ADEPT")
    predictions=$root/root/predictions
    mkdir -p "$predictions/profiles" "$predictions/here" "$predictions/there"
    for model in "$top"/data/models/*.pt; do
        "$ADEPT" profile "$model" -o "$predictions/profiles/$(basename "$model" .pt).profile.json" >/dev/null
    done
    sh -euc "$predict_all" - "$ADEPT" "$predictions/profiles" "$predictions/here"
fi
# shellcheck disable=SC2016  # for the inner shell, which waits until it has its users
unshare --user --mount --pid --fork sh -c 'until [ "$(id -u)" = 0 ]; do sleep 0.1; done; exec sh "$@"' - \
    "$0" --inside "$root" "$@" &
until [ "$(readlink "/proc/$!/ns/user")" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.1; done
for map in uid_map gid_map; do
    echo 0 0 65536 >"/proc/$!/$map"
done
wait $!
[ -z "${ADEPT-}" ] || diff -rq "$predictions/here" "$predictions/there"
