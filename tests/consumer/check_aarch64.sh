#!/bin/sh
# adept for aarch64: built by Debian 12's cross compiler in a fresh Debian, -Werror, and its tests run there under qemu-user. As root; needs
# debootstrap, git, Linux 6.7 (or a system that runs aarch64 programs by qemu already), the network and an hour of two processors. Tries
# what is committed. Without libtorch, and without what qemu-user has not: seccomp, BPF, counters of events.
# usage: check_aarch64.sh [ROOT [CTEST OPTION]...]     ROOT: where the system is made, or was made before, and stays; else it is removed
set -eu
case ${1-} in -*) sed -n '2,/^set/s/^# //p' "$0"; exit 0 ;; esac
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
foreign=aarch64-linux-gnu
# Tests that do not go: python.* load libadept into the Python of this machine; in a real kernel's place, qemu has no seccomp
# (test_sandbox), and no counters or BPF; ...
skipped='^(python\.|slurm\.|structure\.|docs\.|report\.browser)'

inside() {
    chroot "$root" env -i LC_ALL=C HOME=/root DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@" </dev/null
}

if [ "${1-}" = --inside ]; then # namespaces of its own: what is mounted or registered here is gone when this script ends
    root=$2
    shift 2
    trap 'exit 1' INT TERM HUP
    mount -t proc proc "$root/proc"
    if ! inside /usr/$foreign/bin/true 2>/dev/null && ! inside "/lib/ld-linux-aarch64.so.1" --version >/dev/null 2>&1; then
        mount -t binfmt_misc binfmt_misc "$root/proc/sys/fs/binfmt_misc"
        # ELF, 64 bits, little-endian, a program or a shared object, AArch64; F: qemu is opened now
        printf '%s' ':adept-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:'"$root/usr/bin/qemu-aarch64-static:F" \
            >"$root/proc/sys/fs/binfmt_misc/register"
        inside /lib/ld-linux-aarch64.so.1 --version >/dev/null
    fi
    inside env PKG_CONFIG_LIBDIR=/usr/lib/$foreign/pkgconfig:/usr/share/pkgconfig cmake -S /root/adept -B /root/adept/build -G Ninja \
        -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=$foreign-gcc -DADEPT_TEST_CXX=/usr/bin/$foreign-g++ \
        -DADEPT_WERROR=ON -DADEPT_WITH_TORCH=OFF
    inside cmake --build /root/adept/build
    echo "aarch64: not run: $skipped"
    inside ctest --test-dir /root/adept/build --output-on-failure --parallel "$(nproc)" -E "$skipped" "$@"
    exit
fi

[ "$(id -u)" = 0 ] || { echo "check_aarch64.sh: must be root, for debootstrap, mount and chroot" >&2; exit 1; }
