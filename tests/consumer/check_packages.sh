#!/bin/sh
# Install the Debian packages of a build into a clean Debian system, and try them there. As root.
# usage: check_packages.sh BUILD ROOT        BUILD: where `cpack -G DEB` ran; ROOT: a Debian system, for instance of debootstrap
set -eu
build=$1 root=$2
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
fail() { echo "packages: $1" >&2; exit 1; }
inside() { chroot "$root" env -i LC_ALL=C DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

inbox=$root/tmp/adept-packages
rm -rf "$inbox"
mkdir -p "$inbox"
cp "$build"/libadept_*.deb "$build"/libadept-dev_*.deb "$build"/adept_*.deb "$build"/python3-adept_*.deb "$inbox"
for optional in adept-torch adept-slurm; do
    cp "$build/$optional"_*.deb "$inbox" 2>/dev/null || echo "packages: built without $optional"
done
if command -v lintian >/dev/null 2>&1; then
    lintian --allow-root --fail-on error,warning "$inbox"/*.deb || fail "lintian finds something"
fi
cp "$top/tests/cli/data/mlp.profile.json" "$top/data/models/resnet50.pt" "$top/tests/consumer/consumer.c" "$inbox"
in=/tmp/adept-packages

# What is installed there (munge, slurmctld) starts no daemons: they would run on this machine, outside of any init.
policy=$root/usr/sbin/policy-rc.d
printf '#!/bin/sh\nexit 101\n' >"$policy"
chmod +x "$policy"
trap 'rm -f "$policy"' EXIT

! inside sh -c 'command -v adept' >/dev/null || fail "adept is already there"
inside sh -c "apt-get install -y -q --no-install-recommends $in/libadept_*.deb $in/adept_*.deb" >"$inbox/log" 2>&1 ||
    { cat "$inbox/log" >&2; fail "adept does not install"; }
inside adept predict $in/mlp.profile.json --gpu a100 --json | grep -q '"step_time_s"' || fail "no prediction"
inside adept predict resnet50 --gpu a100 --json | grep -q '"step_time_s"' || fail "no prediction of a bundled model by its name"
rc=0
inside adept predict $in/resnet50.pt --gpu a100 >"$inbox/out" 2>&1 || rc=$?
[ "$rc" -eq 4 ] && grep -q adept_torch.so "$inbox/out" || fail "a .pt without adept-torch: exit code $rc, $(cat "$inbox/out")"
inside sh -c 'ls /usr/share/man/man1/adept-predict.1* /usr/share/bash-completion/completions/adept' >/dev/null || fail "no manual"
inside sh -c 'test -s /usr/share/adept/models/resnet50.pt' || fail "no bundled models, which calibrate and evaluate look names up in"
# Debian strips documents from small systems; the licence stays.
inside sh -c 'test -s /usr/share/doc/adept/copyright && test -s /usr/share/doc/libadept/copyright' || fail "no licence"

if ls "$inbox"/adept-torch_*.deb >/dev/null 2>&1; then
    inside sh -c "apt-get install -y -q --no-install-recommends $in/adept-torch_*.deb" >"$inbox/log" 2>&1 ||
        { cat "$inbox/log" >&2; fail "adept-torch does not install"; }
    inside adept predict $in/resnet50.pt --gpu a100 | grep -q 'ms' || fail "no prediction of a .pt"
fi

inside sh -c "apt-get install -y -q --no-install-recommends $in/libadept-dev_*.deb gcc libc6-dev pkg-config" >"$inbox/log" 2>&1 ||
    { cat "$inbox/log" >&2; fail "libadept-dev does not install"; }
inside sh -c "cc -std=c11 -Wall -Werror $in/consumer.c -o $in/consumer \$(pkg-config --cflags --libs adept) && $in/consumer $in/mlp.profile.json" ||
    fail "a program does not build or run with libadept-dev"
inside sh -c "apt-get install -y -q --no-install-recommends libcjson-dev libzip-dev libssl-dev" >"$inbox/log" 2>&1 ||
    { cat "$inbox/log" >&2; fail "what libadept.a needs does not install"; }
inside sh -c "cc -std=c11 $in/consumer.c -o $in/consumer \$(pkg-config --static --cflags --libs adept | sed s/-ladept/-l:libadept.a/) &&
    ! ldd $in/consumer | grep libadept && $in/consumer $in/mlp.profile.json" || fail "a program does not build or run with libadept.a"
inside sh -c "apt-get install -y -q --no-install-recommends $in/python3-adept_*.deb" >"$inbox/log" 2>&1 ||
    { cat "$inbox/log" >&2; fail "python3-adept does not install"; }
inside python3 -c "
import adept
assert adept.Workload.open('resnet50').describe().params == 25557032
e = adept.Oracle(adept.Workload.open('$in/mlp.profile.json'), adept.Gpu.open('a100')).predict(gpus=2)
assert e.step_time_s > 0 and e.power_avg_w > 0, e
r = adept.predict('$in/mlp.profile.json', gpu='a100', gpus=2)
assert abs(r.step_time_s / e.step_time_s - 1) < 1e-9 and r.layers, r" || fail "the Python package"

# A slurmctld without munge and nodes, for as long as it takes to load the plugin.
slurmctld_loads() {
    mkdir -p "$root/etc/slurm/adept" "$inbox/state"
    cp "$inbox/mlp.profile.json" "$root/etc/slurm/adept"
    cp "$root/usr/share/doc/adept-slurm/examples/adept.conf" "$root/etc/slurm" 2>/dev/null ||
        cp "$top/tools/slurm/adept.conf.example" "$root/etc/slurm/adept.conf"
    cat >"$root/etc/slurm/slurm.conf" <<EOC
ClusterName=check
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=26817
SlurmUser=root
AuthType=auth/none
CredType=cred/none
JobSubmitPlugins=adept
StateSaveLocation=$in/state
SlurmctldPidFile=$in/slurmctld.pid
NodeName=nowhere NodeAddr=127.0.0.1
PartitionName=all Nodes=nowhere
EOC
    inside timeout -k 5 10 slurmctld -D >"$inbox/slurmctld.log" 2>&1 || true
    rm -r "$root/etc/slurm/adept" "$root/etc/slurm/adept.conf" "$root/etc/slurm/slurm.conf"
    grep -q 'job_submit/adept: libadept .* 3 kinds of GPUs from /etc/slurm/adept.conf' "$inbox/slurmctld.log"
}
if ls "$inbox"/adept-slurm_*.deb >/dev/null 2>&1; then
    inside sh -c "apt-get install -y -q --no-install-recommends $in/adept-slurm_*.deb" >"$inbox/log" 2>&1 ||
        { cat "$inbox/log" >&2; fail "adept-slurm does not install"; }
    slurmctld_loads || { tail -n 20 "$inbox/slurmctld.log" >&2; fail "slurmctld does not load the plugin"; }
fi

inside sh -c 'dpkg --purge $(dpkg-query -W -f "\${Package} " python3-adept adept-slurm adept-torch adept libadept-dev libadept 2>/dev/null)' >/dev/null || fail "cannot be removed"
left=$(inside find /usr /etc -name '*adept*' -not -path '/usr/share/doc/*' | head)
[ -z "$left" ] || fail "left behind: $left"
rm -rf "$inbox"
echo "packages: installed, used and removed"
