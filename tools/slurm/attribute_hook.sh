#!/bin/sh
# Prolog and Epilog of slurmd, as both: records what processes do and what meters read while jobs run on the node, for adept attribute
# --slurm. Not needed where `adept attribute record` runs as a service. slurm.conf: Prolog=/path/attribute_hook.sh
# Epilog=/path/attribute_hook.sh. Settings, if others are wanted, in /etc/slurm/adept-attribute.conf:
#   folder=/var/lib/adept  adept=adept  options='--period 1s'  meter='http://pdu/status.json /sensor/0/power W'
# Never fails, as slurmd would drain the node.
[ -n "${SLURM_JOB_ID:-}" ] || exit 0
folder=/var/lib/adept run=/run/adept adept=adept options='' meter=''
conf=${ADEPT_ATTRIBUTE_CONF:-/etc/slurm/adept-attribute.conf}
# shellcheck disable=SC1090  # the site's
[ ! -r "$conf" ] || . "$conf"
mkdir -p "$folder" "$run/jobs" && exec 9>"$run/lock" && flock -w 10 9 || exit 0

# a process number may be another's by now
recorder() {
    pid=$(cat "$run/pid" 2>/dev/null) && [ -n "$pid" ] && tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q ' attribute record ' && echo "$pid"
}

case ${SLURM_SCRIPT_CONTEXT:-} in
epilog*)
    rm -f "$run/jobs/$SLURM_JOB_ID"
    [ -z "$(ls "$run/jobs")" ] && pid=$(recorder) && kill -INT "$pid"
    ;;
*)
    : >"$run/jobs/$SLURM_JOB_ID"
    if ! recorder >/dev/null; then # in a session of its own: slurmd ends what its hooks leave behind. Not with the job's environment: it is none of it
        # shellcheck disable=SC2086  # options are words
        env -i PATH="$PATH" setsid "$adept" attribute record -o "$folder/%Y%m%dT%H%M%S-$SLURM_JOB_ID.adept" $options ${meter:+--meter "$meter"} \
            </dev/null >>"$run/log" 2>&1 9>&- &
        echo $! >"$run/pid"
        tries=20 # until it has become the recorder, which the next job's prolog looks for
        while ! recorder >/dev/null && kill -0 $! && [ $tries -gt 0 ]; do
            sleep 0.1
            tries=$((tries - 1))
        done
    fi
    ;;
esac
exit 0
