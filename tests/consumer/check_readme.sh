#!/bin/sh
# README's commands in fresh Debian systems, as a stranger types them: demo.sh, test.sh, a build by CMake alone, and then all that README
# and docs/ show, by check_docs.py. As root; needs debootstrap, git and the network, and half an hour for each system. Tries what is
# committed.
# usage: check_readme.sh [SUITE:USER]...     (default: bookworm:root bookworm:somebody trixie:root; all but root use sudo)
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)

# in_system ROOT USER COMMANDS: with the environment of a login, in the user's home
in_system() {
    home=$(chroot "$1" getent passwd "$2" | cut -d: -f6)
    chroot --userspec="$2" "$1" env -i HOME="$home" USER="$2" TERM=dumb PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        sh -ec "cd && $3" </dev/null
}

if [ "${1-}" = --inside ]; then # namespaces of its own: what is mounted or started here is gone when this script ends
    root=$2 user=$3 failed=0
    trap 'exit 1' INT TERM HUP # as the first process of its namespace it would ignore them
    mount -t proc proc "$root/proc"
    by_cmake=$(in_system "$root" "$user" "sed -n 's/ *#.*//; /^    cmake -S/p; /^    cmake --build/p' adept/README.md")
    [ -n "$by_cmake" ] || { echo "check_readme.sh: README has no line 'cmake -S'" >&2; exit 1; }
    by_docs='sh tools/install_deps.sh packages export
            ADEPT=$PWD/build/tools/adept ADEPT_LIBRARY=$PWD/build/library/libadept.so python3 -B tests/consumer/check_docs.py --all'
    for commands in 'sh tools/demo.sh' 'sh tools/test.sh' "$by_cmake" "$by_docs"; do
        begin_s=$(date +%s)
        rc=0
        in_system "$root" "$user" "cd adept
            $commands" || rc=$? failed=1
        echo "readme: ${root##*/}:" $commands "exit code $rc after $(($(date +%s) - begin_s)) s" | tee -a "$root/../results"
    done
    exit $failed
fi

[ "$(id -u)" = 0 ] || { echo "check_readme.sh: must be root, for debootstrap, mount and chroot" >&2; exit 1; }
[ $# -gt 0 ] || set -- bookworm:root bookworm:somebody trixie:root
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP
chmod 755 "$work"
failed=0
quietly() {
    "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
}
for system in "$@"; do
    suite=${system%%:*} user=${system#*:} root=$work/$system
    quietly unshare --mount debootstrap --variant=minbase "$suite" "$root"
    if [ "$user" != root ]; then
        quietly in_system "$root" root "apt-get install -q -y --no-install-recommends sudo && useradd -m $user"
        echo "$user ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$user"
    fi
    git clone -q --no-hardlinks "$top" "$root/tmp/adept"
    in_system "$root" root "chown -R $user: /tmp/adept && mv /tmp/adept ~$user"
    unshare --mount --pid --fork --kill-child sh "$0" --inside "$root" "$user" || failed=1
    rm -rf --one-file-system "$root"
done
cat "$work/results"
exit $failed
