#!/bin/sh
# Jobs of a real Slurm with slurmdbd and MariaDB, on the loopback: their energy is as their processor time, whatever became of them. As
# root; leaves nothing running. Exit code 77: not possible here, and why. Two minutes, for Slurm looks for jobs beyond their time limit
# twice a minute.
# usage: check_attribute.sh BUILD
set -u
LC_ALL=C
export LC_ALL
build=$(CDPATH='' cd -- "$1" && pwd) || exit 1
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
adept=$build/tools/adept
skip() { echo "skipped: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "not root"
PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd sbatch scontrol slurmdbd sacct mariadbd mariadb-install-db mariadb; do
    command -v $program >/dev/null || skip "no $program; sh tools/install_deps.sh slurm slurm-accounting installs it"
done
python=$(command -v python3) || skip "no python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' || skip "python3 before 3.8"
python=$("$python" -c 'import sys; print(sys.executable)') # a script before it, as pyenv's, would be the jobs' processor time too
for plugins in /usr/lib/*/slurm-wlm /usr/lib64/slurm /usr/lib/slurm; do
    [ -f "$plugins/accounting_storage_mysql.so" ] && break
done
[ -f "$plugins/accounting_storage_mysql.so" ] || skip "Slurm has no plugin of MariaDB in a folder known"
"$adept" attribute record --help >/dev/null 2>&1 || skip "this adept has no recorder"
plugin=$build/tools/slurm
[ -f "$plugin/job_submit_adept.so" ] || plugin=

umask 022
work=$(mktemp -d /tmp/adept-slurm.XXXXXX) || exit 1
checks=0 failures=0 nodes=n1
. "$here/cluster.sh"
. "$here/accounting.sh"
finish() {
    trap - EXIT
    stop_cluster
    [ ! -s "$work/run/pid" ] || kill -KILL "$(cat "$work/run/pid")" 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
}

# ---- the site ----
write_accounting_conf
if [ -n "$plugin" ]; then
    mkdir "$work/profiles"
    cp "$here/../cli/data/mlp.profile.json" "$work/profiles/"
    printf 'ProfileDir=%s\nPartitionName=ampere GresType=a100 Gpu=a100-sxm-40gb Gpus=1\n' "$work/profiles" >"$work/adept.conf"
fi
start_database || { tail -n 20 "$work/db-install.log" "$work/db.log" >&2; echo "MariaDB does not start"; exit 1; }
start_slurmdbd && start_cluster || { tail -n 20 "$work/daemons.log" >&2; echo "Slurm does not start"; exit 1; }
cd "$work" || exit 1
start "$python" "$here/busy_meter.py" "$work/port" 30 20
wait_until 30 test -s "$work/port" || { echo "the meter does not start"; exit 1; }
start "$adept" attribute record -o "$work/n1.adept" --devices node --meter "http://127.0.0.1:$(cat "$work/port")/ /meter/energy_j J"
recorder=$!
printf 'folder=%s/hooked run=%s/run adept=%s options="--devices node" meter="http://127.0.0.1:%s/ /meter/energy_j J"\n' "$work" "$work" "$adept" "$(cat "$work/port")" >"$work/hook.conf"
wait_until 30 test -s "$work/n1.adept" || { tail -n 20 "$work/daemons.log" >&2; echo "nothing is recorded"; exit 1; }
sleep 2

# ---- jobs ----
cat >"$work/job.sh" <<EOC
#!/bin/sh
exec $python $here/burn.py "\$1" "\$2" $work/cpu.\$SLURM_JOB_ID "\${3:-0}"
EOC
# job NAME OPTION... -- SHARE SECONDS [EXIT]: leaves its number in a variable
job() {
    name=$1
    shift
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    # shellcheck disable=SC2086  # a list of words
    eval "$name=\$(sbatch --parsable --output=/dev/null $options \"$work/job.sh\" $* 2>>\"$work/err\")" || fail "sbatch $name: $(cat "$work/err")"
}
job large -- 0.30 24
job small -- 0.10 24
job late --time=1 -- 0.02 600
job gone -- 0.10 600
job bad -- 0.30 6 3
job array --array=1-2 -- 0.05 5
if [ -n "$plugin" ]; then
    placed=$(sbatch --parsable --output=/dev/null --comment="adept:mlp steps=1000 gpus=1" "$work/job.sh" 0.1 5 2>>"$work/err") || fail "sbatch placed: $(cat "$work/err")"
fi
# shellcheck disable=SC2154  # set by job()
ends() { [ -z "$(squeue -h -j "$1" -o %i 2>/dev/null)" ]; }
sleep 8
scontrol listpids >"$work/pids" 2>/dev/null
sleep 4
# shellcheck disable=SC2154
scancel "$gone"
# shellcheck disable=SC2154
wait_until 150 ends "$late" || fail "the job with a limit of a minute does not end: $(squeue -h)"
wait_until 30 ends "$gone,$late" || fail "jobs do not end: $(squeue -h)"
no_hook() { ! kill -0 "$(cat "$work/run/pid")"; }
wait_until 20 no_hook || fail "the epilog of the last job leaves the recorder running"
sleep 2
kill -INT $recorder
wait $recorder || fail "the recorder ended with $?: $(tail -n 5 "$work/daemons.log")"
sleep 1 # slurmdbd is told every so often
columns=JobID,JobIDRaw,User,Account,State,Partition,Start,End,ElapsedRaw,AllocTRES,NodeList,AdminComment
SLURM_TIME_FORMAT=%s sacct -a -P -o $columns >"$work/jobs.txt" || fail "sacct"

# ---- their energy ----
rows=
[ -z "$plugin" ] || rows="--calibrate-rows $work/rows.csv --models $work/profiles"
# shellcheck disable=SC2086  # words
"$adept" attribute --slurm "$work/n1.adept" --sacct "$work/jobs.txt" $rows --json >"$work/report.json" || fail "attribute --slurm"
"$adept" attribute --slurm "$work/n1.adept" --sacct "$work/jobs.txt" --by state >"$work/report.txt" || fail "attribute --by state"
"$adept" attribute --slurm "$work/n1.adept" --jobcomp "$work/jobcomp" --json >"$work/jobcomp.json" || fail "attribute --jobcomp"
"$adept" attribute --slurm "$work/n1.adept" --sacct "$work/jobs.txt" --listpids "$work/pids" --json >"$work/listpids.json" || fail "attribute --listpids"
"$adept" attribute --slurm "$work"/hooked/*.adept --sacct "$work/jobs.txt" --json >"$work/hooked.json" || fail "attribute --slurm, as prolog and epilog recorded: $(cat "$work/run/log")"
cat "$work/report.txt"
# shellcheck disable=SC2154
"$python" -B "$here/check_energy.py" "$work" "large=$large" "small=$small" "late=$late" "gone=$gone" "bad=$bad" "array=$array" "placed=${placed:-}" || failures=$((failures + 1))
checks=$((checks + 1))
if [ -n "$plugin" ]; then # what was measured of the job that adept placed is a row that evaluate reads
    "$adept" evaluate "$work/rows.csv" --gpu a100-sxm-40gb --models "$work/profiles" >"$work/out" 2>&1 || fail "evaluate: $(cat "$work/out")"
    checks=$((checks + 1))
fi
echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
exit
