# What cluster.sh lacks for accounting: MariaDB, slurmdbd, and a cluster of one node that keeps jobs. Sourced by check_attribute.sh behind
# cluster.sh, with work, plugin ("": without adept's) and plugins set.

write_accounting_conf() {
    host=$(hostname -s 2>/dev/null || hostname)
    # shellcheck disable=SC2046  # a list of ports
    set -- $(free_ports 4)
    db_port=$1
    {
        cat <<EOC
ClusterName=adepttest
SlurmctldHost=$host(127.0.0.1)
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
PluginDir=${plugin:+$plugin:}$plugins
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$3
AccountingStoragePass=$work/munge/socket
AccountingStorageTRES=gres/gpu
AccountingStoreFlags=job_comment
JobCompType=jobcomp/filetxt
JobCompLoc=$work/jobcomp
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
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$4 CPUs=16 RealMemory=1000 Gres=gpu:a100:1
PartitionName=plain Nodes=n1 Default=YES MaxTime=INFINITE State=UP
PartitionName=ampere Nodes=n1 MaxTime=INFINITE State=UP
EOC
        [ -z "$plugin" ] || echo "JobSubmitPlugins=adept"
    } >"$work/slurm.conf"
    # the hook that sites use, beside the recorder that runs all the time
    printf '#!/bin/sh\nADEPT_ATTRIBUTE_CONF=%s/hook.conf exec sh %s\n' "$work" "$here/../../tools/slurm/attribute_hook.sh" >"$work/hook"
    chmod +x "$work/hook"
    ln -sf /dev/null "$work/gpu-0"
    echo "NodeName=n1 Name=gpu Type=a100 File=$work/gpu-0" >"$work/gres.conf"
    cat >"$work/slurmdbd.conf" <<EOC
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$3
SlurmUser=root
PidFile=$work/slurmdbd.pid
LogFile=$work/slurmdbd.log
PluginDir=$plugins
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$db_port
StorageUser=slurm
StoragePass=$db_port
StorageLoc=slurm_acct_db
EOC
    chmod 600 "$work/slurmdbd.conf" # slurmdbd insists
}

sql() {
    mariadb --no-defaults --socket="$work/db.sock" -e "$1"
}

start_database() {
    die_with_us=$(command -v setpriv) && die_with_us="$die_with_us --pdeathsig KILL --"
    mariadb-install-db --no-defaults --datadir="$work/db" --user=root --auth-root-authentication-method=normal --skip-test-db \
        >"$work/db-install.log" 2>&1 || return 1
    start mariadbd --no-defaults --user=root --datadir="$work/db" --socket="$work/db.sock" --pid-file="$work/db.pid" \
        --bind-address=127.0.0.1 --port="$db_port" --innodb-buffer-pool-size=32M --log-error="$work/db.log"
    wait_until 60 sql 'SELECT 1' || return 1
    sql "CREATE DATABASE slurm_acct_db; CREATE USER slurm@'127.0.0.1' IDENTIFIED BY '$db_port';
         GRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1'"
}

# slurmdbd needs munge, and slurmctld, which start_cluster starts behind it, needs slurmdbd.
start_slurmdbd() {
    start_munge || return 1
    SLURM_CONF=$work/slurm.conf
    export SLURM_CONF
    start slurmdbd -D
    wait_until 20 timeout 5 sacctmgr -n -P show cluster || return 1
    sacctmgr -i add cluster adepttest >>"$work/daemons.log" 2>&1
    sacctmgr -i add account lab >>"$work/daemons.log" 2>&1
    sacctmgr -i add user root account=lab >>"$work/daemons.log" 2>&1
}
