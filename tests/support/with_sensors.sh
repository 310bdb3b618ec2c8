#!/bin/sh
# Run a command as on a machine that has a meter of each kind: a package and memory by powercap and by perf, one that stands at 0, a
# node's power meter, a battery, an NVIDIA board. No test may depend on what the machine has: tools/test.sh --ci runs all of them here.
# Needs root and a mount namespace of its own, in which /sys has them; where that cannot be had, the exit code is 77.
# usage: with_sensors.sh NVML COMMAND...     NVML: the library that stands in for NVIDIA's (tests/measure/fake_nvml.c)
set -eu
if [ "$1" != --inside ]; then
    [ "$(id -u)" = 0 ] && unshare --mount mount -t tmpfs none /sys/class 2>/dev/null || { echo "skipped: not root, or no mount namespace"; exit 77; }
    exec unshare --mount sh "$0" --inside "$@"
fi
shift
export ADEPT_NVML_LIBRARY="$1"
shift

# over FOLDER: an empty one over it, with what it had
over() {
    real=$(mktemp -d)
    mount --bind "$1" "$real"
    mount -t tmpfs none "$1"
    for entry in "$real"/*; do
        name=${entry##*/}
        if [ -L "$entry" ]; then
            cp -P "$entry" "$1/$name"
        elif [ -d "$entry" ]; then
            mkdir "$1/$name"
            mount --bind "$entry" "$1/$name"
        fi
    done
    umount "$real"
    rmdir "$real"
}
# put FILE TEXT
put() {
    mkdir -p "${1%/*}"
    echo "$2" >"$1"
}

over /sys/class
for class in powercap hwmon power_supply; do # only ours
    umount "/sys/class/$class" 2>/dev/null || true
done
for zone in intel-rapl:0=package-0 intel-rapl:0:0=dram; do
    put "/sys/class/powercap/${zone%=*}/name" "${zone#*=}"
    put "/sys/class/powercap/${zone%=*}/energy_uj" 00000000001000000
    put "/sys/class/powercap/${zone%=*}/max_energy_range_uj" 262143328850
done
put /sys/class/hwmon/hwmon0/name power_meter
put /sys/class/hwmon/hwmon0/power1_average 345000000
put /sys/class/power_supply/BAT0/type Battery
put /sys/class/power_supply/BAT0/status Discharging
put /sys/class/power_supply/BAT0/power_now 12000000
over /sys/bus/event_source/devices
pmu=/sys/bus/event_source/devices/power
rm -f "$pmu"
put "$pmu/type" 1 # the kernel's own
put "$pmu/cpumask" 0
for event in psys=0x09 pkg=0x00; do # one that never counts, and a processor's clock
    put "$pmu/events/energy-${event%=*}" "event=${event#*=}"
    put "$pmu/events/energy-${event%=*}.scale" 1e-9
    put "$pmu/events/energy-${event%=*}.unit" Joules
done

# The packages' counters go on for as long as this shell is there.
cd /sys/class/powercap
(
    uj=1000000
    while kill -0 $$ 2>/dev/null; do
        uj=$((uj + 2000000))
        for zone in */energy_uj; do printf '%017d\n' $uj 1<>"$zone"; done
        sleep 0.1
    done
) </dev/null >/dev/null 2>&1 &
cd - >/dev/null
rc=0
"$@" || rc=$?
exit $rc
