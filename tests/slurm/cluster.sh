# A Slurm of its own on the loopback, in $work: its munged, slurmctld and a slurmd for each of $nodes. Sourced by check_slurm.sh and
# check_attribute.sh, which set work, plugin (folder of job_submit_adept.so), plugins (Slurm's own) and nodes.

# free_ports N: that many TCP ports, by python or by /proc/net/tcp
free_ports() {
    awk -v n="$1" -v seed="$$" '
        FNR > 1 { split($2, a, ":"); used[a[2]] = 1 }
        END { p = 20000 + (seed * 37) % 20000
              while (n > 0) { if (!(sprintf("%04X", p) in used)) { print p; n-- } p++ } }' /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# slurm_conf_base HOST PORT: what both clusters have, the port is slurmctld's
slurm_conf_base() {
    cat <<EOC
ClusterName=adepttest
SlurmctldHost=$1(127.0.0.1)
SlurmctldPort=$2
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool.%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.%n.log
SlurmctldDebug=info
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=300
KillWait=1
Prolog=$work/hook
Epilog=$work/hook
GresTypes=gpu
EOC
}

write_slurm_conf() {
    host=$(hostname -s 2>/dev/null || hostname)
    # shellcheck disable=SC2046  # a list of ports
    set -- $(free_ports 4)
    slurm_conf_base "$host" "$1" >"$work/slurm.conf"
    cat >>"$work/slurm.conf" <<EOC
PluginDir=$plugin:$plugins
JobSubmitPlugins=adept
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MaxJobCount=2000
NodeName=v1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$2 CPUs=256 RealMemory=1000 Gres=gpu:v100:8
NodeName=a1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$3 CPUs=256 RealMemory=1000 Gres=gpu:a100:4
NodeName=t1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$4 CPUs=256 RealMemory=1000 Gres=gpu:t4:2
PartitionName=plain Nodes=v1,a1,t1 Default=YES MaxTime=INFINITE State=UP
PartitionName=volta Nodes=v1 MaxTime=INFINITE State=UP
PartitionName=ampere Nodes=a1 MaxTime=INFINITE State=UP
PartitionName=turing Nodes=t1 MaxTime=INFINITE State=UP
EOC
    cat >"$work/gres.conf" <<EOC
NodeName=v1 Name=gpu Type=v100 File=$work/gpus/v100-[0-7]
NodeName=a1 Name=gpu Type=a100 File=$work/gpus/a100-[0-3]
NodeName=t1 Name=gpu Type=t4 File=$work/gpus/t4-[0-1]
EOC
    # the hook that sites use, with an nvidia-smi that notes what it is asked
    cat >"$work/hook" <<EOC
#!/bin/sh
PATH=$work/bin:$PATH SLURM_CONF=$work/slurm.conf exec sh $here/../../tools/slurm/power_limit.sh
EOC
    mkdir "$work/bin"
    cat >"$work/bin/nvidia-smi" <<EOC
#!/bin/sh
case "\$*" in
*--query-gpu*) echo 400.00 ;;
*) echo "\$SLURM_JOB_ID \$*" >>$work/nvidia-smi.log ;;
esac
EOC
    chmod +x "$work/hook" "$work/bin/nvidia-smi"
    mkdir "$work/gpus" # slurmd counts device files; as nothing confines jobs to devices, any will do
    for gpu in v100-0 v100-1 v100-2 v100-3 v100-4 v100-5 v100-6 v100-7 a100-0 a100-1 a100-2 a100-3 t4-0 t4-1; do
        ln -s /dev/null "$work/gpus/$gpu"
    done
}

# start COMMAND...: in the background; its process is remembered, and does not outlive this shell even if that is killed
start() {
    ${die_with_us:-} "$@" </dev/null >>"$work/daemons.log" 2>&1 &
    pids="${pids:-} $!"
}

# wait_until SECONDS COMMAND...: until it succeeds, on a busy machine ten times as long
wait_until() {
    tries=$(($1 * 50))
    shift
    while ! "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.2
    done
}

nodes_up() {
    # shellcheck disable=SC2086  # a list of words
    [ "$(sinfo -h -N -p plain -o '%T' | grep -c '^idle$')" -eq "$(set -- $nodes; echo $#)" ]
}

start_munge() {
    die_with_us=$(command -v setpriv) && die_with_us="$die_with_us --pdeathsig KILL --"
    mkdir -p "$work/munge"
    chmod 711 "$work" "$work/munge"
    head -c 128 /dev/urandom >"$work/munge/key"
    chmod 400 "$work/munge/key"
    start munged --foreground --force --num-threads=2 --key-file="$work/munge/key" --socket="$work/munge/socket" \
        --pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed"
    wait_until 30 test -S "$work/munge/socket"
}

start_cluster() {
    [ -S "$work/munge/socket" ] || start_munge || return 1
    mkdir -p "$work/state"
    SLURM_CONF=$work/slurm.conf
    export SLURM_CONF
    start slurmctld -D -f "$work/slurm.conf"
    ctld=$!
    for node in $nodes; do
        mkdir -p "$work/spool.$node"
        start slurmd -D -f "$work/slurm.conf" -N "$node"
    done
    wait_until 60 nodes_up
}

# Everything this started, and what slurmd started (slurmstepd leaves with its job).
stop_cluster() {
    [ -n "${pids:-}" ] || return 0
    scancel --state=PENDING --state=RUNNING --quiet >/dev/null 2>&1 || true
    # shellcheck disable=SC2086  # a list of processes
    kill $pids 2>/dev/null
    left=50
    # shellcheck disable=SC2086
    while kill -0 $pids 2>/dev/null && [ "$left" -gt 0 ]; do
        sleep 0.1
        left=$((left - 1))
    done
    # shellcheck disable=SC2086
    kill -KILL $pids 2>/dev/null
    # shellcheck disable=SC2086
    wait $pids 2>/dev/null
    pids=
}
