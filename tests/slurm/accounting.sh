# What cluster.sh lacks for accounting: MariaDB, slurmdbd, and a cluster of one node that keeps jobs. Sourced by check_attribute.sh behind
# cluster.sh, with work, plugin ("": without adept's) and plugins set.

write_accounting_conf() {
    host=$(hostname -s 2>/dev/null || hostname)
    # shellcheck disable=SC2046  # a list of ports
    set -- $(free_ports 4)
    db_port=$1
    {
        slurm_conf_base "$host" "$2"
        cat <<EOC
PluginDir=${plugin:+$plugin:}$plugins
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
